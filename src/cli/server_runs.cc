#include "cli/server_runs.h"

#ifdef HEADWAY_REMOTE
#include <headway/v1/operation_service.pb.h>
#include <headway/v1/process_service.pb.h>
#include <headway/v1/project_service.pb.h>
#include <headway/v1/run_service.pb.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <thread>
#include <utility>

#include "base/json_writer.h"
#include "base/time_format.h"
#include "cli/output.h"
#include "cli/palette.h"
#include "cli/progress.h"
#include "cli/report_text.h"
#include "cli/server_call.h"
#include "cli/table.h"
#include "model/text.h"
#include "wire/report.h"
#include "wire/run.h"
#endif

namespace headway::cli {

void DescribeServerOnly(Description* description, Place* place) {
  description->Option("--server", "URL", &place->server,
                      "the server (HEADWAY_SERVER), as whoever HEADWAY_TOKEN says");
  description->Option("--project", "P", &place->project, "project (HEADWAY_PROJECT, else default)");
  description->Flag("--json", &place->json, "JSON instead of text");
}

Status ResolveServerOnly(Place* place, const std::string& what) {
  HEADWAY_RETURN_IF_ERROR(ResolveReceiver(place));
  if (!place->server.empty()) return OkStatus();
  return {Code::kInvalidArgument, what + " a server's: --server URL or HEADWAY_SERVER"};
}

void DescribeChange(Description* description, RunChange* change) {
  const auto option = [description](const char* flag, const char* value,
                                    std::optional<std::string>* target, const char* help) {
    std::string* const none = nullptr;
    description->Option(flag, value, none, help).set = [target](const std::string& text) {
      *target = text;
      return OkStatus();
    };
  };
  option("--group", "GROUP", &change->group, "what it is compared with");
  description->Option("--label", "KEY=VALUE", &change->labels, "may be given several times");
  option("--phase", "PHASE", &change->phase,
         "queued, suspended, active, completed, failed, interrupted or stopped");
  option("--orchestrator", "NAME", &change->orchestrator, "kubernetes, slurm, local, ...");
  option("--workload", "KIND/NAMESPACE/NAME", &change->workload, "what the orchestrator runs");
  option("--artifacts", "URI", &change->artifacts, "where its files lie");
  option("--error", "TEXT", &change->error, "why it failed");
  description->Option("--config-software", "KEY=VALUE", &change->software,
                      "may be given several times");
  description->Option("--config-system", "KEY=VALUE", &change->system,
                      "may be given several times");
  description->Count("--accelerators", "N", 0, &change->accelerators,
                     "how many it holds while it runs; 0: not known");
  description->Option("--tool", "TOOL", &change->tools, "xprof; may be given several times");
}

#ifdef HEADWAY_REMOTE

namespace {

constexpr std::int64_t kRunsShown = 50;
constexpr std::size_t kProcessesShown = 50;
constexpr int kPage = 1000;

std::string Time(std::int64_t ns) { return ns == 0 ? "" : ShowTime(ns); }

void WriteTime(const char* name, std::int64_t ns, JsonWriter* json) {
  json->Key(name);
  ns == 0 ? json->Null() : json->String(FormatTime(WallNs{ns}));
}

template <typename Entries>
void WriteMap(const char* name, const Entries& entries, JsonWriter* json) {
  json->Key(name).BeginObject();
  for (const auto& [key, value] : entries) json->Field(key, value);
  json->EndObject();
}

std::string StateOf(const v1::Process& process) {
  switch (process.state()) {
    case v1::WRITER_STATE_ALIVE: return "alive";
    case v1::WRITER_STATE_DEAD: return "dead";
    default: return "unknown";
  }
}

void WriteProcess(const v1::Process& process, JsonWriter* json) {
  const auto number = [json](const char* name, bool known, std::int64_t value) {
    json->Key(name);
    known ? json->Int(value) : json->Null();
  };
  json->BeginObject().Field("uid", process.uid()).Field("origin", process.origin());
  json->Field("rank", process.has_rank() ? process.rank() : -1);
  number("local_rank", process.has_local_rank(), process.local_rank());
  number("world_size", process.has_world_size(), process.world_size());
  json->Field("host", process.host()).Field("pid", process.pid());
  number("attempt", process.has_attempt(), process.attempt());
  json->Field("attempt_key", process.attempt_key())
      .Field("job_id", process.job_id())
      .Field("writer", process.name())
      .Field("software", process.software())
      .Field("state", StateOf(process));
  WriteTime("start", process.start_time(), json);
  WriteTime("heard", process.heard_time(), json);
  json->Field("records", process.records()).Field("dropped", process.dropped()).EndObject();
}

// Whether it was asked for by a share link: such an answer has no etag.
bool IsShared(const v1::Run& run) { return run.etag().empty(); }

// The fields that journals tell have the names that they have in lists of journals.
/// What is shown of one run, and counted in lists.
struct Shown {
  std::vector<AttemptSummary> attempts;
  std::vector<v1::Process> processes;
};

// `shown`: null: in a list.
void WriteRun(const v1::Run& run, const Shown* shown, JsonWriter* json) {
  const RunDetails details = wire::DetailsOf(run);
  const RunSummary summary = wire::SummaryOf(run);
  json->BeginObject()
      .Field("run", run.label())
      .Field("name", run.name())
      .Field("project", run.project())
      .Field("uid", run.uid())
      .Field("state", RunStateName(summary.state))
      .Field("phase", RunPhaseName(details.phase))
      .Field("start", FormatTime(WallNs{run.start()}));
  WriteTime("end", summary.end.value_or(0), json);
  json->Field("elapsed_ns", summary.elapsed_ns).Key("goodput");
  summary.goodput ? json->Double(*summary.goodput) : json->Null();
  json->Key("last_step");
  summary.last_step ? json->Int(*summary.last_step) : json->Null();
  json->Key("attempts");
  if (shown == nullptr) {
    json->Int(summary.attempts);
  } else {
    WriteAttempts(json, shown->attempts);
  }
  if (IsShared(run)) {  // the rest is not told
    WriteTime("summary_time", run.summary_time(), json);
    json->EndObject();
    return;
  }
  json->Key("journals");
  if (shown == nullptr) {
    json->Int(run.journals());
  } else {
    json->BeginArray();
    for (const v1::Process& process : shown->processes) WriteProcess(process, json);
    json->EndArray();
  }
  json->Field("bytes", run.stored_bytes()).Field("group", details.group);
  WriteMap("labels", details.labels, json);
  json->Key("accelerators");
  details.accelerators == 0 ? json->Null() : json->Int(details.accelerators);
  json->Field("orchestrator", details.orchestrator)
      .Field("workload", details.workload.Text())
      .Field("artifacts_uri", details.artifacts)
      .Field("error_details", details.error)
      .Key("tools")
      .BeginArray();
  for (const std::string& tool : details.tools) json->String(tool);
  json->EndArray();
  WriteMap("software_configs", details.software, json);
  WriteMap("system_configs", details.system, json);
  json->Field("etag", run.etag()).Field("creator", run.creator());
  WriteTime("create_time", run.create_time(), json);
  WriteTime("update_time", run.update_time(), json);
  WriteTime("delete_time", run.delete_time(), json);
  WriteTime("summary_time", run.summary_time(), json);
  json->EndObject();
}

std::string JsonOf(const v1::Run& run, const Shown* shown = nullptr) {
  std::string text;
  JsonWriter json(&text, 1);
  WriteRun(run, shown, &json);
  return text + "\n";
}

// Until somebody has looked there is nothing to show.
std::string GoodputOf(const v1::Run& run) {
  return run.has_goodput() && run.attempts() > 0 ? ShowPercent(run.goodput()) : "–";
}

Result<std::vector<v1::Run>> FetchRuns(const Place& place, const std::string& project,
                                       const ServerList& wanted, std::int64_t count, bool* more) {
  std::vector<v1::Run> runs;
  v1::ListRunsRequest request;
  request.set_project(project);
  request.set_filter(wanted.filter);
  request.set_order_by(wanted.order_by);
  request.set_show_deleted(wanted.deleted);
  do {
    const std::int64_t left = count - static_cast<std::int64_t>(runs.size());
    request.set_page_size(static_cast<std::int32_t>(std::min<std::int64_t>(kPage, left)));
    v1::ListRunsResponse response;
    HEADWAY_RETURN_IF_ERROR(CallServer(place, "RunService.ListRuns", request, &response));
    for (v1::Run& run : *response.mutable_runs()) runs.push_back(std::move(run));
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty() && static_cast<std::int64_t>(runs.size()) < count);
  *more = !request.page_token().empty();
  return runs;
}

Result<std::pair<std::string, std::string>> KeyAndValue(const char* flag, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return Status(Code::kInvalidArgument,
                  std::string(flag) + " takes KEY=VALUE, not \"" + PrintableLine(text) + "\"");
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

// What was said, and the paths of it.
Status Fill(const RunChange& change, v1::Run* run, std::vector<std::string>* paths) {
  const auto text = [paths](const std::optional<std::string>& value, const char* path,
                            std::string* target) {
    if (!value) return;
    *target = *value;
    paths->emplace_back(path);
  };
  text(change.group, "group", run->mutable_group());
  text(change.orchestrator, "orchestrator", run->mutable_orchestrator());
  text(change.artifacts, "artifacts_uri", run->mutable_artifacts_uri());
  text(change.error, "error_details", run->mutable_error_details());
  if (change.accelerators) {
    run->set_accelerators(*change.accelerators);
    paths->emplace_back("accelerators");
  }
  if (change.phase) {
    const std::optional<RunPhase> phase = FindRunPhase(*change.phase);
    if (!phase) {
      return {Code::kInvalidArgument,
              "--phase is queued, suspended, active, completed, failed, interrupted or stopped, "
              "not \"" +
                  PrintableLine(*change.phase) + "\""};
    }
    run->set_phase(static_cast<v1::RunPhase>(*phase));
    paths->emplace_back("phase");
  }
  if (change.workload) {
    const std::size_t first = change.workload->find('/');
    const std::size_t second = change.workload->find('/', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      return {Code::kInvalidArgument, "--workload takes KIND/NAMESPACE/NAME, not \"" +
                                          PrintableLine(*change.workload) + "\""};
    }
    run->mutable_workload()->set_kind(change.workload->substr(0, first));
    run->mutable_workload()->set_namespace_(change.workload->substr(first + 1, second - first - 1));
    run->mutable_workload()->set_name(change.workload->substr(second + 1));
    paths->emplace_back("workload");
  }
  const auto map = [paths](const std::vector<std::string>& entries, const char* flag,
                           const std::string& path, auto* target) -> Status {
    for (const std::string& entry : entries) {
      const auto pair = KeyAndValue(flag, entry);
      HEADWAY_RETURN_IF_ERROR(pair.status());
      (*target)[pair->first] = pair->second;
      paths->push_back(path + "." + pair->first);
    }
    return OkStatus();
  };
  HEADWAY_RETURN_IF_ERROR(map(change.labels, "--label", "labels", run->mutable_labels()));
  HEADWAY_RETURN_IF_ERROR(map(change.software, "--config-software", "software_configs",
                              run->mutable_software_configs()));
  HEADWAY_RETURN_IF_ERROR(
      map(change.system, "--config-system", "system_configs", run->mutable_system_configs()));
  for (const std::string& key : change.not_labels) paths->push_back("labels." + key);
  for (const std::string& tool : change.tools) run->add_tools(tool);
  if (!change.tools.empty()) paths->emplace_back("tools");
  return OkStatus();
}

void WriteOperation(const v1::Operation& operation, JsonWriter* json) {
  json->BeginObject()
      .Field("id", operation.id())
      .Field("project", operation.project())
      .Field("verb", operation.verb())
      .Field("target", operation.target())
      .Field("target_name", operation.target_name())
      .Field("creator", operation.creator());
  WriteTime("create_time", operation.create_time(), json);
  WriteTime("end_time", operation.end_time(), json);
  json->Key("progress").Double(operation.progress());
  json->Field("cancel_requested", operation.cancel_requested())
      .Field("error", operation.error_code() == 0
                          ? std::string()
                          : std::string(CodeName(static_cast<Code>(operation.error_code()))))
      .Field("message", operation.error_message())
      .EndObject();
}

std::string StateOf(const v1::Operation& operation) {
  if (operation.end_time() == 0) {
    return (operation.cancel_requested() ? "being cancelled, " : "") +
           ShowPercent(operation.progress());
  }
  if (operation.error_code() == 0) return "done";
  return operation.error_message();
}

Table OperationTable(const std::vector<v1::Operation>& operations) {
  Table table({{"id"}, {"does"}, {"to"}, {"for", false, 1}, {"since (UTC)", false, 2}, {"state"}});
  for (const v1::Operation& operation : operations) {
    table.AddRow({operation.id(), operation.verb(), operation.target_name(), operation.creator(),
                  Time(operation.create_time()), StateOf(operation)});
  }
  return table;
}

// Until it has finished, with its progress.
Status Await(const Context& context, const Place& place, const std::string& id) {
  Progress progress(context.error_terminal, "removing");
  v1::GetOperationRequest request;
  request.set_project(place.project);
  request.set_id(id);
  while (true) {
    v1::Operation operation;
    HEADWAY_RETURN_IF_ERROR(
        CallServer(place, "OperationService.GetOperation", request, &operation));
    progress.Update(operation.progress());
    if (operation.end_time() != 0) {
      progress.Clear();
      if (operation.error_code() == 0) return OkStatus();
      return {static_cast<Code>(operation.error_code()), operation.error_message()};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace

Status ListServerRuns(const Context& context, const Place& place, const ServerList& wanted) {
  std::vector<std::string> projects = {place.project};
  if (wanted.all_projects) {
    projects.clear();
    v1::ListProjectsResponse response;
    HEADWAY_RETURN_IF_ERROR(
        CallServer(place, "ProjectService.ListProjects", v1::ListProjectsRequest(), &response));
    for (const v1::Project& project : response.projects()) projects.push_back(project.name());
  }
  const std::int64_t limit =
      wanted.limit.value_or(place.json ? std::numeric_limits<std::int64_t>::max() : kRunsShown);
  std::vector<v1::Run> runs;
  bool more = false;
  for (const std::string& project : projects) {
    const std::int64_t left = limit - static_cast<std::int64_t>(runs.size());
    if (left <= 0) {
      more = true;
      break;
    }
    bool rest = false;
    Result<std::vector<v1::Run>> found = FetchRuns(place, project, wanted, left, &rest);
    if (!found.ok()) return found.status();
    std::move(found->begin(), found->end(), std::back_inserter(runs));
    more |= rest;
  }
  if (place.json) {
    std::string text;
    JsonWriter json(&text, 1);
    json.BeginArray();
    for (const v1::Run& run : runs) WriteRun(run, nullptr, &json);
    json.EndArray();
    *context.out << text << "\n";
    return OkStatus();
  }
  if (runs.empty()) {
    *context.out << (wanted.filter.empty() ? "no runs" : "no such runs")
                 << (wanted.all_projects ? "" : " in project " + PrintableLine(place.project))
                 << " on " << place.server << "\n";
    return OkStatus();
  }
  Table table({{"project", false},
               {"run", false},
               {"group", false, 4},
               {"state", false},
               {"started (UTC)", false, 3},
               {"elapsed", true, 1},
               {"goodput", true},
               {"last step", true, 2},
               {"attempts", true, 5},
               {"stored", true, 6}});
  for (const v1::Run& run : runs) {
    const RunSummary summary = wire::SummaryOf(run);
    std::string state(RunStateName(summary.state));
    // What nobody recorded is what was said.
    if (summary.attempts == 0 && run.phase() != 0) {
      state = RunPhaseName(static_cast<RunPhase>(run.phase()));
    }
    if (run.delete_time() != 0) state += ", deleted";
    table.AddRow({wanted.all_projects ? run.project() : "", run.label(), run.group(), state,
                  ShowTime(run.start()), ShowDuration(summary.elapsed_ns), GoodputOf(run),
                  ShowCount(summary.last_step), std::to_string(summary.attempts),
                  ShowBytes(static_cast<std::uint64_t>(run.stored_bytes()))});
  }
  *context.out << table.Render(context.terminal);
  if (more) *context.out << "  and more: --limit N\n";
  return OkStatus();
}

namespace {

Result<std::vector<v1::Process>> ProcessesOf(const Place& place, const v1::Run& run) {
  std::vector<v1::Process> processes;
  v1::ListProcessesRequest request;
  request.set_project(place.project);
  request.set_run(run.uid());
  do {
    v1::ListProcessesResponse response;
    HEADWAY_RETURN_IF_ERROR(CallServer(place, "ProcessService.ListProcesses", request, &response));
    processes.insert(processes.end(), response.processes().begin(), response.processes().end());
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  return processes;
}

std::string TextOf(const std::vector<v1::Process>& processes, const Terminal& terminal) {
  Table table({{"process"},
               {"rank", true},
               {"host"},
               {"pid", true},
               {"attempt", true, 1},
               {"since (UTC)", false, 2},
               {"records", true},
               {"heard (UTC)", false, 3},
               {"state"}});
  const std::size_t shown = std::min(processes.size(), kProcessesShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const v1::Process& process = processes[i];
    table.AddRow({process.name().empty() ? process.origin() : process.name(),
                  process.has_rank() ? std::to_string(process.rank()) : "–", process.host(),
                  process.pid() == 0 ? "–" : std::to_string(process.pid()),
                  process.has_attempt() ? std::to_string(process.attempt()) : "–",
                  Time(process.start_time()), ShowCount(process.records()),
                  Time(process.heard_time()), StateOf(process)});
  }
  std::string out = table.Render(terminal);
  if (shown < processes.size()) {
    out += "  and " + ShowCount(static_cast<std::int64_t>(processes.size() - shown)) +
           " more: --json has them\n";
  }
  return out;
}

}  // namespace

Status ShowServerRun(const Context& context, const Place& place, const std::string& run) {
  v1::GetRunRequest request;
  request.set_project(place.project);
  request.set_run(run);
  v1::Run found;
  HEADWAY_RETURN_IF_ERROR(CallServer(place, "RunService.GetRun", request, &found));
  Shown shown;
  if (!IsShared(found)) {
    Result<std::vector<v1::Process>> listed = ProcessesOf(place, found);
    if (!listed.ok()) return listed.status();
    shown.processes = *std::move(listed);
  }
  if (place.json) {
    v1::GetReportRequest about;
    about.set_project(place.project);
    about.set_run(found.uid());
    v1::Report message;
    HEADWAY_RETURN_IF_ERROR(CallServer(place, "RunService.GetReport", about, &message));
    Result<Report> report = wire::FromProto(message);
    if (!report.ok()) return report.status();
    shown.attempts = std::move(report->attempts);
    *context.out << JsonOf(found, &shown);
    return OkStatus();
  }
  const RunDetails details = wire::DetailsOf(found);
  const RunSummary summary = wire::SummaryOf(found);
  std::string out =
      Paint(Tone::kStrong, PrintableLine(found.label()), context.terminal) + "  " +
      Paint(ToneOf(summary.state), std::string(RunStateName(summary.state)), context.terminal) +
      (found.delete_time() != 0 ? ", deleted" : "") + "\n";
  out += "uid " + found.uid() + ", project " + PrintableLine(found.project()) + ", name " +
         PrintableLine(found.name()) + "\n";
  out += ShowDuration(summary.elapsed_ns) + " elapsed since " + ShowTime(found.start()) +
         " UTC, goodput " + GoodputOf(found);
  if (!IsShared(found)) {
    out += ", " + ShowCount(static_cast<std::int64_t>(found.journals())) +
           (found.journals() == 1 ? " journal, " : " journals, ") +
           ShowBytes(static_cast<std::uint64_t>(found.stored_bytes())) + " stored";
  }
  out += "\n";
  Table facts({{"what"}, {"value"}});
  const auto fact = [&facts](const std::string& what, const std::string& value) {
    if (!value.empty()) facts.AddRow({what, value});
  };
  fact("phase", std::string(RunPhaseName(details.phase)));
  fact("group", details.group);
  for (const auto& [key, value] : details.labels) fact("label " + key, value);
  if (details.accelerators != 0) fact("accelerators", ShowCount(details.accelerators));
  fact("orchestrator", details.orchestrator);
  fact("workload", details.workload.Text());
  fact("artifacts", details.artifacts);
  fact("error", details.error);
  for (const std::string& tool : details.tools) fact("tool", tool);
  for (const auto& [key, value] : details.software) fact("software " + key, value);
  for (const auto& [key, value] : details.system) fact("system " + key, value);
  fact("made by", found.creator());
  fact("made (UTC)", Time(found.create_time()));
  fact("changed (UTC)", Time(found.update_time()));
  fact("deleted (UTC)", Time(found.delete_time()));
  fact("etag", found.etag());
  if (!facts.empty()) out += "\n" + facts.Render(context.terminal);
  if (!shown.processes.empty()) out += "\n" + TextOf(shown.processes, context.terminal);
  *context.out << out;
  return OkStatus();
}

Status CreateServerRun(const Context& context, const Place& place, const std::string& name,
                       const RunChange& change) {
  v1::CreateRunRequest request;
  request.set_project(place.project);
  std::vector<std::string> paths;
  HEADWAY_RETURN_IF_ERROR(Fill(change, request.mutable_run(), &paths));
  request.mutable_run()->set_name(name);
  request.mutable_run()->set_uid(change.uid);
  request.set_request_id(change.request_id);
  v1::CreateRunResponse response;
  HEADWAY_RETURN_IF_ERROR(CallServer(place, "RunService.CreateRun", request, &response));
  if (place.json) {
    *context.out << JsonOf(response.run());
    return OkStatus();
  }
  // Alone on standard output: HEADWAY_RUN_UID=$(headway runs create ...).
  *context.out << response.run().uid() << "\n";
  Complain("run " + PrintableLine(response.run().label()) +
           (response.existed() ? " was there already" : " is made"));
  return OkStatus();
}

Status UpdateServerRun(const Context& context, const Place& place, const std::string& run,
                       const RunChange& change) {
  v1::UpdateRunRequest request;
  request.set_project(place.project);
  request.set_run(run);
  request.set_etag(change.etag);
  std::vector<std::string> paths;
  HEADWAY_RETURN_IF_ERROR(Fill(change, request.mutable_values(), &paths));
  if (paths.empty()) {
    return {Code::kInvalidArgument,
            "runs update needs to know what: --group, --label, --phase, ..."};
  }
  for (const std::string& path : paths) request.add_update_mask(path);
  v1::Run updated;
  HEADWAY_RETURN_IF_ERROR(CallServer(place, "RunService.UpdateRun", request, &updated));
  *context.out << (place.json ? JsonOf(updated)
                              : "run " + PrintableLine(updated.label()) + " is changed, etag " +
                                    updated.etag() + "\n");
  return OkStatus();
}

Status DeleteServerRun(const Context& context, const Place& place, const std::string& run,
                       bool force) {
  v1::DeleteRunRequest request;
  request.set_project(place.project);
  request.set_run(run);
  request.set_force(force);
  v1::DeleteRunResponse response;
  HEADWAY_RETURN_IF_ERROR(CallServer(place, "RunService.DeleteRun", request, &response));
  if (force) HEADWAY_RETURN_IF_ERROR(Await(context, place, response.operation()));
  if (place.json) {
    *context.out << JsonOf(response.run());
    return OkStatus();
  }
  *context.out << "run " << PrintableLine(response.run().name()) << ", " << response.run().uid()
               << (force ? ", is removed for ever\n"
                         : ", is deleted; headway runs undelete shows it again\n");
  return OkStatus();
}

Status UndeleteServerRun(const Context& context, const Place& place, const std::string& run) {
  v1::UndeleteRunRequest request;
  request.set_project(place.project);
  request.set_run(run);
  v1::Run shown;
  HEADWAY_RETURN_IF_ERROR(CallServer(place, "RunService.UndeleteRun", request, &shown));
  *context.out << (place.json ? JsonOf(shown)
                              : "run " + PrintableLine(shown.label()) + " is there again\n");
  return OkStatus();
}

namespace {

void WriteProject(const v1::Project& project, JsonWriter* json) {
  json->BeginObject().Field("name", project.name());
  WriteTime("create_time", project.create_time(), json);
  // Whoever may see one run only is not told.
  json->Key("runs");
  project.has_runs() ? json->Int(project.runs()) : json->Null();
  json->Key("stored_bytes");
  project.has_stored_bytes() ? json->Int(project.stored_bytes()) : json->Null();
  json->Field("quota_bytes", project.quota_bytes()).Field("retention_ns", project.retention_ns());
  json->Key("price_per_accelerator_hour");
  project.has_price() ? json->Double(project.price().per_accelerator_hour()) : json->Null();
  json->Key("currency");
  project.has_price() ? json->String(project.price().currency()) : json->Null();
  json->EndObject();
}

std::string ShowPrice(const v1::Price& price) {
  std::string number;
  JsonWriter(&number).Double(price.per_accelerator_hour());
  return number + " " + PrintableLine(price.currency());
}

void AddProject(const v1::Project& project, Table* table) {
  table->AddRow(
      {project.name(), project.has_runs() ? ShowCount(project.runs()) : "–",
       project.has_stored_bytes() ? ShowBytes(static_cast<std::uint64_t>(project.stored_bytes()))
                                  : "–",
       project.quota_bytes() == 0 ? "none"
                                  : ShowBytes(static_cast<std::uint64_t>(project.quota_bytes())),
       project.retention_ns() == 0 ? "for ever" : ShowDuration(project.retention_ns()),
       project.has_price() ? ShowPrice(project.price()) : "–"});
}

Table ProjectTable() {
  return Table({{"project"},
                {"runs", true},
                {"stored", true},
                {"quota", true},
                {"kept", true},
                {"accelerator hour", true, 1}});
}

}  // namespace

Status ListServerProjects(const Context& context, const Place& place) {
  v1::ListProjectsResponse response;
  HEADWAY_RETURN_IF_ERROR(
      CallServer(place, "ProjectService.ListProjects", v1::ListProjectsRequest(), &response));
  std::string text;
  JsonWriter json(&text, 1);
  json.BeginArray();
  Table table = ProjectTable();
  for (const v1::Project& project : response.projects()) {
    WriteProject(project, &json);
    AddProject(project, &table);
  }
  json.EndArray();
  if (place.json) {
    *context.out << text << "\n";
  } else if (response.projects().empty()) {
    *context.out << "no projects on " << place.server << "\n";
  } else {
    *context.out << table.Render(context.terminal);
  }
  return OkStatus();
}

Status PutServerProject(const Context& context, const Place& place, const std::string& project,
                        std::optional<std::int64_t> retention_ns, std::optional<double> price,
                        const std::string& currency, std::optional<std::int64_t> quota_bytes) {
  v1::PutProjectRequest request;
  request.set_project(project);
  if (retention_ns) request.set_retention_ns(*retention_ns);
  if (quota_bytes) request.set_quota_bytes(*quota_bytes);
  if (price) {
    request.mutable_price()->set_per_accelerator_hour(*price);
    request.mutable_price()->set_currency(currency);
  }
  v1::Project put;
  HEADWAY_RETURN_IF_ERROR(CallServer(place, "ProjectService.PutProject", request, &put));
  std::string text;
  JsonWriter json(&text, 1);
  WriteProject(put, &json);
  Table table = ProjectTable();
  AddProject(put, &table);
  *context.out << (place.json ? text + "\n" : table.Render(context.terminal));
  return OkStatus();
}

Status ListServerOperations(const Context& context, const Place& place) {
  v1::ListOperationsRequest request;
  request.set_project(place.project);
  v1::ListOperationsResponse response;
  HEADWAY_RETURN_IF_ERROR(CallServer(place, "OperationService.ListOperations", request, &response));
  if (place.json) {
    std::string text;
    JsonWriter json(&text, 1);
    json.BeginArray();
    for (const v1::Operation& operation : response.operations()) WriteOperation(operation, &json);
    json.EndArray();
    *context.out << text << "\n";
  } else if (response.operations().empty()) {
    *context.out << "no operations in project " << PrintableLine(place.project) << "\n";
  } else {
    *context.out << OperationTable({response.operations().begin(), response.operations().end()})
                        .Render(context.terminal);
  }
  return OkStatus();
}

Status DoServerOperation(const Context& context, const Place& place, const std::string& verb,
                         const std::string& id) {
  v1::Operation operation;
  if (verb == "Delete") {
    v1::DeleteOperationRequest request;
    request.set_project(place.project);
    request.set_id(id);
    v1::DeleteOperationResponse response;
    HEADWAY_RETURN_IF_ERROR(
        CallServer(place, "OperationService.DeleteOperation", request, &response));
    *context.out << (place.json ? "{}\n" : "operation " + PrintableLine(id) + " is forgotten\n");
    return OkStatus();
  }
  if (verb == "Cancel") {
    v1::CancelOperationRequest request;
    request.set_project(place.project);
    request.set_id(id);
    HEADWAY_RETURN_IF_ERROR(
        CallServer(place, "OperationService.CancelOperation", request, &operation));
  } else {
    v1::GetOperationRequest request;
    request.set_project(place.project);
    request.set_id(id);
    HEADWAY_RETURN_IF_ERROR(
        CallServer(place, "OperationService.GetOperation", request, &operation));
  }
  std::string text;
  JsonWriter json(&text, 1);
  WriteOperation(operation, &json);
  *context.out << (place.json ? text + "\n" : OperationTable({operation}).Render(context.terminal));
  return OkStatus();
}

#else

Status ListServerRuns(const Context&, const Place&, const ServerList&) { return NoServersBuilt(); }
Status ShowServerRun(const Context&, const Place&, const std::string&) { return NoServersBuilt(); }
Status CreateServerRun(const Context&, const Place&, const std::string&, const RunChange&) {
  return NoServersBuilt();
}
Status UpdateServerRun(const Context&, const Place&, const std::string&, const RunChange&) {
  return NoServersBuilt();
}
Status DeleteServerRun(const Context&, const Place&, const std::string&, bool) {
  return NoServersBuilt();
}
Status UndeleteServerRun(const Context&, const Place&, const std::string&) {
  return NoServersBuilt();
}
Status ListServerProjects(const Context&, const Place&) { return NoServersBuilt(); }
Status PutServerProject(const Context&, const Place&, const std::string&,
                        std::optional<std::int64_t>, std::optional<std::int64_t>) {
  return NoServersBuilt();
}
Status ListServerOperations(const Context&, const Place&) { return NoServersBuilt(); }
Status DoServerOperation(const Context&, const Place&, const std::string&, const std::string&) {
  return NoServersBuilt();
}

#endif

}  // namespace headway::cli
