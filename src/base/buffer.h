#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace headway {

/// Bytes that nothing was written to yet.
struct FreeBytes {
  void operator()(std::uint8_t* bytes) const { std::free(bytes); }
};
using Buffer = std::unique_ptr<std::uint8_t[], FreeBytes>;

inline constexpr std::size_t kHugePageBytes = 2 << 20;

/// `size` bytes; multiples of kHugePageBytes lie on huge pages where the system has them. Throws
/// std::bad_alloc. Any thread.
Buffer AllocateBuffer(std::size_t size);

}  // namespace headway
