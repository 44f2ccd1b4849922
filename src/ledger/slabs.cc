#include "ledger/slabs.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/crc32c.h"
#include "ledger/persist.h"

namespace headway::ledger {
namespace {

constexpr std::size_t kLeast = 2 << 10;

}  // namespace

// How large the next one is, so that all together take little more than is needed.
std::size_t Slabs::Share() const {
  return std::clamp(std::bit_ceil(total_ / 4), kLeast, kPageBytes);
}

bool Slabs::MakeRoom(std::uint32_t least) {
  if (!slabs_.empty() && (back().room() >= least || (back().filled && Reopen(least)))) return true;
  Add(least);
  return false;
}

void Slabs::Add(std::uint32_t least) {
  const std::size_t size = std::max(Share(), std::bit_ceil(std::size_t{least}));
  if (chunk_ == nullptr || chunk_->size - chunk_used_ < size) {
    const std::size_t share = std::clamp(std::bit_ceil(memory_ / 4), kLeast, kHugePageBytes);
    chunk_ = std::make_shared<Chunk>();
    chunk_->size = std::max(share, size);
    chunk_->bytes = AllocateBuffer(chunk_->size);
    chunk_used_ = 0;
    memory_ += chunk_->size;
  }
  Slab slab;
  slab.bytes = chunk_->bytes.get() + chunk_used_;
  slab.size = static_cast<std::uint32_t>(size);
  slab.chunk = chunk_;
  slabs_.push_back(std::move(slab));
  chunk_used_ += size;
  total_ += size;
}

// Memory of its own for a slab.
void Slabs::Allocate(std::size_t size, Slab* slab) const {
  auto chunk = std::make_shared<Chunk>();
  chunk->bytes = AllocateBuffer(size);
  chunk->size = size;
  memory_ += size;
  slab->bytes = chunk->bytes.get();
  slab->chunk = std::move(chunk);
}

void Slabs::Load(std::size_t i) const {
  Slab& slab = slabs_[i];
  if (!slab.is_page() || pages_ == nullptr) throw Pages::Misfit();
  const std::string bytes = pages_->Read(slab.page, slab.used, slab.crc);
  Allocate(bytes.size() + kSlack, &slab);
  bytes.copy(reinterpret_cast<char*>(slab.bytes), bytes.size());
  std::memset(slab.bytes + bytes.size(), 0, kSlack);
}

// Gives the last one, which came from elsewhere, the room that it once had. False: not enough.
bool Slabs::Reopen(std::uint32_t least) {
  const std::size_t last = slabs_.size() - 1;
  const std::size_t size = std::max(Share(), std::bit_ceil(back().used + kSlack));
  if (size > kPageBytes || size - back().used < least) return false;
  Bytes(last);
  Slab slab = back();
  Allocate(size, &slab);
  std::memcpy(slab.bytes, back().bytes, slab.used);
  total_ += size - slab.size;
  slab.size = static_cast<std::uint32_t>(size);
  slab.filled = false;
  slabs_.back() = std::move(slab);
  CountMemory();
  return true;
}

void Slabs::Cut(std::size_t count, std::uint32_t used) {
  while (slabs_.size() > count) {
    const Slab& last = slabs_.back();
    total_ -= last.size;
    if (last.chunk != nullptr && last.chunk == chunk_) chunk_used_ -= last.size;
    slabs_.pop_back();
  }
  if (slabs_.empty() || slabs_.back().chunk != chunk_) chunk_.reset();
  if (!slabs_.empty() && back().used != used) {
    Bytes(count - 1);
    back().used = used;
    back().page = 0;
    if (back().filled) {
      total_ -= back().size - used;
      back().size = used;
    }
  }
  CountMemory();
}

void Slabs::Release() {
  if (pages_ == nullptr || !pages_->read) return;
  bool any = false;
  for (Slab& slab : slabs_) {
    if (!slab.is_page() || slab.bytes == nullptr) continue;
    any = true;
    slab.bytes = nullptr;
    slab.chunk.reset();
    total_ -= slab.room();
    slab.size = slab.used;
    slab.filled = true;
  }
  if (!any) return;
  // What is left of a chunk that others have gone from moves to memory of its own.
  chunk_.reset();
  for (Slab& slab : slabs_) {
    if (slab.chunk == nullptr || slab.chunk->size == slab.size || slab.filled) continue;
    Slab moved = slab;
    Allocate(slab.size, &moved);
    std::memcpy(moved.bytes, slab.bytes, slab.used);
    slab = std::move(moved);
  }
  CountMemory();
}

std::uint64_t Slabs::UsedBytes() const {
  std::uint64_t used = 0;
  for (const Slab& slab : slabs_) used += slab.used;
  return used;
}

void Slabs::CountMemory() {
  memory_ = 0;
  const Chunk* before = nullptr;
  for (const Slab& slab : slabs_) {
    if (slab.chunk != nullptr && slab.chunk.get() != before) memory_ += slab.chunk->size;
    before = slab.chunk.get();
  }
}

template <typename Ar>
void Slabs::Persist(Ar& ar, bool idle, std::uint32_t most) {
  PageId page_before = 0;
  std::uint64_t number = 0;
  const std::uint64_t last = slabs_.empty() ? 0 : slabs_.size() - 1;
  ar.List(slabs_, [&](Slab& slab) {
    const bool tail = number++ == last;
    ar.Below(slab.used, std::uint64_t{most} + 1);
    if constexpr (!Ar::kReading) {
      if (!slab.is_page() && (!tail || idle) && slab.used > 0 && ar.IsPage(slab.used)) {
        const std::string_view bytes(reinterpret_cast<const char*>(slab.bytes), slab.used);
        slab.page = ar.PutPage(bytes);
        slab.crc = Crc32c(bytes.data(), bytes.size());
        slab.kept = slab.used;
      }
    }
    bool page = slab.is_page();
    if constexpr (!Ar::kReading) page &= ar.paging();
    ar(page);
    if (page) {
      ar.Page(slab.page, &page_before);
      ar(slab.crc);
      if constexpr (Ar::kReading) slab.kept = slab.used;
    } else {
      if constexpr (Ar::kReading) {
        const std::string_view bytes = ar.Take(slab.used);
        slab.used = static_cast<std::uint32_t>(bytes.size());
        Allocate(bytes.size() + kSlack, &slab);
        bytes.copy(reinterpret_cast<char*>(slab.bytes), bytes.size());  // perhaps none
        std::memset(slab.bytes + bytes.size(), 0, kSlack);
      } else {
        Bytes(number - 1);
        ar.out().append(reinterpret_cast<const char*>(slab.bytes), slab.used);
      }
    }
    if constexpr (Ar::kReading) {
      slab.size = slab.used;
      slab.filled = true;
      total_ += slab.size;
    }
  });
}
template void Slabs::Persist(SnapshotWriter& ar, bool idle, std::uint32_t most);
template void Slabs::Persist(SnapshotReader& ar, bool idle, std::uint32_t most);

}  // namespace headway::ledger
