#include "formats/tensorboard/writer.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/utf8.h"
#include "formats/tensorboard/framing.h"

namespace headway::tensorboard {
namespace {

template <typename Unsigned>
void AppendFixed(Unsigned value, std::string* out) {
  for (std::size_t i = 0; i < sizeof value; ++i) *out += static_cast<char>(value >> (8 * i) & 0xff);
}

void AppendVarint(std::uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) *out += static_cast<char>(value | 0x80);
  *out += static_cast<char>(value);
}

void AppendKey(std::uint32_t field, Wire wire, std::string* out) {
  AppendVarint(std::uint64_t{field} << 3 | static_cast<std::uint64_t>(wire), out);
}

void AppendBytes(std::uint32_t field, std::string_view bytes, std::string* out) {
  AppendKey(field, Wire::kBytes, out);
  AppendVarint(bytes.size(), out);
  *out += bytes;
}

// A message's texts are UTF-8, or other readers refuse the whole of it.
void AppendText(std::uint32_t field, std::string_view text, std::string* out) {
  AppendBytes(field, IsValidUtf8(text) ? std::string(text) : ToValidUtf8(text), out);
}

std::string BeginEvent(std::int64_t time_ns, std::int64_t step) {
  std::string event;
  AppendKey(field::kWallTime, Wire::kFixed64, &event);
  // One rounding: a long double holds every int64.
  const auto seconds = static_cast<double>(static_cast<long double>(time_ns) / 1e9L);
  AppendFixed(std::bit_cast<std::uint64_t>(seconds), &event);
  if (step != 0) {
    AppendKey(field::kStep, Wire::kVarint, &event);
    AppendVarint(static_cast<std::uint64_t>(step), &event);
  }
  return event;
}

void AppendFrame(std::string_view data, std::string* out) {
  std::string length;
  AppendFixed(std::uint64_t{data.size()}, &length);
  *out += length;
  AppendFixed(MaskedCrc(length), out);
  *out += data;
  AppendFixed(MaskedCrc(data), out);
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
  AppendBytes(field::kFileVersion, kVersion, &event);
  AppendFrame(event, out);
}

void AppendSessionStart(std::int64_t time_ns, std::int64_t step, std::string* out) {
  std::string log;
  AppendKey(field::kStatus, Wire::kVarint, &log);
  AppendVarint(kSessionStart, &log);
  std::string event = BeginEvent(time_ns, step);
  AppendBytes(field::kSessionLog, log, &event);
  AppendFrame(event, out);
}

void AppendScalar(std::int64_t time_ns, std::int64_t step, std::string_view tag, double value,
                  std::string_view display_name, std::string* out) {
  std::string body;
  AppendText(field::kTag, tag, &body);
  AppendKey(field::kSimpleValue, Wire::kFixed32, &body);
  AppendFixed(std::bit_cast<std::uint32_t>(ToFloat(value)), &body);
  if (!display_name.empty()) {
    std::string plugin;
    AppendBytes(field::kPluginName, kScalarPlugin, &plugin);
    std::string metadata;
    AppendBytes(field::kPluginData, plugin, &metadata);
    AppendText(field::kDisplayName, display_name, &metadata);
    AppendBytes(field::kMetadata, metadata, &body);
  }
  std::string summary;
  AppendBytes(field::kValue, body, &summary);
  std::string event = BeginEvent(time_ns, step);
  AppendBytes(field::kSummary, summary, &event);
  AppendFrame(event, out);
}

}  // namespace headway::tensorboard
