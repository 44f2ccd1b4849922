#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

/// The numbers that the formats of this room are made of. All little-endian.

namespace headway::series {

static_assert(std::endian::native == std::endian::little);

/// Seven bits a byte, the lowest first; the top bit says that more follow.
inline void PutVarint(std::string* out, std::uint64_t value) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

/// Bytes behind how many they are.
inline void PutSized(std::string* out, std::string_view bytes) {
  PutVarint(out, bytes.size());
  out->append(bytes);
}

// Small numbers of either sign have small codes.
inline std::uint64_t Fold(std::uint64_t difference) {
  return difference << 1 ^ (0 - (difference >> 63));
}
inline std::uint64_t Unfold(std::uint64_t code) { return code >> 1 ^ (0 - (code & 1)); }

/// A signed number, folded, as a varint.
inline void PutSigned(std::string* out, std::int64_t value) {
  PutVarint(out, Fold(static_cast<std::uint64_t>(value)));
}

/// All bits of a double, as the varint of its bytes in reverse: round numbers take few bytes.
inline void PutDouble(std::string* out, double value) {
  PutVarint(out, __builtin_bswap64(std::bit_cast<std::uint64_t>(value)));
}

/// Reads what was put, from bytes that may be anything: once something is amiss, `ok` is false and
/// all that is read is 0.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  std::size_t left() const { return bytes_.size(); }
  void Fail() {
    ok_ = false;
    bytes_ = {};
  }

  std::uint8_t Byte() {
    if (bytes_.empty()) {
      Fail();
      return 0;
    }
    const auto byte = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte;
  }

  std::string_view Bytes(std::uint64_t size) {
    if (size > bytes_.size()) {
      Fail();
      return {};
    }
    const std::string_view taken = bytes_.substr(0, static_cast<std::size_t>(size));
    bytes_.remove_prefix(taken.size());
    return taken;
  }

  std::uint64_t Varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint64_t byte = Byte();
      if (shift == 63 && byte > 1) break;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    Fail();
    return 0;
  }
  std::int64_t Signed() { return static_cast<std::int64_t>(Unfold(Varint())); }
  double Double() { return std::bit_cast<double>(__builtin_bswap64(Varint())); }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace headway::series
