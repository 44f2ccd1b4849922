#pragma once

#include "formats/metrics/metrics.h"
#include "monitor/sample.h"

namespace headway::monitor {

/// The published metrics of a sample, by exact accounting: of the whole run, of its slices, and of
/// each window. Its figures in the incumbent's words have other names and are left out. Pure; any
/// thread; no errors.
metrics::RunMetrics MetricsOf(const Sample& sample);

}  // namespace headway::monitor
