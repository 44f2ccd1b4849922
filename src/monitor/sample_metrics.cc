#include "monitor/sample_metrics.h"

#include <iterator>
#include <utility>
#include <vector>

namespace headway::monitor {

metrics::RunMetrics MetricsOf(const Sample& sample) {
  metrics::RunMetrics run{sample.project, sample.run, sample.time_ns, {}};
  const auto add = [&run](std::vector<metrics::Metric> more) {
    std::move(more.begin(), more.end(), std::back_inserter(run.metrics));
  };
  if (sample.report) add(metrics::MetricsOf(*sample.report));
  if (sample.efficiency) add(metrics::MetricsOf(*sample.efficiency));
  for (const WindowSample& window : sample.windows) {
    if (window.report) add(metrics::WindowMetricsOf(*window.report, window.seconds));
  }
  return run;
}

}  // namespace headway::monitor
