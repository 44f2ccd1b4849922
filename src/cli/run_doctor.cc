#include "cli/run_doctor.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/names.h"
#include "journal/directory.h"
#include "journal/placement.h"
#include "model/text.h"
#include "monitor/deferred_sink.h"

namespace headway::cli {
namespace {

using monitor::DestinationKind;
using monitor::DestinationState;
using monitor::FoundState;
using monitor::State;

constexpr char kRecords[] = "records";
constexpr char kValues[] = "values";
constexpr char kCheckpoints[] = "checkpoints";
constexpr char kMetrics[] = "metrics";
constexpr char kCloud[] = "cloud_metrics";

constexpr char kRecordOnProcess0[] =
    "let process 0 record: GoodputRecorder(job, logger, logging_enabled=process_index == 0), "
    "headway.init() without HEADWAY_DISABLED=1. With logging_enabled=False in process 0 it says so "
    "once at INFO";

constexpr std::size_t kNamesShown = 4;

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string ValueOf(const recorder::EnvMap& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string() : found->second;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i == kNamesShown) return text + " and " + std::to_string(words.size() - i) + " more";
    text += (i == 0 ? "" : ", ") + words[i];
  }
  return text;
}

std::string Times(std::int64_t count, const std::string& word) {
  return ShowCount(count) + " " + word + (count == 1 ? "" : "s");
}

// 1: are there records?

// What in this environment may be why nothing is recorded.
void AddSwitches(const recorder::EnvMap& variables, std::vector<Check>* checks) {
  if (ValueOf(variables, "HEADWAY_DISABLED") == "1") {
    checks->push_back({kRecords, Verdict::kProblem,
                       "HEADWAY_DISABLED=1 in this environment: nothing is recorded",
                       "unset HEADWAY_DISABLED"});
  }
  if (ValueOf(variables, "HEADWAY_BACKEND") == "cloud-logging") {
    checks->push_back({kRecords, Verdict::kProblem,
                       "HEADWAY_BACKEND=cloud-logging in this environment: the drop-in writes to "
                       "the cloud log only",
                       "HEADWAY_BACKEND=both, or unset it"});
  }
}

std::vector<Check> JudgeMissing(const RunEvidence& evidence, const recorder::EnvMap& variables) {
  std::vector<Check> checks;
  if (evidence.found.code() != Code::kNotFound) {
    // It was recorded, and says so itself.
    checks.push_back({kRecords, Verdict::kProblem, evidence.found.message(),
                      evidence.found.code() == Code::kDataLoss
                          ? "put a whole copy of the file in its place; without one, move the file "
                            "away: the other journals can be read"
                          : "let this user read the directory and the files in it"});
    return checks;
  }
  AddSwitches(variables, &checks);
  for (const RunEvidence::Place& place : evidence.elsewhere) {
    checks.push_back({kRecords, Verdict::kProblem,
                      "a run of that name lies in " + place.dir + ", project " + place.project,
                      "headway doctor " + ShellWord(evidence.label) + " --dir " +
                          ShellWord(place.dir) + " --project " + ShellWord(place.project) +
                          "; to record and look in one place, set HEADWAY_DIR and "
                          "HEADWAY_PROJECT alike in both"});
  }
  std::string remedy = kRecordOnProcess0;
  if (!evidence.nearest.empty()) remedy = "did you mean " + evidence.nearest + "? Else " + remedy;
  checks.push_back({kRecords, Verdict::kProblem, evidence.found.message(), remedy});
  if (!evidence.monitors.empty()) {
    const State& state = evidence.monitors.front().state;
    checks.push_back({kRecords, Verdict::kProblem,
                      "a monitor of that name ran (since " + ShowTime(state.started.ns) +
                          " UTC), but no process recorded",
                      "monitoring was enabled where recording was not: see above"});
  }
  return checks;
}

Check JudgeRanks(const RunEvidence& evidence) {
  std::set<std::int64_t> ranks;
  bool recorded = false;
  bool supervised = false;
  for (const journal::JournalFile& file : evidence.run.journals) {
    const journal::Header& header = file.header;
    supervised |= header.origin == journal::Origin::kSupervisor || header.import_supervisor;
    if (header.origin == journal::Origin::kSupervisor || header.import_supervisor) continue;
    recorded = true;
    ranks.insert(header.rank);
  }
  if (!recorded && supervised) {
    return {kRecords, Verdict::kProblem,
            "only headway run recorded; the program that it started did not", kRecordOnProcess0};
  }
  if (evidence.records == 0) {
    return {kRecords, Verdict::kProblem, "there are journals, but no record in them",
            kRecordOnProcess0};
  }
  const bool lead = ranks.empty() || ranks.contains(0) || ranks.contains(-1);
  if (!lead) {
    std::vector<std::string> names;
    for (const std::int64_t rank : ranks) names.push_back(std::to_string(rank));
    return {kRecords, Verdict::kProblem,
            "no process with rank 0 has recorded, only rank " + Joined(names) +
                ": the lowest stands for the job",
            std::string(kRecordOnProcess0) +
                "; if it does, its journals lie on another machine: add them with --dir"};
  }
  if (evidence.report.steps.count == 0 && !evidence.report.steps.last_step) {
    return {kRecords, Verdict::kWarning,
            ShowCount(static_cast<std::int64_t>(evidence.records)) + " records, but of no step",
            "record steps: run.step(n), or record_step_start_time(n)"};
  }
  return {kRecords,
          Verdict::kGood,
          ShowCount(static_cast<std::int64_t>(evidence.records)) + " records, the last step is " +
              ShowCount(evidence.report.steps.last_step) + ", the run is " +
              std::string(RunStateName(evidence.report.state)),
          {}};
}

// 2: are they of one job?

std::vector<Check> JudgeValues(const RunEvidence& evidence) {
  std::vector<Check> checks;
  if (evidence.namesakes.size() > 1) {
    checks.push_back({kValues, Verdict::kWarning,
                      "the name was used for " +
                          ShowCount(static_cast<std::int64_t>(evidence.namesakes.size())) +
                          " runs: " + Joined(evidence.namesakes) + "; these are the numbers of " +
                          evidence.run.label,
                      "give each job a name of its own: Cloud Monitoring and a TensorBoard "
                      "directory take all runs of a name for one"});
  }
  std::set<std::string> jobs;
  for (const journal::JournalFile& file : evidence.run.journals) {
    if (!file.header.job_id.empty()) jobs.insert(file.header.job_id);
  }
  if (jobs.size() > 1) {
    checks.push_back({kValues, Verdict::kWarning,
                      "the attempts of this run belong to different jobs: " +
                          Joined(std::vector<std::string>(jobs.begin(), jobs.end())) +
                          "; the time between them counts as lost",
                      "if they should not be one run: a name of its own for each, or "
                      "HEADWAY_RESUME=never"});
  }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kNotes = {{
      {"run_name_reused", "give each job a name of its own"},
      {"several_leads", "let only process 0 record as the lead, or set HEADWAY_RANK in each"},
      {"step_reset", "go on with the step number after a restore, or give the job a new name"},
      {"clock_overlap", "two jobs may be recording under this name at once: rename one"},
  }};
  for (const ReportNote& note : evidence.report.notes) {
    for (const auto& [code, remedy] : kNotes) {
      if (note.code != code) continue;
      checks.push_back(
          {kValues, Verdict::kWarning, note.code + ": " + note.message, std::string(remedy)});
    }
  }
  if (checks.empty()) {
    checks.push_back(
        {kValues,
         Verdict::kGood,
         "one run has this name, recorded by one job in " +
             Times(static_cast<std::int64_t>(evidence.report.attempts.size()), "attempt"),
         {}});
  }
  return checks;
}

// 3: is there time of checkpoints?

Check JudgeCheckpoints(const RunEvidence& evidence, const recorder::EnvMap& variables) {
  const Report& report = evidence.report;
  const std::int64_t spent_ns =
      report.Ns(Category::kCheckpointSave) + report.Ns(Category::kCheckpointRestore);
  const std::string recorded =
      Times(evidence.saves, "save") + " and " + Times(evidence.restores, "restore");
  if (evidence.saves + evidence.restores > 0) {
    if (spent_ns > 0) {
      return {kCheckpoints, Verdict::kGood, recorded + " took " + ShowDuration(spent_ns), {}};
    }
    return {kCheckpoints, Verdict::kNote,
            recorded + " were recorded, but none took time from the training",
            "saves by a thread that takes no steps count as overlapped: docs/checkpoints.md"};
  }
  if (report.steps.count == 0 && !report.steps.last_step) {
    return {kCheckpoints, Verdict::kNote, "no step was recorded, and no checkpoint", ""};
  }
  const bool off = ValueOf(variables, "HEADWAY_ORBAX") == "0";
  return {kCheckpoints, Verdict::kWarning,
          std::string("steps were recorded, but no save and no restore: neither Orbax's nor spans "
                      "of the program") +
              (off ? "; HEADWAY_ORBAX=0 in this environment" : ""),
          std::string(off ? "unset HEADWAY_ORBAX; " : "") +
              "saves of Orbax are seen in the process that records, from its first record to the "
              "job's end; of others say run.checkpoint_save(step), or wrap torch.save "
              "(docs/checkpoints.md)"};
}

// 4 and 5: what have the monitors told?

bool IsCloudMonitoring(const DestinationState& one) {
  return one.kind == DestinationKind::kCloudMonitoring;
}

// The project in "Cloud Monitoring of project P, workload …", or "the log … in Cloud Logging of
// project P": names of runs and of logs are anybody's, projects have no comma.
std::string ProjectOf(const DestinationState& one) {
  constexpr std::string_view kBefore = " of project ";
  const std::string& text = one.destination;
  const std::size_t at = IsCloudMonitoring(one) ? text.find(kBefore) : text.rfind(kBefore);
  if (at == std::string::npos) return "PROJECT";
  const std::size_t begin = at + kBefore.size();
  return text.substr(begin, text.find(',', begin) - begin);
}

std::string Grant(const DestinationState& one, const std::string& role, const std::string& has) {
  return "grant the account the role " + role + " (" + has + "): gcloud projects " +
         "add-iam-policy-binding " + ProjectOf(one) +
         " --member=serviceAccount:ACCOUNT --role=" + role;
}

// Whether a file could not be written for want of room: one of the destination's, or one that
// keeps what is to be sent.
bool IsOfFullDisk(const DestinationState& one) {
  const std::error_category& errors = std::generic_category();
  return one.code == Code::kResourceExhausted &&
         (Has(one.error, errors.message(ENOSPC)) || Has(one.error, errors.message(EDQUOT)));
}

// What to do about the error of a destination.
std::string RemedyOf(const DestinationState& one) {
  const std::string& words = one.error;
  const bool metrics = IsCloudMonitoring(one);
  const bool logging = one.kind == DestinationKind::kCloudLogging;
  if (Has(words, "it is disabled") || Has(words, "SERVICE_DISABLED")) {
    return std::string("gcloud services enable ") + (logging ? "logging" : "monitoring") +
           ".googleapis.com --project " + ProjectOf(one);
  }
  if (IsOfFullDisk(one)) {
    return one.kind == DestinationKind::kFile
               ? "make room on the disk that the message names, or choose another place; samples "
                 "are kept for a while, and written once there is room"
               : "make room on the disk of the data directory (HEADWAY_DIR): what is to be sent is "
                 "kept there first";
  }
  if (Has(words, " answers 429") || Has(words, "Quota exceeded")) {
    return "raise the quota of the service, or upload less often (upload_interval, --every); what "
           "waits is sent when it can";
  }
  if (one.code == Code::kUnauthenticated || Has(words, " answers 401")) {
    return "give the monitor credentials that are valid: GOOGLE_APPLICATION_CREDENTIALS, gcloud "
           "auth application-default login, or a service account of the machine "
           "(docs/monitor-google.md)";
  }
  if (one.code == Code::kPermissionDenied) {
    if (metrics) {
      return Grant(one, "roles/monitoring.metricWriter",
                   "it has monitoring.timeSeries.create and monitoring.metricDescriptors.create");
    }
    if (logging) return Grant(one, "roles/logging.logWriter", "it has logging.logEntries.create");
    if (one.kind == DestinationKind::kGoogleStorage) {
      return Grant(one, "roles/storage.objectUser", "it has storage.objects.create");
    }
    if (one.kind == DestinationKind::kS3)
      return "allow the account s3:PutObject and s3:GetObject there";
    return "let the user of the training write there, or choose another place";
  }
  const bool here = one.kind == DestinationKind::kFile || one.kind == DestinationKind::kPrometheus;
  if (!here && one.code == Code::kUnavailable) {
    return "what waits is sent when the service can be reached: look at the network, at "
           "https_proxy, and at what the message names";
  }
  if (one.rejected_points > 0) {
    return "the log of the collector says why; what was rejected is not sent again";
  }
  if (metrics) {
    return "correct the project and the location: GCPOptions(project_id=, location=), "
           "--cloud-project, --cloud-location";
  }
  if (logging) return "correct the project: GCPOptions(project_id=), --cloud-project";
  return "mend what the message names, or choose another destination";
}

std::string KindOf(const State& state) {
  std::string words;
  for (const std::string& one : state.tells) {
    words += (words.empty() ? "" : " and ") + (one == "step_deviations" ? "step deviations" : one);
  }
  return words.empty() ? "numbers" : words;
}

// The newest monitor of each kind: a job has one for goodput, one for windows, one for deviations.
std::vector<const FoundState*> Newest(const std::vector<FoundState>& monitors) {
  std::vector<const FoundState*> newest;
  std::set<std::vector<std::string>> seen;
  for (const FoundState& one : monitors) {
    if (seen.insert(one.state.tells).second) newest.push_back(&one);
  }
  return newest;
}

Check JudgeDestination(const char* name, const State& state, const DestinationState& one) {
  const std::string what = KindOf(state) + " to " + one.destination;
  if (one.code == Code::kAlreadyExists && IsCloudMonitoring(one)) {
    return {name, Verdict::kNote, what + ": " + one.error,
            "nothing, if that is meant; else end one of the two: the service takes a series from "
            "one writer"};
  }
  if (!one.error.empty()) {
    return {name, Verdict::kProblem,
            what + ": " + one.error +
                (one.failed ? " (since " + ShowTime(one.failed->ns) + " UTC)" : ""),
            RemedyOf(one)};
  }
  if (state.ended && one.samples > 0 && !one.delivered) {
    return {name, Verdict::kProblem, what + ": nothing had arrived when the monitor ended",
            "give it more time at the end: final_flush_timeout_seconds, --final"};
  }
  if (one.missed > 0) {
    return {name, Verdict::kWarning,
            what + ": " + Times(one.missed, "sample") + " were left out, for it is too slow",
            "tell it less often: --every, upload_interval"};
  }
  if (one.rejected_points > 0) {
    return {name, Verdict::kWarning,
            what + ": " + Times(one.rejected_points, "data point") +
                " of requests that it took were rejected",
            "the log of the collector says why; what was rejected is not sent again"};
  }
  if (one.samples == 0) {
    return {name, Verdict::kNote, what + ": nothing has been told yet",
            "the first values come after the first interval"};
  }
  if (!one.delivered) {
    return {name, Verdict::kNote, what + ": nothing has arrived yet",
            "look again after the next interval"};
  }
  return {name,
          Verdict::kGood,
          what + ": " + Times(one.samples, "sample") + ", the last at " +
              ShowTime(one.delivered->ns) + " UTC",
          {}};
}

void JudgeLife(const FoundState& found, const RunEvidence& evidence, std::vector<Check>* checks) {
  const State& state = found.state;
  const std::string who = "the monitor of " + KindOf(state) + " (process " +
                          std::to_string(state.process.pid) + ", started " +
                          ShowTime(state.started.ns) + " UTC)";
  if (!state.problem.empty()) {
    checks->push_back(
        {kMetrics, Verdict::kProblem, who + " could tell nothing: " + state.problem,
         state.destinations.empty() ? "correct how it is started" : "see records, above"});
  }
  if (!state.ended && found.liveness == Liveness::kDead) {
    checks->push_back({kMetrics, Verdict::kProblem,
                       who + " was killed: it ended without its final values",
                       "start it again: headway monitor, or the uploader of the drop-in; see the "
                       "system's log for why (out of memory?)"});
  } else if (state.ended && evidence.live && evidence.report.state == RunState::kRunning) {
    checks->push_back({kMetrics, Verdict::kWarning,
                       who + " ended at " + ShowTime(state.ended->ns) + " UTC, but the run goes on",
                       "stop uploaders after the training, and start them again after a restart"});
  }
}

// What nobody tells, which may be as it is meant.
void JudgeGaps(const std::vector<const FoundState*>& newest, std::vector<Check>* checks) {
  std::set<std::string> told;
  std::set<std::string> left_out;
  for (const FoundState* one : newest) {
    told.insert(one->state.tells.begin(), one->state.tells.end());
    left_out.insert(one->state.left_out.begin(), one->state.left_out.end());
  }
  constexpr std::array<std::array<std::string_view, 3>, 3> kStreams = {{
      {"goodput", "goodput of the whole run", "start_goodput_uploader(), no --windows-only"},
      {"step_deviations", "step deviations",
       "include_step_deviation=True and start_step_deviation_uploader(), --step-deviation"},
      {"windows", "goodput of rolling windows",
       "start_rolling_window_goodput_uploader([SECONDS]), --window DUR"},
  }};
  for (const auto& [code, words, remedy] : kStreams) {
    if (told.contains(std::string(code))) continue;
    checks->push_back({kMetrics, Verdict::kNote, "no monitor tells the " + std::string(words),
                       std::string(remedy)});
  }
  if (left_out.contains("badput_breakdown")) {
    checks->push_back({kMetrics, Verdict::kNote, "badput is not told by kind in TensorBoard",
                       "GoodputMonitor(include_badput_breakdown=True)"});
  }
}

std::vector<Check> JudgeMetrics(const RunEvidence& evidence) {
  std::vector<Check> checks;
  for (const Status& status : evidence.unread_states) {
    checks.push_back({kMetrics, Verdict::kWarning, status.message(), "remove the file"});
  }
  const std::vector<const FoundState*> newest = Newest(evidence.monitors);
  if (newest.empty()) {
    checks.push_back(
        {kMetrics, Verdict::kNote, "no monitor of this run has ever started here",
         "GoodputMonitor(monitoring_enabled=True) in process 0 and its start_…_uploader(), or "
         "headway monitor; when it is disabled in process 0 it says so once at INFO"});
    return checks;
  }
  for (const FoundState* found : newest) {
    JudgeLife(*found, evidence, &checks);
    const std::string kind = KindOf(found->state);
    bool any = false;
    for (const DestinationState& one : found->state.destinations) {
      any |= !IsCloudMonitoring(one);
      if (!IsCloudMonitoring(one)) checks.push_back(JudgeDestination(kMetrics, found->state, one));
    }
    if (!any && found->state.destinations.empty() && found->state.problem.empty()) {
      checks.push_back({kMetrics, Verdict::kWarning, kind + " had nowhere to go",
                        "GoodputMonitor(tensorboard_dir=…), headway monitor --tensorboard DIR"});
    }
  }
  JudgeGaps(newest, &checks);
  return checks;
}

std::vector<Check> JudgeCloud(const RunEvidence& evidence) {
  std::vector<Check> checks;
  const std::vector<const FoundState*> newest = Newest(evidence.monitors);
  if (newest.empty()) {
    checks.push_back({kCloud, Verdict::kNote,
                      "nothing was sent to Cloud Monitoring: no monitor has started", ""});
    return checks;
  }
  for (const FoundState* found : newest) {
    const State& state = found->state;
    const std::string kind = KindOf(state);
    for (const std::string& code : state.left_out) {
      if (!code.starts_with("gcp_")) continue;
      checks.push_back({kCloud, Verdict::kNote,
                        "not sent to Cloud Monitoring: " + kind + "; enable_" + code + " is off",
                        "GCPOptions(enable_" + code + "=True)"});
    }
    for (const DestinationState& one : state.destinations) {
      if (!IsCloudMonitoring(one)) continue;
      if (one.destination.ends_with(monitor::DeferredSink::kOff)) {
        checks.push_back({kCloud, Verdict::kNote,
                          "not sent to Cloud Monitoring: " + kind +
                              "; this is no machine on Google Cloud, and no project and location "
                              "are named",
                          "GCPOptions(project_id=…, location=…), and credentials "
                          "(docs/monitor-google.md)"});
        continue;
      }
      checks.push_back(JudgeDestination(kCloud, state, one));
    }
  }
  if (checks.empty()) {
    checks.push_back({kCloud, Verdict::kNote,
                      "no monitor of this run was asked to send to Cloud Monitoring",
                      "headway monitor --cloud-monitoring; in the drop-in "
                      "GCPOptions(enable_gcp_goodput_metrics=True)"});
  }
  return checks;
}

// Places that have a run of the name, but for the one that was looked at.
std::vector<RunEvidence::Place> LookElsewhere(const RunEvidence& evidence,
                                              const recorder::Environment& env,
                                              const std::string& home) {
  std::vector<std::string> dirs = evidence.dirs;
  dirs.push_back(env.dir);
  if (!home.empty()) dirs.push_back(home + "/.headway");
  dirs.push_back(journal::NodeLocalDirectory(recorder::RulesOf(env)));
  std::vector<RunEvidence::Place> places;
  std::set<std::string> seen;
  for (const std::string& dir : dirs) {
    std::error_code error;
    const std::string real = std::filesystem::weakly_canonical(dir, error).string();
    if (dir.empty() || !seen.insert(error ? dir : real).second) continue;
    const Result<std::vector<std::string>> projects = journal::ListProjects(dir);
    if (!projects.ok()) continue;
    for (const std::string& project : *projects) {
      const auto journals = journal::ListJournals(dir, project, evidence.label);
      if (journals.ok() && !journals->empty()) places.push_back({dir, project});
    }
  }
  return places;
}

}  // namespace

RunEvidence GatherEvidence(const std::string& label, const std::string& project,
                           const std::vector<std::string>& dirs,
                           const recorder::EnvMap& variables) {
  RunEvidence evidence;
  evidence.label = label;
  evidence.project = project;
  evidence.dirs = dirs;
  const recorder::Environment env = recorder::DetectEnvironment(variables);
  Result<runs::Run> run = runs::Find(dirs, project, label);
  std::string name = label;
  if (run.ok()) {
    evidence.run = *std::move(run);
    name = evidence.run.name;
  } else {
    evidence.found = run.status();
    evidence.elsewhere = LookElsewhere(evidence, env, ValueOf(variables, "HOME"));
  }
  std::vector<std::string> names;
  if (const auto all = runs::List(dirs, project); all.ok()) {
    for (const runs::Run& one : *all) {
      names.push_back(one.name);
      if (one.name == name) evidence.namesakes.push_back(one.label);
    }
  }
  if (!evidence.found.ok()) evidence.nearest = Closest(label, names);
  for (const std::string& dir : dirs) {
    for (FoundState& state : monitor::ReadStates(monitor::StateDirectory(dir, project, name),
                                                 &evidence.unread_states)) {
      evidence.monitors.push_back(std::move(state));
    }
  }
  if (!evidence.found.ok()) return evidence;
  Result<runs::Loaded> loaded = runs::Load(evidence.run);
  if (!loaded.ok()) {
    evidence.read = loaded.status();
    return evidence;
  }
  evidence.live = loaded->live;
  evidence.records = loaded->records;
  evidence.report = loaded->ledger.MakeReport({.as_of = {}, .window = {}, .now = loaded->now.ns});
  loaded->ledger.VisitLeads([&evidence](const Record& record) {
    if (record.type == RecordType::kCheckpointSaved) ++evidence.saves;
    if (record.type != RecordType::kSpanBegin) return;
    evidence.saves += record.span == SpanKind::kCheckpointSave ? 1 : 0;
    evidence.restores += record.span == SpanKind::kCheckpointRestore ? 1 : 0;
  });
  return evidence;
}

std::vector<Check> JudgeRun(const RunEvidence& evidence, const recorder::EnvMap& variables) {
  std::vector<Check> checks;
  const auto take = [&checks](std::vector<Check> more) {
    std::move(more.begin(), more.end(), std::back_inserter(checks));
  };
  if (!evidence.found.ok()) {
    take(JudgeMissing(evidence, variables));
  } else if (!evidence.read.ok()) {
    checks.push_back({kRecords, Verdict::kProblem, evidence.read.message(),
                      "headway runs show " + ShellWord(evidence.label)});
  } else {
    checks.push_back(JudgeRanks(evidence));
    take(JudgeValues(evidence));
    checks.push_back(JudgeCheckpoints(evidence, variables));
  }
  take(JudgeMetrics(evidence));
  take(JudgeCloud(evidence));
  return checks;
}

}  // namespace headway::cli
