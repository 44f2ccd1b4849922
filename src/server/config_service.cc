#include "server/config_service.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "formats/config/reader.h"
#include "model/name_table.h"
#include "runs/configs.h"
#include "server/stored_journal.h"
#include "wire/config.h"

namespace headway::server {
namespace {

// What was said of a run on the server: a list of texts.
std::shared_ptr<const FlatConfig> Flat(const std::map<std::string, std::string>& said) {
  ConfigValue config;
  config.kind = ConfigValue::Kind::kObject;
  for (const auto& [key, text] : said) {
    ConfigValue value;
    value.text.clear();
    JsonWriter(&value.text).String(text);
    config.keys.push_back(key);
    config.items.push_back(std::move(value));
  }
  return std::make_shared<const FlatConfig>(Flatten(config));
}

}  // namespace

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
  std::map<JournalUid, std::int64_t> attempts;
  {
    const Result<RunLedgers::Use> use = ledgers_->Take(run->uid);
    if (!use.ok()) return use.status();
    attempts = (*use)->Attempts();
  }
  const Result<std::vector<StoredJournal>> journals = ListStoredJournals(store_, run->uid);
  if (!journals.ok()) return journals.status();
  runs::ConfigCollector collector(config::ReadConfig);
  for (const StoredJournal& journal : *journals) {
    const auto attempt = attempts.find(journal.header.uid);
    if (attempt == attempts.end()) continue;  // it came this moment
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
    if (!said->empty()) config.registered.emplace(config_class, Flat(*said));
  }
  v1::GetConfigResponse answer = wire::ToProto(config);
  for (const Status& problem : collector.problems()) {
    if (answer.problems_size() == limits::kConfigProblems) break;
    answer.add_problems(ToValidUtf8(problem.message()));
  }
  return answer;
}

}  // namespace headway::server
