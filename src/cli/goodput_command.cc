#include <algorithm>
#include <cctype>

#include "cli/asked_run.h"
#include "cli/commands.h"
#include "cli/difference.h"
#include "cli/palette.h"
#include "cli/place.h"
#include "cli/report_text.h"
#include "cli/table.h"
#include "model/text.h"

namespace headway::cli {
namespace {

constexpr std::int64_t kIntervalsShown = 20;
constexpr std::size_t kNamesShown = 10;

std::vector<std::string> CategoryNames() {
  std::vector<std::string> names;
  for (int i = 0; i < kCategoryCount; ++i) {
    names.emplace_back(CategoryName(static_cast<Category>(i)));
  }
  return names;
}

class GoodputCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "Every nanosecond of the run's elapsed time is in exactly one category; the categories add "
        "up to 100 %. What had to be guessed stands under the notes.");
    DescribeRun(description, &run_);
    DescribeTimes(description, &times_);
    Argument& explain = description->Option(
        "--explain", "CATEGORY", &explain_,
        "list the intervals that make up a category, longest first; CATEGORY/NAME picks one name");
    explain.completion = Completion::kChoices;
    explain.choices = CategoryNames();
    description->Choice("--accounting", "HOW", {"exact", "compat"}, &accounting_,
                        "exact (the default), or compat: the numbers of ml-goodput-measurement, on "
                        "the same records");
    description->Flag("--explain-difference", &difference_,
                      "both accountings side by side, and why they differ");
    description->Count("--limit", "N", 1, &limit_,
                       "with --explain: how many intervals (text: 20, JSON: all)");
    DescribePlace(description, &place_);
    DescribeServer(description, &place_);
    description->Flag("--seconds", &seconds_, "with --json: durations as decimal seconds too");
    description->Example("headway goodput llama-7b", "the report of the newest run of that name");
    description->Example("headway goodput llama-7b --last 1h", "only its last hour");
    description->Example("headway goodput llama-7b --explain wasted_progress",
                         "which stretches of time were lost to crashes and rollbacks");
  }

  Result<int> Run(const Context& context) override {
    const bool compat = accounting_ == "compat";
    if (difference_ && (!accounting_.empty() || !explain_.empty())) {
      return Status(Code::kInvalidArgument,
                    "--explain-difference stands alone: it shows both accountings");
    }
    if (compat && !explain_.empty()) {
      return Status(Code::kInvalidArgument,
                    "--explain lists intervals, and compat accounting has sums only");
    }
    if (limit_ && explain_.empty()) {
      return Status(Code::kInvalidArgument,
                    "--limit goes with --explain: it says how many intervals are listed");
    }
    Category category = Category::kProductive;
    std::optional<std::string> name;
    if (!explain_.empty()) {
      const std::size_t slash = explain_.find('/');
      if (slash != std::string::npos) name = explain_.substr(slash + 1);
      const std::string wanted = explain_.substr(0, slash);
      if (!ParseCategory(wanted, &category)) {
        const std::string near = Closest(wanted, CategoryNames());
        std::string message = "--explain: no category \"" + wanted + "\"";
        message += near.empty() ? "." : "; did you mean " + near + "?";
        message += " Categories:";
        for (const std::string& known : CategoryNames()) message += " " + known;
        return Status(Code::kInvalidArgument, message);
      }
      // Spans the program named are shown in upper case and may be asked for in any.
      if (name && category == Category::kCustom) {
        for (char& c : *name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      }
    }
    const Result<std::unique_ptr<AskedRun>> run = Ask(context, &place_, run_, times_);
    if (!run.ok()) return run.status();
    if (!explain_.empty()) return Explain(context, run->get(), category, name);
    if (difference_) return Difference(context, run->get());
    const Result<Report> report = compat ? (*run)->MakeCompatReport() : (*run)->MakeReport();
    if (!report.ok()) return report.status();
    return Show(context, *report);
  }

 private:
  int Show(const Context& context, const Report& report) const {
    if (place_.json) {
      *context.out << ToJson(report, {.seconds = seconds_, .indent = 1});
      return 0;
    }
    std::optional<std::int64_t> as_of;
    if (!times_.as_of.empty()) as_of = report.as_of;
    *context.out << RenderReport(report, context.terminal, {report.window, as_of});
    return 0;
  }

  Result<int> Difference(const Context& context, AskedRun* run) {
    const Result<Report> exact = run->MakeReport();
    if (!exact.ok()) return exact.status();
    const Result<Report> compat = run->MakeCompatReport();
    if (!compat.ok()) {
      return Status(compat.status().code(),
                    "compat accounting has no answer: " + compat.status().message());
    }
    *context.out << (place_.json ? DifferenceToJson(*exact, *compat, {.indent = 1})
                                 : RenderDifference(*exact, *compat, context.terminal));
    return 0;
  }

  /// NotFound unless the run knows the name, at any time.
  static Status CheckSpanName(AskedRun* run, Category category, const std::string& name) {
    const Result<std::vector<TimelineInterval>> whole = run->WholeTimeline();
    if (!whole.ok()) return whole.status();
    std::vector<std::string> known;
    for (const TimelineInterval& interval : *whole) {
      if (interval.category != category || interval.name.empty()) continue;
      if (interval.name == name) return OkStatus();
      if (std::ranges::find(known, interval.name) == known.end()) known.push_back(interval.name);
    }
    std::string message = "--explain: no " + std::string(CategoryName(category)) + " named \"" +
                          PrintableLine(name) + "\" in this run";
    message += known.empty() ? ", which has none with a name" : "; there is";
    for (std::size_t i = 0; i < known.size() && i < kNamesShown; ++i) {
      message += (i == 0 ? " " : ", ") + PrintableLine(known[i]);
    }
    if (known.size() > kNamesShown) message += ", ...";
    return {Code::kNotFound, message};
  }

  Result<int> Explain(const Context& context, AskedRun* run, Category category,
                      const std::optional<std::string>& name) {
    if (name) HEADWAY_RETURN_IF_ERROR(CheckSpanName(run, category, *name));
    Result<std::vector<TimelineInterval>> found = run->Timeline();
    if (!found.ok()) return found.status();
    std::vector<TimelineInterval>& intervals = *found;
    std::erase_if(intervals, [&](const TimelineInterval& interval) {
      return interval.category != category || (name && interval.name != *name);
    });
    std::stable_sort(intervals.begin(), intervals.end(),
                     [](const TimelineInterval& a, const TimelineInterval& b) {
                       return a.end - a.begin > b.end - b.begin;
                     });
    std::int64_t sum = 0;
    for (const TimelineInterval& interval : intervals) sum += interval.end - interval.begin;
    const std::size_t count = intervals.size();
    if (limit_ || !place_.json) {
      const auto limit = static_cast<std::size_t>(limit_.value_or(kIntervalsShown));
      if (count > limit) intervals.resize(limit);
    }
    if (place_.json) {
      *context.out << ToJson(intervals, {.seconds = seconds_, .indent = 1});
      return 0;
    }
    *context.out << Paint(Tone::kStrong, explain_, context.terminal) << ": " << ShowDuration(sum)
                 << " in " << ShowCount(static_cast<std::int64_t>(count))
                 << (count == 1 ? " interval\n" : " intervals\n")
                 << Wrap("  " + std::string(CategoryHelp(category)),
                         static_cast<std::size_t>(context.terminal.width), 0)
                 << "\n";
    if (count == 0) return 0;
    Table table({{"begin (UTC)", false, 1},
                 {"after", true},
                 {"duration", true},
                 {"attempt", true},
                 {"step", true},
                 {"name", false}});
    const Result<Report> report = run->MakeReport();
    if (!report.ok()) return report.status();
    const std::int64_t start = report->start.value_or(0);
    for (const TimelineInterval& interval : intervals) {
      table.AddRow({ShowTime(interval.begin), ShowDuration(interval.begin - start),
                    ShowDuration(interval.end - interval.begin),
                    interval.attempt < 0 ? "–" : std::to_string(interval.attempt),
                    ShowCount(interval.step), interval.name});
    }
    *context.out << table.Render(context.terminal);
    if (count > intervals.size()) {
      *context.out << "  and " << ShowCount(static_cast<std::int64_t>(count - intervals.size()))
                   << " shorter ones: --limit N\n";
    }
    return 0;
  }

  std::string run_;
  TimeOptions times_;
  std::string explain_;
  std::string accounting_;
  bool difference_ = false;
  std::optional<std::int64_t> limit_;
  Place place_;
  bool seconds_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeGoodput() { return std::make_unique<GoodputCommand>(); }

}  // namespace headway::cli
