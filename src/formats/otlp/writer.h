#pragma once

#include <span>
#include <string>
#include <string_view>

#include "formats/metrics/metrics.h"

/// Bodies of OTLP/HTTP requests to `/v1/metrics`: docs/formats/otlp.md. Pure; safe from any thread;
/// no errors.

namespace headway::otlp {

inline constexpr std::string_view kProtobufContentType = "application/x-protobuf";
inline constexpr std::string_view kJsonContentType = "application/json";

/// An ExportMetricsServiceRequest: each run a resource, each definition a gauge, each metric a data
/// point at the time of its run (0, which is "unknown", for times before 1970). A run without
/// metrics is left out.
std::string WriteProtobuf(std::span<const metrics::RunMetrics> runs);

/// The same in the JSON mapping of protocol buffers.
std::string WriteJson(std::span<const metrics::RunMetrics> runs);

}  // namespace headway::otlp
