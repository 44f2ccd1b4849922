#pragma once

#include <cstdint>
#include <vector>

/// LEB128 and zigzag: the ledger's in-memory encoding of small integers. Never leaves the process
/// unless inside a snapshot, which carries its own checksum.

namespace headway::ledger {

inline constexpr std::size_t kVarintBytesMax = 10;

inline std::uint8_t* PutVarint(std::uint8_t* out, std::uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<std::uint8_t>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<std::uint8_t>(value);
  return out;
}

inline const std::uint8_t* GetVarint(const std::uint8_t* in, std::uint64_t* value) {
  std::uint64_t result = *in & 0x7fu;
  int shift = 7;
  while (*in++ & 0x80u) {
    result |= static_cast<std::uint64_t>(*in & 0x7fu) << shift;
    shift += 7;
  }
  *value = result;
  return in;
}

inline std::uint64_t ZigZag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

inline std::int64_t UnZigZag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

/// Difference that may wrap: the pair (Delta, Undelta) is exact for every input.
inline std::int64_t Delta(std::int64_t now, std::int64_t before) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(now) -
                                   static_cast<std::uint64_t>(before));
}
inline std::int64_t Undelta(std::int64_t delta, std::int64_t before) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(delta) +
                                   static_cast<std::uint64_t>(before));
}

}  // namespace headway::ledger
