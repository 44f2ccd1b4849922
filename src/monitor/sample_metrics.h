#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "formats/metrics/metrics.h"
#include "monitor/sample.h"

namespace headway::monitor {

/// The published metrics of a sample, by exact accounting: of the whole run, of its slices, and of
/// each window. Its figures in the incumbent's words have other names and are left out. Pure; any
/// thread; no errors.
metrics::RunMetrics MetricsOf(const Sample& sample);

/// For whoever shows the present state, since a sample need not tell everything: of the whole run,
/// of its slices and of each window the latest that was told. A window that is told to be without
/// time goes. Of one run; not thread-safe.
class LatestMetrics {
 public:
  void Take(const Sample& sample);

  /// As of the latest sample.
  metrics::RunMetrics Get() const;

 private:
  metrics::RunMetrics named_;  // without its metrics
  std::vector<metrics::Metric> run_, slices_;
  std::map<std::int64_t, std::vector<metrics::Metric>> windows_;  // by their seconds
};

}  // namespace headway::monitor
