#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ledger/compat/calculator.h"
#include "model/report.h"

/// The published metrics: the one table of their names, which every exporter reads, and the values
/// that a report gives them. All are gauges. Pure; safe from any thread; no errors.

namespace headway::metrics {

enum class Unit : std::uint8_t { kSeconds, kRatio, kDisruptions, kSteps };

/// In the Unified Code for Units of Measure: "s", "1", "{disruption}", "{step}".
std::string_view UcumUnit(Unit unit);

/// Indexes Definitions().
enum class Id : std::uint8_t {
  kGoodput,
  kGoodputTime,
  kBadputTime,
  kElapsed,
  kIntervalGoodput,
  kIntervalBadput,
  kDisruptions,
  kStepDeviation,
  kIdealStep,
  kMaxProductiveStep,
  kSliceEfficiency,
};

/// A metric by all its names. In `tag` and `title`, `<key>` stands for the value of that label, and
/// `[...]` is left out where the label in it is absent.
struct Definition {
  std::string_view prometheus;
  std::string_view otlp;
  std::string_view tag;    ///< TensorBoard's
  std::string_view title;  ///< what TensorBoard calls the chart
  Unit unit = Unit::kSeconds;
  std::string_view help;  ///< one sentence without its full stop
};

std::span<const Definition> Definitions();
const Definition& DefinitionOf(Id id);

struct Label {
  std::string_view key;  ///< "category", "name", "window" or "kind"
  std::string value;     ///< never empty; as Clean() makes it
};

/// One value. No two of a run have the same definition and labels.
struct Metric {
  const Definition* definition = nullptr;
  std::vector<Label> labels;
  /// Seconds and ratios are doubles, counts and steps are integers.
  std::variant<double, std::int64_t> value;
};

/// What is told of a run at one instant.
struct RunMetrics {
  std::string project;
  std::string run;
  std::int64_t time_ns = 0;  ///< wall time that the values are as of
  std::vector<Metric> metrics;
};

/// Of a whole run. What is null in the report is absent, and so is a category without any time.
std::vector<Metric> MetricsOf(const Report& report);

/// Of a report on the last `seconds` of a run; the label `window` is "600s". Shares are of what
/// elapsed in the window. Nothing elapsed: no metrics.
std::vector<Metric> WindowMetricsOf(const Report& report, std::int64_t seconds);

/// Of an elastic run's slices: `kind` is "stepping" or "available".
std::vector<Metric> MetricsOf(const compat::SliceEfficiency& efficiency);

/// The value as a double; an integer beyond 2^53 is rounded.
double Number(const Metric& metric);

/// TensorBoard's tag of a metric, e.g. "badput/custom/eval", and its title with the unit, e.g.
/// "custom/eval (s)".
std::string TagOf(const Metric& metric);
std::string TitleOf(const Metric& metric);

/// The metrics of each definition, in the order of the table, without definitions that have none.
std::vector<std::pair<const Definition*, std::vector<const Metric*>>> ByDefinition(
    std::span<const Metric> metrics);

/// `text` as every consumer takes it: what is no UTF-8 and NUL become U+FFFD.
std::string Clean(std::string_view text);

}  // namespace headway::metrics
