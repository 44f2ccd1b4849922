#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

/// Requests of Prometheus remote write 1.0 (`prometheus.WriteRequest`), once they are unpacked.
/// Pure.

namespace headway::prometheus {

/// One series of a request. What it refers to lies in the message.
struct RemoteSeries {
  using Label = std::pair<std::string_view, std::string_view>;
  struct Sample {
    std::int64_t time_ms = 0;
    double value = 0;
  };
  /// Of a native histogram: its buckets are left out.
  struct Histogram {
    std::int64_t time_ms = 0;
    double count = 0;
    double sum = 0;
  };
  std::vector<Label> labels;  ///< as they came; "__name__" is among them
  std::vector<Sample> samples;
  std::vector<Histogram> histograms;
};

/// Whether a value is Prometheus's mark that a series has ended: one NaN of many.
bool IsStaleMarker(double value);

/// Gives each series to `take` in turn. Exemplars and metadata are left out. InvalidArgument: it is
/// no such message; `take` may have got some series by then.
Status ReadWriteRequest(std::string_view message,
                        const std::function<void(const RemoteSeries&)>& take);

}  // namespace headway::prometheus
