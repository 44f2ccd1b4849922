#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/buffer.h"
#include "ledger/pages.h"

namespace headway::ledger {

struct Pages;

/// Bytes in pieces that grow with what there is already: little for a short attempt, kPageBytes for
/// a long one. Nothing moves once it is written. Each piece but the last is written once and is one
/// page: it may lie elsewhere, and is read when somebody asks for it.
class Slabs {
 public:
  static constexpr std::size_t kPageBytes = 64 << 10;
  /// Room behind the bytes of a page, for readers that look ahead.
  static constexpr std::size_t kSlack = 96;

  struct Slab {
    std::uint8_t* bytes = nullptr;  // null: elsewhere, see Slabs::Bytes
    std::uint32_t size = 0;
    std::uint32_t used = 0;  // kept by the owner

    std::uint32_t room() const { return size - used; }

   private:
    friend class Slabs;
    bool is_page() const { return page != 0 && kept == used; }

    std::uint32_t crc = 0;
    std::uint32_t kept = 0;  // so many of the bytes are the page
    PageId page = 0;
    bool filled = false;  // `size` leaves no room: the bytes came from elsewhere
    struct Chunk {
      Buffer bytes;
      std::size_t size = 0;
    };
    std::shared_ptr<Chunk> chunk;  // where `bytes` lie, with those of others
  };

  /// `pages` is needed by those that persist, and must outlive this.
  explicit Slabs(const Pages* pages = nullptr) : pages_(pages) {}

  bool empty() const { return slabs_.empty(); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(slabs_.size()); }
  Slab& back() { return slabs_.back(); }
  const Slab& operator[](std::size_t i) const { return slabs_[i]; }
  /// The bytes of a slab. May throw PageLost.
  const std::uint8_t* Bytes(std::size_t i) const {
    if (slabs_[i].bytes == nullptr) [[unlikely]]
      Load(i);
    return slabs_[i].bytes;
  }

  /// Sees to it that the last one has room for `least` more bytes. True: there was one that can be
  /// used on; false: it is a new one. Throws std::bad_alloc, PageLost.
  bool MakeRoom(std::uint32_t least);
  /// Gives back all but the first `count`, and of the last of these all but `used` bytes.
  void Cut(std::size_t count, std::uint32_t used);
  std::size_t MemoryBytes() const { return memory_; }

  /// Forgets the bytes of pages.
  void Release();
  /// `idle`: the last one will hardly be added to, and may become a page, too. None has more than
  /// `most` bytes.
  template <typename Ar>
  void Persist(Ar& ar, bool idle, std::uint32_t most);
  std::uint64_t UsedBytes() const;

 private:
  using Chunk = Slab::Chunk;

  void Load(std::size_t i) const;
  bool Reopen(std::uint32_t least);
  void Add(std::uint32_t least);
  void Allocate(std::size_t size, Slab* slab) const;
  std::size_t Share() const;
  void CountMemory();

  const Pages* pages_;
  mutable std::vector<Slab> slabs_;
  std::size_t total_ = 0;           // sizes of all of them, wherever they lie
  mutable std::size_t memory_ = 0;  // of the chunks
  std::shared_ptr<Chunk> chunk_;    // that the next one may lie in
  std::size_t chunk_used_ = 0;
};

}  // namespace headway::ledger
