#include "monitor/sample_metrics.h"

namespace headway::monitor {

metrics::RunMetrics MetricsOf(const Sample& sample) {
  LatestMetrics latest;
  latest.Take(sample);
  return latest.Get();
}

void LatestMetrics::Take(const Sample& sample) {
  named_ = {sample.project, sample.run, sample.time_ns, {}};
  if (sample.report) run_ = metrics::MetricsOf(*sample.report);
  if (sample.efficiency) slices_ = metrics::MetricsOf(*sample.efficiency);
  for (const WindowSample& window : sample.windows) {
    if (window.report) {
      windows_[window.seconds] = metrics::WindowMetricsOf(*window.report, window.seconds);
    } else {
      windows_.erase(window.seconds);
    }
  }
}

metrics::RunMetrics LatestMetrics::Get() const {
  metrics::RunMetrics all = named_;
  const auto add = [&all](const std::vector<metrics::Metric>& more) {
    all.metrics.insert(all.metrics.end(), more.begin(), more.end());
  };
  add(run_);
  add(slices_);
  for (const auto& [seconds, window] : windows_) add(window);
  return all;
}

}  // namespace headway::monitor
