#include "formats/metrics/metrics.h"

#include <cstddef>
#include <iterator>
#include <map>
#include <optional>

#include "base/status.h"
#include "base/utf8.h"

namespace headway::metrics {
namespace {

constexpr Definition kDefinitions[] = {
    {"headway_goodput_ratio", "headway.goodput.ratio", "goodput/goodput", "goodput", Unit::kRatio,
     "Productive share of the elapsed time, 0 to 1"},
    {"headway_goodput_seconds", "headway.goodput.time", "goodput/time", "productive time",
     Unit::kSeconds, "Productive time; falls when a disruption wastes steps"},
    {"headway_badput_seconds", "headway.badput.time", "badput/<category>[/<name>]",
     "<category>[/<name>]", Unit::kSeconds, "Time that was not productive, by category"},
    {"headway_elapsed_seconds", "headway.elapsed", "goodput/elapsed", "elapsed", Unit::kSeconds,
     "Time since the run began, without what is excluded"},
    {"headway_interval_goodput_ratio", "headway.interval.goodput", "interval/<window>/goodput",
     "goodput, <window>", Unit::kRatio,
     "Productive share of the time that elapsed in the latest window, 0 to 1"},
    {"headway_interval_badput_ratio", "headway.interval.badput",
     "interval/<window>/badput/<category>[/<name>]", "<category>[/<name>], <window>", Unit::kRatio,
     "Share of a category in the time that elapsed in the latest window, 0 to 1"},
    {"headway_disruptions", "headway.disruptions", "goodput/disruptions", "disruptions",
     Unit::kDisruptions, "Disruptions so far"},
    {"headway_step_time_deviation_seconds", "headway.step.deviation", "step_deviation",
     "step deviation", Unit::kSeconds,
     "How much further recent steps are off the ideal step time than those before"},
    {"headway_ideal_step_seconds", "headway.step.ideal", "goodput/ideal_step_time",
     "ideal step time", Unit::kSeconds, "Ideal step time, as computed from the run's steps"},
    {"headway_max_productive_step", "headway.step.max_productive", "goodput/max_productive_step",
     "max productive step", Unit::kSteps, "Highest step whose work is retained"},
    {"headway_slice_efficiency_ratio", "headway.slice.efficiency",
     "goodput/slice_efficiency/<kind>", "slice efficiency, <kind>", Unit::kRatio,
     "Time-weighted mean of slices that step, or are available, over all slices"},
};

std::string_view ValueOf(const Metric& metric, std::string_view key) {
  for (const Label& label : metric.labels) {
    if (label.key == key) return label.value;
  }
  return {};
}

std::string Fill(std::string_view text, const Metric& metric) {
  std::string filled;
  while (!text.empty()) {
    const char c = text.front();
    if (c != '<' && c != '[') {
      filled += c;
      text.remove_prefix(1);
      continue;
    }
    const std::size_t open = text.find('<');
    const std::size_t close = text.find('>');
    const std::string_view value = ValueOf(metric, text.substr(open + 1, close - open - 1));
    if (!value.empty()) filled.append(text.substr(1, c == '[' ? open - 1 : 0)).append(value);
    text.remove_prefix(close + (c == '[' ? 2 : 1));
  }
  return filled;
}

double Seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

// All but productive time. Names that Clean makes the same are one.
std::vector<CategoryTime> BadputOf(const Report& report) {
  std::vector<CategoryTime> badput;
  std::map<std::pair<Category, std::string>, std::size_t> index;
  for (const CategoryTime& time : report.categories) {
    if (time.category == Category::kProductive) continue;
    std::string name = Clean(time.name);
    const auto [at, fresh] = index.try_emplace({time.category, name}, badput.size());
    if (fresh) {
      badput.push_back({time.category, std::move(name), time.ns});
    } else {
      badput[at->second].ns += time.ns;
    }
  }
  return badput;
}

class Collector {
 public:
  void Add(Id id, double value, std::vector<Label> labels = {}) {
    metrics_.push_back({&DefinitionOf(id), std::move(labels), value});
  }
  void AddInteger(Id id, std::optional<std::int64_t> value) {
    if (value) metrics_.push_back({&DefinitionOf(id), {}, *value});
  }
  void AddTime(Id id, std::optional<std::int64_t> ns) {
    if (ns) Add(id, Seconds(*ns));
  }
  std::vector<Metric> Take() { return std::move(metrics_); }

 private:
  std::vector<Metric> metrics_;
};

void AddCategory(const CategoryTime& time, std::vector<Label>* labels) {
  labels->push_back({"category", std::string(CategoryName(time.category))});
  if (!time.name.empty()) labels->push_back({"name", time.name});
}

}  // namespace

std::string_view UcumUnit(Unit unit) {
  switch (unit) {
    case Unit::kSeconds: return "s";
    case Unit::kRatio: return "1";
    case Unit::kDisruptions: return "{disruption}";
    case Unit::kSteps: return "{step}";
  }
  return "";
}

std::span<const Definition> Definitions() { return kDefinitions; }

const Definition& DefinitionOf(Id id) {
  const auto index = static_cast<std::size_t>(id);
  HEADWAY_CHECK(index < std::size(kDefinitions));
  return kDefinitions[index];
}

std::vector<Metric> MetricsOf(const Report& report) {
  Collector collector;
  if (report.goodput) collector.Add(Id::kGoodput, *report.goodput);
  collector.AddTime(Id::kGoodputTime, report.Ns(Category::kProductive));
  for (const CategoryTime& time : BadputOf(report)) {
    std::vector<Label> labels;
    AddCategory(time, &labels);
    collector.Add(Id::kBadputTime, Seconds(time.ns), std::move(labels));
  }
  collector.AddTime(Id::kElapsed, report.elapsed_ns);
  collector.AddInteger(Id::kDisruptions, static_cast<std::int64_t>(report.disruptions.size()));
  collector.AddTime(Id::kStepDeviation, report.steps.deviation_ns);
  collector.AddTime(Id::kIdealStep, report.steps.ideal_ns);
  collector.AddInteger(Id::kMaxProductiveStep, report.steps.max_productive_step);
  return collector.Take();
}

std::vector<Metric> WindowMetricsOf(const Report& report, std::int64_t seconds) {
  Collector collector;
  if (report.elapsed_ns <= 0) return {};
  const std::string window = std::to_string(seconds) + "s";
  if (report.goodput) collector.Add(Id::kIntervalGoodput, *report.goodput, {{"window", window}});
  for (const CategoryTime& time : BadputOf(report)) {
    std::vector<Label> labels = {{"window", window}};
    AddCategory(time, &labels);
    collector.Add(Id::kIntervalBadput,
                  static_cast<double>(time.ns) / static_cast<double>(report.elapsed_ns),
                  std::move(labels));
  }
  return collector.Take();
}

std::vector<Metric> MetricsOf(const compat::SliceEfficiency& efficiency) {
  Collector collector;
  collector.Add(Id::kSliceEfficiency, efficiency.stepping, {{"kind", "stepping"}});
  collector.Add(Id::kSliceEfficiency, efficiency.available, {{"kind", "available"}});
  return collector.Take();
}

double Number(const Metric& metric) {
  return std::visit([](auto value) { return static_cast<double>(value); }, metric.value);
}

std::string TagOf(const Metric& metric) { return Fill(metric.definition->tag, metric); }

std::string TitleOf(const Metric& metric) {
  std::string title = Fill(metric.definition->title, metric);
  if (metric.definition->unit == Unit::kSeconds) title += " (s)";
  if (metric.definition->unit == Unit::kRatio) title += " (0..1)";
  return title;
}

std::vector<std::pair<const Definition*, std::vector<const Metric*>>> ByDefinition(
    std::span<const Metric> metrics) {
  std::vector<std::pair<const Definition*, std::vector<const Metric*>>> grouped;
  for (const Definition& definition : kDefinitions) {
    std::vector<const Metric*> found;
    for (const Metric& metric : metrics) {
      if (metric.definition == &definition) found.push_back(&metric);
    }
    if (!found.empty()) grouped.emplace_back(&definition, std::move(found));
  }
  return grouped;
}

std::string Clean(std::string_view text) {
  std::string clean = ToValidUtf8(text);
  for (std::size_t at = clean.find('\0'); at != std::string::npos; at = clean.find('\0', at)) {
    clean.replace(at, 1, "\xef\xbf\xbd");
  }
  return clean;
}

}  // namespace headway::metrics
