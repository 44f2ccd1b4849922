#include <algorithm>

#include "base/names.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/place.h"
#include "cli/supervisor.h"
#include "model/text.h"

namespace headway::cli {
namespace {

class RunCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "The command's records and the supervisor's meet in one run: each start is an attempt, and "
        "its exit status or signal is noted even when it recorded nothing itself. Standard input "
        "and output are the command's own; the last 64 KiB of standard error are kept, with what "
        "looks like a secret masked.\n"
        "After a non-zero exit status or a signal the command is started again after a pause (1 s, "
        "doubling to 30 s); never after a clean end, and never after this program was told to "
        "stop. SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on. It ends with "
        "the exit status of the last attempt, 128 + N after signal N.\n"
        "Each second the disk is asked to keep the journals of the run on this machine. Where the "
        "data directory is on a network they are written to this machine first, and copied there "
        "each second and at the end, as is what earlier runs have left. Small processes of their "
        "own do that, so that a dead disk or file server holds up nothing else.");
    description->Option("--run", "RUN", &run_,
                        "the run's name (HEADWAY_RUN, else the job's name, else default)");
    description->Count("--restarts", "N", 0, &restarts_, "how often to start it again (0)");
    description->Flag("--no-stderr-tail", &no_stderr_tail_,
                      "keep nothing of standard error, which then is the command's own too");
    description->Option("--mask", "REGEX", &masks_,
                        "mask what this extended regular expression matches; may be repeated");
    description->Duration("--grace", &grace_,
                          "how long it may take to stop before it is killed (30s)");
    description->Duration("--backoff", &backoff_, "the pause before the first restart (1s)");
    description->Duration("--sync", &sync_,
                          "how often the disk is asked to keep the journals; 0s: never (1s)");
    description->Duration(
        "--settle", &settle_,
        "how long masking, the last sync and the last copy may hold up the end (10s)");
    description->Flag("-q,--quiet", &quiet_, "do not say at the end where the report is");
    description->Option("--dir", "DIR", &dir_, "data directory (HEADWAY_DIR, else ~/.headway)")
        .completion = Completion::kDirectory;
    description->Option("--project", "P", &project_, "project (HEADWAY_PROJECT, else default)");
    description->Option("--server", "URL", &server_,
                        "send the journals there while they are written (HEADWAY_SERVER), as "
                        "whoever HEADWAY_TOKEN says");
    description->CommandLine("COMMAND...", &command_, "what to run, with its arguments");
    description->Example("headway run --run llama-7b --restarts 10 -- python train.py",
                         "trains, and goes on after up to ten crashes");
  }

  Result<int> Run(const Context& context) override {
    if (command_.empty() || command_.front().empty()) {
      return Status(Code::kInvalidArgument,
                    "run needs a command: headway run [OPTIONS] -- COMMAND...");
    }
    const Result<Masker> masker = Masker::Make(masks_);
    if (!masker.ok()) {
      return Status(masker.status().code(), "--mask: " + masker.status().message());
    }
    SupervisorOptions options;
    options.environment = recorder::ProcessEnvironment();
    const recorder::Environment env = recorder::DetectEnvironment(options.environment);
    HEADWAY_RETURN_IF_ERROR(CheckNewName("the project", project_));
    HEADWAY_RETURN_IF_ERROR(CheckNewName("the run's name", run_));
    Result<SupervisedRun> run = ChooseSupervisedRun(env, dir_, project_, run_);
    if (!run.ok()) {
      // What the environment says is no reason not to train.
      Complain("warning: nothing is recorded: " + run.status().message());
      run = SupervisedRun();
      run->recorded = false;
      run->index_base = std::max<std::int64_t>(0, env.attempt_index);
    }
    if (run->recorded) TellStrangers(env);
    options.run = *run;
    Place place = {.dirs = {}, .server = server_, .token = {}, .ca = {}, .project = run->project};
    if (const Status status = ResolveReceiver(&place); !status.ok()) {
      if (!server_.empty()) return status;
      // What the environment says is no reason not to train.
      Complain("warning: HEADWAY_SERVER: " + status.message() + "; nothing is sent");
      place.server.clear();
    }
    if (!run->nested) options.run.server = place.server;  // else one further out sends them
    options.run.token = place.token;
    options.run.ca = place.ca;
    options.command = command_;
    options.restarts = restarts_.value_or(options.restarts);
    options.grace_ns = grace_.value_or(options.grace_ns);
    options.backoff_ns = backoff_.value_or(options.backoff_ns);
    options.sync_ns = sync_.value_or(options.sync_ns);
    options.settle_ns = settle_.value_or(options.settle_ns);
    options.keep_stderr = !no_stderr_tail_ && run->recorded && !run->nested;
    if (!quiet_ && run->rank <= 0) {
      if (run->nested) {
        Complain("this is part of run " + PrintableLine(run->run) +
                 ", whose supervisor records its attempts");
      } else {
        options.last_words = WhereTheReportIs(*run);
      }
    }
    HEADWAY_RETURN_IF_ERROR(context.out->Flush());
    return Supervise(options, *masker);
  }

 private:
  /// Ranks that nothing tells to belong together make runs of their own.
  static void TellStrangers(const recorder::Environment& env) {
    if (env.world_size <= 1 || env.rank > 0 || !env.job_id.empty() || !env.run_uid.empty()) return;
    Complain("warning: there are " + std::to_string(env.world_size) +
             " ranks and no job id: each rank under headway run makes a run of its own; set "
             "HEADWAY_JOB_ID and HEADWAY_ATTEMPT_KEY to the same in all of them");
  }

  std::string WhereTheReportIs(const SupervisedRun& run) const {
    std::string command = "headway goodput " + ShellWord(run.run);
    if (!project_.empty()) command += " --project " + ShellWord(run.project);
    if (!dir_.empty()) command += " --dir " + ShellWord(run.dir);
    return "recorded as run " + PrintableLine(run.run) + "; its report: " + command;
  }

  std::string run_;
  std::optional<std::int64_t> restarts_;
  bool no_stderr_tail_ = false;
  bool quiet_ = false;
  std::vector<std::string> masks_;
  std::optional<std::int64_t> grace_;
  std::optional<std::int64_t> backoff_;
  std::optional<std::int64_t> sync_;
  std::optional<std::int64_t> settle_;
  std::string dir_;
  std::string project_;
  std::string server_;
  std::vector<std::string> command_;
};

}  // namespace

std::unique_ptr<Command> MakeRun() { return std::make_unique<RunCommand>(); }

}  // namespace headway::cli
