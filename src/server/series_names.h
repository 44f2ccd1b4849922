#pragma once

#include <cstddef>
#include <string_view>

#include "base/status.h"

/// What names of series there can be, whoever sends them. Pure. InvalidArgument, else.

namespace headway::server {

/// Of a metric and its unit; nothing but the unit may be empty.
Status CheckSeriesName(std::string_view name, std::string_view unit);
Status CheckSeriesLabel(std::string_view key, std::string_view value);
Status CheckSeriesLabels(std::size_t count);

/// Sources of loose points, which nobody else may be called.
inline constexpr std::string_view kRemoteWriteSource = "remote-write";
inline constexpr std::string_view kOtlpSource = "otlp";
/// Of a program that sends points, and counts its requests.
Status CheckSeriesSource(std::string_view source);

}  // namespace headway::server
