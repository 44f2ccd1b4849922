#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

/// Requests of OTLP/HTTP to `/v1/metrics` (`ExportMetricsServiceRequest`), in either encoding.
/// Pure.

namespace headway::otlp {

/// Keys and values as text: numbers and booleans as they are written, lists and maps as JSON, bytes
/// as base64.
using Attributes = std::vector<std::pair<std::string, std::string>>;

/// One data point. What it refers to is there during the call only.
struct DataPoint {
  /// A number has one value. Of a histogram there are its count, its sum and, where they are known,
  /// the least and the largest; of a summary its count, its sum and its quantiles.
  struct Value {
    std::string_view suffix;  ///< of the metric's name: "", "_count", "_sum", "_min" or "_max"
    double value = 0;
    double quantile = -1;  ///< 0 to 1; -1: it is none
  };
  std::string_view metric;
  std::string_view unit;
  std::string_view scope;  ///< its name; may be empty
  const Attributes* resource = nullptr;
  const Attributes* attributes = nullptr;
  std::uint64_t time_ns = 0;  ///< 0: it says none
  std::span<const Value> values;
};
using TakePoint = std::function<void(const DataPoint&)>;

/// Gives each data point to `take` in turn; those that say that there is no value are left out.
/// InvalidArgument: it is no such message; `take` may have got some points by then.
Status ReadProtobuf(std::string_view message, const TakePoint& take);
Status ReadJson(std::string_view text, const TakePoint& take);

}  // namespace headway::otlp
