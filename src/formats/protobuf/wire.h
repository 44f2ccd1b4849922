#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Writes protocol buffer messages field by field, in the order of the calls; values are written
/// also where they are the default. A message within a message is a string of its own, put in with
/// AppendBytes. Internal to formats/. Pure; no errors.

namespace headway::protobuf {

/// Wire types of the encoding. Groups are not among them.
enum class Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

/// Bare numbers, least significant byte first.
void AppendFixed32(std::uint32_t value, std::string* out);
void AppendFixed64(std::uint64_t value, std::string* out);

void AppendVarintField(std::uint32_t field, std::uint64_t value, std::string* out);
void AppendFixed64Field(std::uint32_t field, std::uint64_t value, std::string* out);
void AppendDoubleField(std::uint32_t field, double value, std::string* out);
void AppendFloatField(std::uint32_t field, float value, std::string* out);

/// `bytes`: of a `bytes` field, or a whole message.
void AppendBytesField(std::uint32_t field, std::string_view bytes, std::string* out);

/// A `string` field. What is no UTF-8 in `text` becomes U+FFFD: readers refuse the whole message
/// otherwise.
void AppendTextField(std::uint32_t field, std::string_view text, std::string* out);

}  // namespace headway::protobuf
