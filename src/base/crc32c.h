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

/// The CRC-32C of A followed by B, of theirs and the number of bytes of B. Takes some microseconds.
std::uint32_t Crc32cOfBoth(std::uint32_t a, std::uint32_t b, std::uint64_t size_b) noexcept;

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

namespace crc32c_internal {
/// As Crc32cWords; out of line and by value, so that callers need no stack for it.
[[gnu::cold, gnu::noinline]] std::uint32_t WordsByTable(std::uint32_t state, std::uint32_t w0,
                                                        std::uint64_t w1, std::uint64_t w2,
                                                        std::uint64_t w3) noexcept;
}  // namespace crc32c_internal

/// As Crc32cWords, without looking whether the processor has the instruction: only for those who
/// have looked (crc32c_internal::has_instruction).
inline std::uint32_t Crc32cWordsUnchecked(std::uint32_t state, std::uint32_t w0, std::uint64_t w1,
                                          std::uint64_t w2, std::uint64_t w3) noexcept {
#if defined(__x86_64__)
  std::uint64_t crc = crc32c_internal::Step32(state, w0);
  crc = crc32c_internal::Step64(crc, w1);
  crc = crc32c_internal::Step64(crc, w2);
  return static_cast<std::uint32_t>(crc32c_internal::Step64(crc, w3));
#else
  return crc32c_internal::WordsByTable(state, w0, w1, w2, w3);
#endif
}

/// Raw CRC-32C register after a 32-bit and three 64-bit little-endian words, starting from `state`:
/// the checksum of one journal record (28 bytes). No inversion before or after.
inline std::uint32_t Crc32cWords(std::uint32_t state, std::uint32_t w0, std::uint64_t w1,
                                 std::uint64_t w2, std::uint64_t w3) noexcept {
  if (crc32c_internal::has_instruction) [[likely]] {
    return Crc32cWordsUnchecked(state, w0, w1, w2, w3);
  }
  return crc32c_internal::WordsByTable(state, w0, w1, w2, w3);
}

}  // namespace headway
