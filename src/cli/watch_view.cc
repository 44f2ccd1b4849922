#include "cli/watch_view.h"

#include <algorithm>
#include <charconv>

#include "cli/palette.h"
#include "cli/report_text.h"
#include "model/shares.h"
#include "model/text.h"

namespace headway::cli {
namespace {

bool GoesOn(const Report& report) {
  return report.state == RunState::kRunning || report.state == RunState::kRestarting;
}

// Three figures that count.
std::string ShowRate(double per_second) {
  char text[32];
  const int digits = per_second >= 100 ? 0 : per_second >= 10 ? 1 : per_second >= 1 ? 2 : 3;
  const auto [end, error] =
      std::to_chars(text, text + sizeof(text), per_second, std::chars_format::fixed, digits);
  return {text, end};
}

std::string ShowAgo(std::int64_t ns) {
  return ShowDuration(std::max<std::int64_t>(ns, 0)) + " ago";
}

std::string StepText(const WatchNews& news, const StepRate& rate) {
  std::string text = ShowCount(rate.current);
  if (!rate.current) return "none yet";
  const Report& report = news.report;
  if (!news.steps.empty() && !news.steps.back().complete && GoesOn(report)) {
    text += ", for " + ShowDuration(report.as_of - news.steps.back().start);
  }
  text += "; " + ShowCount(report.steps.count) + " kept";
  if (report.steps.max_productive_step) {
    text += ", up to step " + ShowCount(*report.steps.max_productive_step);
  }
  return text;
}

std::string StepTimeText(const Report& report, const StepRate& rate) {
  std::string text;
  const auto add = [&text](std::string_view name, std::optional<std::int64_t> ns) {
    if (!ns) return;
    text += (text.empty() ? "" : ", ") + std::string(name) + " " + ShowDuration(*ns);
  };
  add("last", rate.last_ns);
  add("p50", report.steps.p50_ns);
  add("p99", report.steps.p99_ns);
  add("ideal", report.steps.ideal_ns);
  if (rate.per_second) text += "; " + ShowRate(*rate.per_second) + " steps a second";
  return text;
}

std::string DisruptionText(const Disruption& last, std::size_t count, WallNs now) {
  std::string text =
      ShowTime(last.time) + " UTC, " + ShowAgo(now.ns - last.time) + ": " + CauseText(last);
  if (last.step_reached) text += ", at step " + ShowCount(*last.step_reached);
  if (last.resumed_from) text += ", went on from " + ShowCount(*last.resumed_from);
  if (last.downtime_ns) text += ", down for " + ShowDuration(*last.downtime_ns);
  if (last.wasted_ns > 0) text += ", " + ShowDuration(last.wasted_ns) + " wasted";
  if (count > 1) text += "; " + ShowCount(static_cast<std::int64_t>(count)) + " in all";
  return text;
}

}  // namespace

StepRate RateOf(const WatchNews& news) {
  StepRate rate;
  rate.current = news.report.steps.last_step;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t count = 0;
  for (const StepSummary& step : news.steps) {
    if (!step.complete) continue;
    // A restart between two steps is no slow step.
    if (count == 0 || step.start - last > 60 * kNanosPerSecond) {
      first = step.start;
      count = 0;
    }
    ++count;
    last = step.end;
    rate.last_ns = step.end - step.start;
  }
  if (count > 1 && last > first) {
    rate.per_second =
        static_cast<double>(count) * kNanosPerSecond / static_cast<double>(last - first);
  }
  return rate;
}

bool HasEnded(const Report& report, std::int64_t patience_ns, WallNs now) {
  switch (report.state) {
    case RunState::kCompleted:
    case RunState::kFailed: return true;
    case RunState::kInterrupted: return now.ns - report.end.value_or(report.as_of) >= patience_ns;
    default: return false;
  }
}

std::string RenderWatch(const WatchNews& news, const Terminal& terminal, WallNs now) {
  const Report& report = news.report;
  std::string out = RenderReportHead(report, terminal) + "\n";
  const auto fact = [&](std::string_view label, const std::string& text) {
    if (!text.empty()) out += FactLine(label, text, terminal);
  };
  const StepRate rate = RateOf(news);
  fact("Step", StepText(news, rate));
  fact("Step time", StepTimeText(report, rate));
  fact("Attempts", AttemptsText(report));
  if (!report.disruptions.empty()) {
    fact("Last stop", DisruptionText(report.disruptions.back(), report.disruptions.size(), now));
  }
  if (report.unsaved_ns && GoesOn(report)) {
    fact("Unsaved", ShowDuration(*report.unsaved_ns) + " would be lost by a crash now");
  }
  if (news.arrived) {
    std::string text = ShowCount(news.arrived->journals) +
                       (news.arrived->journals == 1 ? " journal (" : " journals (") +
                       ShowCount(news.arrived->open) + " open), " + ShowCount(news.arrived->slots) +
                       " records";
    if (news.arrived->heard > 0) text += ", the last " + ShowAgo(now.ns - news.arrived->heard);
    fact("Arrived", text);
  }
  if (!news.trouble.empty()) {
    out += "\n" +
           Paint(Tone::kWarning, Wrap(news.trouble, static_cast<std::size_t>(terminal.width), 0),
                 terminal) +
           "\n";
  }
  return out;
}

std::string WatchLine(const WatchNews& news, WallNs now) {
  const Report& report = news.report;
  const StepRate rate = RateOf(news);
  std::string line = ShowTime(now.ns) + "  " + std::string(ShowState(report));
  line += report.elapsed_ns > 0 ? "  " + ShowGoodput(report) + " goodput" : "  no goodput yet";
  line += "  " + ShowDuration(report.elapsed_ns) + " elapsed";
  if (rate.current) line += "  step " + ShowCount(*rate.current);
  if (rate.last_ns) line += "  " + ShowDuration(*rate.last_ns) + " a step";
  if (rate.per_second) line += "  " + ShowRate(*rate.per_second) + " steps/s";
  if (!report.disruptions.empty()) {
    line += "  " + ShowCount(static_cast<std::int64_t>(report.disruptions.size())) +
            (report.disruptions.size() == 1 ? " disruption" : " disruptions");
  }
  if (const CategoryTime* costliest = CostliestOf(report)) {
    line += "  most lost to " + CategoryLabel(costliest->category, costliest->name);
  }
  if (!news.trouble.empty()) line += "  (" + PrintableLine(news.trouble) + ")";
  return line + "\n";
}

}  // namespace headway::cli
