#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

/// 128-bit identifiers. Each kind of thing has a type of its own, so that they can't be mixed up.

namespace headway {

/// Sixteen bytes in the shape of a UUID. `Tag` only tells kinds apart. All zero: none.
template <typename Tag>
struct BasicUid {
  std::array<std::uint8_t, 16> bytes{};

  bool IsNil() const { return *this == BasicUid{}; }
  friend auto operator<=>(const BasicUid&, const BasicUid&) = default;
};

using JournalUid = BasicUid<struct JournalUidTag>;
using RunUid = BasicUid<struct RunUidTag>;
using BootId = BasicUid<struct BootIdTag>;

namespace uid_internal {
/// Random bytes of the operating system, marked as a version 4 UUID.
std::array<std::uint8_t, 16> Random();
/// The first half of SHA-256(text), marked as a version 8 UUID.
std::array<std::uint8_t, 16> Derive(std::string_view text);
std::string ToHex(const std::array<std::uint8_t, 16>& bytes);
bool Parse(std::string_view text, std::array<std::uint8_t, 16>* bytes);
}  // namespace uid_internal

/// A fresh identifier that nobody else has. Safe after fork; may be called from any thread.
template <typename Uid>
Uid RandomUid() {
  return Uid{uid_internal::Random()};
}

/// The identifier that belongs to `text`: the same on every machine and in every release.
template <typename Uid>
Uid DeriveUid(std::string_view text) {
  return Uid{uid_internal::Derive(text)};
}

/// 32 lower-case hexadecimal digits.
template <typename Tag>
std::string ToHex(const BasicUid<Tag>& uid) {
  return uid_internal::ToHex(uid.bytes);
}

/// Parses 32 hexadecimal digits, with or without the hyphens of a UUID. InvalidArgument otherwise.
template <typename Uid>
Result<Uid> ParseUid(std::string_view text) {
  Uid uid;
  if (!uid_internal::Parse(text, &uid.bytes)) {
    return Status(Code::kInvalidArgument, "not an id of 32 hexadecimal digits: \"" +
                                              std::string(text.substr(0, 64)) + "\"");
  }
  return uid;
}

}  // namespace headway
