#pragma once

#include <span>
#include <string>
#include <string_view>

#include "formats/metrics/metrics.h"

/// Prometheus text exposition format, version 0.0.4: docs/formats/prometheus.md. Pure; safe from
/// any thread; no errors.

namespace headway::prometheus {

/// What an HTTP answer with such a text says of it.
inline constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

/// The metrics of `runs`, which differ in project or run, as one text: UTF-8, every line ended by a
/// line feed. Empty when there is none. Without timestamps: a scrape has its own, and the textfile
/// collector of node_exporter refuses them.
std::string WriteText(std::span<const metrics::RunMetrics> runs);

}  // namespace headway::prometheus
