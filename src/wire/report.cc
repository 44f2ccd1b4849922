#include "wire/report.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/utf8.h"

namespace headway::wire {
namespace {

// The enumerations are those of model/, moved up by one: 0 is "not set" on the wire.
template <typename Proto, typename Model>
Proto EnumToProto(Model value) {
  return static_cast<Proto>(static_cast<int>(value) + 1);
}

template <typename Model, typename Proto>
Status EnumFromProto(const char* what, Proto value, Proto last, Model* out) {
  if (value == 0) return {Code::kInvalidArgument, std::string("the report has no ") + what};
  if (value < 0 || value > last) {
    return {Code::kUnimplemented, std::string("the report is of a newer headway: ") + what + " " +
                                      std::to_string(static_cast<int>(value)) +
                                      " is not known here; upgrade this one"};
  }
  *out = static_cast<Model>(static_cast<int>(value) - 1);
  return OkStatus();
}

static_assert(static_cast<int>(Category::kOther) + 1 == v1::Category_MAX);
static_assert(static_cast<int>(RunState::kInterrupted) + 1 == v1::RunState_MAX);
static_assert(static_cast<int>(AttemptEnd::kLost) + 1 == v1::AttemptEnd_MAX);
static_assert(static_cast<int>(Cause::kLost) + 1 == v1::Cause_MAX);

// What may be unknown. `set` is a setter of `to`.
template <typename Proto, typename Set, typename T>
void Put(const std::optional<T>& value, Proto* to, Set set) {
  if (value) (to->*set)(*value);
}
template <typename T>
std::optional<T> Get(bool has, T value) {
  return has ? std::optional<T>(value) : std::nullopt;
}

void Fill(const StepStatistics& from, v1::StepStatistics* to) {
  using To = v1::StepStatistics;
  to->set_count(from.count);
  Put(from.max_productive_step, to, &To::set_max_productive_step);
  Put(from.last_step, to, &To::set_last_step);
  Put(from.ideal_ns, to, &To::set_ideal_ns);
  Put(from.p50_ns, to, &To::set_p50_ns);
  Put(from.p90_ns, to, &To::set_p90_ns);
  Put(from.p99_ns, to, &To::set_p99_ns);
  Put(from.max_ns, to, &To::set_max_ns);
  Put(from.deviation_ns, to, &To::set_deviation_ns);
}

StepStatistics StepsFrom(const v1::StepStatistics& from) {
  StepStatistics to;
  to.count = from.count();
  to.max_productive_step = Get(from.has_max_productive_step(), from.max_productive_step());
  to.last_step = Get(from.has_last_step(), from.last_step());
  to.ideal_ns = Get(from.has_ideal_ns(), from.ideal_ns());
  to.p50_ns = Get(from.has_p50_ns(), from.p50_ns());
  to.p90_ns = Get(from.has_p90_ns(), from.p90_ns());
  to.p99_ns = Get(from.has_p99_ns(), from.p99_ns());
  to.max_ns = Get(from.has_max_ns(), from.max_ns());
  to.deviation_ns = Get(from.has_deviation_ns(), from.deviation_ns());
  return to;
}

void Fill(const AttemptSummary& from, v1::AttemptSummary* to) {
  using To = v1::AttemptSummary;
  to->set_index(from.index);
  to->set_start(from.start);
  Put(from.end, to, &To::set_end);
  to->set_end_kind(EnumToProto<v1::AttemptEnd>(from.end_kind));
  Put(from.exit_status, to, &To::set_exit_status);
  Put(from.signal, to, &To::set_signal);
  Put(from.notice, to, &To::set_notice);
  Put(from.first_step, to, &To::set_first_step);
  Put(from.last_step, to, &To::set_last_step);
}

Status Take(const v1::AttemptSummary& from, AttemptSummary* to) {
  to->index = from.index();
  to->start = from.start();
  to->end = Get(from.has_end(), from.end());
  to->exit_status = Get(from.has_exit_status(), from.exit_status());
  to->signal = Get(from.has_signal(), from.signal());
  to->notice = Get(from.has_notice(), from.notice());
  to->first_step = Get(from.has_first_step(), from.first_step());
  to->last_step = Get(from.has_last_step(), from.last_step());
  return EnumFromProto("end of an attempt", from.end_kind(), v1::AttemptEnd_MAX, &to->end_kind);
}

void Fill(const Disruption& from, v1::Disruption* to) {
  using To = v1::Disruption;
  to->set_time(from.time);
  Put(from.step_reached, to, &To::set_step_reached);
  Put(from.resumed_from, to, &To::set_resumed_from);
  to->set_wasted_ns(from.wasted_ns);
  Put(from.downtime_ns, to, &To::set_downtime_ns);
  Put(from.reinit_ns, to, &To::set_reinit_ns);
  Put(from.regained, to, &To::set_regained);
  Put(from.exit_status, to, &To::set_exit_status);
  Put(from.signal, to, &To::set_signal);
  Put(from.notice, to, &To::set_notice);
  to->set_cause(EnumToProto<v1::Cause>(from.cause));
}

Status Take(const v1::Disruption& from, Disruption* to) {
  to->time = from.time();
  to->step_reached = Get(from.has_step_reached(), from.step_reached());
  to->resumed_from = Get(from.has_resumed_from(), from.resumed_from());
  to->wasted_ns = from.wasted_ns();
  to->downtime_ns = Get(from.has_downtime_ns(), from.downtime_ns());
  to->reinit_ns = Get(from.has_reinit_ns(), from.reinit_ns());
  to->regained = Get(from.has_regained(), from.regained());
  to->exit_status = Get(from.has_exit_status(), from.exit_status());
  to->signal = Get(from.has_signal(), from.signal());
  to->notice = Get(from.has_notice(), from.notice());
  return EnumFromProto("cause of a disruption", from.cause(), v1::Cause_MAX, &to->cause);
}

Status Take(const v1::CategoryTime& from, CategoryTime* to) {
  to->name = from.name();
  to->ns = from.ns();
  return EnumFromProto("category", from.category(), v1::Category_MAX, &to->category);
}

// Each of `from`, at the end of `to`.
template <typename Proto, typename Model>
Status TakeAll(const Proto& from, std::vector<Model>* to) {
  to->reserve(static_cast<std::size_t>(from.size()));
  for (const auto& one : from) {
    HEADWAY_RETURN_IF_ERROR(Take(one, &to->emplace_back()));
  }
  return OkStatus();
}

}  // namespace

v1::Category ToProto(Category category) { return EnumToProto<v1::Category>(category); }

v1::Report ToProto(const Report& report) {
  using To = v1::Report;
  v1::Report to;
  to.set_run(ToValidUtf8(report.run));
  to.set_project(ToValidUtf8(report.project));
  to.set_accounting(report.accounting);
  to.set_state(EnumToProto<v1::RunState>(report.state));
  Put(report.down_since, &to, &To::set_down_since);
  Put(report.start, &to, &To::set_start);
  Put(report.end, &to, &To::set_end);
  to.set_as_of(report.as_of);
  if (report.window) {
    to.mutable_window()->set_begin(report.window->first);
    to.mutable_window()->set_end(report.window->second);
  }
  to.set_elapsed_ns(report.elapsed_ns);
  to.set_excluded_ns(report.excluded_ns);
  Put(report.goodput, &to, &To::set_goodput);
  for (const CategoryTime& time : report.categories) {
    v1::CategoryTime* const one = to.add_categories();
    one->set_category(EnumToProto<v1::Category>(time.category));
    one->set_name(ToValidUtf8(time.name));
    one->set_ns(time.ns);
    one->set_share(report.elapsed_ns > 0
                       ? static_cast<double>(time.ns) / static_cast<double>(report.elapsed_ns)
                       : 0.0);
  }
  to.set_data_loading_overlapped_ns(report.data_loading_overlapped_ns);
  Put(report.goodput_if_loading_blocked, &to, &To::set_goodput_if_loading_blocked);
  to.set_slow_steps_ns(report.slow_steps_ns);
  Put(report.unsaved_ns, &to, &To::set_unsaved_ns);
  Put(report.scheduling_ns, &to, &To::set_scheduling_ns);
  Fill(report.steps, to.mutable_steps());
  for (const AttemptSummary& attempt : report.attempts) Fill(attempt, to.add_attempts());
  for (const Disruption& disruption : report.disruptions) Fill(disruption, to.add_disruptions());
  for (const Rollback& rollback : report.rollbacks) {
    v1::Rollback* const one = to.add_rollbacks();
    one->set_time(rollback.time);
    one->set_from(rollback.from);
    one->set_to(rollback.to);
    one->set_wasted_ns(rollback.wasted_ns);
    one->set_planned(rollback.planned);
  }
  Put(report.mtbf_ns, &to, &To::set_mtbf_ns);
  Put(report.mttr_ns, &to, &To::set_mttr_ns);
  v1::Checkpointing* const saves = to.mutable_checkpointing();
  saves->set_saves(report.checkpointing.saves);
  Put(report.checkpointing.mean_blocking_ns, saves, &v1::Checkpointing::set_mean_blocking_ns);
  Put(report.checkpointing.interval_ns, saves, &v1::Checkpointing::set_interval_ns);
  Put(report.checkpointing.advised_interval_ns, saves, &v1::Checkpointing::set_advised_interval_ns);
  for (const ReportNote& note : report.notes) {
    v1::Report::Note* const one = to.add_notes();
    one->set_code(note.code);
    one->set_count(note.count);
    one->set_message(note.message);
  }
  return to;
}

Result<Report> FromProto(const v1::Report& report) {
  Report to;
  to.run = report.run();
  to.project = report.project();
  to.accounting = report.accounting();
  HEADWAY_RETURN_IF_ERROR(EnumFromProto("state", report.state(), v1::RunState_MAX, &to.state));
  to.down_since = Get(report.has_down_since(), report.down_since());
  to.start = Get(report.has_start(), report.start());
  to.end = Get(report.has_end(), report.end());
  to.as_of = report.as_of();
  if (report.has_window()) to.window = {report.window().begin(), report.window().end()};
  to.elapsed_ns = report.elapsed_ns();
  to.excluded_ns = report.excluded_ns();
  to.goodput = Get(report.has_goodput(), report.goodput());
  HEADWAY_RETURN_IF_ERROR(TakeAll(report.categories(), &to.categories));
  to.data_loading_overlapped_ns = report.data_loading_overlapped_ns();
  to.goodput_if_loading_blocked =
      Get(report.has_goodput_if_loading_blocked(), report.goodput_if_loading_blocked());
  to.slow_steps_ns = report.slow_steps_ns();
  to.unsaved_ns = Get(report.has_unsaved_ns(), report.unsaved_ns());
  to.scheduling_ns = Get(report.has_scheduling_ns(), report.scheduling_ns());
  to.steps = StepsFrom(report.steps());
  HEADWAY_RETURN_IF_ERROR(TakeAll(report.attempts(), &to.attempts));
  HEADWAY_RETURN_IF_ERROR(TakeAll(report.disruptions(), &to.disruptions));
  for (const v1::Rollback& from : report.rollbacks()) {
    to.rollbacks.push_back({from.time(), from.from(), from.to(), from.wasted_ns(), from.planned()});
  }
  to.mtbf_ns = Get(report.has_mtbf_ns(), report.mtbf_ns());
  to.mttr_ns = Get(report.has_mttr_ns(), report.mttr_ns());
  const v1::Checkpointing& saves = report.checkpointing();
  to.checkpointing.saves = saves.saves();
  to.checkpointing.mean_blocking_ns = Get(saves.has_mean_blocking_ns(), saves.mean_blocking_ns());
  to.checkpointing.interval_ns = Get(saves.has_interval_ns(), saves.interval_ns());
  to.checkpointing.advised_interval_ns =
      Get(saves.has_advised_interval_ns(), saves.advised_interval_ns());
  for (const v1::Report::Note& note : report.notes()) {
    to.notes.push_back({note.code(), note.count(), note.message()});
  }
  return to;
}

v1::TimelineInterval ToProto(const TimelineInterval& interval) {
  v1::TimelineInterval to;
  to.set_begin(interval.begin);
  to.set_end(interval.end);
  to.set_category(EnumToProto<v1::Category>(interval.category));
  to.set_name(ToValidUtf8(interval.name));
  if (interval.attempt >= 0) to.set_attempt(interval.attempt);
  Put(interval.step, &to, &v1::TimelineInterval::set_step);
  return to;
}

Result<TimelineInterval> FromProto(const v1::TimelineInterval& interval) {
  TimelineInterval to;
  to.begin = interval.begin();
  to.end = interval.end();
  HEADWAY_RETURN_IF_ERROR(
      EnumFromProto("category", interval.category(), v1::Category_MAX, &to.category));
  to.name = interval.name();
  if (interval.has_attempt()) to.attempt = interval.attempt();
  to.step = Get(interval.has_step(), interval.step());
  return to;
}

v1::StepSummary ToProto(const StepSummary& step) {
  v1::StepSummary to;
  to.set_attempt(step.attempt);
  to.set_step(step.step);
  to.set_start(step.start);
  to.set_end(step.end);
  to.set_work_ns(step.work_ns);
  to.set_productive_ns(step.productive_ns);
  to.set_wasted_ns(step.wasted_ns);
  to.set_data_loading_ns(step.data_loading_ns);
  to.set_program_startup_ns(step.program_startup_ns);
  to.set_step_stall_ns(step.step_stall_ns);
  to.set_infrastructure_recovery_ns(step.infrastructure_recovery_ns);
  to.set_blocked_ns(step.blocked_ns);
  to.set_first(step.first);
  to.set_complete(step.complete);
  to.set_retained(step.retained);
  return to;
}

StepSummary FromProto(const v1::StepSummary& step) {
  StepSummary to;
  to.attempt = step.attempt();
  to.step = step.step();
  to.start = step.start();
  to.end = step.end();
  to.work_ns = step.work_ns();
  to.productive_ns = step.productive_ns();
  to.wasted_ns = step.wasted_ns();
  to.data_loading_ns = step.data_loading_ns();
  to.program_startup_ns = step.program_startup_ns();
  to.step_stall_ns = step.step_stall_ns();
  to.infrastructure_recovery_ns = step.infrastructure_recovery_ns();
  to.blocked_ns = step.blocked_ns();
  to.first = step.first();
  to.complete = step.complete();
  to.retained = step.retained();
  return to;
}

}  // namespace headway::wire
