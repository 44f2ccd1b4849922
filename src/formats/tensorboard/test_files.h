#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tensorboard/framing.h"
#include "formats/tensorboard/writer.h"

/// Event files for tests, also such as no writer would make.

namespace headway::tensorboard {

inline std::string Fixed(std::uint64_t value, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

inline std::string Varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

inline std::string Key(std::uint32_t id, Wire wire) {
  return Varint(std::uint64_t{id} << 3 | static_cast<std::uint64_t>(wire));
}

inline std::string VarintField(std::uint32_t id, std::uint64_t value) {
  return Key(id, Wire::kVarint) + Varint(value);
}

inline std::string BytesField(std::uint32_t id, std::string_view bytes) {
  return Key(id, Wire::kBytes) + Varint(bytes.size()) + std::string(bytes);
}

inline std::string Frame(std::string_view data) {
  const std::string length = Fixed(data.size(), 8);
  return length + Fixed(MaskedCrc(length), 4) + std::string(data) + Fixed(MaskedCrc(data), 4);
}

inline std::string WallTimeField(double seconds) {
  return Key(field::kWallTime, Wire::kFixed64) + Fixed(std::bit_cast<std::uint64_t>(seconds), 8);
}

/// An event with one Summary.Value, at step 7 and 1 s.
inline std::string ValueEvent(std::string_view value) {
  return Frame(WallTimeField(1) + VarintField(field::kStep, 7) +
               BytesField(field::kSummary, BytesField(field::kValue, value)));
}

inline std::string VersionRecord() {
  std::string file;
  AppendVersion(0, &file);
  return file;
}

/// A file with one scalar of `tag` for each step, a second apart.
inline std::string ScalarFile(std::int64_t first_second, const std::vector<std::int64_t>& steps,
                              std::string_view tag = "loss") {
  std::string file = VersionRecord();
  for (const std::int64_t step : steps) {
    AppendScalar(first_second++ * 1'000'000'000, step, tag, static_cast<double>(step), "", &file);
  }
  return file;
}

}  // namespace headway::tensorboard
