#include <unistd.h>

#include <iterator>
#include <string>

#include "base/json_writer.h"
#include "base/time_format.h"
#include "cli/commands.h"
#include "cli/import_files.h"
#include "cli/place.h"
#include "cli/progress.h"
#include "cli/run_files.h"
#include "cli/server_runs.h"
#include "model/text.h"

namespace headway::cli {
namespace {

// The answer to a question on the terminal.
bool Confirmed(const std::string& question) {
  const std::string text = question + " [y/N] ";
  (void)!::write(STDERR_FILENO, text.data(), text.size());
  char answer[64];
  const ssize_t got = ::read(STDIN_FILENO, answer, sizeof answer);
  return got > 0 && (answer[0] == 'y' || answer[0] == 'Y');
}

std::string Json(const std::vector<RunFacts>& gone, std::int64_t kept, bool dry_run) {
  std::string out;
  JsonWriter json(&out, 1);
  std::uint64_t bytes = 0;
  json.BeginObject().Key("deleted").BeginArray();
  for (const RunFacts& facts : gone) {
    bytes += facts.bytes;
    json.BeginObject()
        .Field("run", facts.run.label)
        .Field("project", facts.run.project)
        .Field("uid", ToHex(facts.run.uid))
        .Field("journals", facts.run.journals.size())
        .Field("bytes", facts.bytes)
        .EndObject();
  }
  json.EndArray().Field("bytes", bytes).Field("kept", kept).Field("dry_run", dry_run).EndObject();
  return out + "\n";
}

std::string JournalsText(const RunFacts& facts) {
  const std::size_t count = facts.run.journals.size();
  return ShowCount(static_cast<std::int64_t>(count)) + (count == 1 ? " journal, " : " journals, ") +
         ShowBytes(facts.bytes);
}

class RunsDeleteCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "Deletes the journals of one run for good. Asks first; refuses while a process of the run "
        "is alive. Other runs of the same name stay. On a server (--server, which has to be said "
        "here) the run is hidden, with what it records from then on, and removed after thirty "
        "days; by force it is removed at once and for ever.");
    DescribeRun(description, &run_);
    description->Flag("-y,--yes", &yes_, "do not ask");
    description->Flag("--force", &force_, "remove it from the server for ever");
    DescribePlace(description, &place_);
    description->Option("--server", "URL", &place_.server, "delete it on a server instead");
    description->Example("headway runs delete llama-7b --yes", "deletes its newest run");
  }

  Result<int> Run(const Context& context) override {
    const WallNs now = SystemClock::WallNow();
    // HEADWAY_SERVER alone does not make a local deletion one of everybody's copy, or the reverse.
    if (!place_.server.empty()) {
      HEADWAY_RETURN_IF_ERROR(ResolveReceiver(&place_));
      HEADWAY_RETURN_IF_ERROR(MakeSure("run " + PrintableLine(run_) + " on " + place_.server +
                                       (force_ ? " for ever" : "")));
      HEADWAY_RETURN_IF_ERROR(DeleteServerRun(context, place_, run_, force_));
      return 0;
    }
    if (force_) {
      return Status(Code::kInvalidArgument, "--force removes a run from a server: --server URL");
    }
    const Result<runs::Run> run = FindRun(&place_, run_);
    if (!run.ok()) {
      // A call that can't work, or a run that is not there.
      const Code code = run.status().code();
      if (place_.dirs.empty() || code == Code::kNotFound) return run.status();
      return DeleteBroken(context, run.status(), now);
    }
    const Result<RunFacts> facts = LearnFacts(Whole(*run));
    if (!facts.ok()) return facts.status();
    if (const std::string why = WhyKept(*facts); !why.empty()) {
      return Status(Code::kFailedPrecondition, why);
    }
    HEADWAY_RETURN_IF_ERROR(MakeSure("run " + PrintableLine(run->label) + " (" +
                                     JournalsText(*facts) + ", started " + ShowTime(run->start) +
                                     " UTC)"));
    return Delete(context, *facts);
  }

 private:
  /// The run with those of its journals, too, that lie under other names.
  runs::Run Whole(const runs::Run& run) const {
    Result<std::vector<runs::Run>> all = runs::List(place_.dirs, place_.project);
    if (!all.ok()) return run;
    for (runs::Run& one : *all) {
      if (one.uid == run.uid) return std::move(one);
    }
    return run;
  }

  /// A run of which nothing can be read: what lies under its name goes.
  Result<int> DeleteBroken(const Context& context, const Status& why, WallNs now) {
    const Result<BrokenRun> broken = FindBroken(place_.dirs, place_.project, run_, now);
    if (!broken.ok()) return broken.status().code() == Code::kNotFound ? why : broken.status();
    RunFacts facts;
    facts.run.label = facts.run.name = run_;
    facts.run.project = place_.project;
    facts.run.journals = broken->files;
    facts.bytes = broken->bytes;
    HEADWAY_RETURN_IF_ERROR(MakeSure("run " + PrintableLine(run_) + " (" + JournalsText(facts) +
                                     ", of which none can be read)"));
    return Delete(context, facts);
  }

  Status MakeSure(const std::string& what) const {
    if (yes_) return OkStatus();
    if (::isatty(STDIN_FILENO) != 1) {
      return {Code::kInvalidArgument,
              "deleting needs a yes: give --yes, for there is no terminal to ask on"};
    }
    if (!Confirmed("delete " + what + "?")) return {Code::kCancelled, "nothing was deleted"};
    return OkStatus();
  }

  Result<int> Delete(const Context& context, const RunFacts& facts) const {
    std::vector<Status> problems;
    HEADWAY_RETURN_IF_ERROR(RemoveRun(facts.run, &problems));
    TellProblems(problems);
    if (place_.json) {
      *context.out << Json({facts}, 0, false);
    } else {
      *context.out << "deleted run " << PrintableLine(facts.run.label) << ": "
                   << JournalsText(facts) << "\n";
    }
    return 0;
  }

  std::string run_;
  bool yes_ = false;
  bool force_ = false;
  Place place_;
};

class RunsPruneCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "Deletes the journals of runs that have ended and whose last record is older than the "
        "given time; the age of an imported run counts from its import. Runs with a live process "
        "stay. "
        "One whose processes can't be seen from here, such as those of another machine, counts as "
        "ended when it has been silent for a day. What has still to be copied from this machine to "
        "a directory on a network stays, too.");
    Argument& older = description->Duration("--older-than", &older_than_, "how old, e.g. 30d");
    older.help += " (required)";
    description->Flag("--dry-run", &dry_run_, "only say what would be deleted");
    DescribePlace(description, &place_);
    description->Example("headway runs prune --older-than 30d --dry-run",
                         "what would go, and how much space it takes");
  }

  Result<int> Run(const Context& context) override {
    if (!older_than_) {
      return Status(Code::kInvalidArgument, "runs prune needs --older-than DUR, e.g. 30d");
    }
    HEADWAY_RETURN_IF_ERROR(ResolveToRead(&place_));
    std::vector<Status> problems;
    const Result<std::vector<runs::Run>> runs = runs::List(place_.dirs, place_.project, &problems);
    if (!runs.ok()) return runs.status();
    const WallNs now = SystemClock::WallNow();
    std::int64_t swept = 0;
    if (!dry_run_) {
      for (const std::string& dir : place_.dirs) swept += SweepStaging(dir, now);
    }
    std::vector<RunFacts> gone;
    std::int64_t kept = 0;
    Code failed = Code::kOk;
    Progress progress(context.error_terminal, "pruning");
    for (std::size_t i = 0; i < runs->size(); ++i) {
      progress.Update(static_cast<double>(i) / static_cast<double>(runs->size()));
      Result<RunFacts> facts = LearnFacts((*runs)[i]);
      if (!facts.ok()) {
        problems.push_back(facts.status());
        ++kept;
        continue;
      }
      if (!Prunable(*facts, now, *older_than_)) {
        ++kept;
        continue;
      }
      if (!facts->undelivered.empty()) {
        problems.push_back(
            {Code::kFailedPrecondition,
             "run " + PrintableLine(facts->run.label) + " stays: it has not been copied to " +
                 PrintableLine(facts->undelivered) +
                 " yet, which the next `headway run` here does; `headway runs delete` deletes it"});
        ++kept;
        continue;
      }
      if (!dry_run_) {
        if (const Status removed = RemoveRun((*runs)[i], &problems); !removed.ok()) {
          problems.push_back(removed);
          failed = removed.code();
          ++kept;
          continue;
        }
      }
      gone.push_back(*std::move(facts));
    }
    progress.Clear();
    TellProblems(problems);
    *context.out << (place_.json ? Json(gone, kept, dry_run_) : Text(gone, kept));
    if (swept > 0 && !place_.json) {
      *context.out << "removed what " << ShowCount(swept) << " interrupted "
                   << (swept == 1 ? "import" : "imports") << " left\n";
    }
    return ExitCode(failed);
  }

 private:
  std::string Text(const std::vector<RunFacts>& gone, std::int64_t kept) const {
    std::string out;
    std::uint64_t bytes = 0;
    const std::string verb = dry_run_ ? "would delete " : "deleted ";
    for (const RunFacts& facts : gone) {
      bytes += facts.bytes;
      out += verb + PrintableLine(facts.run.label) + ": " + JournalsText(facts) +
             (facts.imported ? ", imported " : ", ended ") + ShowTime(LastChange(facts)) + " UTC\n";
    }
    const auto count = static_cast<std::int64_t>(gone.size());
    return out + verb + ShowCount(count) + (count == 1 ? " run, " : " runs, ") + ShowBytes(bytes) +
           "; " + ShowCount(kept) + (kept == 1 ? " stays\n" : " stay\n");
  }

  std::optional<std::int64_t> older_than_;
  bool dry_run_ = false;
  Place place_;
};

}  // namespace

std::unique_ptr<Command> MakeRunsDelete() { return std::make_unique<RunsDeleteCommand>(); }
std::unique_ptr<Command> MakeRunsPrune() { return std::make_unique<RunsPruneCommand>(); }

}  // namespace headway::cli
