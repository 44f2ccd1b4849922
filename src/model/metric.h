#pragma once

#include <cstdint>
#include <span>
#include <string_view>

/// Metrics that are known by their names. The one list: charts, exports and docs read it. Any other
/// name can be recorded too; nothing is known of it then.

namespace headway {

/// What a metric is about: charts are grouped by it.
enum class MetricClass : std::uint8_t {
  kOther = 0,         ///< all that are not in the list
  kModelQuality,      ///< how well the model learns
  kModelPerformance,  ///< how fast it does
  kSystem,            ///< how busy machines and devices are
};
inline constexpr int kMetricClassCount = 4;

/// "other", "model_quality", "model_performance", "system".
std::string_view MetricClassName(MetricClass metric_class);

struct MetricKind {
  std::string_view name;  ///< as it is recorded
  std::string_view unit;  ///< UCUM where it has one: "1", "s", "1/s", "%"; and "TFLOPS"
  MetricClass metric_class = MetricClass::kOther;
};

/// In the order in which they are shown.
std::span<const MetricKind> MetricKinds();

/// nullptr: a free name. Names are compared byte by byte.
const MetricKind* FindMetric(std::string_view name);

}  // namespace headway
