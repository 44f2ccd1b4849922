#include "cli/asked_run.h"
#include "cli/commands.h"
#include "cli/palette.h"
#include "cli/place.h"
#include "cli/rows.h"
#include "cli/timeline_text.h"
#include "model/shares.h"
#include "model/text.h"

namespace headway::cli {
namespace {

class TimelineCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "On a terminal a picture with a lane for each attempt; with --json the intervals "
        "themselves, which join without a gap and add up to the elapsed time.");
    DescribeRun(description, &run_);
    DescribeTimes(description, &times_);
    DescribePlace(description, &place_);
    DescribeServer(description, &place_);
    description->Flag("--seconds", &seconds_, "with --json: durations as decimal seconds too");
    description->Example("headway timeline llama-7b", "the whole run at one glance");
    description->Example("headway timeline llama-7b --last 1h --json", "its last hour as rows");
  }

  Result<int> Run(const Context& context) override {
    const Result<std::unique_ptr<AskedRun>> run = Ask(context, &place_, run_, times_);
    if (!run.ok()) return run.status();
    const Result<std::vector<TimelineInterval>> found = (*run)->Timeline();
    if (!found.ok()) return found.status();
    const std::vector<TimelineInterval>& intervals = *found;
    if (place_.json) {
      WriteJsonRows(intervals, {.seconds = seconds_}, context.out);
      return 0;
    }
    const Result<Report> made = (*run)->MakeReport();
    if (!made.ok()) return made.status();
    const Report& report = *made;
    *context.out << Paint(Tone::kStrong, PrintableLine(report.run), context.terminal) << "  "
                 << Paint(ToneOf(report.state), ShowState(report), context.terminal) << "  "
                 << ShowDuration(report.elapsed_ns) << " elapsed"
                 << (report.elapsed_ns > 0 ? ", goodput " + ShowGoodput(report) : "") << "\n\n";
    const std::int64_t from = intervals.empty() ? 0 : intervals.front().begin;
    const std::int64_t to = intervals.empty() ? 0 : intervals.back().end;
    *context.out << RenderTimeline(intervals, from, to, context.terminal);
    return 0;
  }

 private:
  std::string run_;
  TimeOptions times_;
  Place place_;
  bool seconds_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeTimeline() { return std::make_unique<TimelineCommand>(); }

}  // namespace headway::cli
