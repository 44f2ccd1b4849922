#include "formats/tensorboard/writer.h"

#include <cmath>
#include <limits>

#include "formats/protobuf/wire.h"
#include "formats/tensorboard/framing.h"

namespace headway::tensorboard {
namespace {

using protobuf::AppendBytesField;
using protobuf::AppendDoubleField;
using protobuf::AppendFixed32;
using protobuf::AppendFixed64;
using protobuf::AppendFloatField;
using protobuf::AppendTextField;
using protobuf::AppendVarintField;

std::string BeginEvent(std::int64_t time_ns, std::int64_t step) {
  std::string event;
  // One rounding: a long double holds every int64.
  const auto seconds = static_cast<double>(static_cast<long double>(time_ns) / 1e9L);
  AppendDoubleField(field::kWallTime, seconds, &event);
  if (step != 0) AppendVarintField(field::kStep, static_cast<std::uint64_t>(step), &event);
  return event;
}

void AppendFrame(std::string_view data, std::string* out) {
  std::string length;
  AppendFixed64(data.size(), &length);
  *out += length;
  AppendFixed32(MaskedCrc(length), out);
  *out += data;
  AppendFixed32(MaskedCrc(data), out);
}

// A conversion beyond the range of float is undefined: it is told what to become.
float ToFloat(double value) {
  constexpr double kMax = std::numeric_limits<float>::max();
  if (std::isfinite(value) && std::abs(value) > kMax) {
    return std::copysign(std::numeric_limits<float>::infinity(), value < 0 ? -1.0F : 1.0F);
  }
  return static_cast<float>(value);
}

}  // namespace

void AppendVersion(std::int64_t time_ns, std::string* out) {
  std::string event = BeginEvent(time_ns, 0);
  AppendBytesField(field::kFileVersion, kVersion, &event);
  AppendFrame(event, out);
}

void AppendSessionStart(std::int64_t time_ns, std::int64_t step, std::string* out) {
  std::string log;
  AppendVarintField(field::kStatus, kSessionStart, &log);
  std::string event = BeginEvent(time_ns, step);
  AppendBytesField(field::kSessionLog, log, &event);
  AppendFrame(event, out);
}

void AppendScalar(std::int64_t time_ns, std::int64_t step, std::string_view tag, double value,
                  std::string_view display_name, std::string* out) {
  std::string body;
  AppendTextField(field::kTag, tag, &body);
  AppendFloatField(field::kSimpleValue, ToFloat(value), &body);
  if (!display_name.empty()) {
    std::string plugin;
    AppendBytesField(field::kPluginName, kScalarPlugin, &plugin);
    std::string metadata;
    AppendBytesField(field::kPluginData, plugin, &metadata);
    AppendTextField(field::kDisplayName, display_name, &metadata);
    AppendBytesField(field::kMetadata, metadata, &body);
  }
  std::string summary;
  AppendBytesField(field::kValue, body, &summary);
  std::string event = BeginEvent(time_ns, step);
  AppendBytesField(field::kSummary, summary, &event);
  AppendFrame(event, out);
}

}  // namespace headway::tensorboard
