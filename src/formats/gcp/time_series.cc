#include "formats/gcp/time_series.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/json_writer.h"
#include "base/time_format.h"
#include "base/utf8.h"

namespace headway::gcp {
namespace {

constexpr std::size_t kLabelBytes = 1024;
constexpr std::string_view kLeftOut = "DATA_LOADING_ASYNC";  // overlaps with steps
constexpr char kPrefix[] = "compute.googleapis.com/workload/";

using Labels = std::vector<std::pair<std::string_view, std::string>>;

std::string Clean(std::string_view text) {
  return std::string(TruncateUtf8(ToValidUtf8(text), kLabelBytes));
}

/// Sources of badput and their seconds. Names that are the same once they are clean are one.
std::map<std::string, double> SourcesOf(const compat::Figures& figures) {
  std::map<std::string, double> sources;
  for (const auto& [name, seconds] : figures.badput) {
    if (name != kLeftOut) sources[Clean(name)] += seconds;
  }
  for (const auto& [type, seconds] : figures.custom) {
    sources[Clean("CUSTOM_BADPUT_EVENTS." + type)] += seconds;
  }
  return sources;
}

class Collector {
 public:
  explicit Collector(const Workload& workload) : workload_(workload) {}

  void Add(std::string_view metric, Labels labels, double value) {
    if (std::isfinite(value)) Take({metric, std::move(labels), value});
  }
  void AddCount(std::string_view metric, Labels labels, std::int64_t value) {
    Take({metric, std::move(labels), value});
  }
  /// The one metric without labels.
  void AddPlain(std::string_view metric, double value) {
    if (std::isfinite(value)) series_.push_back({metric, {}, value});
  }

  std::vector<Series> Finish() { return std::move(series_); }

 private:
  void Take(Series series) {
    series.labels.emplace_back("accelerator_type", Clean(workload_.accelerator_type));
    if (!workload_.cluster_name.empty()) {
      series.labels.emplace_back("cluster_name", Clean(workload_.cluster_name));
    }
    series_.push_back(std::move(series));
  }

  const Workload& workload_;
  std::vector<Series> series_;
};

void AddEfficiency(const compat::SliceEfficiency& efficiency, const char* type,
                   std::int64_t seconds, Collector* out) {
  const Labels labels{{"window_type", type}, {"rolling_window_size", std::to_string(seconds)}};
  out->Add("stepping_slice_efficiency", labels, efficiency.stepping);
  out->Add("available_slice_efficiency", labels, efficiency.available);
}

void AddWindow(const WindowValues& window, Collector* out) {
  const std::string seconds = std::to_string(window.seconds);
  if (window.figures != nullptr) {
    const compat::Figures& figures = *window.figures;
    out->Add("interval_goodput", {{"goodput_source", "TOTAL"}, {"rolling_window_size", seconds}},
             figures.goodput_percent);
    for (const auto& [source, badput_s] : SourcesOf(figures)) {
      out->Add("interval_badput", {{"badput_source", source}, {"rolling_window_size", seconds}},
               100 * badput_s / figures.total_s);
    }
  }
  if (window.efficiency) AddEfficiency(*window.efficiency, "INTERVAL", window.seconds, out);
}

void WriteSeries(const Workload& workload, const Point& point, JsonWriter* json) {
  const Series& series = point.series;
  json->BeginObject().Key("metric").BeginObject();
  json->Field("type", kPrefix + std::string(series.metric));
  if (!series.labels.empty()) {
    json->Key("labels").BeginObject();
    for (const auto& [name, value] : series.labels) json->Field(name, value);
    json->EndObject();
  }
  json->EndObject().Key("resource").BeginObject();
  json->Field("type", "compute.googleapis.com/Workload").Key("labels").BeginObject();
  json->Field("location", Clean(workload.location));
  json->Field("workload_id", Clean(workload.workload_id));
  json->Field("replica_id", Clean(workload.replica_id)).EndObject().EndObject();
  json->Key("points").BeginArray().BeginObject().Key("interval").BeginObject();
  json->Field("endTime", FormatTime(point.time)).EndObject().Key("value").BeginObject();
  if (const double* const number = std::get_if<double>(&series.value)) {
    json->Field("doubleValue", *number);
  } else {  // JSON of protobuf has 64-bit integers as strings
    json->Field("int64Value", std::to_string(std::get<std::int64_t>(series.value)));
  }
  json->EndObject().EndObject().EndArray().EndObject();
}

}  // namespace

std::string Series::Key() const {
  std::string key(metric);
  for (const auto& [name, text] : labels) {
    key.append(1, '\0').append(name).append(1, '\0').append(text);
  }
  return key;
}

std::vector<Series> SeriesOf(const Workload& workload, const Values& values) {
  Collector out(workload);
  if (values.figures != nullptr) {
    const compat::Figures& figures = *values.figures;
    out.Add("goodput_time", {{"goodput_source", "TOTAL"}}, figures.productive_s);
    for (const auto& [source, seconds] : SourcesOf(figures)) {
      out.Add("badput_time", {{"badput_source", source}}, seconds);
    }
    const Labels cumulative{{"window_type", "cumulative"}};
    out.AddCount("disruptions", cumulative, figures.disruptions);
    out.AddCount("max_productive_steps", {}, figures.max_productive_step);
    out.Add("total_elapsed_time", cumulative, figures.total_s);
  }
  if (values.deviation_s) out.Add("step_time_deviation", {}, *values.deviation_s);
  if (values.ideal_step_s) out.AddPlain("performance", *values.ideal_step_s);
  if (values.efficiency) AddEfficiency(*values.efficiency, "CUMULATIVE", 0, &out);
  for (const WindowValues& window : values.windows) AddWindow(window, &out);
  return out.Finish();
}

std::vector<std::string> CreateBodies(const Workload& workload, std::span<const Point> points) {
  std::vector<std::string> bodies;
  while (!points.empty()) {
    const auto some = points.first(std::min(points.size(), kSeriesPerRequest));
    JsonWriter json(&bodies.emplace_back());
    json.BeginObject().Key("timeSeries").BeginArray();
    for (const Point& point : some) WriteSeries(workload, point, &json);
    json.EndArray().EndObject();
    points = points.subspan(some.size());
  }
  return bodies;
}

}  // namespace headway::gcp
