#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/buffer.h"

namespace headway::ledger {

/// Bytes in pieces that grow with what there is already: little for a short attempt, large pages
/// for a long one. Nothing moves once it is written.
class Slabs {
 public:
  struct Slab {
    Buffer bytes;
    std::uint32_t size = 0;
    std::uint32_t used = 0;  // kept by the owner

    std::uint32_t room() const { return size - used; }
  };

  bool empty() const { return slabs_.empty(); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(slabs_.size()); }
  Slab& back() { return slabs_.back(); }
  const Slab& operator[](std::size_t i) const { return slabs_[i]; }
  std::vector<Slab>::const_iterator begin() const { return slabs_.begin(); }
  std::vector<Slab>::const_iterator end() const { return slabs_.end(); }

  /// Adds one of at least `least` bytes. Throws std::bad_alloc.
  void Add(std::uint32_t least);
  /// Gives back all but the first `count`.
  void Keep(std::size_t count);
  std::size_t MemoryBytes() const { return memory_; }

 private:
  std::vector<Slab> slabs_;
  std::size_t memory_ = 0;
};

}  // namespace headway::ledger
