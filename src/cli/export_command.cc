#include <unistd.h>

#include "base/clock.h"
#include "base/time_format.h"
#include "cli/asked_run.h"
#include "cli/commands.h"
#include "cli/export_file.h"
#include "cli/place.h"
#include "formats/csv/writer.h"
#include "formats/jsonl/writer.h"
#include "formats/perfetto/writer.h"
#include "formats/tensorboard/run.h"
#include "model/text.h"

namespace headway::cli {
namespace {

constexpr std::size_t kFlushBytes = std::size_t{1} << 20;

using csv::ColumnType;

class CsvTable {
 public:
  CsvTable(ExportFile* file, std::vector<csv::Column> columns)
      : file_(file), csv_(&buffer_, std::move(columns)) {}

  csv::CsvWriter& cells() { return csv_; }
  void Optional(const std::optional<std::int64_t>& value) {
    value ? csv_.Integer(*value) : csv_.Empty();
  }
  Status EndRow() {
    csv_.EndRow();
    return buffer_.size() >= kFlushBytes ? Flush() : OkStatus();
  }
  Status Flush() {
    Status status = file_->Write(buffer_);
    buffer_.clear();
    return status;
  }

 private:
  ExportFile* file_;
  std::string buffer_;
  csv::CsvWriter csv_;
};

Status WriteTimeline(const std::vector<TimelineInterval>& intervals, ExportFile* file) {
  CsvTable table(file, {{"begin", ColumnType::kText},
                        {"begin_ns", ColumnType::kInteger},
                        {"end_ns", ColumnType::kInteger},
                        {"duration_ns", ColumnType::kInteger},
                        {"category", ColumnType::kText},
                        {"name", ColumnType::kText},
                        {"attempt", ColumnType::kInteger},
                        {"step", ColumnType::kInteger}});
  for (const TimelineInterval& interval : intervals) {
    table.cells()
        .Text(FormatTime(WallNs{interval.begin}))
        .Integer(interval.begin)
        .Integer(interval.end)
        .Integer(interval.end - interval.begin)
        .Text(CategoryName(interval.category))
        .Text(interval.name);
    table.Optional(interval.attempt < 0 ? std::nullopt : std::optional(interval.attempt));
    table.Optional(interval.step);
    HEADWAY_RETURN_IF_ERROR(table.EndRow());
  }
  return table.Flush();
}

Status WriteSteps(const std::vector<StepSummary>& steps, ExportFile* file) {
  CsvTable table(file, {{"attempt", ColumnType::kInteger},
                        {"step", ColumnType::kInteger},
                        {"start", ColumnType::kText},
                        {"start_ns", ColumnType::kInteger},
                        {"end_ns", ColumnType::kInteger},
                        {"work_ns", ColumnType::kInteger},
                        {"productive_ns", ColumnType::kInteger},
                        {"wasted_ns", ColumnType::kInteger},
                        {"data_loading_ns", ColumnType::kInteger},
                        {"program_startup_ns", ColumnType::kInteger},
                        {"step_stall_ns", ColumnType::kInteger},
                        {"infrastructure_recovery_ns", ColumnType::kInteger},
                        {"blocked_ns", ColumnType::kInteger},
                        {"first", ColumnType::kInteger},
                        {"complete", ColumnType::kInteger},
                        {"retained", ColumnType::kInteger}});
  for (const StepSummary& step : steps) {
    table.cells()
        .Integer(step.attempt)
        .Integer(step.step)
        .Text(FormatTime(WallNs{step.start}))
        .Integer(step.start)
        .Integer(step.end)
        .Integer(step.work_ns)
        .Integer(step.productive_ns)
        .Integer(step.wasted_ns)
        .Integer(step.data_loading_ns)
        .Integer(step.program_startup_ns)
        .Integer(step.step_stall_ns)
        .Integer(step.infrastructure_recovery_ns)
        .Integer(step.blocked_ns)
        .Integer(step.first ? 1 : 0)
        .Integer(step.complete ? 1 : 0)
        .Integer(step.retained ? 1 : 0);
    HEADWAY_RETURN_IF_ERROR(table.EndRow());
  }
  return table.Flush();
}

Status WriteTrace(AskedRun* run, ExportFile* file) {
  const Result<Report> report = run->MakeReport();
  if (!report.ok()) return report.status();
  const Result<std::vector<TimelineInterval>> intervals = run->Timeline();
  if (!intervals.ok()) return intervals.status();
  const Result<std::vector<StepSummary>> steps = run->Steps();
  if (!steps.ok()) return steps.status();
  std::string buffer;
  perfetto::TraceWriter trace(*report, &buffer);
  auto flush = [&](std::size_t from) {
    if (buffer.size() < from) return OkStatus();
    Status status = file->Write(buffer);
    buffer.clear();
    return status;
  };
  for (const TimelineInterval& interval : *intervals) {
    trace.Add(interval);
    HEADWAY_RETURN_IF_ERROR(flush(kFlushBytes));
  }
  for (const StepSummary& step : *steps) {
    trace.Add(step);
    HEADWAY_RETURN_IF_ERROR(flush(kFlushBytes));
  }
  trace.Finish();
  return flush(0);
}

// events.out.tfevents.SECONDS.HOST.headway, the first second from `now` on that is free.
Result<ExportFile> CreateEventFile(const std::string& dir, WallNs now, std::string* path) {
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  for (std::int64_t second = now.ns / kNanosPerSecond;; ++second) {
    std::string digits = std::to_string(second);
    if (digits.size() < 10) digits.insert(0, 10 - digits.size(), '0');
    *path =
        JoinPath(dir, "events.out.tfevents." + digits + "." + MakePathComponent(host) + ".headway");
    Result<ExportFile> file = ExportFile::Create(*path);
    if (file.ok() || file.status().code() != Code::kAlreadyExists) return file;
  }
}

class ExportCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "jsonl is the event file that headway import reads: all records, but for the texts of "
        "configurations and of standard error. csv is a table for spreadsheets: the intervals of "
        "the timeline, or with --what steps the steps. perfetto is a trace for the Perfetto UI "
        "(ui.perfetto.dev) and chrome://tracing. tensorboard is an event file of TensorBoard in "
        "the "
        "directory DIR: the metrics, and the numbers of the report at the last step.");
    DescribeRun(description, &run_);
    description->Choice("--as", "FORMAT", {"jsonl", "csv", "perfetto", "tensorboard"}, &as_,
                        "required: jsonl, csv, perfetto or tensorboard");
    description->Choice("--what", "WHAT", {"timeline", "steps"}, &what_,
                        "with csv: timeline (the default) or steps");
    Argument& out =
        description->Option("-o,--out", "PATH", &out_,
                            "the file to write, standard output without it; with tensorboard "
                            "the directory");
    out.completion = Completion::kFile;
    DescribeTimes(description, &times_);
    Argument& dirs = description->Option("--dir", "DIR", &place_.dirs,
                                         "data directory; may be given several times");
    dirs.completion = Completion::kDirectory;
    description->Option("--project", "P", &place_.project, "project");
    DescribeServer(description, &place_);
    description->Example("headway export llama-7b --as jsonl --out llama-7b.jsonl",
                         "the run as an event file");
    description->Example("headway export llama-7b --as csv --what steps", "its steps as a table");
    description->Example("headway export llama-7b --as perfetto --out llama-7b.json",
                         "a trace to look at");
  }

  Result<int> Run(const Context& context) override {
    if (as_.empty()) {
      return Status(Code::kInvalidArgument,
                    "say which format to export as: --as jsonl, csv, perfetto or tensorboard");
    }
    const bool timed = !times_.window.empty() || times_.last || !times_.as_of.empty();
    if ((as_ == "jsonl" || as_ == "tensorboard") && (timed || !what_.empty())) {
      return Status(Code::kInvalidArgument,
                    "an event file holds the whole run: --window, --last, --as-of and --what go "
                    "with --as csv");
    }
    if (as_ == "perfetto" && !what_.empty()) {
      return Status(Code::kInvalidArgument, "a trace holds it all: --what goes with --as csv");
    }
    if (as_ == "tensorboard" && out_.empty()) {
      return Status(Code::kInvalidArgument,
                    "say in which directory TensorBoard shall find the event file: --out DIR");
    }
    const Status status = as_ == "jsonl"         ? ExportEvents(context)
                          : as_ == "tensorboard" ? ExportTensorboard(context)
                                                 : ExportDerived(context);
    // Whoever reads may have seen enough.
    if (!status.ok() && !context.out->closed()) return status;
    return 0;
  }

 private:
  Status ExportEvents(const Context& context) {
    const Result<RunRecords> records = AskRecords(context, &place_, run_);
    if (!records.ok()) return records.status();
    Result<ExportFile> file = ExportFile::Open(out_, context.out);
    if (!file.ok()) return file.status();
    HEADWAY_RETURN_IF_ERROR(jsonl::WriteEvents(
        *records, [&file](std::string_view chunk) { return file->Write(chunk); }));
    return file->Commit();
  }

  /// What the ledger makes of the records: a table or a trace.
  Status ExportDerived(const Context& context) {
    const Result<std::unique_ptr<AskedRun>> run = Ask(context, &place_, run_, times_);
    if (!run.ok()) return run.status();
    Result<ExportFile> file = ExportFile::Open(out_, context.out);
    if (!file.ok()) return file.status();
    HEADWAY_RETURN_IF_ERROR(as_ == "perfetto" ? WriteTrace(run->get(), &*file)
                                              : WriteTable(run->get(), &*file));
    return file->Commit();
  }

  Status WriteTable(AskedRun* run, ExportFile* file) {
    if (what_ == "steps") {
      const Result<std::vector<StepSummary>> steps = run->Steps();
      return steps.ok() ? WriteSteps(*steps, file) : steps.status();
    }
    const Result<std::vector<TimelineInterval>> intervals = run->Timeline();
    return intervals.ok() ? WriteTimeline(*intervals, file) : intervals.status();
  }

  Status ExportTensorboard(const Context& context) {
    const Result<std::unique_ptr<AskedRun>> run = Ask(context, &place_, run_, times_);
    if (!run.ok()) return run.status();
    const WallNs now = SystemClock::WallNow();
    const Result<Report> report = (*run)->MakeReport();
    if (!report.ok()) return report.status();
    const Result<RunRecords> records = (*run)->Records();
    if (!records.ok()) return records.status();
    HEADWAY_RETURN_IF_ERROR(MakeDirectories(out_));
    std::string path;
    Result<ExportFile> file = CreateEventFile(out_, now, &path);
    if (!file.ok()) return file.status();
    HEADWAY_RETURN_IF_ERROR(tensorboard::WriteRun(
        *records, *report, [&file](std::string_view chunk) { return file->Write(chunk); }));
    HEADWAY_RETURN_IF_ERROR(file->Commit());
    *context.out << path << "\n";
    return OkStatus();
  }

  std::string run_;
  std::string as_;
  std::string what_;
  std::string out_;
  TimeOptions times_;
  Place place_;
};

}  // namespace

std::unique_ptr<Command> MakeExport() { return std::make_unique<ExportCommand>(); }

}  // namespace headway::cli
