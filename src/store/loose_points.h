#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/uid.h"

/// Points of senders that count nothing, such as Prometheus and OpenTelemetry: each is known by its
/// series and its time alone.

namespace headway::store {

/// The points of one request, by series. A series may come several times, and points in any order.
class LoosePoints {
 public:
  using Label = std::pair<std::string_view, std::string_view>;

  struct Series {
    std::size_t key_end = 0;    // in `keys`
    std::size_t point_end = 0;  // in `times_ns` and `values`
  };

  /// The points that are added next are of this series. `labels` ascend by key, none twice.
  void Begin(std::string_view name, std::string_view unit, std::span<const Label> labels);
  void Add(std::int64_t time_ns, double value) {
    times_ns.push_back(time_ns);
    values.push_back(value);
    ++series.back().point_end;
  }

  std::string_view KeyOf(std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : series[i - 1].key_end;
    return std::string_view(keys).substr(begin, series[i].key_end - begin);
  }

  RunUid run;
  std::string source;
  // Of each series: its name, its unit and its labels, each with its size before it.
  std::string keys;
  std::vector<Series> series;
  std::vector<std::int64_t> times_ns;
  std::vector<double> values;
};

/// What became of them.
struct LooseOutcome {
  std::uint64_t kept = 0;
  std::uint64_t repeated = 0;    ///< were kept already, with the same value
  std::uint64_t differing = 0;   ///< not kept: another value is, at the same time
  std::uint64_t too_many = 0;    ///< not kept: their series would be more than limits::kRunSeries
  std::string differing_metric;  ///< the first of them
  std::int64_t differing_time_ns = 0;
  std::string too_many_metric;
};

}  // namespace headway::store
