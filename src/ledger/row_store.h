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
/// Only the end may change (Append, Truncate). All times are net. Not thread-safe.
class RowStore {
 public:
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

 private:
  static constexpr std::uint64_t kBlockRows = 64;
  static constexpr std::uint64_t kGroupBlocks = 64;

  struct Block {
    std::uint32_t slab = 0, offset = 0;                 // where its first row lies
    std::int64_t begin = 0;                             // net time of the first row
    std::int64_t index_before = 0;                      // index of the step before the block
    std::vector<std::pair<BucketId, std::int64_t>> ns;  // sums, set when the block is full
    std::int64_t slow = 0, overlapped = 0, steps = 0, outside = 0;
  };
  struct Group {
    Sums before;  // sums of all earlier groups
    std::vector<Block> blocks;
  };
  struct Decoder;

  unsigned PutUnusual(const Row& row, std::uint8_t** place);
  Slabs::Slab& Room(std::size_t bytes);
  void StartBlock(std::int64_t begin);
  void SealBlock();
  std::uint64_t RowsIn(std::size_t group, std::size_t block) const;
  std::pair<std::size_t, std::size_t> FindBlock(std::int64_t net) const;
  Sums BeforeBlock(std::size_t group, std::size_t block) const;

  std::vector<Group> groups_;
  Slabs slabs_;  // the rows; those of a block lie in one of them
  Sums sealed_;  // of all full blocks
  Sums block_sums_{.ns = std::vector<std::int64_t>(kCategoryCount)};  // of the last, unfinished one
  std::uint64_t count_ = 0;
  std::int64_t end_ = 0;
  std::int64_t index_ = 0;
};

}  // namespace headway::ledger
