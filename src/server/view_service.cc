#include "server/view_service.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "base/view_limits.h"
#include "ledger/ledger.h"
#include "model/report.h"
#include "server/list_request.h"
#include "server/time_selection.h"
#include "wire/report.h"

namespace headway::server {
namespace {

using ledger::TimeSplit;
using ledger::WallSpan;

__extension__ using Wide = __int128;

Result<int> ColumnsOf(std::int32_t asked) {
  if (asked < 0 || asked > limits::kViewColumns) {
    return Status(Code::kInvalidArgument, "columns: " + std::to_string(asked) +
                                              " is not within 0.." +
                                              std::to_string(limits::kViewColumns));
  }
  return asked == 0 ? limits::kViewColumnsUsual : asked;
}

/// A stretch of a run's time that is asked about, and the run as all of the answer sees it.
struct Stretch {
  ledger::Query query;
  Report report;  // of the whole run
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::vector<std::int64_t> ends;  // [columns + 1] where columns begin, and the end of the last one

  std::int64_t columns() const { return static_cast<std::int64_t>(ends.size()) - 1; }
  /// The column that an instant of the stretch lies in.
  std::int64_t ColumnOf(std::int64_t at) const {
    return std::ranges::upper_bound(ends, at) - ends.begin() - 1;
  }
};

/// [columns + 1] Where equal parts begin, and the end of the last one.
std::vector<std::int64_t> EndsOf(std::int64_t begin, std::int64_t end, int columns) {
  std::vector<std::int64_t> ends;
  const Wide length = Wide{end} - begin;
  for (int i = 0; i <= columns; ++i) {
    ends.push_back(static_cast<std::int64_t>(begin + length * i / columns));
  }
  return ends;
}

/// Without a begin and an end where the run has not begun.
Result<Stretch> FindStretch(const v1::TimeSelection& time, int columns, ledger::Ledger* ledger,
                            WallNs now) {
  Stretch stretch;
  const auto query = runs::MakeQuery(ToQuestion(time), ledger, now);
  if (!query.ok()) return query.status();
  stretch.query = *query;
  stretch.query.window.reset();
  stretch.report = ledger->MakeReport(stretch.query);
  if (!stretch.report.start) return stretch;
  std::tie(stretch.begin, stretch.end) =
      query->window.value_or(WallSpan(*stretch.report.start, *stretch.report.end));
  stretch.ends = EndsOf(stretch.begin, stretch.end, columns);
  return stretch;
}

v1::HistorySeries SeriesWithoutColumns(const TimeSplit::Series& from) {
  v1::HistorySeries to;
  to.set_category(wire::ToProto(from.category));
  to.set_name(ToValidUtf8(from.name));
  to.set_names(static_cast<std::int32_t>(from.names));
  return to;
}

v1::History MakeHistory(const Stretch& stretch, std::int64_t rolling_ns, ledger::Ledger* ledger) {
  v1::History history;
  history.set_as_of(stretch.report.as_of);
  if (!stretch.report.start) return history;
  history.set_begin(stretch.begin);
  history.set_end(stretch.end);
  history.set_columns(static_cast<std::int32_t>(stretch.columns()));
  history.set_rolling_ns(rolling_ns);
  std::vector<WallSpan> spans = {{*stretch.report.start, stretch.begin}};
  for (std::size_t i = 1; i < stretch.ends.size(); ++i) {
    const std::int64_t end = stretch.ends[i];
    std::int64_t begin = stretch.ends[i - 1];
    if (rolling_ns > 0 && __builtin_sub_overflow(end, rolling_ns, &begin)) {
      begin = std::numeric_limits<std::int64_t>::min();
    }
    spans.emplace_back(begin, end);
  }
  const TimeSplit split = ledger->Split(stretch.query, spans, limits::kViewNames);
  history.set_elapsed_before_ns(split.elapsed_ns[0]);
  history.mutable_elapsed_ns()->Add(split.elapsed_ns.begin() + 1, split.elapsed_ns.end());
  for (const TimeSplit::Series& from : split.series) {
    v1::HistorySeries* const to = history.add_series();
    *to = SeriesWithoutColumns(from);
    to->set_before_ns(from.ns[0]);
    to->mutable_ns()->Add(from.ns.begin() + 1, from.ns.end());
  }
  return history;
}

/// Those that have time in the stretch, few enough.
std::vector<v1::TimelineLane> LanesIn(const Stretch& stretch) {
  const std::vector<AttemptSummary>& attempts = stretch.report.attempts;
  std::vector<v1::TimelineLane> lanes;
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    const bool last = i + 1 == attempts.size();
    const std::int64_t begin = std::max(attempts[i].start, stretch.begin);
    const std::int64_t end =
        std::min(last ? *stretch.report.end : attempts[i + 1].start, stretch.end);
    if (begin >= end) continue;
    v1::TimelineLane& lane = lanes.emplace_back();
    lane.set_attempt(attempts[i].index);
    lane.set_attempts(1);
    lane.set_begin(begin);
    lane.set_end(end);
  }
  if (lanes.size() <= limits::kViewLanes) return lanes;
  const std::size_t each = (lanes.size() + limits::kViewLanes - 1) / limits::kViewLanes;
  std::vector<v1::TimelineLane> wide;
  for (std::size_t i = 0; i < lanes.size(); i += each) {
    const v1::TimelineLane& last = lanes[std::min(i + each, lanes.size()) - 1];
    v1::TimelineLane& lane = wide.emplace_back(lanes[i]);
    lane.set_attempts(static_cast<std::int32_t>(last.attempt() - lane.attempt() + 1));
    lane.set_end(last.end());
  }
  return wide;
}

void FillIntervals(std::span<const TimelineInterval> intervals, v1::RunTimeline* timeline) {
  auto lane = timeline->mutable_lanes()->begin();
  const auto last = timeline->mutable_lanes()->end() - 1;
  for (const TimelineInterval& interval : intervals) {
    v1::TimelineInterval rest = wire::ToProto(interval);
    while (lane != last && lane->end() <= rest.begin()) ++lane;
    for (; lane != last && lane->end() < rest.end(); ++lane) {
      // An attempt that was alive for no time at all lies in it.
      *lane->add_intervals() = rest;
      lane->mutable_intervals()->rbegin()->set_end(lane->end());
      rest.set_begin(lane->end());
    }
    *lane->add_intervals() = std::move(rest);
  }
}

void FillColumns(const Stretch& stretch, ledger::Ledger* ledger, v1::RunTimeline* timeline) {
  timeline->set_columns(static_cast<std::int32_t>(stretch.columns()));
  std::vector<WallSpan> spans;
  std::vector<std::size_t> first;  // [lanes + 1] of spans
  for (v1::TimelineLane& lane : *timeline->mutable_lanes()) {
    first.push_back(spans.size());
    const std::int64_t begin = stretch.ColumnOf(lane.begin());
    lane.set_first_column(static_cast<std::int32_t>(begin));
    for (auto i = static_cast<std::size_t>(begin); stretch.ends[i] < lane.end(); ++i) {
      spans.emplace_back(std::max(stretch.ends[i], lane.begin()),
                         std::min(stretch.ends[i + 1], lane.end()));
    }
  }
  first.push_back(spans.size());
  const TimeSplit split = ledger->Split(stretch.query, spans, limits::kViewNames);
  std::size_t at = 0;
  for (v1::TimelineLane& lane : *timeline->mutable_lanes()) {
    const auto of_lane = [from = first[at],
                          to = first[at + 1]](const std::vector<std::int64_t>& ns) {
      return std::span(ns).subspan(from, to - from);
    };
    const auto elapsed = of_lane(split.elapsed_ns);
    lane.mutable_elapsed_ns()->Add(elapsed.begin(), elapsed.end());
    for (const TimeSplit::Series& from : split.series) {
      const auto ns = of_lane(from.ns);
      if (std::ranges::all_of(ns, [](std::int64_t one) { return one == 0; })) continue;
      v1::HistorySeries* const to = lane.add_series();
      *to = SeriesWithoutColumns(from);
      to->mutable_ns()->Add(ns.begin(), ns.end());
    }
    ++at;
  }
}

v1::RunTimeline MakeTimeline(const Stretch& stretch, ledger::Ledger* ledger) {
  v1::RunTimeline timeline;
  timeline.set_as_of(stretch.report.as_of);
  if (!stretch.report.start) return timeline;
  timeline.set_begin(stretch.begin);
  timeline.set_end(stretch.end);
  for (v1::TimelineLane& lane : LanesIn(stretch)) *timeline.add_lanes() = std::move(lane);
  if (timeline.lanes().empty()) return timeline;
  ledger::Query query = stretch.query;
  query.window = {stretch.begin, stretch.end};
  if (const auto intervals = ledger->TimelineUpTo(query, limits::kViewIntervals)) {
    FillIntervals(*intervals, &timeline);
  } else {
    FillColumns(stretch, ledger, &timeline);
  }
  return timeline;
}

/// The first step that counts; nothing: there is none.
std::optional<std::int64_t> FirstStep(const ledger::Query& query, ledger::Ledger* ledger) {
  const Report report = ledger->MakeReport(query);
  std::optional<std::int64_t> first;
  for (const AttemptSummary& attempt : report.attempts) {
    if (attempt.first_step && (!first || *attempt.first_step < *first)) first = attempt.first_step;
  }
  return report.steps.max_productive_step ? first : std::nullopt;
}

Result<v1::StepHistory> MakeStepHistory(const v1::GetStepHistoryRequest& request, int columns,
                                        ledger::Ledger* ledger, WallNs now) {
  using Axis = ledger::StepQuestion::Axis;
  const bool by_step = request.axis() == v1::STEP_AXIS_STEP;
  const Result<Stretch> stretch = FindStretch(request.time(), columns, ledger, now);
  if (!stretch.ok()) return stretch.status();
  const Report& report = stretch->report;
  v1::StepHistory history;
  history.set_as_of(report.as_of);
  history.set_axis(by_step ? v1::STEP_AXIS_STEP : v1::STEP_AXIS_TIME);
  if (!report.start) return history;
  if (report.steps.ideal_ns) history.set_ideal_ns(*report.steps.ideal_ns);
  ledger::StepQuestion question{.axis = by_step ? Axis::kStep : Axis::kTime,
                                .ends = stretch->ends,
                                .slowest = static_cast<std::size_t>(request.slowest())};
  if (by_step) {
    const std::optional<std::int64_t> first = FirstStep(stretch->query, ledger);
    if (!first) return history;
    const std::int64_t begin = request.has_from_step() ? request.from_step() : *first;
    const std::int64_t end =
        request.has_to_step() ? request.to_step() : *report.steps.max_productive_step + 1;
    if (begin >= end) {
      return Status(Code::kInvalidArgument, "no step lies between step " + std::to_string(begin) +
                                                " and step " + std::to_string(end));
    }
    question.ends = EndsOf(begin, end, columns);
  }
  history.set_begin(question.ends.front());
  history.set_end(question.ends.back());
  history.set_columns(columns);
  ledger::Query query = stretch->query;
  query.window = {stretch->begin, stretch->end};
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();
  const ledger::StepHistory found = ledger->MakeStepHistory(query, question);
  for (const ledger::StepHistory::Column& column : found.columns) {
    history.add_count(column.count);
    history.add_wasted_count(column.wasted);
    history.add_min_ns(column.min_ns);
    history.add_p10_ns(column.p10_ns);
    history.add_p50_ns(column.p50_ns);
    history.add_p90_ns(column.p90_ns);
    history.add_max_ns(column.max_ns);
    if (by_step) continue;
    history.add_last_step(column.last_step.value_or(kNone));
    history.add_productive_step(column.productive_step.value_or(kNone));
  }
  for (const StepSummary& step : found.slowest) *history.add_slowest() = wire::ToProto(step);
  return history;
}

}  // namespace

void ViewService::AddTo(ConnectRouter* router) {
  router->Add<v1::GetHistoryRequest, v1::History>(
      "headway.v1.ViewService.GetHistory", Permission::kRunsGet, Scope::kOneRun,
      [this](const Caller& caller, const auto& request) { return GetHistory(caller, request); });
  router->Add<v1::GetTimelineRequest, v1::RunTimeline>(
      "headway.v1.ViewService.GetTimeline", Permission::kRunsGet, Scope::kOneRun,
      [this](const Caller& caller, const auto& request) { return GetTimeline(caller, request); });
  router->Add<v1::GetStepHistoryRequest, v1::StepHistory>(
      "headway.v1.ViewService.GetStepHistory", Permission::kRunsGet, Scope::kOneRun,
      [this](const Caller& caller, const auto& request) {
        return GetStepHistory(caller, request);
      });
}

Result<v1::History> ViewService::GetHistory(const Caller& caller,
                                            const v1::GetHistoryRequest& request) {
  const Result<int> columns = ColumnsOf(request.columns());
  if (!columns.ok()) return columns.status();
  if (request.rolling_ns() < 0) {
    return Status(Code::kInvalidArgument,
                  "rolling_ns: " + std::to_string(request.rolling_ns()) + " is below 0");
  }
  const Result<store::RunRow> run =
      registry_->Find(caller, ProjectOf(request.project()), request.run());
  if (!run.ok()) return run.status();
  return ledgers_->Look(run->uid, [&](RunLedger& found) -> Result<v1::History> {
    const Result<Stretch> stretch =
        FindStretch(request.time(), *columns, found.ledger(), clock_->Wall());
    if (!stretch.ok()) return stretch.status();
    return MakeHistory(*stretch, request.rolling_ns(), found.ledger());
  });
}

Result<v1::RunTimeline> ViewService::GetTimeline(const Caller& caller,
                                                 const v1::GetTimelineRequest& request) {
  const Result<int> columns = ColumnsOf(request.columns());
  if (!columns.ok()) return columns.status();
  const Result<store::RunRow> run =
      registry_->Find(caller, ProjectOf(request.project()), request.run());
  if (!run.ok()) return run.status();
  return ledgers_->Look(run->uid, [&](RunLedger& found) -> Result<v1::RunTimeline> {
    const Result<Stretch> stretch =
        FindStretch(request.time(), *columns, found.ledger(), clock_->Wall());
    if (!stretch.ok()) return stretch.status();
    return MakeTimeline(*stretch, found.ledger());
  });
}

Result<v1::StepHistory> ViewService::GetStepHistory(const Caller& caller,
                                                    const v1::GetStepHistoryRequest& request) {
  const Result<int> columns = ColumnsOf(request.columns());
  if (!columns.ok()) return columns.status();
  if (request.slowest() < 0 || request.slowest() > limits::kSlowestSteps) {
    return Status(Code::kInvalidArgument, "slowest: " + std::to_string(request.slowest()) +
                                              " is not within 0.." +
                                              std::to_string(limits::kSlowestSteps));
  }
  const Result<store::RunRow> run =
      registry_->Find(caller, ProjectOf(request.project()), request.run());
  if (!run.ok()) return run.status();
  return ledgers_->Look(run->uid, [&](RunLedger& found) {
    return MakeStepHistory(request, *columns, found.ledger(), clock_->Wall());
  });
}

}  // namespace headway::server
