#include "formats/protobuf/wire.h"

#include <bit>
#include <cstddef>

#include "base/utf8.h"

namespace headway::protobuf {
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

}  // namespace

void AppendFixed32(std::uint32_t value, std::string* out) { AppendFixed(value, out); }
void AppendFixed64(std::uint64_t value, std::string* out) { AppendFixed(value, out); }

void AppendVarintField(std::uint32_t field, std::uint64_t value, std::string* out) {
  AppendKey(field, Wire::kVarint, out);
  AppendVarint(value, out);
}

void AppendFixed64Field(std::uint32_t field, std::uint64_t value, std::string* out) {
  AppendKey(field, Wire::kFixed64, out);
  AppendFixed(value, out);
}

void AppendDoubleField(std::uint32_t field, double value, std::string* out) {
  AppendFixed64Field(field, std::bit_cast<std::uint64_t>(value), out);
}

void AppendFloatField(std::uint32_t field, float value, std::string* out) {
  AppendKey(field, Wire::kFixed32, out);
  AppendFixed(std::bit_cast<std::uint32_t>(value), out);
}

void AppendBytesField(std::uint32_t field, std::string_view bytes, std::string* out) {
  AppendKey(field, Wire::kBytes, out);
  AppendVarint(bytes.size(), out);
  *out += bytes;
}

void AppendTextField(std::uint32_t field, std::string_view text, std::string* out) {
  AppendBytesField(field, IsValidUtf8(text) ? std::string(text) : ToValidUtf8(text), out);
}

}  // namespace headway::protobuf
