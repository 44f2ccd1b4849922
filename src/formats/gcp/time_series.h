#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "ledger/compat/calculator.h"
#include "ledger/compat/figures.h"

/// Writes what Cloud Monitoring's `projects.timeSeries.create` takes: the metrics
/// compute.googleapis.com/workload/… with the types and labels that ml-goodput-measurement gives
/// them, so that its dashboards go on. Pure; safe from any thread.

namespace headway::gcp {

/// Whose metrics they are.
struct Workload {
  std::string workload_id;  ///< the name of the job
  std::string location;     ///< zone or region: "us-central1-a"
  std::string replica_id = "0";
  std::string accelerator_type = "UNKNOWN";  ///< see AcceleratorOf
  std::string cluster_name = {};             ///< empty: no such label
};

/// What is said of the last `seconds`.
struct WindowValues {
  std::int64_t seconds = 0;
  const compat::Figures* figures = nullptr;  ///< may be null
  std::optional<compat::SliceEfficiency> efficiency;
};

/// What is said at one instant. What is absent, or no finite number, makes no series.
struct Values {
  const compat::Figures* figures = nullptr;  ///< of the whole job; may be null
  std::optional<compat::SliceEfficiency> efficiency;
  std::optional<double> ideal_step_s;  ///< `performance`, which has nothing else in it
  std::optional<double> deviation_s;
  std::vector<WindowValues> windows;
};

/// One value of one time series.
struct Series {
  std::string_view metric;  ///< "goodput_time"; static
  std::vector<std::pair<std::string_view, std::string>> labels;
  std::variant<double, std::int64_t> value;

  /// The same for the same series, different for others.
  std::string Key() const;
};

/// A value at its time. All are gauges.
struct Point {
  Series series;
  WallNs time;
};

/// The values as series, each once. Labels are valid UTF-8 of at most 1024 bytes.
std::vector<Series> SeriesOf(const Workload& workload, const Values& values);

/// At most so many series go into one request.
inline constexpr std::size_t kSeriesPerRequest = 200;

/// The JSON bodies that create `points`; none without points. No two points of one series should
/// be among them: the service refuses that.
std::vector<std::string> CreateBodies(const Workload& workload, std::span<const Point> points);

}  // namespace headway::gcp
