#include "server/config_service.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/utf8.h"
#include "formats/config/reader.h"
#include "model/name_table.h"
#include "runs/configs.h"
#include "server/run_details.h"
#include "server/stored_journal.h"
#include "wire/config.h"

namespace headway::server {

void ConfigService::AddTo(ConnectRouter* router) {
  router->Add<v1::GetConfigRequest, v1::GetConfigResponse>(
      "headway.v1.ConfigService.GetConfig", Permission::kRunsGet, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return GetConfig(caller, request); });
}

Result<v1::GetConfigResponse> ConfigService::GetConfig(const Caller& caller,
                                                       const v1::GetConfigRequest& request) {
  const Result<store::RunRow> run =
      registry_->Find(caller, ProjectOf(request.project()), request.run());
  if (!run.ok()) return run.status();
  using Attempts = std::map<JournalUid, std::int64_t>;
  const Result<Attempts> attempts = ledgers_->Look(
      run->uid, [](RunLedger& found) -> Result<Attempts> { return found.Attempts(); });
  if (!attempts.ok()) return attempts.status();
  const Result<std::vector<StoredJournal>> journals = ListStoredJournals(store_, run->uid);
  if (!journals.ok()) return journals.status();
  runs::ConfigCollector collector(config::ReadConfig);
  for (const StoredJournal& journal : *journals) {
    const auto attempt = attempts->find(journal.header.uid);
    if (attempt == attempts->end()) continue;  // it came this moment
    NameTable names;
    Result<journal::JournalReader> reader =
        OpenStoredJournal(store_, hearing_, journal, {.names = &names});
    if (!reader.ok()) return reader.status();
    HEADWAY_RETURN_IF_ERROR(collector.Add(&*reader, names, attempt->second));
  }
  RunConfig config = collector.Take();
  config.project = run->project;
  config.run = run->label;
  for (const auto& [config_class, said] :
       {std::pair("software", &run->details.software), std::pair("system", &run->details.system)}) {
    if (said->empty()) continue;
    config.registered.emplace(config_class, std::make_shared<const FlatConfig>(FlatOf(*said)));
  }
  v1::GetConfigResponse answer = wire::ToProto(config);
  for (const Status& problem : collector.problems()) {
    if (answer.problems_size() == limits::kConfigProblems) break;
    answer.add_problems(ToValidUtf8(problem.message()));
  }
  return answer;
}

}  // namespace headway::server
