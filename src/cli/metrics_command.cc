#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "base/limits.h"
#include "base/time_format.h"
#include "cli/commands.h"
#include "cli/metric_lines.h"
#include "cli/palette.h"
#include "cli/place.h"
#include "cli/table.h"
#include "model/record.h"
#include "model/text.h"

namespace headway::cli {
namespace {

constexpr std::size_t kTextBuckets = 60;

std::string ShowNumber(double value) {
  char text[32];
  const auto [end, error] =
      std::to_chars(std::begin(text), std::end(text), value, std::chars_format::general, 6);
  return error == std::errc() ? std::string(std::begin(text), end) : "?";
}
std::string ShowNumber(const std::optional<double>& value) {
  return value ? ShowNumber(*value) : "–";
}

// NaN and infinities are texts: JSON has no numbers for them.
void WriteNumber(double value, JsonWriter* json) {
  if (std::isfinite(value)) {
    json->Double(value);
  } else {
    json->String(std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
  }
}
void WriteNumber(const char* name, const std::optional<double>& value, JsonWriter* json) {
  json->Key(name);
  if (value) {
    WriteNumber(*value, json);
  } else {
    json->Null();
  }
}
void WriteInteger(const char* name, const std::optional<std::int64_t>& value, JsonWriter* json) {
  json->Key(name);
  value ? json->Int(*value) : json->Null();
}

void WriteFacts(const MetricFacts& facts, JsonWriter* json) {
  json->Field("count", facts.count).Field("not_finite", facts.not_finite);
  WriteNumber("min", facts.min, json);
  WriteNumber("max", facts.max, json);
  WriteNumber("mean", facts.mean, json);
  WriteNumber("first", facts.first, json);
  WriteNumber("last", facts.last, json);
  json->Field("min_time_ns", facts.min_time).Field("max_time_ns", facts.max_time);
  WriteInteger("min_step", facts.min_step, json);
  WriteInteger("max_step", facts.max_step, json);
}

void WriteInfo(const MetricInfo& info, JsonWriter* json) {
  json->Field("name", info.name)
      .Field("unit", info.unit)
      .Field("class", info.metric_class)
      .Key("labels")
      .BeginObject();
  for (const auto& [key, value] : info.labels) json->Field(key, value);
  json->EndObject().Field("source", info.source).Field("host", info.host);
  WriteInteger("rank", info.rank, json);
  WriteInteger("attempt", info.attempt, json);
}

std::string Where(const MetricInfo& info) {
  std::string text;
  if (info.rank) text = "rank " + std::to_string(*info.rank);
  if (text.empty()) text = info.host.empty() ? info.source : info.host;
  for (const auto& [key, value] : info.labels) text += " " + key + "=" + value;
  return text;
}

// What is the largest of each part, as a picture.
std::string Picture(const MetricLine& line) {
  std::vector<std::optional<double>> cells(kTextBuckets);
  const auto put = [&cells](std::size_t cell, double value) {
    if (!std::isfinite(value)) return;
    cells[cell] = std::max(cells[cell].value_or(value), value);
  };
  const double width = static_cast<double>(line.to) - static_cast<double>(line.from);
  for (std::size_t i = 0; i < line.values.size(); ++i) {
    const bool by_time = line.from > (std::int64_t{1} << 40) || line.steps[i] == kNoStep;
    const std::int64_t at = by_time ? line.times[i] : line.steps[i];
    const double share = (static_cast<double>(at) - static_cast<double>(line.from)) / width;
    const double cell = std::clamp(share, 0.0, 1.0) * static_cast<double>(kTextBuckets);
    put(std::min(static_cast<std::size_t>(cell), kTextBuckets - 1), line.values[i]);
  }
  for (const auto& [index, facts] : line.buckets) {
    if (facts.max && index < kTextBuckets) put(index, *facts.max);
  }
  double least = INFINITY;
  double most = -INFINITY;
  for (const std::optional<double>& cell : cells) {
    if (!cell) continue;
    least = std::min(least, *cell);
    most = std::max(most, *cell);
  }
  constexpr std::string_view kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string picture;
  for (const std::optional<double>& cell : cells) {
    if (!cell) {
      picture += ' ';
      continue;
    }
    const double share = most > least ? (*cell - least) / (most - least) : 0;
    picture += kBars[std::min<std::size_t>(static_cast<std::size_t>(share * 8), 7)];
  }
  return picture;
}

class MetricsCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "The metrics that a run's processes have logged. Without names: all of them, with what "
        "there is to say about the points of each. With names (one that ends in * stands for all "
        "that begin so): their points, or, where they are many, the largest of each part of the "
        "axis; --json has the least, the mean and the last one as well. Points of steps that were "
        "lost again are lines of their own.");
    DescribeRun(description, &run_);
    std::vector<std::string>* const names = &names_;
    description->Option("--name", "NAME", names, "this metric; may be given several times");
    description->Choice("--axis", "AXIS", {"time", "elapsed", "step"}, &axis_,
                        "what points are placed by (time)");
    description->Count("--points", "N", 1, &points_,
                       "how many points or parts of the axis (text: 60, JSON: 1000)");
    description->Option("--steps", "A..B", &steps_, "only steps from A to before B");
    DescribePlace(description, &place_);
    DescribeServer(description, &place_);
    description->Example("headway metrics llama-7b", "which there are");
    description->Example("headway metrics llama-7b --name loss --axis step", "the loss by step");
  }

  Result<int> Run(const Context& context) override {
    if (names_.empty() && steps_.empty() && axis_.empty() && !points_) return List(context);
    MetricQuestion question;
    question.names = names_;
    question.axis = axis_.empty() ? "time" : axis_;
    if (!steps_.empty()) HEADWAY_RETURN_IF_ERROR(ReadSteps(&question));
    question.buckets = place_.json ? 1000 : kTextBuckets;
    if (points_) {
      if (*points_ > static_cast<std::int64_t>(limits::kChartBuckets)) {
        return Status(Code::kInvalidArgument,
                      "--points is at most " + std::to_string(limits::kChartBuckets));
      }
      question.buckets = static_cast<std::size_t>(*points_);
    }
    const Result<std::vector<MetricLine>> lines = QueryMetrics(context, &place_, run_, question);
    if (!lines.ok()) return lines.status();
    *context.out << (place_.json ? Json(*lines) : Text(*lines, context.terminal));
    return lines->empty() ? 1 : 0;
  }

 private:
  Status ReadSteps(MetricQuestion* question) const {
    const std::size_t dots = steps_.find("..");
    const auto read = [](std::string_view text, std::optional<std::int64_t>* step) {
      if (text.empty()) return true;
      std::int64_t number = 0;
      const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      *step = number;
      return error == std::errc() && stop == text.data() + text.size() && IsStep(number);
    };
    if (dots == std::string::npos ||
        !read(std::string_view(steps_).substr(0, dots), &question->from) ||
        !read(std::string_view(steps_).substr(dots + 2), &question->to) ||
        (question->from && question->to && *question->from >= *question->to)) {
      return {Code::kInvalidArgument,
              "--steps takes A..B, such as 100..200, not \"" + PrintableLine(steps_) + "\""};
    }
    if (question->axis != "step" && !axis_.empty()) {
      return {Code::kInvalidArgument, "--steps needs --axis step"};
    }
    question->axis = "step";
    return OkStatus();
  }

  Result<int> List(const Context& context) {
    const Result<std::vector<MetricInfo>> metrics = ListMetrics(context, &place_, run_);
    if (!metrics.ok()) return metrics.status();
    if (place_.json) {
      std::string text;
      JsonWriter json(&text, 1);
      json.BeginArray();
      for (const MetricInfo& info : *metrics) {
        json.BeginObject();
        WriteInfo(info, &json);
        WriteFacts(info.facts, &json);
        json.EndObject();
      }
      json.EndArray();
      *context.out << text << "\n";
      return 0;
    }
    if (metrics->empty()) {
      *context.out << "run " << PrintableLine(run_) << " has logged no metrics\n";
      return 0;
    }
    // What tells two rows apart stays.
    Table table({{"metric"},
                 {"unit", false, 1},
                 {"class", false, 4},
                 {"of"},
                 {"attempt", true, 1},
                 {"points", true},
                 {"last", true},
                 {"mean", true, 2},
                 {"min", true, 3},
                 {"max", true, 3}});
    for (const MetricInfo& info : *metrics) {
      const MetricFacts& facts = info.facts;
      table.AddRow({info.name, info.unit, info.metric_class, Where(info),
                    info.attempt ? std::to_string(*info.attempt) : "",
                    ShowCount(static_cast<std::int64_t>(facts.count)), ShowNumber(facts.last),
                    ShowNumber(facts.mean), ShowNumber(facts.min), ShowNumber(facts.max)});
    }
    *context.out << table.Render(context.terminal);
    return 0;
  }

  static std::string Json(const std::vector<MetricLine>& lines) {
    std::string text;
    JsonWriter json(&text, 1);
    json.BeginArray();
    for (const MetricLine& line : lines) {
      json.BeginObject();
      WriteInfo(line.info, &json);
      json.Field("wasted", line.wasted).Field("from", line.from).Field("to", line.to);
      json.Key("points").BeginArray();
      for (std::size_t i = 0; i < line.values.size(); ++i) {
        json.BeginObject().Field("time_ns", line.times[i]).Key("step");
        line.steps[i] == kNoStep ? json.Null() : json.Int(line.steps[i]);
        json.Key("value");
        WriteNumber(line.values[i], &json);
        json.EndObject();
      }
      json.EndArray().Key("buckets").BeginArray();
      for (const auto& [index, facts] : line.buckets) {
        json.BeginObject().Field("index", index);
        WriteFacts(facts, &json);
        json.EndObject();
      }
      json.EndArray().EndObject();
    }
    json.EndArray();
    return text + "\n";
  }

  static std::string Text(const std::vector<MetricLine>& lines, const Terminal& terminal) {
    if (lines.empty()) return "no points\n";
    std::string out;
    for (const MetricLine& line : lines) {
      const MetricFacts& facts = line.info.facts;
      out += Paint(Tone::kStrong, PrintableLine(line.info.name), terminal) + "  " +
             PrintableLine(Where(line.info)) + (line.wasted ? "  (lost again)" : "") + "\n  " +
             Picture(line) + "\n  " + ShowNumber(facts.min) + " to " + ShowNumber(facts.max) +
             (line.info.unit.empty() || line.info.unit == "1" ? "" : " " + line.info.unit) +
             ", last " + ShowNumber(facts.last) + ", " +
             ShowCount(static_cast<std::int64_t>(facts.count)) + " points" +
             (facts.not_finite > 0 ? ", " + ShowCount(static_cast<std::int64_t>(facts.not_finite)) +
                                         " of them NaN or infinite"
                                   : "") +
             "\n";
    }
    return out;
  }

  std::string run_;
  std::vector<std::string> names_;
  std::string axis_;
  std::optional<std::int64_t> points_;
  std::string steps_;
  Place place_;
};

}  // namespace

std::unique_ptr<Command> MakeMetrics() { return std::make_unique<MetricsCommand>(); }

}  // namespace headway::cli
