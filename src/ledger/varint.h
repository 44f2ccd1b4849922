#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

/// Small integers in few bytes, for the ledger's memory and its snapshots. Little-endian machines.

namespace headway::ledger {

static_assert(std::endian::native == std::endian::little);

inline constexpr std::size_t kVarintBytesMax = 10;

// LEB128: for numbers that are nearly always below 128, and for bytes from outside.

inline std::uint8_t* PutVarint(std::uint8_t* out, std::uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<std::uint8_t>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<std::uint8_t>(value);
  return out;
}

/// Reads ten bytes at most, whatever they are.
inline const std::uint8_t* GetVarint(const std::uint8_t* in, std::uint64_t* value) {
  std::uint64_t result = *in & 0x7fu;
  int shift = 7;
  while ((*in++ & 0x80u) != 0 && shift < 64) {
    result |= static_cast<std::uint64_t>(*in & 0x7fu) << shift;
    shift += 7;
  }
  *value = result;
  return in;
}

/// Four lengths in bytes, so that two bits, kept elsewhere, say which one a number takes and
/// neither side loops. Both touch eight bytes: buffers need that much room behind the last number.
class Lengths {
 public:
  constexpr Lengths(unsigned a, unsigned b, unsigned c, unsigned d) : bytes_{a, b, c, d} {
    for (unsigned width = 0; width < 64; ++width) {
      while (width + 1 > 8 * bytes_[code_[width]]) ++code_[width];
    }
  }
  /// Which length `value` takes: 0..3.
  constexpr unsigned CodeOf(std::uint64_t value) const {
    return code_[static_cast<unsigned>(std::bit_width(value | 1)) - 1];
  }
  std::uint8_t* Put(std::uint8_t* out, std::uint64_t value, unsigned code) const {
    std::memcpy(out, &value, 8);
    return out + bytes_[code];
  }
  const std::uint8_t* Get(const std::uint8_t* in, unsigned code, std::uint64_t* value) const {
    std::uint64_t bytes;
    std::memcpy(&bytes, in, 8);
    *value = bytes & (~std::uint64_t{0} >> (64 - 8 * bytes_[code]));
    return in + bytes_[code];
  }

 private:
  unsigned bytes_[4];
  std::uint8_t code_[64]{};
};

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
