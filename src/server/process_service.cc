#include "server/process_service.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/limits.h"
#include "base/utf8.h"
#include "base/wrapping.h"

namespace headway::server {
namespace {

using Attempts = std::map<JournalUid, std::int64_t>;

std::string OriginOf(const journal::Header& header) {
  switch (header.origin) {
    case journal::Origin::kRecorder: return "process";
    case journal::Origin::kSupervisor: return "supervisor";
    case journal::Origin::kImport: return header.import_supervisor ? "supervisor" : "import";
  }
  return "process";
}

// The first of the counters.
std::int64_t DroppedOf(const store::JournalState& state) {
  std::uint64_t dropped = 0;
  if (state.counters.size() < sizeof dropped) return 0;
  std::memcpy(&dropped, state.counters.data(), sizeof dropped);
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(dropped, kMost));
}

v1::Process ToProto(const StoredJournal& stored, const Hearing& hearing, const Attempts& attempts) {
  const journal::Header& header = stored.header;
  const store::JournalState& state = stored.journal.state;
  v1::Process process;
  process.set_uid(ToHex(header.uid));
  process.set_origin(OriginOf(header));
  process.set_name(ToValidUtf8(header.writer_name));
  if (header.rank >= 0) process.set_rank(header.rank);
  if (header.local_rank >= 0) process.set_local_rank(header.local_rank);
  if (header.world_size >= 0) process.set_world_size(header.world_size);
  process.set_host(ToValidUtf8(header.host));
  process.set_pid(header.pid);
  const auto attempt = attempts.find(header.uid);
  if (attempt != attempts.end() && attempt->second >= 0) process.set_attempt(attempt->second);
  process.set_attempt_key(ToValidUtf8(header.attempt_key));
  process.set_job_id(ToValidUtf8(header.job_id));
  process.set_software(ToValidUtf8(header.software));
  process.set_start_time(WrappingAdd(stored.journal.identity.start, stored.MovedBy()));
  process.set_heard_time(state.heard);
  switch (hearing.Of(state, header)) {
    case Liveness::kAlive: process.set_state(v1::WRITER_STATE_ALIVE); break;
    case Liveness::kDead: process.set_state(v1::WRITER_STATE_DEAD); break;
    case Liveness::kUnknown: break;
  }
  process.set_records(static_cast<std::int64_t>(state.slots));
  process.set_dropped(DroppedOf(state));
  return process;
}

}  // namespace

void ProcessService::AddTo(ConnectRouter* router) {
  router->Add<v1::ListProcessesRequest, v1::ListProcessesResponse>(
      "headway.v1.ProcessService.ListProcesses", Permission::kRunsGet, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return ListProcesses(caller, request); });
}

Result<v1::ListProcessesResponse> ProcessService::ListProcesses(
    const Caller& caller, const v1::ListProcessesRequest& request) {
  const Result<std::size_t> size =
      PageSize(request.page_size(), limits::kProcessesPage, limits::kProcessesPage);
  if (!size.ok()) return size.status();
  const Result<store::RunRow> run =
      registry_->Find(caller, ProjectOf(request.project()), request.run());
  if (!run.ok()) return run.status();
  const Result<Attempts> attempts = ledgers_->Look(
      run->uid, [](RunLedger& found) -> Result<Attempts> { return found.Attempts(); });
  if (!attempts.ok()) return attempts.status();
  const Result<std::vector<StoredJournal>> journals = ListStoredJournals(store_, run->uid);
  if (!journals.ok()) return journals.status();
  auto at = journals->begin();
  if (!request.page_token().empty()) {
    // The last one of the page before.
    const Result<JournalUid> uid = ParseUid<JournalUid>(request.page_token());
    at = !uid.ok() ? journals->end()
                   : std::ranges::find(*journals, *uid,
                                       [](const StoredJournal& one) { return one.header.uid; });
    if (at == journals->end()) {
      return Status(Code::kInvalidArgument, "the page_token is none of an answer to this question");
    }
    ++at;
  }
  v1::ListProcessesResponse response;
  for (; at != journals->end(); ++at) {
    if (static_cast<std::size_t>(response.processes_size()) == *size) {
      response.set_next_page_token(response.processes().rbegin()->uid());
      break;
    }
    *response.add_processes() = ToProto(*at, hearing_, *attempts);
  }
  return response;
}

}  // namespace headway::server
