#include "formats/otlp/writer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "formats/protobuf/wire.h"

namespace headway::otlp {
namespace {

using metrics::ByDefinition;
using metrics::Label;
using metrics::Metric;
using metrics::RunMetrics;
using protobuf::AppendBytesField;
using protobuf::AppendDoubleField;
using protobuf::AppendFixed64Field;
using protobuf::AppendTextField;

constexpr std::string_view kScope = "headway";

namespace field {
// ExportMetricsServiceRequest
constexpr std::uint32_t kResourceMetrics = 1;
// ResourceMetrics
constexpr std::uint32_t kResource = 1;
constexpr std::uint32_t kScopeMetrics = 2;
// Resource
constexpr std::uint32_t kResourceAttributes = 1;
// ScopeMetrics
constexpr std::uint32_t kInstrumentationScope = 1;
constexpr std::uint32_t kMetrics = 2;
// InstrumentationScope
constexpr std::uint32_t kScopeName = 1;
constexpr std::uint32_t kScopeVersion = 2;
// Metric
constexpr std::uint32_t kName = 1;
constexpr std::uint32_t kDescription = 2;
constexpr std::uint32_t kUnit = 3;
constexpr std::uint32_t kGauge = 5;
// Gauge
constexpr std::uint32_t kDataPoints = 1;
// NumberDataPoint
constexpr std::uint32_t kTimeUnixNano = 3;
constexpr std::uint32_t kAsDouble = 4;
constexpr std::uint32_t kAsInt = 6;
constexpr std::uint32_t kAttributes = 7;
// KeyValue
constexpr std::uint32_t kKey = 1;
constexpr std::uint32_t kValue = 2;
// AnyValue
constexpr std::uint32_t kStringValue = 1;
}  // namespace field

// service.instance.id is what keeps runs apart where a backend drops other attributes of resources.
std::vector<Label> ResourceOf(const RunMetrics& run) {
  const std::string project = metrics::Clean(run.project);
  const std::string name = metrics::Clean(run.run);
  return {{"service.name", "headway"},
          {"service.instance.id", project + "/" + name},
          {"headway.project", project},
          {"headway.run", name}};
}

std::uint64_t TimeOf(const RunMetrics& run) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(run.time_ns, 0));
}

void AppendAttributes(std::uint32_t number, const std::vector<Label>& labels, std::string* out) {
  for (const Label& label : labels) {
    std::string value;
    AppendTextField(field::kStringValue, label.value, &value);
    std::string pair;
    AppendTextField(field::kKey, label.key, &pair);
    AppendBytesField(field::kValue, value, &pair);
    AppendBytesField(number, pair, out);
  }
}

std::string DataPoint(const Metric& metric, std::uint64_t time) {
  std::string point;
  AppendAttributes(field::kAttributes, metric.labels, &point);
  AppendFixed64Field(field::kTimeUnixNano, time, &point);
  if (const auto* integer = std::get_if<std::int64_t>(&metric.value)) {
    AppendFixed64Field(field::kAsInt, static_cast<std::uint64_t>(*integer), &point);
  } else {
    AppendDoubleField(field::kAsDouble, std::get<double>(metric.value), &point);
  }
  return point;
}

std::string ScopeMetrics(const RunMetrics& run) {
  std::string scope;
  AppendTextField(field::kScopeName, kScope, &scope);
  AppendTextField(field::kScopeVersion, HEADWAY_VERSION, &scope);
  std::string message;
  AppendBytesField(field::kInstrumentationScope, scope, &message);
  for (const auto& [definition, found] : ByDefinition(run.metrics)) {
    std::string gauge;
    for (const Metric* metric : found) {
      AppendBytesField(field::kDataPoints, DataPoint(*metric, TimeOf(run)), &gauge);
    }
    std::string body;
    AppendTextField(field::kName, definition->otlp, &body);
    AppendTextField(field::kDescription, definition->help, &body);
    AppendTextField(field::kUnit, metrics::UcumUnit(definition->unit), &body);
    AppendBytesField(field::kGauge, gauge, &body);
    AppendBytesField(field::kMetrics, body, &message);
  }
  return message;
}

void WriteAttributes(const std::vector<Label>& labels, JsonWriter* json) {
  json->Key("attributes").BeginArray();
  for (const Label& label : labels) {
    json->BeginObject().Field("key", label.key).Key("value").BeginObject();
    json->Field("stringValue", label.value).EndObject().EndObject();
  }
  json->EndArray();
}

// 64-bit integers, and numbers for which JSON has no word, are strings in the mapping.
void WriteDataPoint(const Metric& metric, std::uint64_t time, JsonWriter* json) {
  json->BeginObject();
  if (!metric.labels.empty()) WriteAttributes(metric.labels, json);
  json->Field("timeUnixNano", std::to_string(time));
  if (const auto* integer = std::get_if<std::int64_t>(&metric.value)) {
    json->Field("asInt", std::to_string(*integer));
  } else if (const double value = std::get<double>(metric.value); std::isfinite(value)) {
    json->Field("asDouble", value);
  } else {
    json->Field("asDouble", std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
  }
  json->EndObject();
}

void WriteScopeMetrics(const RunMetrics& run, JsonWriter* json) {
  json->Key("scopeMetrics").BeginArray().BeginObject();
  json->Key("scope").BeginObject();
  json->Field("name", kScope).Field("version", HEADWAY_VERSION).EndObject();
  json->Key("metrics").BeginArray();
  for (const auto& [definition, found] : ByDefinition(run.metrics)) {
    json->BeginObject().Field("name", definition->otlp).Field("description", definition->help);
    json->Field("unit", metrics::UcumUnit(definition->unit));
    json->Key("gauge").BeginObject().Key("dataPoints").BeginArray();
    for (const Metric* metric : found) WriteDataPoint(*metric, TimeOf(run), json);
    json->EndArray().EndObject().EndObject();
  }
  json->EndArray().EndObject().EndArray();
}

}  // namespace

std::string WriteProtobuf(std::span<const RunMetrics> runs) {
  std::string request;
  for (const RunMetrics& run : runs) {
    if (run.metrics.empty()) continue;
    std::string resource;
    AppendAttributes(field::kResourceAttributes, ResourceOf(run), &resource);
    std::string message;
    AppendBytesField(field::kResource, resource, &message);
    AppendBytesField(field::kScopeMetrics, ScopeMetrics(run), &message);
    AppendBytesField(field::kResourceMetrics, message, &request);
  }
  return request;
}

std::string WriteJson(std::span<const RunMetrics> runs) {
  std::string text;
  JsonWriter json(&text);
  json.BeginObject().Key("resourceMetrics").BeginArray();
  for (const RunMetrics& run : runs) {
    if (run.metrics.empty()) continue;
    json.BeginObject().Key("resource").BeginObject();
    WriteAttributes(ResourceOf(run), &json);
    json.EndObject();
    WriteScopeMetrics(run, &json);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return text;
}

}  // namespace headway::otlp
