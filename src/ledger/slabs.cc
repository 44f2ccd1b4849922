#include "ledger/slabs.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace headway::ledger {
namespace {

constexpr std::size_t kLeast = 2 << 10;
constexpr std::size_t kHugePage = 2 << 20;

}  // namespace

void Slabs::Add(std::uint32_t least) {
  std::size_t size = std::clamp(std::bit_ceil(memory_ / 4), kLeast, kHugePage);
  size = std::max(size, std::bit_ceil(std::size_t{least}));
  Slab slab;
  if (size >= kHugePage) {
    slab.bytes.reset(static_cast<std::uint8_t*>(std::aligned_alloc(kHugePage, size)));
    if (slab.bytes != nullptr) ::madvise(slab.bytes.get(), size, MADV_HUGEPAGE);
  } else {
    slab.bytes.reset(static_cast<std::uint8_t*>(std::malloc(size)));
  }
  if (slab.bytes == nullptr) throw std::bad_alloc();
  slab.size = static_cast<std::uint32_t>(size);
  slabs_.push_back(std::move(slab));
  memory_ += size;
}

void Slabs::Keep(std::size_t count) {
  while (slabs_.size() > count) {
    memory_ -= slabs_.back().size;
    slabs_.pop_back();
  }
}

}  // namespace headway::ledger
