#include "cli/place.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/names.h"
#include "cli/progress.h"
#include "journal/placement.h"
#include "ledger/compat/report.h"
#include "model/text.h"
#include "recorder/environment.h"
#include "runs/question.h"

namespace headway::cli {
namespace {

constexpr std::size_t kProblemsShown = 10;
constexpr std::int64_t kRestartedNs = 60 * kNanosPerSecond;
constexpr int kLooks = 4;  // for a run that grows; then it is as it was
// The address of a share link says the server, and what stands in the place of a token.
void TakeLink(Place* place) {
  constexpr std::string_view kShare = "/share/";
  const std::size_t share = place->server.find(kShare);
  if (share == std::string::npos) return;
  place->token = place->server.substr(share + kShare.size());
  place->token.resize(std::min(place->token.find('#'), place->token.size()));
  place->server.resize(share);
}

// So that it is still found from another directory.
std::string Whole(const std::string& path) {
  if (path.empty()) return path;
  char* const whole = ::realpath(path.c_str(), nullptr);
  if (whole == nullptr) return path;
  std::string found = whole;
  std::free(whole);
  return found;
}

constexpr char kRunHelp[] = "a run's name, NAME@DATE of an older one, or its uid";

}  // namespace

void DescribePlace(Description* description, Place* place) {
  description
      ->Option("--dir", "DIR", &place->dirs,
               "data directory (HEADWAY_DIR, else ~/.headway); may be given several times, to read "
               "the journals of several nodes")
      .completion = Completion::kDirectory;
  description->Option("--project", "P", &place->project, "project (HEADWAY_PROJECT, else default)");
  description->Flag("--json", &place->json, "JSON instead of text");
}

void DescribeServer(Description* description, Place* place) {
  description->Option("--server", "URL", &place->server,
                      "ask a server (HEADWAY_SERVER), as whoever HEADWAY_TOKEN says, in place of "
                      "reading journals");
}

void DescribeRun(Description* description, std::string* run) {
  description->Positional("RUN", run, kRunHelp).completion = Completion::kRun;
}

void DescribeOptionalRun(Description* description, std::optional<std::string>* run) {
  std::string* const none = nullptr;
  Argument& added = description->Positional("RUN", none, kRunHelp);
  added.completion = Completion::kRun;
  added.required = false;
  added.set = [run](const std::string& text) -> Status {
    if (text.empty()) return {Code::kInvalidArgument, "RUN must not be empty"};
    *run = text;
    return OkStatus();
  };
}

Status CheckName(std::string_view what, std::string_view name) {
  if (name.empty()) return {Code::kInvalidArgument, std::string(what) + " must not be empty"};
  return CheckStoredName(what, name);
}

Status NoServersBuilt() {
  return {Code::kUnimplemented, "this headway was built without what speaks to servers"};
}

Status ResolveServer(Place* place) {
  if (!place->server.empty() && !place->dirs.empty()) {
    return {Code::kInvalidArgument, "--server and --dir are two places to read from: give one"};
  }
  if (!place->dirs.empty()) return OkStatus();
  return ResolveReceiver(place);
}

Status ResolveReceiver(Place* place) {
  const recorder::EnvMap env = recorder::ProcessEnvironment();
  const auto said = [&env](const std::string& name) {
    const auto found = env.find(name);
    return found == env.end() ? std::string() : found->second;
  };
  const std::string from = place->server.empty() ? "HEADWAY_SERVER" : "--server";
  if (place->server.empty()) place->server = said("HEADWAY_SERVER");
  if (place->server.empty()) return OkStatus();
  if (!place->server.starts_with("http://") && !place->server.starts_with("https://")) {
    return {Code::kInvalidArgument, from + " takes a URL, such as http://127.0.0.1:8460, not \"" +
                                        PrintableLine(place->server) + "\""};
  }
  place->token = said("HEADWAY_TOKEN");
  TakeLink(place);
  place->ca = Whole(said("HEADWAY_CA"));
  if (place->project.empty()) {
    const std::string project = recorder::DetectEnvironment(env).project;
    place->project = project.empty() ? "default" : project;
  }
  return CheckName("the project", place->project);
}

Status Resolve(Place* place) {
  const recorder::Environment env = recorder::DetectEnvironment(recorder::ProcessEnvironment());
  if (place->project.empty()) place->project = env.project.empty() ? "default" : env.project;
  HEADWAY_RETURN_IF_ERROR(CheckName("the project", place->project));
  if (place->dirs.empty()) {
    if (env.dir.empty()) {
      return {Code::kFailedPrecondition,
              "no data directory: give --dir or set HEADWAY_DIR, for there is no HOME"};
    }
    place->dirs.push_back(env.dir);
  }
  for (const std::string& dir : place->dirs) {
    if (dir.empty()) return {Code::kInvalidArgument, "--dir must not be empty"};
  }
  return OkStatus();
}

void TellProblems(const std::vector<Status>& problems) {
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (i == kProblemsShown) {
      Complain("warning: and " + std::to_string(problems.size() - i) + " more problems");
      return;
    }
    Complain("warning: " + problems[i].message());
  }
}

Status ResolveToRead(Place* place) {
  const bool asked = !place->dirs.empty();
  HEADWAY_RETURN_IF_ERROR(Resolve(place));
  for (const std::string& dir : place->dirs) {
    struct stat info;
    if (::stat(dir.c_str(), &info) != 0) {
      if (asked || errno != ENOENT) return ErrnoStatus(errno, "open data directory", dir);
    } else if (!S_ISDIR(info.st_mode)) {
      return {Code::kInvalidArgument, "the data directory " + dir + " is a file"};
    }
  }
  return OkStatus();
}

Result<runs::Run> FindRun(Place* place, const std::string& label) {
  HEADWAY_RETURN_IF_ERROR(ResolveToRead(place));
  std::vector<Status> problems;
  Result<runs::Run> run = runs::Find(
      place->dirs, place->project, label, &problems,
      journal::NodeLocalDirectory(
          recorder::RulesOf(recorder::DetectEnvironment(recorder::ProcessEnvironment()))));
  TellProblems(problems);
  return run;
}

Result<OpenRun> Open(const Context& context, Place* place, const std::string& label) {
  Result<runs::Run> run = FindRun(place, label);
  if (!run.ok()) return run.status();
  Progress progress(context.error_terminal, "reading " + PrintableLine(label));
  std::function<void(double)> update;
  if (context.error_terminal.interactive) {
    update = [&progress](double share) { progress.Update(share); };
  }
  Result<runs::Loaded> loaded = runs::Load(*run, update);
  // One that starts again begins a journal, which may have come while the others were read.
  const auto may_go_on = [&loaded] {
    return loaded.ok() &&
           (loaded->live || loaded->ledger.LastTime() > loaded->now.ns - kRestartedNs);
  };
  for (int i = 0; i < kLooks && may_go_on(); ++i) {
    Result<runs::Run> later = runs::Find(place->dirs, place->project, label);
    if (!later.ok() || later->journals.size() == run->journals.size()) break;
    run = std::move(later);
    loaded = runs::Load(*run, update);
  }
  progress.Clear();
  if (!loaded.ok()) return loaded.status();
  TellProblems(loaded->problems);
  return OpenRun{*std::move(run), *std::move(loaded)};
}

void DescribeTimes(Description* description, TimeOptions* times) {
  description->Option("--window", "A..B", &times->window,
                      "only this stretch of time; either end may be left out");
  description->Duration("--last", &times->last, "only the last part, e.g. 30m");
  description->Option("--as-of", "T", &times->as_of, "what was known at that time");
}

Status CheckTimes(const TimeOptions& times) {
  if (times.window.empty() || times.window.find("..") != std::string::npos) return OkStatus();
  return {Code::kInvalidArgument,
          "--window takes A..B, e.g. +1h..+2h or "
          "2026-01-01T00:00:00Z..2026-01-02T00:00:00Z, not \"" +
              times.window + "\""};
}

Result<ledger::Query> MakeQuery(const TimeOptions& times, OpenRun* open) {
  HEADWAY_RETURN_IF_ERROR(CheckTimes(times));
  runs::Question question;
  question.as_of_name = "--as-of";
  question.window_name = "--window";
  question.last_name = "--last";
  if (!times.as_of.empty()) question.as_of = times.as_of;
  question.last_ns = times.last;
  if (!times.window.empty()) {
    const std::size_t dots = times.window.find("..");
    question.from = times.window.substr(0, dots);
    question.to = times.window.substr(dots + 2);
  }
  return runs::MakeQuery(question, &open->loaded.ledger, open->loaded.now);
}

Report MakeReport(OpenRun* open, const ledger::Query& query) {
  Report report = open->loaded.ledger.MakeReport(query);
  report.run = open->run.label;
  report.project = open->run.project;
  return report;
}

Result<Report> MakeCompatReport(OpenRun* open, const ledger::Query& query) {
  Result<Report> report = compat::MakeReport(&open->loaded.ledger, query);
  if (!report.ok()) return report;
  report->run = open->run.label;
  report->project = open->run.project;
  return report;
}

}  // namespace headway::cli
