#include "formats/perfetto/writer.h"

#include <string_view>

#include "base/json_writer.h"
#include "base/time_format.h"

namespace headway::perfetto {
namespace {

constexpr std::int64_t kDownLane = 0;

std::int64_t AttemptLane(std::int64_t attempt) { return 1 + 2 * attempt; }
std::int64_t StepLane(std::int64_t attempt) { return 2 + 2 * attempt; }

std::string Quoted(std::string_view text) {
  std::string quoted;
  JsonWriter(&quoted).String(text);
  return quoted;
}

// Chrome's names of colours: what is good is green, what is lost red.
std::string_view ColorOf(Category category) {
  switch (category) {
    case Category::kProductive: return "thread_state_running";
    case Category::kWastedProgress: return "terrible";
    case Category::kInfrastructureRecovery: return "grey";
    case Category::kStepStall: return "bad";
    case Category::kOther: return "generic_work";
    default: return "yellow";
  }
}

}  // namespace

TraceWriter::TraceWriter(const Report& report, std::string* out)
    : out_(out), start_(report.start.value_or(0)) {
  out_->append("{\"displayTimeUnit\":\"ns\",\"metadata\":{\"run\":")
      .append(Quoted(report.run))
      .append(",\"project\":")
      .append(Quoted(report.project))
      .append(",\"start\":")
      .append(Quoted(FormatTime(WallNs{start_})))
      .append(",\"start_ns\":\"")
      .append(std::to_string(start_))
      .append("\"},\n\"traceEvents\":[");
  Begin("M", kDownLane, start_);
  out_->append(",\"name\":\"process_name\",\"args\":{\"name\":")
      .append(Quoted("headway: " + report.run))
      .append("}}");
  Lane(kDownLane, "no attempt alive");
  for (const AttemptSummary& attempt : report.attempts) {
    const std::string name = "attempt " + std::to_string(attempt.index);
    Lane(AttemptLane(attempt.index), name);
    Lane(StepLane(attempt.index), name + ": steps");
  }
  for (const Disruption& disruption : report.disruptions) {
    std::string arguments = "\"wasted_ns\":" + std::to_string(disruption.wasted_ns);
    if (disruption.step_reached) {
      arguments += ",\"step_reached\":" + std::to_string(*disruption.step_reached);
    }
    if (disruption.resumed_from) {
      arguments += ",\"resumed_from\":" + std::to_string(*disruption.resumed_from);
    }
    Mark("disruption", disruption.time, arguments);
  }
  for (const Rollback& rollback : report.rollbacks) {
    Mark(rollback.planned ? "planned rollback" : "rollback", rollback.time,
         "\"from\":" + std::to_string(rollback.from) + ",\"to\":" + std::to_string(rollback.to) +
             ",\"wasted_ns\":" + std::to_string(rollback.wasted_ns));
  }
}

void TraceWriter::Add(const TimelineInterval& interval) {
  Begin("X", interval.attempt < 0 ? kDownLane : AttemptLane(interval.attempt), interval.begin);
  Time("dur", interval.end - interval.begin);
  std::string name(CategoryName(interval.category));
  if (!interval.name.empty()) name += " " + interval.name;
  out_->append(",\"cat\":\"")
      .append(CategoryName(interval.category))
      .append("\",\"cname\":\"")
      .append(ColorOf(interval.category))
      .append("\",\"name\":")
      .append(Quoted(name));
  if (interval.step) out_->append(",\"args\":{\"step\":" + std::to_string(*interval.step) + "}");
  out_->append("}");
}

void TraceWriter::Add(const StepSummary& step) {
  Begin("X", StepLane(step.attempt), step.start);
  Time("dur", step.end - step.start);
  out_->append(",\"cat\":\"step\",\"name\":\"step " + std::to_string(step.step) + "\"")
      .append(",\"args\":{\"work_ns\":" + std::to_string(step.work_ns))
      .append(",\"productive_ns\":" + std::to_string(step.productive_ns))
      .append(",\"wasted_ns\":" + std::to_string(step.wasted_ns))
      .append(step.retained ? ",\"retained\":true}}" : ",\"retained\":false}}");
}

void TraceWriter::Finish() { out_->append("\n]}\n"); }

void TraceWriter::Lane(std::int64_t lane, const std::string& name) {
  Begin("M", lane, start_);
  out_->append(",\"name\":\"thread_name\",\"args\":{\"name\":").append(Quoted(name)).append("}}");
  Begin("M", lane, start_);
  out_->append(",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":")
      .append(std::to_string(lane))
      .append("}}");
}

void TraceWriter::Mark(const char* name, std::int64_t time, const std::string& arguments) {
  Begin("i", kDownLane, time);
  out_->append(",\"s\":\"p\",\"name\":\"").append(name).append("\",\"args\":{" + arguments + "}}");
}

void TraceWriter::Begin(const char* phase, std::int64_t lane, std::int64_t time) {
  out_->append(any_ ? ",\n{" : "\n{");
  any_ = true;
  out_->append("\"ph\":\"").append(phase).append("\",\"pid\":1,\"tid\":" + std::to_string(lane));
  Time("ts", time - start_);
}

// Microseconds with three decimals.
void TraceWriter::Time(const char* key, std::int64_t ns) {
  const bool negative = ns < 0;
  const auto magnitude =
      negative ? -static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  std::string below = std::to_string(magnitude % 1000);
  below.insert(0, 3 - below.size(), '0');
  out_->append(",\"").append(key).append(negative ? "\":-" : "\":");
  out_->append(std::to_string(magnitude / 1000)).append(".").append(below);
}

}  // namespace headway::perfetto
