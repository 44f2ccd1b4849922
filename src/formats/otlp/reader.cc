#include "formats/otlp/reader.h"

#include <simdjson.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/json_writer.h"
#include "base/limits.h"
#include "formats/protobuf/message.h"

namespace headway::otlp {
namespace {

using protobuf::MessageField;
using protobuf::MessageReader;
using protobuf::Wire;

namespace field {
// ExportMetricsServiceRequest
constexpr std::uint32_t kResourceMetrics = 1;
// ResourceMetrics
constexpr std::uint32_t kResource = 1;
constexpr std::uint32_t kScopeMetrics = 2;
// Resource
constexpr std::uint32_t kResourceAttributes = 1;
// ScopeMetrics
constexpr std::uint32_t kScope = 1;
constexpr std::uint32_t kMetrics = 2;
// InstrumentationScope
constexpr std::uint32_t kScopeName = 1;
// Metric
constexpr std::uint32_t kName = 1;
constexpr std::uint32_t kUnit = 3;
constexpr std::uint32_t kGauge = 5;
constexpr std::uint32_t kSum = 7;
constexpr std::uint32_t kHistogram = 9;
constexpr std::uint32_t kExponentialHistogram = 10;
constexpr std::uint32_t kSummary = 11;
// Gauge, Sum, Histogram, ExponentialHistogram, Summary
constexpr std::uint32_t kDataPoints = 1;
// Of all points
constexpr std::uint32_t kTime = 3;
// NumberDataPoint
constexpr std::uint32_t kAsDouble = 4;
constexpr std::uint32_t kAsInt = 6;
constexpr std::uint32_t kNumberAttributes = 7;
constexpr std::uint32_t kNumberFlags = 8;
// HistogramDataPoint, ExponentialHistogramDataPoint, SummaryDataPoint
constexpr std::uint32_t kPointCount = 4;
constexpr std::uint32_t kPointSum = 5;
constexpr std::uint32_t kHistogramAttributes = 9;
constexpr std::uint32_t kHistogramFlags = 10;
constexpr std::uint32_t kHistogramMin = 11;
constexpr std::uint32_t kHistogramMax = 12;
constexpr std::uint32_t kExponentialAttributes = 1;
constexpr std::uint32_t kExponentialFlags = 10;
constexpr std::uint32_t kExponentialMin = 12;
constexpr std::uint32_t kExponentialMax = 13;
constexpr std::uint32_t kQuantileValues = 6;
constexpr std::uint32_t kSummaryAttributes = 7;
constexpr std::uint32_t kSummaryFlags = 8;
// ValueAtQuantile
constexpr std::uint32_t kQuantile = 1;
constexpr std::uint32_t kQuantileValue = 2;
// KeyValue
constexpr std::uint32_t kKey = 1;
constexpr std::uint32_t kValue = 2;
// AnyValue
constexpr std::uint32_t kString = 1;
constexpr std::uint32_t kBool = 2;
constexpr std::uint32_t kInt = 3;
constexpr std::uint32_t kDouble = 4;
constexpr std::uint32_t kArray = 5;
constexpr std::uint32_t kMap = 6;
constexpr std::uint32_t kBytes = 7;
}  // namespace field

constexpr std::uint64_t kNoRecordedValue = 1;  // of flags
constexpr int kDepthMost = 16;                 // of values within values

enum class Kind : std::uint8_t { kNumber, kHistogram, kExponential, kSummary };

std::string NumberText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char digits[32];
  return {digits, std::to_chars(digits, std::end(digits), value).ptr};
}

// As the JSON of protocol buffers has bytes.
std::string Base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view part = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (k < part.size() ? static_cast<std::uint8_t>(part[k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k > part.size() ? '=' : kDigits[bits >> (18 - 6 * k) & 63];
    }
  }
  return text;
}

/// What is said of points, one after the other.
struct Reading {
  const TakePoint* take;
  Attributes resource;
  Attributes attributes;
  std::vector<DataPoint::Value> values;
  DataPoint point;

  void Begin() {
    attributes.clear();
    values.clear();
    point.time_ns = 0;
  }
  void End(std::uint64_t flags) {
    if ((flags & kNoRecordedValue) != 0 || values.empty()) return;
    point.resource = &resource;
    point.attributes = &attributes;
    point.values = values;
    (*take)(point);
  }
};

// --- Protocol buffers

bool ReadAttribute(std::string_view message, int depth, std::string* key, std::string* text);

// `inner`: within a list or a map, where texts have quotes.
bool ReadValue(std::string_view message, int depth, bool inner, std::string* text) {
  if (depth > kDepthMost) return false;
  text->clear();
  MessageReader reader(message);
  for (MessageField value; reader.Next(&value);) {
    switch (value.id) {
      case field::kString:
      case field::kBytes: {
        if (value.wire != Wire::kBytes) break;
        *text = value.id == field::kBytes ? Base64(value.bytes) : std::string(value.bytes);
        if (!inner) break;
        std::string quoted;
        JsonWriter(&quoted).String(*text);
        *text = std::move(quoted);
        break;
      }
      case field::kBool:
        if (value.wire == Wire::kVarint) *text = value.number != 0 ? "true" : "false";
        break;
      case field::kInt:
        if (value.wire == Wire::kVarint) {
          *text = std::to_string(static_cast<std::int64_t>(value.number));
        }
        break;
      case field::kDouble:
        if (value.wire == Wire::kFixed64) *text = NumberText(std::bit_cast<double>(value.number));
        break;
      case field::kArray:
      case field::kMap: {
        if (value.wire != Wire::kBytes) break;
        const bool map = value.id == field::kMap;
        *text = map ? "{" : "[";
        MessageReader list(value.bytes);
        for (MessageField one; list.Next(&one);) {
          if (one.id != 1 || one.wire != Wire::kBytes) continue;
          if (text->size() > 1) *text += ',';
          std::string part;
          if (map) {
            std::string key;
            if (!ReadAttribute(one.bytes, depth + 1, &key, &part)) return false;
            JsonWriter(text).String(key);
            *text += ':';
          } else if (!ReadValue(one.bytes, depth + 1, true, &part)) {
            return false;
          }
          *text += part.empty() ? "null" : part;
        }
        if (!list.ok()) return false;
        *text += map ? "}" : "]";
        break;
      }
      default: break;
    }
  }
  return reader.ok();
}

bool ReadAttribute(std::string_view message, int depth, std::string* key, std::string* text) {
  MessageReader reader(message);
  for (MessageField pair; reader.Next(&pair);) {
    if (pair.wire != Wire::kBytes) continue;
    if (pair.id == field::kKey) *key = pair.bytes;
    if (pair.id == field::kValue && !ReadValue(pair.bytes, depth, depth > 0, text)) return false;
  }
  return reader.ok();
}

bool ReadAttribute(std::string_view message, Attributes* attributes) {
  auto& [key, text] = attributes->emplace_back();
  return ReadAttribute(message, 0, &key, &text);
}

bool ReadNumber(std::string_view message, Reading* reading) {
  reading->Begin();
  std::uint64_t flags = 0;
  std::optional<double> number;
  MessageReader reader(message);
  for (MessageField of_point; reader.Next(&of_point);) {
    if (of_point.id == field::kTime && of_point.wire == Wire::kFixed64) {
      reading->point.time_ns = of_point.number;
    } else if (of_point.id == field::kAsDouble && of_point.wire == Wire::kFixed64) {
      number = std::bit_cast<double>(of_point.number);
    } else if (of_point.id == field::kAsInt && of_point.wire == Wire::kFixed64) {
      number = static_cast<double>(static_cast<std::int64_t>(of_point.number));
    } else if (of_point.id == field::kNumberFlags && of_point.wire == Wire::kVarint) {
      flags = of_point.number;
    } else if (of_point.id == field::kNumberAttributes && of_point.wire == Wire::kBytes) {
      if (!ReadAttribute(of_point.bytes, &reading->attributes)) return false;
    }
  }
  if (!reader.ok()) return false;
  if (number) reading->values.push_back({"", *number});
  reading->End(flags);
  return true;
}

bool ReadQuantile(std::string_view message, Reading* reading) {
  DataPoint::Value value{.suffix = "", .value = 0, .quantile = 0};
  MessageReader reader(message);
  for (MessageField of_value; reader.Next(&of_value);) {
    if (of_value.wire != Wire::kFixed64) continue;
    const auto number = std::bit_cast<double>(of_value.number);
    if (of_value.id == field::kQuantile) value.quantile = number;
    if (of_value.id == field::kQuantileValue) value.value = number;
  }
  if (!(value.quantile >= 0 && value.quantile <= 1)) return false;
  reading->values.push_back(value);
  return reader.ok();
}

bool ReadDistribution(std::string_view message, Kind kind, Reading* reading) {
  const bool exponential = kind == Kind::kExponential;
  const bool summary = kind == Kind::kSummary;
  const std::uint32_t attributes_id = exponential ? field::kExponentialAttributes
                                      : summary   ? field::kSummaryAttributes
                                                  : field::kHistogramAttributes;
  const std::uint32_t flags_id = exponential ? field::kExponentialFlags
                                 : summary   ? field::kSummaryFlags
                                             : field::kHistogramFlags;
  const std::uint32_t min_id = exponential ? field::kExponentialMin : field::kHistogramMin;
  const std::uint32_t max_id = exponential ? field::kExponentialMax : field::kHistogramMax;
  reading->Begin();
  reading->values.push_back({"_count", 0});
  if (summary) reading->values.push_back({"_sum", 0});
  std::uint64_t flags = 0;
  MessageReader reader(message);
  for (MessageField of_point; reader.Next(&of_point);) {
    const bool fixed = of_point.wire == Wire::kFixed64;
    const auto number = std::bit_cast<double>(of_point.number);
    if (of_point.id == field::kTime && fixed) {
      reading->point.time_ns = of_point.number;
    } else if (of_point.id == field::kPointCount && fixed) {
      reading->values[0].value = static_cast<double>(of_point.number);
    } else if (of_point.id == field::kPointSum && fixed) {
      if (summary) {
        reading->values[1].value = number;
      } else {
        reading->values.push_back({"_sum", number});
      }
    } else if (!summary && of_point.id == min_id && fixed) {
      reading->values.push_back({"_min", number});
    } else if (!summary && of_point.id == max_id && fixed) {
      reading->values.push_back({"_max", number});
    } else if (summary && of_point.id == field::kQuantileValues && of_point.wire == Wire::kBytes) {
      if (!ReadQuantile(of_point.bytes, reading)) return false;
    } else if (of_point.id == flags_id && of_point.wire == Wire::kVarint) {
      flags = of_point.number;
    } else if (of_point.id == attributes_id && of_point.wire == Wire::kBytes) {
      if (!ReadAttribute(of_point.bytes, &reading->attributes)) return false;
    }
  }
  if (!reader.ok()) return false;
  reading->End(flags);
  return true;
}

bool ReadPoints(std::string_view message, Kind kind, Reading* reading) {
  MessageReader reader(message);
  for (MessageField points; reader.Next(&points);) {
    if (points.id != field::kDataPoints || points.wire != Wire::kBytes) continue;
    const bool ok = kind == Kind::kNumber ? ReadNumber(points.bytes, reading)
                                          : ReadDistribution(points.bytes, kind, reading);
    if (!ok) return false;
  }
  return reader.ok();
}

// What a message says of itself may come behind what it is about: it is read twice.

bool ReadMetric(std::string_view message, Reading* reading) {
  reading->point.metric = {};
  reading->point.unit = {};
  MessageReader names(message);
  for (MessageField metric; names.Next(&metric);) {
    if (metric.wire != Wire::kBytes) continue;
    if (metric.id == field::kName) reading->point.metric = metric.bytes;
    if (metric.id == field::kUnit) reading->point.unit = metric.bytes;
  }
  if (!names.ok()) return false;
  MessageReader data(message);
  for (MessageField metric; data.Next(&metric);) {
    if (metric.wire != Wire::kBytes) continue;
    bool ok = true;
    switch (metric.id) {
      case field::kGauge:
      case field::kSum: ok = ReadPoints(metric.bytes, Kind::kNumber, reading); break;
      case field::kHistogram: ok = ReadPoints(metric.bytes, Kind::kHistogram, reading); break;
      case field::kExponentialHistogram:
        ok = ReadPoints(metric.bytes, Kind::kExponential, reading);
        break;
      case field::kSummary: ok = ReadPoints(metric.bytes, Kind::kSummary, reading); break;
      default: break;
    }
    if (!ok) return false;
  }
  return true;
}

bool ReadScope(std::string_view message, Reading* reading) {
  reading->point.scope = {};
  MessageReader names(message);
  for (MessageField of_scope; names.Next(&of_scope);) {
    if (of_scope.id != field::kScope || of_scope.wire != Wire::kBytes) continue;
    MessageReader scope(of_scope.bytes);
    for (MessageField one; scope.Next(&one);) {
      if (one.id == field::kScopeName && one.wire == Wire::kBytes) reading->point.scope = one.bytes;
    }
    if (!scope.ok()) return false;
  }
  if (!names.ok()) return false;
  MessageReader metrics(message);
  for (MessageField metric; metrics.Next(&metric);) {
    if (metric.id != field::kMetrics || metric.wire != Wire::kBytes) continue;
    if (!ReadMetric(metric.bytes, reading)) return false;
  }
  return true;
}

bool ReadResource(std::string_view message, Reading* reading) {
  reading->resource.clear();
  MessageReader names(message);
  for (MessageField of_resource; names.Next(&of_resource);) {
    if (of_resource.id != field::kResource || of_resource.wire != Wire::kBytes) continue;
    MessageReader resource(of_resource.bytes);
    for (MessageField one; resource.Next(&one);) {
      if (one.id != field::kResourceAttributes || one.wire != Wire::kBytes) continue;
      if (!ReadAttribute(one.bytes, &reading->resource)) return false;
    }
    if (!resource.ok()) return false;
  }
  if (!names.ok()) return false;
  MessageReader scopes(message);
  for (MessageField scope; scopes.Next(&scope);) {
    if (scope.id != field::kScopeMetrics || scope.wire != Wire::kBytes) continue;
    if (!ReadScope(scope.bytes, reading)) return false;
  }
  return true;
}

// --- JSON

namespace dom = simdjson::dom;

// Texts, numbers and "NaN", "Infinity" and "-Infinity".
bool NumberOf(dom::element value, double* number) {
  if (value.get(*number) == simdjson::SUCCESS) return true;
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return false;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr std::pair<std::string_view, double> kWords[] = {
      {"NaN", std::numeric_limits<double>::quiet_NaN()},
      {"Infinity", kInfinity},
      {"-Infinity", -kInfinity},
  };
  for (const auto& [word, meant] : kWords) {
    if (text != word) continue;
    *number = meant;
    return true;
  }
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && rest == end;
}

// 64-bit integers are texts in the mapping; numbers are to be taken, too.
template <typename Integer>
bool IntegerOf(dom::element value, Integer* integer) {
  if (value.get(*integer) == simdjson::SUCCESS) return true;
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return false;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *integer);
  return error == std::errc() && rest == end;
}

// The text at `key`; empty where there is none.
std::string_view TextOf(dom::object object, const char* key) {
  std::string_view text;
  return object[key].get(text) == simdjson::SUCCESS ? text : std::string_view();
}

// Calls `visit` with each entry of the list at `key`, if there is one. False: it is no list, or
// `visit` says so.
template <typename Visit>
bool EachOf(dom::object object, std::string_view key, const Visit& visit) {
  dom::element found;
  if (object[key].get(found) != simdjson::SUCCESS || found.is_null()) return true;
  dom::array list;
  if (found.get(list) != simdjson::SUCCESS) return false;
  for (const dom::element one : list) {
    if (!visit(one)) return false;
  }
  return true;
}

bool ReadValue(dom::object value, int depth, bool inner, std::string* text) {
  if (depth > kDepthMost) return false;
  dom::element found;
  std::string_view words;
  if (value["stringValue"].get(words) == simdjson::SUCCESS ||
      value["bytesValue"].get(words) == simdjson::SUCCESS) {
    if (!inner) {
      *text = words;
    } else {
      JsonWriter(text).String(words);
    }
    return true;
  }
  if (bool truth = false; value["boolValue"].get(truth) == simdjson::SUCCESS) {
    *text = truth ? "true" : "false";
    return true;
  }
  if (value["intValue"].get(found) == simdjson::SUCCESS) {
    std::int64_t integer = 0;
    if (!IntegerOf(found, &integer)) return false;
    *text = std::to_string(integer);
    return true;
  }
  if (value["doubleValue"].get(found) == simdjson::SUCCESS) {
    double number = 0;
    if (!NumberOf(found, &number)) return false;
    *text = NumberText(number);
    return true;
  }
  for (const bool map : {false, true}) {
    dom::object list;
    if (value[map ? "kvlistValue" : "arrayValue"].get(list) != simdjson::SUCCESS) continue;
    *text = map ? "{" : "[";
    const bool ok = EachOf(list, "values", [&](dom::element one) {
      dom::object object;
      if (one.get(object) != simdjson::SUCCESS) return false;
      if (text->size() > 1) *text += ',';
      if (map) {
        std::string_view key;
        if (object["key"].get(key) != simdjson::SUCCESS) return false;
        JsonWriter(text).String(key);
        *text += ':';
        if (object["value"].get(object) != simdjson::SUCCESS) return false;
      }
      std::string part;
      if (!ReadValue(object, depth + 1, true, &part)) return false;
      *text += part.empty() ? "null" : part;
      return true;
    });
    if (!ok) return false;
    *text += map ? "}" : "]";
  }
  return true;
}

bool ReadAttributes(dom::object object, Attributes* attributes) {
  return EachOf(object, "attributes", [attributes](dom::element one) {
    auto& [key, text] = attributes->emplace_back();
    dom::object pair;
    std::string_view name;
    if (one.get(pair) != simdjson::SUCCESS || pair["key"].get(name) != simdjson::SUCCESS) {
      return false;
    }
    key = name;
    dom::element value;
    if (pair["value"].get(value) != simdjson::SUCCESS || value.is_null()) return true;
    dom::object wrapped;
    return value.get(wrapped) == simdjson::SUCCESS && ReadValue(wrapped, 0, false, &text);
  });
}

bool ReadPoint(dom::element element, Kind kind, Reading* reading) {
  dom::object object;
  if (element.get(object) != simdjson::SUCCESS) return false;
  reading->Begin();
  if (!ReadAttributes(object, &reading->attributes)) return false;
  dom::element found;
  std::uint64_t flags = 0;
  if (object["flags"].get(found) == simdjson::SUCCESS && !IntegerOf(found, &flags)) return false;
  if (object["timeUnixNano"].get(found) == simdjson::SUCCESS &&
      !IntegerOf(found, &reading->point.time_ns)) {
    return false;
  }
  const auto take = [&](const char* key, std::string_view suffix) {
    double number = 0;
    if (object[key].get(found) != simdjson::SUCCESS) return true;
    if (!NumberOf(found, &number)) return false;
    reading->values.push_back({suffix, number});
    return true;
  };
  if (kind == Kind::kNumber) {
    if (!take("asDouble", "")) return false;
    if (std::int64_t integer = 0; object["asInt"].get(found) == simdjson::SUCCESS) {
      if (!IntegerOf(found, &integer)) return false;
      reading->values.assign(1, {"", static_cast<double>(integer)});
    }
    reading->End(flags);
    return true;
  }
  if (!take("count", "_count")) return false;
  if (reading->values.empty()) reading->values.push_back({"_count", 0});
  if (!take("sum", "_sum")) return false;
  if (kind != Kind::kSummary) {
    if (!take("min", "_min") || !take("max", "_max")) return false;
  } else {
    if (reading->values.size() == 1) reading->values.push_back({"_sum", 0});
    const bool ok = EachOf(object, "quantileValues", [&](dom::element one) {
      dom::object pair;
      if (one.get(pair) != simdjson::SUCCESS) return false;
      DataPoint::Value value{.suffix = "", .value = 0, .quantile = 0};
      if (pair["quantile"].get(found) == simdjson::SUCCESS && !NumberOf(found, &value.quantile)) {
        return false;
      }
      if (pair["value"].get(found) == simdjson::SUCCESS && !NumberOf(found, &value.value)) {
        return false;
      }
      if (!(value.quantile >= 0 && value.quantile <= 1)) return false;
      reading->values.push_back(value);
      return true;
    });
    if (!ok) return false;
  }
  reading->End(flags);
  return true;
}

bool ReadMetric(dom::element element, Reading* reading) {
  dom::object metric;
  if (element.get(metric) != simdjson::SUCCESS) return false;
  reading->point.metric = TextOf(metric, "name");
  reading->point.unit = TextOf(metric, "unit");
  constexpr std::pair<const char*, Kind> kKinds[] = {
      {"gauge", Kind::kNumber},        {"sum", Kind::kNumber},
      {"histogram", Kind::kHistogram}, {"exponentialHistogram", Kind::kExponential},
      {"summary", Kind::kSummary},
  };
  for (const auto& [key, kind] : kKinds) {
    dom::object data;
    if (metric[key].get(data) != simdjson::SUCCESS) continue;
    const bool ok = EachOf(data, "dataPoints", [&, of = kind](dom::element point) {
      return ReadPoint(point, of, reading);
    });
    if (!ok) return false;
  }
  return true;
}

bool ReadScope(dom::element element, Reading* reading) {
  dom::object scope_metrics;
  if (element.get(scope_metrics) != simdjson::SUCCESS) return false;
  reading->point.scope = {};
  dom::object scope;
  if (scope_metrics["scope"].get(scope) == simdjson::SUCCESS) {
    reading->point.scope = TextOf(scope, "name");
  }
  return EachOf(scope_metrics, "metrics",
                [reading](dom::element metric) { return ReadMetric(metric, reading); });
}

bool ReadResource(dom::element element, Reading* reading) {
  dom::object resource_metrics;
  if (element.get(resource_metrics) != simdjson::SUCCESS) return false;
  reading->resource.clear();
  dom::object resource;
  if (resource_metrics["resource"].get(resource) == simdjson::SUCCESS &&
      !ReadAttributes(resource, &reading->resource)) {
    return false;
  }
  return EachOf(resource_metrics, "scopeMetrics",
                [reading](dom::element scope) { return ReadScope(scope, reading); });
}

Status NoRequest(std::size_t count) {
  return {Code::kInvalidArgument, "the body is no ExportMetricsServiceRequest: its resource " +
                                      std::to_string(count) + " can't be read"};
}

}  // namespace

Status ReadProtobuf(std::string_view message, const TakePoint& take) {
  Reading reading{.take = &take, .resource = {}, .attributes = {}, .values = {}, .point = {}};
  std::size_t count = 0;
  MessageReader reader(message);
  for (MessageField request; reader.Next(&request);) {
    if (request.id != field::kResourceMetrics || request.wire != Wire::kBytes) continue;
    if (!ReadResource(request.bytes, &reading)) return NoRequest(count);
    ++count;
  }
  return reader.ok() ? OkStatus() : NoRequest(count);
}

Status ReadJson(std::string_view text, const TakePoint& take) {
  Reading reading{.take = &take, .resource = {}, .attributes = {}, .values = {}, .point = {}};
  dom::parser parser;
  if (parser.allocate(text.size() + 1, limits::kJsonDepth) != simdjson::SUCCESS) {
    return {Code::kResourceExhausted, "no memory to read the body"};
  }
  dom::object request;
  const simdjson::padded_string padded(text);
  if (const auto error = parser.parse(padded).get(request); error != simdjson::SUCCESS) {
    return {Code::kInvalidArgument,
            std::string("the body is no JSON object: ") + simdjson::error_message(error)};
  }
  std::size_t count = 0;
  const bool ok = EachOf(request, "resourceMetrics", [&](dom::element resource) {
    if (!ReadResource(resource, &reading)) return false;
    ++count;
    return true;
  });
  return ok ? OkStatus() : NoRequest(count);
}

}  // namespace headway::otlp
