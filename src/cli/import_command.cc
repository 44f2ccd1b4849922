#include <algorithm>
#include <map>
#include <utility>

#include "base/json_writer.h"
#include "base/limits.h"
#include "base/names.h"
#include "cli/commands.h"
#include "cli/import_cloud_log.h"
#include "cli/import_events.h"
#include "cli/import_files.h"
#include "cli/import_journal.h"
#include "cli/import_tensorboard.h"
#include "cli/place.h"
#include "cli/progress.h"
#include "formats/cloud_logging/reader.h"
#include "formats/mllog/reader.h"
#include "ledger/attempt.h"
#include "model/text.h"

namespace headway::cli {
namespace {

constexpr std::size_t kProblemsShown = 10;
constexpr std::string_view kNotStrict = "; mend or remove the line, or import without --strict";
constexpr std::string_view kTimesDiffer =
    "a time in seconds (\"ts\") and the same in nanoseconds (\"ts_ns\") differ by more than 1 ms";

std::string Counted(std::uint64_t count, std::string_view what) {
  return ShowCount(static_cast<std::int64_t>(count)) + " " + std::string(what) +
         (count == 1 ? "" : "s");
}

class ImportCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "Event files (jsonl) hold one JSON object a line, see docs/formats/jsonl.md; several files "
        "of one call tell of one job. Journals (hwj) are copied as they are. Importing the same "
        "data again changes nothing. cloud-logging reads what ml-goodput-measurement left in Cloud "
        "Logging (gcloud logging read --format=json): each job of it becomes a run. "
        "cloud-logging://PROJECT/LOG, with --run JOB, reads it from there. mllog reads "
        "MLPerf result logs, whose blocks become steps. tensorboard reads event files of "
        "TensorBoard: their scalars become metrics, each file is a writer.");
    description->Positional("FILE", &files_, "an event file or a journal; - is standard input")
        .completion = Completion::kFile;
    description
        ->Option("--run", "RUN", &run_,
                 "the run's name; journals and the jobs of a cloud log bring their own along")
        .completion = Completion::kRun;
    description->Choice("--as", "FORMAT", {"jsonl", "hwj", "cloud-logging", "mllog", "tensorboard"},
                        &as_,
                        "what the files are; without it, their first bytes tell jsonl and hwj");
    description->Flag("--strict", &strict_, "what can't be read is an error (exit code 3)");
    description->Flag("--replace", &replace_,
                      "put the data in the place of what was imported under this name before");
    DescribePlace(description, &place_);
    description->Example("headway import events.jsonl --run llama-7b",
                         "makes the run llama-7b from an event file");
    description->Example("headway import /mnt/node7/*.hwj", "journals of another machine");
    description->Example("headway import log.json --as cloud-logging",
                         "history of jobs that recorded with ml-goodput-measurement");
    description->Example("headway import cloud-logging://my-project/goodput_llama --run llama",
                         "the same, read from Cloud Logging itself");
    description->Example("headway import logs/events.* --as tensorboard --run llama-7b",
                         "the scalars of a TensorBoard directory");
  }

  Result<int> Run(const Context& context) override {
    if (place_.dirs.size() > 1) {
      return Status(Code::kInvalidArgument, "--dir was given " +
                                                std::to_string(place_.dirs.size()) +
                                                " times; an import writes below one directory");
    }
    std::optional<std::string> project;
    if (!place_.project.empty()) project = place_.project;
    HEADWAY_RETURN_IF_ERROR(Resolve(&place_));
    HEADWAY_RETURN_IF_ERROR(CheckNewName("the run's name", run_));
    HEADWAY_RETURN_IF_ERROR(CheckNewName("the project", place_.project));
    const std::string& dir = place_.dirs.front();
    SweepStaging(dir, SystemClock::WallNow());

    Progress progress(context.error_terminal, "importing");
    EventText events;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      progress.Update(static_cast<double>(i) / static_cast<double>(files_.size()));
      if (IsCloudLog(files_[i])) {
        as_ = "cloud-logging";
        HEADWAY_RETURN_IF_ERROR(ReadCloudLog(
            files_[i], run_, [&](std::string_view page) { return TakeCloudLog(files_[i], page); }));
        continue;
      }
      Result<Input> input = OpenInput(files_[i]);
      if (!input.ok()) return input.status();
      if (as_ == "hwj" || (as_.empty() && input->journal)) {
        JournalTarget target;
        target.dir = dir;
        target.project = project;
        if (!run_.empty()) target.run = run_;
        target.strict = strict_;
        const Result<ImportedRun> made = CopyJournal(&*input, target, &torn_);
        if (!made.ok()) return made.status();
        AddJournal(*made);
        continue;
      }
      if (as_ == "cloud-logging") {
        std::string text;
        HEADWAY_RETURN_IF_ERROR(ReadRest(&*input, &text));
        HEADWAY_RETURN_IF_ERROR(TakeCloudLog(input->name, text));
        continue;
      }
      if (run_.empty()) {
        return Status(Code::kInvalidArgument,
                      "say which run the events of " + input->name + " are of: --run NAME");
      }
      if (as_ == "tensorboard") {
        HEADWAY_RETURN_IF_ERROR(tensorboard_.Read(&*input, strict_));
        continue;
      }
      events.Begin(input->name);
      if (as_ == "mllog") {
        HEADWAY_RETURN_IF_ERROR(ReadMllog(&*input, &events.text));
      } else {
        HEADWAY_RETURN_IF_ERROR(ReadRest(&*input, &events.text));
      }
    }
    progress.Clear();
    if (as_ == "cloud-logging") {
      if (Status status = ImportJobs(dir); !status.ok()) {
        TellProblems(damage_);
        return status;
      }
    }
    if (as_ == "tensorboard") HEADWAY_RETURN_IF_ERROR(ImportTensorboard(dir));
    jsonl::Import import;
    if (!events.sources.empty()) {
      const Status status = ImportEvents(events, dir, &import);
      if (!status.ok()) {
        TellEventProblems(events, import);
        return status;
      }
    }
    Tell(context, events, import);
    return 0;
  }

 private:
  Status TakeCloudLog(const std::string& name, std::string_view text) {
    cloud_logging::Translation log = cloud_logging::Translate(text);
    HEADWAY_RETURN_IF_ERROR(NoteProblems(name, log.problems, log.problems_total));
    foreign_ += log.foreign;
    for (cloud_logging::Job& job : log.jobs) {
      EventText& events = jobs_[job.name];
      events.Begin(name);
      events.text += job.events;
      if (job.name.empty()) nameless_ += job.entries;
    }
    return OkStatus();
  }

  Status ReadMllog(Input* input, std::string* events) {
    std::string text;
    HEADWAY_RETURN_IF_ERROR(ReadRest(input, &text));
    const mllog::Translation log = mllog::Translate(text);
    if (log.entries == 0) {
      return {Code::kDataLoss, "there is no :::MLLOG line in " + input->name};
    }
    *events += log.events;
    return NoteProblems(input->name, log.problems, log.problems_total);
  }

  /// Entries of a foreign log that were left out: an error under --strict.
  Status NoteProblems(const std::string& file, const std::vector<jsonl::Problem>& problems,
                      std::uint64_t total) {
    EventText place;
    place.Begin(file);
    if (strict_ && !problems.empty()) {
      return {Code::kDataLoss, place.PlaceOf(problems.front()) + ": " + problems.front().sentence +
                                   "; mend or remove the entry, or import without --strict"};
    }
    for (const jsonl::Problem& problem : problems) {
      damage_.emplace_back(Code::kDataLoss, place.PlaceOf(problem) + ": " + problem.sentence +
                                                "; the entry is left out");
    }
    entries_left_out_ += total;
    return OkStatus();
  }

  /// Each job of the cloud logs as a run.
  Status ImportJobs(const std::string& dir) {
    if (jobs_.empty()) {
      return {Code::kDataLoss, "there is no entry of ml-goodput-measurement in " + files_.front() +
                                   (files_.size() > 1 ? " and the other files" : "")};
    }
    HEADWAY_RETURN_IF_ERROR(LeaveOutNameless());
    if (jobs_.size() > 1 && !run_.empty()) {
      std::string names;
      for (const auto& [name, events] : jobs_) names += (names.empty() ? "" : ", ") + name;
      return {Code::kInvalidArgument,
              "--run is for a log of one job, and this one is of several: " + names};
    }
    const std::string wanted = run_;
    for (const auto& [name, events] : jobs_) {
      run_ = wanted.empty() ? name : wanted;
      if (run_.empty()) {
        return {Code::kInvalidArgument, "the entries name no job: say which run it is, --run NAME"};
      }
      if (events.text.empty()) continue;  // its entries can't be used, which has been noted
      jsonl::Import import;
      Status status = CheckName("the job's name", run_);
      if (status.ok()) status = ImportEvents(events, dir, &import);
      if (status.ok()) continue;
      // The other jobs of the log are imported all the same.
      if (strict_ || !wanted.empty()) return status;
      damage_.emplace_back(status.code(), "job " + PrintableLine(name) +
                                              " is left out: " + std::string(status.message()));
      entries_left_out_ += 1;
    }
    if (runs_.empty()) {
      return {Code::kDataLoss, "no entry of ml-goodput-measurement can be used in " +
                                   files_.front() + (files_.size() > 1 ? " and the others" : "")};
    }
    return OkStatus();
  }

  /// Entries that name no job beside others that do.
  Status LeaveOutNameless() {
    const auto nameless = jobs_.find("");
    if (nameless == jobs_.end() || jobs_.size() == 1) return OkStatus();
    const std::string file = nameless->second.sources.front().name;
    if (strict_) {
      return {Code::kDataLoss, file +
                                   ": entries name no job; mend or remove them, or import "
                                   "without --strict"};
    }
    damage_.emplace_back(Code::kDataLoss, file + ": entries that name no job are left out");
    entries_left_out_ += nameless_;
    jobs_.erase(nameless);
    return OkStatus();
  }

  Status ImportTensorboard(const std::string& dir) {
    const Result<std::vector<ImportedRun>> made =
        tensorboard_.Write({dir, place_.project, run_, replace_});
    if (!made.ok()) return made.status();
    for (const ImportedRun& run : *made) Add(run);
    return OkStatus();
  }

  Status ImportEvents(const EventText& events, const std::string& dir, jsonl::Import* import) {
    Result<jsonl::Import> read = jsonl::ReadEvents(events.text, {});
    if (!read.ok()) return read.status();
    *import = *std::move(read);
    if (strict_ && import->problems_total > 0) {
      const jsonl::Problem problem = import->problems.front();
      import->problems.clear();
      import->problems_total = 0;
      return {Code::kDataLoss,
              events.PlaceOf(problem) + ": " + problem.sentence + std::string(kNotStrict)};
    }
    if (strict_ && import->times_differ.lines > 0) {
      const std::string place = PlaceOf(events, import->times_differ);
      import->times_differ = {};
      return {Code::kDataLoss, place + ": " + std::string(kTimesDiffer) + std::string(kNotStrict)};
    }
    const bool any = std::any_of(import->runs.begin(), import->runs.end(), [](const auto& run) {
      return std::any_of(run.records.begin(), run.records.end(),
                         [](const Record& record) { return record.type != RecordType::kNote; });
    });
    if (!any) {
      return {Code::kDataLoss, "there is no event in " + events.sources.front().name +
                                   (events.sources.size() > 1 ? " and the other files" : "") +
                                   (import->problems.empty() ? ": there is nothing in it" : "")};
    }
    const Result<std::vector<ImportedRun>> made =
        WriteRuns(import->runs, {dir, place_.project, run_, replace_});
    if (!made.ok()) return made.status();
    for (const ImportedRun& run : *made) Add(run);
    event_runs_ = std::max(event_runs_, made->size());
    return OkStatus();
  }

  /// A journal that was named before, or of which this is another copy, counts once.
  void AddJournal(ImportedRun made) {
    const auto [counted, first] = copied_.try_emplace({made.uid, made.journal}, 0);
    if (!first) made.journals = 0;
    const std::uint64_t all = std::max(counted->second, made.records);
    made.records = all - std::exchange(counted->second, all);
    Add(made);
  }

  /// Journals of one run make one entry.
  void Add(const ImportedRun& made) {
    for (ImportedRun& run : runs_) {
      if (run.uid != made.uid || run.name != made.name) continue;
      run.journals += made.journals;
      run.records += made.records;
      run.start = std::min(run.start, made.start);
      run.unchanged &= made.unchanged;
      return;
    }
    runs_.push_back(made);
  }

  void TellEventProblems(const EventText& events, const jsonl::Import& import) const {
    for (std::size_t i = 0; i < import.problems.size() && i < kProblemsShown; ++i) {
      Complain("warning: " + events.PlaceOf(import.problems[i]) + ": " +
               import.problems[i].sentence + "; skipped");
    }
    if (import.problems_total > kProblemsShown) {
      Complain("warning: and " +
               ShowCount(static_cast<std::int64_t>(import.problems_total - kProblemsShown)) +
               " more lines that can't be read; skipped");
    }
    Warn(events, import.names_cut,
         "a name longer than " + std::to_string(limits::kNameBytes) + " bytes is cut",
         "and so are those of");
    Warn(events, import.times_differ, std::string(kTimesDiffer) + "; the nanoseconds count",
         "and so in");
  }

  static std::string PlaceOf(const EventText& events, const jsonl::Warned& warned) {
    return events.PlaceOf({.line = warned.line, .offset = warned.offset, .sentence = {}});
  }

  /// One line, however many lines of the file it is about.
  static void Warn(const EventText& events, const jsonl::Warned& warned, std::string_view what,
                   std::string_view others) {
    if (warned.lines == 0) return;
    std::string text = "warning: " + PlaceOf(events, warned) + ": ";
    text.append(what);
    if (warned.lines > 1) {
      text.append(", ").append(others).append(" ");
      text += ShowCount(static_cast<std::int64_t>(warned.lines - 1)) + " more lines";
    }
    Complain(text);
  }

  void Tell(const Context& context, const EventText& events, const jsonl::Import& import) const {
    if (place_.json) {
      *context.out << Json(events, import);
      return;
    }
    TellEventProblems(events, import);
    std::vector<Status> problems = damage_;
    for (const JournalProblem& problem : torn_) {
      problems.emplace_back(Code::kDataLoss, problem.file + ": " + problem.sentence + "; left out");
    }
    TellProblems(problems);
    tensorboard_.Tell();
    if (foreign_ > 0) {
      Complain("warning: " + ShowCount(static_cast<std::int64_t>(foreign_)) +
               (foreign_ == 1 ? " entry is" : " entries are") + " of other programs; skipped");
    }
    std::map<std::string, std::vector<runs::Run>> known;
    for (const ImportedRun& run : runs_) {
      std::string line = run.unchanged ? "unchanged: run " : "imported run ";
      line += PrintableLine(run.unchanged ? LabelOf(run, &known) : run.name);
      if (run.project != "default") line += " of project " + PrintableLine(run.project);
      line += run.unchanged ? " is there already, with these " : ": ";
      line += Counted(run.records, "record") + " in " + Counted(run.journals, "journal");
      if (!run.unchanged && run.records > 0)
        line += ", from " + ShowTime(ledger::TakenTime(run.start)) + " UTC on";
      *context.out << line << "\n";
    }
    if (import.problems_total > 0) {
      *context.out << Counted(import.problems_total, "line") << " skipped\n";
    }
    if (event_runs_ > 1) {
      *context.out << (events.sources.size() > 1 ? "the files tell of" : "the file tells of")
                   << " several runs of one name: the newest is "
                   << PrintableLine(runs_.back().name) << ", the others are NAME@DATE; see "
                   << "headway runs list\n";
    }
  }

  /// By which the run can be asked for, also when another run has its name by now. `known`: the
  /// runs of the projects that were looked at so far.
  std::string LabelOf(const ImportedRun& made,
                      std::map<std::string, std::vector<runs::Run>>* known) const {
    const auto [project, fresh] = known->try_emplace(made.project);
    if (fresh) {
      Result<std::vector<runs::Run>> listed = runs::List(place_.dirs, made.project);
      if (listed.ok()) project->second = *std::move(listed);
    }
    const auto run = std::ranges::find(project->second, made.uid, &runs::Run::uid);
    return run == project->second.end() ? made.name : run->label;
  }

  std::string Json(const EventText& events, const jsonl::Import& import) const {
    std::string out;
    JsonWriter json(&out, 1);
    json.BeginObject().Key("runs").BeginArray();
    for (const ImportedRun& run : runs_) {
      json.BeginObject()
          .Field("run", run.name)
          .Field("project", run.project)
          .Field("uid", ToHex(run.uid))
          .Field("journals", run.journals)
          .Field("records", run.records)
          .Field("unchanged", run.unchanged)
          .EndObject();
    }
    json.EndArray().Key("problems").BeginArray();
    for (const jsonl::Problem& problem : import.problems) {
      const EventSource& source = events.SourceOf(problem);
      json.BeginObject()
          .Field("file", source.name)
          .Field("line", problem.line - source.first_line + 1)
          .Field("offset", problem.offset - source.first_offset)
          .Field("code", jsonl::ProblemCode(problem.kind))
          .Field("message", problem.sentence)
          .EndObject();
    }
    for (const Status& damage : damage_) {
      json.BeginObject().Field("code", "bad_entry").Field("message", damage.message());
      json.EndObject();
    }
    for (const JournalProblem& problem : torn_) {
      json.BeginObject()
          .Field("file", problem.file)
          .Field("offset", problem.offset)
          .Field("bytes", problem.bytes)
          .Field("code", problem.code)
          .Field("message", problem.sentence)
          .EndObject();
    }
    tensorboard_.WriteProblems(&json);
    json.EndArray();
    json.Field("problems_total", import.problems_total +
                                     std::max<std::uint64_t>(damage_.size(), entries_left_out_) +
                                     torn_.size() + tensorboard_.problems_total())
        .Field("names_cut", import.names_cut.lines + tensorboard_.names_cut())
        .Field("times_differ", import.times_differ.lines);
    tensorboard_.WriteRestarts(&json);
    json.EndObject();
    return out + "\n";
  }

  std::vector<std::string> files_;
  std::string run_;
  std::string as_;
  bool strict_ = false;
  bool replace_ = false;
  Place place_;
  std::vector<ImportedRun> runs_;
  std::vector<Status> damage_;                                     // of foreign logs
  std::vector<JournalProblem> torn_;                               // of journals
  std::map<std::pair<RunUid, JournalUid>, std::uint64_t> copied_;  // records
  std::size_t event_runs_ = 0;
  std::map<std::string, EventText> jobs_;  // of cloud logs
  std::uint64_t entries_left_out_ = 0;
  std::uint64_t nameless_ = 0;  // entries that name no job
  std::uint64_t foreign_ = 0;   // entries of other programs
  TensorboardImport tensorboard_;
};

}  // namespace

std::unique_ptr<Command> MakeImport() { return std::make_unique<ImportCommand>(); }

}  // namespace headway::cli
