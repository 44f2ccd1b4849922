#include "base/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace headway {

Buffer AllocateBuffer(std::size_t size) {
  size = std::max<std::size_t>(size, 1);
  const bool huge = size % kHugePageBytes == 0;
  Buffer buffer(static_cast<std::uint8_t*>(huge ? std::aligned_alloc(kHugePageBytes, size)
                                                : std::malloc(size)));
  if (buffer == nullptr) throw std::bad_alloc();
  if (huge) ::madvise(buffer.get(), size, MADV_HUGEPAGE);
  return buffer;
}

}  // namespace headway
