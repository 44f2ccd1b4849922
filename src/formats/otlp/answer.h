#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// What a collector answers to a request that it has taken (2xx): an ExportMetricsServiceResponse.
/// Pure; safe from any thread; no errors.

namespace headway::otlp {

/// What of a request was not taken after all (`partial_success`). Sending it again would not help.
struct PartialSuccess {
  std::int64_t rejected_points = 0;  ///< 0: all was taken
  std::string message;               ///< the collector's own words, as they came; may be empty
};

/// Reads the answer `body` of the type `content_type`: JSON where it says so, else protocol
/// buffers. Of what can't be read nothing is said to be rejected.
PartialSuccess ReadPartialSuccess(std::string_view content_type, std::string_view body);

}  // namespace headway::otlp
