#include "ledger/slabs.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace headway::ledger {
namespace {

constexpr std::size_t kLeast = 2 << 10;

}  // namespace

void Slabs::Add(std::uint32_t least) {
  const std::size_t share = std::clamp(std::bit_ceil(memory_ / 4), kLeast, kHugePageBytes);
  const std::size_t size = std::max(share, std::bit_ceil(std::size_t{least}));
  Slab slab;
  slab.bytes = AllocateBuffer(size);
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
