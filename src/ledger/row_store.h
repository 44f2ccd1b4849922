#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "ledger/row.h"
#include "ledger/slabs.h"

namespace headway::ledger {

/// The finished rows of one attempt, in order, in about 15 bytes each, with prefix sums: the sum
/// of everything before any instant costs O(log n) plus a block of 64 rows.
///
/// Only the end may change (Append, Truncate). All times are net. Not thread-safe. Where rows lie
/// elsewhere (see Persist), everything but Append, size, end and Total may throw PageLost.
class RowStore {
 public:
  /// `pages` is needed by those that persist, and must outlive this.
  explicit RowStore(const Pages* pages = nullptr) : pages_(pages), slabs_(pages) {}

  /// Rows must follow each other without a gap; `begin` of the first sets the start.
  void Append(const Row& row, const RowMeasures& measures);
  std::uint64_t size() const { return count_; }
  std::int64_t end() const { return end_; }
  /// Sums over all rows.
  Sums Total() const {
    Sums sums = sealed_;
    sums.Add(block_sums_);
    return sums;
  }

  /// Forgets rows from ordinal `count` on, calling `dropped` for each complete step among them.
  void Truncate(std::uint64_t count, const std::function<void(const Row&)>& dropped);

  /// Sums of the rows' parts before the instant `net`.
  Sums Before(std::int64_t net) const;

  /// Visits the instants of `walk` before end(), each as Before, and returns the sums of all rows
  /// if it has others. The rows of a block are read once for all instants in it.
  Sums Walk(RowWalk* walk) const;

  /// Calls `visit(ordinal, row)` for rows that overlap [from, to) or begin in it, in order, until
  /// it returns false.
  void Visit(std::int64_t from, std::int64_t to,
             const std::function<bool(std::uint64_t, const Row&)>& visit) const;

  /// Calls `visit(row)` for the last rows, the newest first, until it returns false.
  void VisitBackward(const std::function<bool(const Row&)>& visit) const;

  /// Sums of the rows with an ordinal below `ordinal`.
  Sums BeforeRow(std::uint64_t ordinal) const;

  /// Ordinal of the first step in [first, last) whose index is at least `index`; `last` when there
  /// is none. Indices must increase in the range.
  std::uint64_t OrdinalOfIndex(std::uint64_t first, std::uint64_t last, std::int64_t index) const;

  /// Index of the last step in [first, last), if there is one.
  std::optional<std::int64_t> LastIndex(std::uint64_t first, std::uint64_t last) const;

  /// Begin of the row with this ordinal; end() when there is none.
  std::int64_t BeginOf(std::uint64_t ordinal) const;

  std::size_t MemoryBytes() const;
  /// Forgets the bytes of pages, see Slabs.
  void Release();
  /// The rows are pages, and so is what stands before them about each block, many groups a page.
  /// `idle`: see Slabs.
  template <typename Ar>
  void Persist(Ar& ar, bool idle);

 private:
  static constexpr std::uint64_t kBlockRows = 64;
  static constexpr std::uint64_t kGroupBlocks = 64;
  static constexpr std::size_t kBundleGroups = 32;

  struct Block {
    std::uint32_t slab = 0, offset = 0;                 // where its first row lies
    std::int64_t begin = 0;                             // net time of the first row
    std::int64_t index_before = 0;                      // index of the step before the block
    std::vector<std::pair<BucketId, std::int64_t>> ns;  // sums, set when the block is full
    std::int64_t slow = 0, overlapped = 0, steps = 0, outside = 0;
  };
  struct Group {
    Sums before;                    // sums of all earlier groups
    std::int64_t begin = 0;         // of its first block
    std::int64_t index_before = 0;  // likewise
    std::vector<Block> blocks;      // none: elsewhere, see Blocks
  };
  /// The blocks of some groups, as a page.
  struct Bundle {
    PageId page = 0;
    std::uint32_t crc = 0;
    std::uint32_t size = 0;

    template <typename Ar>
    void Persist(Ar& ar);
  };
  struct Decoder;

  const std::vector<Block>& Blocks(std::size_t group) const {
    if (groups_[group].blocks.empty()) [[unlikely]]
      LoadBlocks(group);
    return groups_[group].blocks;
  }
  /// Where rows are added.
  Block& LastBlock() {
    Blocks(groups_.size() - 1);
    return groups_.back().blocks.back();
  }
  void LoadBlocks(std::size_t group) const;
  template <typename Ar>
  void PersistBlocks(Ar& ar, std::size_t first, std::size_t last, std::uint64_t rows) const;
  bool rest_is_page() const { return rest_.page != 0 && rest_rows_ == count_; }

  unsigned PutUnusual(const Row& row, std::uint8_t** place);
  Slabs::Slab& Room(std::size_t bytes);
  void StartBlock(std::int64_t begin);
  void SealBlock();
  std::uint64_t RowsIn(std::size_t group, std::size_t block) const;
  std::pair<std::size_t, std::size_t> FindBlock(std::int64_t net) const;
  Sums BeforeBlock(std::size_t group, std::size_t block) const;
  static void AddBlock(const Block& block, Sums* sums);

  const Pages* pages_;
  mutable std::vector<Group> groups_;
  std::vector<Bundle> bundles_;  // of kBundleGroups full groups each, the first ones
  Bundle rest_;                  // of the groups behind those, as they were with rest_rows_ rows
  std::uint64_t rest_rows_ = 0;
  Slabs slabs_;  // the rows; those of a block lie in one of them
  Sums sealed_;  // of all full blocks
  Sums block_sums_{.ns = std::vector<std::int64_t>(kCategoryCount)};  // of the last, unfinished one
  std::uint64_t count_ = 0;
  std::int64_t end_ = 0;
  std::int64_t index_ = 0;
};

}  // namespace headway::ledger
