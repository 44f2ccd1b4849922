#include "base/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

namespace headway {
namespace crc32c_internal {
namespace {

static_assert(std::endian::native == std::endian::little, "headway runs on little-endian machines");

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // reflected

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables MakeTables() {
  Tables tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0u);
    tables[0][i] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t i = 0; i < 256; ++i) {
      const std::uint32_t previous = tables[k - 1][i];
      tables[k][i] = (previous >> 8) ^ tables[0][previous & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

bool DetectInstruction() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse4.2") != 0;
#else
  return false;
#endif
}

}  // namespace

constinit bool has_instruction = false;

namespace {
[[maybe_unused]] const bool kDetected = (has_instruction = DetectInstruction());
}  // namespace

std::uint32_t ExtendTable(std::uint32_t state, const void* data, std::size_t size) noexcept {
  const auto* bytes = static_cast<const unsigned char*>(data);
  while (size >= 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes, 8);
    word ^= state;
    state = kTables[7][word & 0xff] ^ kTables[6][(word >> 8) & 0xff] ^
            kTables[5][(word >> 16) & 0xff] ^ kTables[4][(word >> 24) & 0xff] ^
            kTables[3][(word >> 32) & 0xff] ^ kTables[2][(word >> 40) & 0xff] ^
            kTables[1][(word >> 48) & 0xff] ^ kTables[0][word >> 56];
    bytes += 8;
    size -= 8;
  }
  for (; size > 0; --size) state = (state >> 8) ^ kTables[0][(state ^ *bytes++) & 0xff];
  return state;
}

std::uint32_t WordsByTable(std::uint32_t state, std::uint32_t w0, std::uint64_t w1,
                           std::uint64_t w2, std::uint64_t w3) noexcept {
  state = ExtendTable(state, &w0, sizeof w0);
  state = ExtendTable(state, &w1, sizeof w1);
  state = ExtendTable(state, &w2, sizeof w2);
  return ExtendTable(state, &w3, sizeof w3);
}

#if defined(__x86_64__)
namespace {
std::uint32_t ExtendInstruction(std::uint32_t state, const void* data, std::size_t size) noexcept {
  const auto* bytes = static_cast<const unsigned char*>(data);
  std::uint64_t crc = state;
  for (; size >= 8; size -= 8, bytes += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes, 8);
    crc = Step64(crc, word);
  }
  auto result = static_cast<std::uint32_t>(crc);
  for (; size > 0; --size) result = Step8(result, *bytes++);
  return result;
}
}  // namespace
#endif

}  // namespace crc32c_internal

std::uint32_t Crc32c(const void* data, std::size_t size, std::uint32_t crc) noexcept {
#if defined(__x86_64__)
  if (crc32c_internal::has_instruction) {
    return ~crc32c_internal::ExtendInstruction(~crc, data, size);
  }
#endif
  return ~crc32c_internal::ExtendTable(~crc, data, size);
}

namespace {

// Product of two polynomials modulo that of the CRC; as in a CRC, the highest bit is x^0.
constexpr std::uint32_t Multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? crc32c_internal::kPolynomial : 0u);
  }
  return product;
}

}  // namespace

std::uint32_t Crc32cOfBoth(std::uint32_t a, std::uint32_t b, std::uint64_t size_b) noexcept {
  // Behind A lie the bits of B, which move it up by as many powers of x.
  std::uint32_t shifted = a;
  std::uint32_t power = 1u << 23;  // x^8
  for (; size_b != 0; size_b >>= 1) {
    if ((size_b & 1) != 0) shifted = Multiply(power, shifted);
    power = Multiply(power, power);
  }
  return shifted ^ b;
}

}  // namespace headway
