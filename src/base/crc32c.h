#pragma once

#include <cstddef>
#include <cstdint>

/// CRC-32C (Castagnoli, reflected polynomial 0x82f63b78), the checksum of iSCSI and ext4.
///
/// With SSE 4.2 the processor's own instruction is used (about 8 bytes in 3 cycles), chosen at run
/// time; elsewhere a table of 8 × 256 entries. All functions are pure and thread-safe.

namespace headway {

/// CRC-32C of `size` bytes at `data`; `Crc32c("123456789", 9)` is 0xe3069283. To go on with a CRC,
/// pass the previous result as `crc`.
std::uint32_t Crc32c(const void* data, std::size_t size, std::uint32_t crc = 0) noexcept;

namespace crc32c_internal {

/// Whether the processor has the instruction. False until static initialisation has run, which only
/// makes it slower.
extern bool has_instruction;

/// The same without the instruction, for tests and for machines that lack it. Works on the raw
/// register: no inversion before or after.
std::uint32_t ExtendTable(std::uint32_t state, const void* data, std::size_t size) noexcept;

#if defined(__x86_64__)
// As assembly, so that it can be inlined into code compiled for any x86-64.
inline std::uint64_t Step64(std::uint64_t state, std::uint64_t word) noexcept {
  asm("crc32q %1, %0" : "+r"(state) : "rm"(word));
  return state;
}
inline std::uint32_t Step32(std::uint32_t state, std::uint32_t word) noexcept {
  asm("crc32l %1, %0" : "+r"(state) : "rm"(word));
  return state;
}
inline std::uint32_t Step8(std::uint32_t state, std::uint8_t byte) noexcept {
  asm("crc32b %1, %0" : "+r"(state) : "rm"(byte));
  return state;
}
#endif

}  // namespace crc32c_internal

/// Raw CRC-32C register after a 32-bit and three 64-bit little-endian words, starting from `state`:
/// the checksum of one journal record (28 bytes). No inversion before or after.
inline std::uint32_t Crc32cWords(std::uint32_t state, std::uint32_t w0, std::uint64_t w1,
                                 std::uint64_t w2, std::uint64_t w3) noexcept {
#if defined(__x86_64__)
  if (crc32c_internal::has_instruction) [[likely]] {
    std::uint64_t crc = crc32c_internal::Step32(state, w0);
    crc = crc32c_internal::Step64(crc, w1);
    crc = crc32c_internal::Step64(crc, w2);
    crc = crc32c_internal::Step64(crc, w3);
    return static_cast<std::uint32_t>(crc);
  }
#endif
  state = crc32c_internal::ExtendTable(state, &w0, sizeof w0);
  state = crc32c_internal::ExtendTable(state, &w1, sizeof w1);
  state = crc32c_internal::ExtendTable(state, &w2, sizeof w2);
  return crc32c_internal::ExtendTable(state, &w3, sizeof w3);
}

}  // namespace headway
