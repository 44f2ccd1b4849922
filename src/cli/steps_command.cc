#include <algorithm>

#include "cli/asked_run.h"
#include "cli/commands.h"
#include "cli/place.h"
#include "cli/rows.h"
#include "cli/table.h"
#include "model/text.h"

namespace headway::cli {
namespace {

constexpr std::int64_t kStepsShown = 50;

std::string FlagsOf(const StepSummary& step) {
  std::string flags;
  const auto add = [&flags](bool set, std::string_view word) {
    if (set) flags += (flags.empty() ? "" : " ") + std::string(word);
  };
  add(step.first, "first");
  add(!step.complete, "incomplete");
  add(!step.retained && step.complete, "lost");
  add(step.step_stall_ns > 0, "stalled");
  return flags;
}

std::string OrBlank(std::int64_t ns) { return ns == 0 ? std::string() : ShowDuration(ns); }

class StepsCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "The work time of a step is its interval without the spans that block; it is split into "
        "productive time, time that was wasted later, waiting for data, start-up and stalls.");
    DescribeRun(description, &run_);
    DescribeTimes(description, &times_);
    description->Count("--limit", "N", 1, &limit_,
                       "how many steps: the last ones, or the slowest (text: 50, JSON: all)");
    description->Flag("--slowest", &slowest_, "by work time, longest first");
    description->Flag("--lost", &lost_, "only steps that did not complete or were lost again");
    DescribePlace(description, &place_);
    DescribeServer(description, &place_);
    description->Flag("--seconds", &seconds_, "with --json: durations as decimal seconds too");
    description->Example("headway steps llama-7b --slowest --limit 10", "its ten slowest steps");
  }

  Result<int> Run(const Context& context) override {
    const Result<std::unique_ptr<AskedRun>> run = Ask(context, &place_, run_, times_);
    if (!run.ok()) return run.status();
    Result<std::vector<StepSummary>> found = (*run)->Steps();
    if (!found.ok()) return found.status();
    std::vector<StepSummary>& steps = *found;
    if (lost_) {
      std::erase_if(steps, [](const StepSummary& s) { return s.complete && s.retained; });
    }
    if (slowest_) {
      std::stable_sort(steps.begin(), steps.end(), [](const StepSummary& a, const StepSummary& b) {
        return a.work_ns > b.work_ns;
      });
    }
    const std::size_t count = steps.size();
    if (limit_ || !place_.json) {
      const auto limit = static_cast<std::size_t>(limit_.value_or(kStepsShown));
      if (count > limit && slowest_) steps.resize(limit);
      if (count > limit && !slowest_) {
        steps.erase(steps.begin(), steps.end() - static_cast<std::ptrdiff_t>(limit));
      }
    }
    if (place_.json) {
      WriteJsonRows(steps, {.seconds = seconds_}, context.out);
      return 0;
    }
    if (count == 0) {
      *context.out << "no such steps in run " << PrintableLine(run_) << "\n";
      return 0;
    }
    if (count > steps.size()) {
      *context.out << "  the " << (slowest_ ? "slowest " : "last ") << std::to_string(steps.size())
                   << " of " << ShowCount(static_cast<std::int64_t>(count))
                   << " steps: --limit N\n";
    }
    *context.out << Text(steps, context.terminal);
    return 0;
  }

 private:
  static std::string Text(const std::vector<StepSummary>& steps, const Terminal& terminal) {
    Table table({{"step", true},
                 {"attempt", true, 2},
                 {"start (UTC)", false, 7},
                 {"work", true},
                 {"productive", true, 1},
                 {"wasted", true, 1},
                 {"loading", true, 3},
                 {"start-up", true, 4},
                 {"stall", true, 3},
                 {"recovery", true, 6},
                 {"blocked", true, 5},
                 {"flags", false}});
    for (const StepSummary& step : steps) {
      table.AddRow({ShowCount(step.step), std::to_string(step.attempt), ShowTime(step.start),
                    ShowDuration(step.work_ns), OrBlank(step.productive_ns),
                    OrBlank(step.wasted_ns), OrBlank(step.data_loading_ns),
                    OrBlank(step.program_startup_ns), OrBlank(step.step_stall_ns),
                    OrBlank(step.infrastructure_recovery_ns), OrBlank(step.blocked_ns),
                    FlagsOf(step)});
    }
    return table.Render(terminal);
  }

  std::string run_;
  TimeOptions times_;
  std::optional<std::int64_t> limit_;
  bool slowest_ = false;
  bool lost_ = false;
  bool seconds_ = false;
  Place place_;
};

}  // namespace

std::unique_ptr<Command> MakeSteps() { return std::make_unique<StepsCommand>(); }

}  // namespace headway::cli
