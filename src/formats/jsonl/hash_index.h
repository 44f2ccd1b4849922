#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// A set of indices into the caller's own table, found by hash: eight bytes a slot and no nodes,
/// for looking up every line of a large file. Internal to this folder.

namespace headway::jsonl {

class HashIndex {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  /// The index entered under `hash` for which `same(index)` holds, or kNone.
  template <typename Same>
  std::uint32_t Find(std::uint32_t hash, const Same& same) const {
    if (slots_.empty()) return kNone;
    for (std::size_t at = hash & mask_; slots_[at].index != kNone; at = (at + 1) & mask_) {
      if (slots_[at].hash == hash && same(slots_[at].index)) return slots_[at].index;
    }
    return kNone;
  }

  /// The index entered under `hash` for which `same(index)` holds. Without one, enters `fresh` and
  /// returns kNone.
  template <typename Same>
  std::uint32_t FindOrAdd(std::uint32_t hash, std::uint32_t fresh, const Same& same) {
    if (size_ * 2 >= slots_.size()) Grow();
    std::size_t at = hash & mask_;
    for (; slots_[at].index != kNone; at = (at + 1) & mask_) {
      if (slots_[at].hash == hash && same(slots_[at].index)) return slots_[at].index;
    }
    slots_[at] = {hash, fresh};
    ++size_;
    return kNone;
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t index = kNone;
  };

  void Grow() {
    std::vector<Slot> slots(slots_.empty() ? 1024 : slots_.size() * 2);
    slots.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : slots) {
      if (slot.index == kNone) continue;
      std::size_t at = slot.hash & mask_;
      while (slots_[at].index != kNone) at = (at + 1) & mask_;
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
  std::size_t size_ = 0;
};

}  // namespace headway::jsonl
