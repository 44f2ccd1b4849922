#include "model/report.h"

#include <algorithm>

#include "base/json_writer.h"
#include "base/time_format.h"

namespace headway {
namespace {

// Writes the members of one object; knows how times, durations and unknown values look.
class Members {
 public:
  Members(JsonWriter* json, const JsonOptions& options) : json_(json), options_(options) {}

  Members& Time(std::string_view key, std::int64_t wall) {
    json_->Field(key, FormatTime(WallNs{wall}));
    return *this;
  }
  Members& Time(std::string_view key, const std::optional<std::int64_t>& wall) {
    if (wall) return Time(key, *wall);
    json_->Key(key).Null();
    return *this;
  }
  /// `key` ends in `_ns`.
  Members& Duration(std::string_view key, std::int64_t ns) {
    json_->Field(key, ns);
    if (options_.seconds) {
      const std::string stem(key.substr(0, key.size() - 2));
      json_->Field(stem + "seconds", FormatSeconds(ns));
    }
    return *this;
  }
  Members& Duration(std::string_view key, const std::optional<std::int64_t>& ns) {
    if (ns) return Duration(key, *ns);
    json_->Key(key).Null();
    if (options_.seconds) {
      json_->Key(std::string(key.substr(0, key.size() - 2)) + "seconds").Null();
    }
    return *this;
  }
  template <typename T>
  Members& Value(std::string_view key, const std::optional<T>& value) {
    if (value) {
      json_->Field(key, *value);
    } else {
      json_->Key(key).Null();
    }
    return *this;
  }

 private:
  JsonWriter* json_;
  const JsonOptions& options_;
};

void WriteSteps(JsonWriter* json, const StepStatistics& steps, const JsonOptions& options) {
  Members members(json, options);
  json->Key("steps").BeginObject().Field("count", steps.count);
  members.Value("max_productive_step", steps.max_productive_step)
      .Value("last_step", steps.last_step)
      .Duration("ideal_ns", steps.ideal_ns)
      .Duration("p50_ns", steps.p50_ns)
      .Duration("p90_ns", steps.p90_ns)
      .Duration("p99_ns", steps.p99_ns)
      .Duration("max_ns", steps.max_ns)
      .Duration("deviation_ns", steps.deviation_ns);
  json->EndObject();
}

void WriteDisruptions(JsonWriter* json, const Report& report, const JsonOptions& options) {
  Members members(json, options);
  json->Key("disruptions").BeginArray();
  for (const Disruption& disruption : report.disruptions) {
    json->BeginObject();
    members.Time("time", disruption.time)
        .Value("step_reached", disruption.step_reached)
        .Value("resumed_from", disruption.resumed_from)
        .Duration("wasted_ns", disruption.wasted_ns)
        .Duration("downtime_ns", disruption.downtime_ns)
        .Duration("reinit_ns", disruption.reinit_ns)
        .Time("regained", disruption.regained)
        .Value("exit_status", disruption.exit_status)
        .Value("signal", disruption.signal)
        .Value("notice", disruption.notice);
    json->Field("cause", CauseName(disruption.cause)).EndObject();
  }
  json->EndArray();
  json->Key("rollbacks").BeginArray();
  for (const Rollback& rollback : report.rollbacks) {
    json->BeginObject();
    members.Time("time", rollback.time);
    json->Field("from", rollback.from).Field("to", rollback.to);
    members.Duration("wasted_ns", rollback.wasted_ns);
    json->Field("planned", rollback.planned).EndObject();
  }
  json->EndArray();
}

}  // namespace

std::string_view RunStateName(RunState state) {
  switch (state) {
    case RunState::kNotStarted: return "not_started";
    case RunState::kRunning: return "running";
    case RunState::kRestarting: return "restarting";
    case RunState::kCompleted: return "completed";
    case RunState::kFailed: return "failed";
    case RunState::kInterrupted: return "interrupted";
  }
  return "";
}

std::string_view AttemptEndName(AttemptEnd end) {
  switch (end) {
    case AttemptEnd::kOpen: return "open";
    case AttemptEnd::kClean: return "clean";
    case AttemptEnd::kFailed: return "failed";
    case AttemptEnd::kExit: return "exit";
    case AttemptEnd::kLost: return "lost";
  }
  return "";
}

std::string_view CauseName(Cause cause) {
  switch (cause) {
    case Cause::kNotice: return "notice";
    case Cause::kHang: return "hang";
    case Cause::kSignal: return "signal";
    case Cause::kExitStatus: return "exit_status";
    case Cause::kFailed: return "failed";
    case Cause::kLost: return "lost";
  }
  return "";
}

std::int64_t Report::Ns(Category category) const {
  std::int64_t ns = 0;
  for (const CategoryTime& time : categories) {
    if (time.category == category) ns += time.ns;
  }
  return ns;
}

void WriteAttempts(JsonWriter* json, const std::vector<AttemptSummary>& attempts,
                   const JsonOptions& options) {
  Members members(json, options);
  json->BeginArray();
  for (const AttemptSummary& attempt : attempts) {
    json->BeginObject().Field("index", attempt.index);
    members.Time("start", attempt.start).Time("end", attempt.end);
    json->Field("end_kind", AttemptEndName(attempt.end_kind));
    members.Value("exit_status", attempt.exit_status)
        .Value("signal", attempt.signal)
        .Value("notice", attempt.notice)
        .Value("first_step", attempt.first_step)
        .Value("last_step", attempt.last_step);
    json->EndObject();
  }
  json->EndArray();
}

std::string ToJson(const Report& report, const JsonOptions& options) {
  std::string out;
  JsonWriter json(&out, options.indent);
  Members members(&json, options);
  json.BeginObject()
      .Field("run", report.run)
      .Field("project", report.project)
      .Field("accounting", report.accounting)
      .Field("state", RunStateName(report.state));
  members.Time("down_since", report.down_since)
      .Time("start", report.start)
      .Time("end", report.end)
      .Time("as_of", report.as_of);
  json.Key("window");
  if (report.window) {
    json.BeginObject();
    members.Time("begin", report.window->first).Time("end", report.window->second);
    json.EndObject();
  } else {
    json.Null();
  }
  members.Duration("elapsed_ns", report.elapsed_ns)
      .Duration("excluded_ns", report.excluded_ns)
      .Value("goodput", report.goodput);
  json.Key("categories").BeginArray();
  const auto elapsed = static_cast<double>(report.elapsed_ns);
  for (const CategoryTime& time : report.categories) {
    json.BeginObject().Field("category", CategoryName(time.category)).Field("name", time.name);
    members.Duration("ns", time.ns);
    json.Field("share", elapsed > 0 ? static_cast<double>(time.ns) / elapsed : 0.0).EndObject();
  }
  json.EndArray();
  members.Duration("data_loading_overlapped_ns", report.data_loading_overlapped_ns)
      .Value("goodput_if_loading_blocked", report.goodput_if_loading_blocked)
      .Duration("slow_steps_ns", report.slow_steps_ns)
      .Duration("unsaved_ns", report.unsaved_ns)
      .Duration("scheduling_ns", report.scheduling_ns);
  WriteSteps(&json, report.steps, options);
  json.Key("attempts");
  WriteAttempts(&json, report.attempts, options);
  WriteDisruptions(&json, report, options);
  members.Duration("mtbf_ns", report.mtbf_ns).Duration("mttr_ns", report.mttr_ns);
  json.Key("checkpointing").BeginObject().Field("saves", report.checkpointing.saves);
  members.Duration("mean_blocking_ns", report.checkpointing.mean_blocking_ns)
      .Duration("interval_ns", report.checkpointing.interval_ns)
      .Duration("advised_interval_ns", report.checkpointing.advised_interval_ns);
  json.EndObject();
  json.Key("notes").BeginArray();
  for (const ReportNote& note : report.notes) {
    json.BeginObject()
        .Field("code", note.code)
        .Field("count", note.count)
        .Field("message", note.message)
        .EndObject();
  }
  json.EndArray().EndObject();
  out += '\n';
  return out;
}

std::string ToJson(const std::vector<TimelineInterval>& intervals, const JsonOptions& options) {
  std::string out;
  JsonWriter json(&out, options.indent);
  Members members(&json, options);
  json.BeginArray();
  for (const TimelineInterval& interval : intervals) {
    json.BeginObject();
    members.Time("begin", interval.begin).Time("end", interval.end);
    members.Duration("duration_ns", interval.end - interval.begin);
    json.Field("category", CategoryName(interval.category)).Field("name", interval.name);
    members.Value("attempt", interval.attempt < 0 ? std::nullopt : std::optional(interval.attempt))
        .Value("step", interval.step);
    json.EndObject();
  }
  json.EndArray();
  out += '\n';
  return out;
}

std::string ToJson(const std::vector<StepSummary>& steps, const JsonOptions& options) {
  std::string out;
  JsonWriter json(&out, options.indent);
  Members members(&json, options);
  json.BeginArray();
  for (const StepSummary& step : steps) {
    json.BeginObject().Field("attempt", step.attempt).Field("step", step.step);
    members.Time("start", step.start)
        .Time("end", step.end)
        .Duration("work_ns", step.work_ns)
        .Duration("productive_ns", step.productive_ns)
        .Duration("wasted_ns", step.wasted_ns)
        .Duration("data_loading_ns", step.data_loading_ns)
        .Duration("program_startup_ns", step.program_startup_ns)
        .Duration("step_stall_ns", step.step_stall_ns)
        .Duration("infrastructure_recovery_ns", step.infrastructure_recovery_ns)
        .Duration("blocked_ns", step.blocked_ns);
    json.Field("first", step.first)
        .Field("complete", step.complete)
        .Field("retained", step.retained)
        .EndObject();
  }
  json.EndArray();
  out += '\n';
  return out;
}

}  // namespace headway
