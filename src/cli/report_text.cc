#include "cli/report_text.h"

#include <limits.h>
#include <string.h>

#include <algorithm>
#include <map>

#include "cli/bar.h"
#include "cli/palette.h"
#include "cli/table.h"
#include "diagnose/advice.h"
#include "model/shares.h"
#include "model/text.h"

namespace headway::cli {
namespace {

constexpr std::size_t kDisruptionsShown = 20;
constexpr std::size_t kRollbacksShown = 10;
constexpr std::size_t kLabelMax = 32;
constexpr std::size_t kBarMin = 5;
constexpr std::size_t kBarMax = 60;
constexpr int kWidthMax = 120;

std::string ShowSignal(std::int64_t signal) {
  const char* const name = signal > INT_MAX ? nullptr : ::sigabbrev_np(static_cast<int>(signal));
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

class Renderer {
 public:
  Renderer(const Report& report, const Terminal& terminal, const ReportQuestion& question)
      : report_(report),
        terminal_(terminal),
        question_(question),
        shares_(report.categories, report.elapsed_ns),
        width_(static_cast<std::size_t>(std::min(terminal.width, kWidthMax))) {}

  std::string Render() {
    Headline();
    Bars();
    Attempts();
    Disruptions();
    Rollbacks();
    Steps();
    Saves();
    Advices();
    Notes();
    return std::move(out_);
  }

  std::string RenderHead() {
    Headline();
    Bars();
    return std::move(out_);
  }

 private:
  void Line(std::string_view text, std::size_t indent = 2) {
    out_ += Wrap(text, width_, indent) + "\n";
  }
  void Title(std::string_view text) { out_ += "\n" + Paint(Tone::kStrong, text, terminal_) + "\n"; }
  void Fact(std::string_view label, std::string_view text) {
    out_ += FactLine(label, text, terminal_);
  }

  void Headline() {
    std::string run = PrintableLine(report_.run);
    if (report_.project != "default") run += " (project " + PrintableLine(report_.project) + ")";
    const bool any = report_.elapsed_ns > 0;
    const std::string goodput = any                ? ShowGoodput(report_) + " goodput"
                                : question_.window ? "nothing elapsed in this window"
                                                   : "no goodput yet";
    out_ += Paint(Tone::kStrong, goodput, terminal_) + "  " +
            Paint(ToneOf(report_.state), ShowState(report_), terminal_) + "  " +
            Shorten(run, width_ > 50 ? width_ - 30 : 20) + "\n";
    std::string when = ShowDuration(report_.elapsed_ns) + " elapsed";
    if (question_.window) {
      auto [from, to] = *question_.window;
      if (any) {  // the part of the window that the run was there for
        from = std::max(from, *report_.start);
        to = std::min(to, *report_.end);
      }
      when += " from " + ShowTime(from) + " to " + ShowTime(to) + " UTC";
    } else if (report_.start) {
      when += " since " + ShowTime(*report_.start) + " UTC";
    }
    if (question_.as_of) when += ", as known at " + ShowTime(*question_.as_of) + " UTC";
    if (report_.excluded_ns > 0) {
      when += ", " + ShowDuration(report_.excluded_ns) + " excluded";
    }
    Line(when);
    if (report_.accounting == "compat") {
      Line(
          "by the accounting of ml-goodput-measurement; --explain-difference says how exact "
          "accounting differs");
    }
    if (report_.down_since) {
      std::string down = "down since " + ShowTime(*report_.down_since) + " UTC";
      if (const std::int64_t ns = report_.as_of - *report_.down_since; ns > 0) {
        down += ", for " + ShowDuration(ns);
      }
      Line(down);
    }
    if (const CategoryTime* costliest = CostliestOf(report_)) {
      Line("most was lost to " + CategoryLabel(costliest->category, costliest->name) + ": " +
           ShowDuration(costliest->ns) + " (" +
           shares_.Of(static_cast<std::size_t>(costliest - report_.categories.data())) + "), " +
           std::string(CategoryHelp(costliest->category)));
    }
    if (report_.goodput_if_loading_blocked) {
      Line("if overlapped loading held the accelerators up: " +
           ShowPercent(*report_.goodput_if_loading_blocked) + " goodput");
    }
  }

  void Bars() {
    if (report_.elapsed_ns <= 0) return;
    std::size_t label_width = 5;
    std::size_t time_width = DisplayWidth(ShowDuration(report_.elapsed_ns));
    std::int64_t largest = 0;
    const std::vector<CategoryLine> lines = LinesOf(report_.categories, report_.elapsed_ns);
    for (const CategoryLine& line : lines) {
      largest = std::max(largest, line.ns);
      label_width = std::max(label_width, std::min(kLabelMax, DisplayWidth(line.label)));
      time_width = std::max(time_width, DisplayWidth(ShowDuration(line.ns)));
    }
    constexpr std::size_t kPercentWidth = 8;
    constexpr std::size_t kGaps = 2 + 2 + 2 + 2;
    const std::size_t fixed = label_width + time_width + kPercentWidth + kGaps;
    std::size_t bar_width = width_ > fixed ? std::min(width_ - fixed, kBarMax) : 0;
    if (bar_width < kBarMin) bar_width = 0;
    const auto row = [&](const std::string& label, const std::string& bar,
                         const std::string& percent, const std::string& time, Category category) {
      out_ += "  " + PadRight(Shorten(label, label_width), label_width) + "  ";
      if (bar_width > 0) {
        out_ += Paint(category, bar, terminal_) +
                std::string(bar_width - std::min(bar_width, DisplayWidth(bar)), ' ') + "  ";
      }
      out_ += PadLeft(percent, kPercentWidth) + "  " + PadLeft(time, time_width) + "\n";
    };
    out_ += "\n";
    for (const CategoryLine& line : lines) {
      // Relative to the largest, so that small parts can be compared too.
      const double share =
          largest > 0 ? static_cast<double>(line.ns) / static_cast<double>(largest) : 0;
      row(line.label,
          line.category == Category::kWastedProgress ? MarkedBar(share, bar_width, "╳")
                                                     : Bar(share, bar_width),
          line.share, ShowDuration(line.ns), line.category);
    }
    std::int64_t sum = 0;
    for (const CategoryTime& time : report_.categories) sum += time.ns;
    if (sum == report_.elapsed_ns) {
      row("total", "", "100.00 %", ShowDuration(sum), Category::kOther);
    } else {  // compat accounting only
      const double share = static_cast<double>(sum) / static_cast<double>(report_.elapsed_ns);
      row("sum", "", ShowPercent(share), ShowDuration(sum), Category::kOther);
    }
  }

  void Attempts() {
    out_ += "\n";
    if (question_.window) Line("Of the whole run:");
    Fact("Attempts", AttemptsText(report_));
  }

  void Disruptions() {
    if (report_.disruptions.empty()) return;
    const std::size_t count = report_.disruptions.size();
    Title(std::to_string(count) + (count == 1 ? " disruption" : " disruptions"));
    Table table({{"time (UTC)", false, 6},
                 {"after", true, 5},
                 {"reached", true},
                 {"resumed", true},
                 {"wasted", true},
                 {"down", true},
                 {"reinit", true, 4},
                 {"regained", true, 3},
                 {"exit", false},
                 {"cause", false, 2}});
    for (std::size_t i = count > kDisruptionsShown ? count - kDisruptionsShown : 0; i < count;
         ++i) {
      const Disruption& d = report_.disruptions[i];
      std::optional<std::int64_t> regained;
      if (d.regained) regained = *d.regained - d.time;
      table.AddRow({ShowTime(d.time), ShowDuration(d.time - report_.start.value_or(d.time)),
                    ShowCount(d.step_reached), ShowCount(d.resumed_from), ShowDuration(d.wasted_ns),
                    ShowDuration(d.downtime_ns), ShowDuration(d.reinit_ns), ShowDuration(regained),
                    ShowExit(d.exit_status, d.signal, d.notice), CauseText(d)});
    }
    out_ += table.Render(terminal_);
    if (count > kDisruptionsShown) {
      Line("  " + std::to_string(count - kDisruptionsShown) + " earlier ones: --json");
    }
  }

  void Rollbacks() {
    if (report_.rollbacks.empty()) return;
    const std::size_t count = report_.rollbacks.size();
    Title(std::to_string(count) + (count == 1 ? " rollback" : " rollbacks"));
    Table table({{"time (UTC)", false, 2},
                 {"after", true, 1},
                 {"from", true},
                 {"to", true},
                 {"wasted", true},
                 {"why", false}});
    for (std::size_t i = count > kRollbacksShown ? count - kRollbacksShown : 0; i < count; ++i) {
      const Rollback& r = report_.rollbacks[i];
      table.AddRow({ShowTime(r.time), ShowDuration(r.time - report_.start.value_or(r.time)),
                    ShowCount(r.from), ShowCount(r.to), ShowDuration(r.wasted_ns),
                    r.planned ? "planned restart" : "went back"});
    }
    out_ += table.Render(terminal_);
    if (count > kRollbacksShown) {
      Line("  " + std::to_string(count - kRollbacksShown) + " earlier ones: --json");
    }
  }

  void Steps() {
    const StepStatistics& steps = report_.steps;
    if (!report_.disruptions.empty() || !report_.rollbacks.empty()) out_ += "\n";
    std::string text = ShowCount(steps.count) + " kept";
    if (steps.max_productive_step) text += ", up to step " + ShowCount(*steps.max_productive_step);
    if (steps.last_step) text += ", last started " + ShowCount(*steps.last_step);
    Fact("Steps", text);
    if (steps.p50_ns) {
      text = "p50 " + ShowDuration(steps.p50_ns) + ", p90 " + ShowDuration(steps.p90_ns) +
             ", p99 " + ShowDuration(steps.p99_ns) + ", max " + ShowDuration(steps.max_ns) +
             ", ideal " + ShowDuration(steps.ideal_ns);
      if (steps.deviation_ns) text += ", deviation " + ShowDuration(steps.deviation_ns);
      Fact("Step time", text);
    }
    if (report_.slow_steps_ns > 0) {
      Fact("Slow steps", ShowDuration(report_.slow_steps_ns) +
                             " of productive time is beyond twice the normal step time");
    }
    if (report_.data_loading_overlapped_ns > 0) {
      Fact("Loading", ShowDuration(report_.data_loading_overlapped_ns) +
                          " overlapped with steps and cost nothing by the host's clock");
    }
    const bool goes_on =
        report_.state == RunState::kRunning || report_.state == RunState::kRestarting;
    if (report_.unsaved_ns && goes_on) {
      Fact("Unsaved",
           ShowDuration(*report_.unsaved_ns) + " of productive time would be lost by a crash now");
    }
    if (report_.scheduling_ns) {
      Fact("Scheduling", ShowDuration(*report_.scheduling_ns) + " before the first attempt");
    }
  }

  void Saves() {
    const Checkpointing& saves = report_.checkpointing;
    if (saves.saves == 0) return;
    std::string text = ShowCount(saves.saves) + (saves.saves == 1 ? " save" : " saves");
    if (saves.mean_blocking_ns) {
      text += " that held training up for " + ShowDuration(*saves.mean_blocking_ns) + " each";
    }
    if (saves.interval_ns) text += ", one every " + ShowDuration(*saves.interval_ns);
    if (saves.advised_interval_ns) {
      text += "; with as many disruptions as so far, one every " +
              ShowDuration(*saves.advised_interval_ns) + " would lose least";
    }
    Fact("Checkpoints", text);
  }

  void Item(std::string_view text) { out_ += "  • " + WrapBeside(text, width_, 4) + "\n"; }

  void Advices() {
    const std::vector<diagnose::Advice> advice = diagnose::Advise(report_);
    if (advice.empty()) return;
    Title("What to do");
    for (const diagnose::Advice& piece : advice) Item(piece.text);
  }

  void Notes() {
    if (report_.notes.empty()) return;
    Title("Notes: what had to be guessed");
    for (const ReportNote& note : report_.notes) {
      Item(PrintableLine(note.message + " (" + note.code + ")"));
    }
  }

  const Report& report_;
  const Terminal& terminal_;
  const ReportQuestion& question_;
  const Shares shares_;
  std::size_t width_;
  std::string out_;
};

}  // namespace

std::string CauseText(const Disruption& disruption) {
  switch (disruption.cause) {
    case Cause::kNotice:
      return disruption.notice.value_or(0) > 0 ? "told to stop by " + ShowSignal(*disruption.notice)
                                               : "preemption notice";
    case Cause::kHang: return "the last step hung";
    case Cause::kSignal: return "killed by " + ShowSignal(disruption.signal.value_or(0));
    case Cause::kExitStatus: {
      // What a shell, a container or Python makes of a signal.
      const std::int64_t signal = disruption.exit_status.value_or(0) - 128;
      const bool named = signal > 0 && signal < 32 && ::sigabbrev_np(static_cast<int>(signal));
      return "the program failed" + (named ? ", as by " + ShowSignal(signal) : std::string());
    }
    case Cause::kFailed: return "the program said so";
    case Cause::kLost: return "process or node lost";
  }
  return {};
}

std::string FactLine(std::string_view label, std::string_view text, const Terminal& terminal) {
  constexpr std::size_t kColumn = 15;
  const auto width = static_cast<std::size_t>(std::min(terminal.width, kWidthMax));
  return Paint(Tone::kStrong, PadRight(label, kColumn), terminal) +
         WrapBeside(text, width, kColumn) + "\n";
}

std::string AttemptsText(const Report& report) {
  std::map<std::string_view, std::size_t> ends;
  for (const AttemptSummary& attempt : report.attempts) ++ends[AttemptEndName(attempt.end_kind)];
  std::string text = ShowCount(static_cast<std::int64_t>(report.attempts.size()));
  std::string detail;
  for (const auto& [end, count] : ends) {
    detail += (detail.empty() ? "" : ", ") + std::to_string(count) + " " + std::string(end);
  }
  if (!detail.empty()) text += " (" + detail + ")";
  if (report.mtbf_ns) {
    text += "; " + ShowDuration(*report.mtbf_ns) + " alive between disruptions";
  }
  if (report.mttr_ns) text += ", " + ShowDuration(*report.mttr_ns) + " to get back";
  return text;
}

const CategoryTime* CostliestOf(const Report& report) {
  const CategoryTime* costliest = nullptr;
  for (const CategoryTime& time : report.categories) {
    if (time.category == Category::kProductive || time.ns <= 0) continue;
    if (costliest == nullptr || time.ns > costliest->ns) costliest = &time;
  }
  return costliest;
}

std::string ShowExit(std::optional<std::int64_t> exit_status, std::optional<std::int64_t> signal,
                     std::optional<std::int64_t> notice) {
  if (signal && *signal != 0) return ShowSignal(*signal);
  if (exit_status && *exit_status >= 0) return "status " + std::to_string(*exit_status);
  if (notice) return *notice > 0 ? ShowSignal(*notice) + " notice" : "notice";
  return {};
}

std::string RenderReportHead(const Report& report, const Terminal& terminal) {
  return Renderer(report, terminal, {}).RenderHead();
}

std::string RenderReport(const Report& report, const Terminal& terminal,
                         const ReportQuestion& question) {
  return Renderer(report, terminal, question).Render();
}

}  // namespace headway::cli
