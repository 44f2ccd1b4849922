#include "model/metric.h"

#include <algorithm>
#include <array>

namespace headway {
namespace {

constexpr auto kQuality = MetricClass::kModelQuality;
constexpr auto kPerformance = MetricClass::kModelPerformance;
constexpr auto kSystem = MetricClass::kSystem;

constexpr MetricKind kKinds[] = {
    {"learning_rate", "1", kQuality},
    {"loss", "1", kQuality},
    {"gradient_norm", "1", kQuality},
    {"total_weights", "1", kQuality},
    {"step_time", "s", kPerformance},
    {"throughput", "1/s", kPerformance},
    {"latency", "s", kPerformance},
    {"mfu", "%", kPerformance},
    {"tflops", "TFLOPS", kPerformance},
    {"step", "1", MetricClass::kOther},
    {"tpu_duty_cycle", "%", kSystem},
    {"tpu_tensorcore_utilization", "%", kSystem},
    {"hbm_utilization", "%", kSystem},
    {"host_cpu_utilization", "%", kSystem},
    {"host_memory_utilization", "%", kSystem},
    {"gpu_duty_cycle", "%", kSystem},
    {"gpu_utilization", "%", kSystem},
    {"gpu_tensorcore_utilization", "%", kSystem},
    {"vram_utilization", "%", kSystem},
};

constexpr std::array<std::string_view, kMetricClassCount> kClassNames = {
    "other", "model_quality", "model_performance", "system"};

}  // namespace

std::string_view MetricClassName(MetricClass metric_class) {
  return kClassNames[static_cast<std::size_t>(metric_class)];
}

std::span<const MetricKind> MetricKinds() { return kKinds; }

const MetricKind* FindMetric(std::string_view name) {
  const auto* const kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                        [&](const MetricKind& k) { return k.name == name; });
  return kind == std::end(kKinds) ? nullptr : kind;
}

}  // namespace headway
