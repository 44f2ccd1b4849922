#include "ledger/row_store.h"

#include <algorithm>
#include <cstring>

#include "ledger/varint.h"

namespace headway::ledger {
namespace {

enum Flag : std::uint8_t {
  kStep = 1,
  kFirst = 2,
  kLoading = 4,
  kExtraShift = 3,  // two bits
  kSlow = 32,
  kNextIndex = 64,
  kOneSlice = 128,
};

// A slice is one byte for its code (6 bits), or kLongCode and a varint, and for how many bytes its
// length takes (2 bits: below 17 ms, 4.3 s, 18 minutes, anything), and then those bytes.
constexpr unsigned kLongCode = 63;
constexpr unsigned kLengthShift = 6;
constexpr Lengths kLengths(3, 4, 5, 8);

// Room behind the last byte, for reading and writing eight bytes at a time.
constexpr std::size_t kSlack = 8;

void AddSparse(const std::vector<std::pair<BucketId, std::int64_t>>& from, Sums* to) {
  for (const auto& [bucket, ns] : from) to->Add(bucket, ns);
}

}  // namespace

// Reads the rows of one block one after the other.
struct RowStore::Decoder {
  Decoder(const Slabs& slabs, const Block& block)
      : in(slabs[block.slab].bytes.get() + block.offset),
        at(block.begin),
        index(block.index_before) {}

  void Next(Row* row) {
    const std::uint8_t flags = *in++;
    std::uint64_t value = 0;
    *row = Row{};
    row->is_step = row->complete = (flags & kStep) != 0;
    row->first = (flags & kFirst) != 0;
    row->extra_kind = static_cast<Row::Extra>((flags >> kExtraShift) & 3);
    if (row->is_step) {
      if (flags & kNextIndex) {
        index += 1;
      } else {
        in = GetVarint(in, &value);
        index = Undelta(UnZigZag(value), index);
      }
    }
    row->index = index;
    if (flags & kLoading) {
      in = GetVarint(in, &value);
      row->loading = static_cast<std::int64_t>(value);
    }
    if (row->extra_kind != Row::Extra::kNone) {
      in = GetVarint(in, &value);
      row->extra = static_cast<std::int64_t>(value);
    }
    if (flags & kSlow) {
      in = GetVarint(in, &value);
      row->slow = static_cast<std::int64_t>(value);
    }
    std::uint64_t slices_count = 1;
    if (!(flags & kOneSlice)) in = GetVarint(in, &slices_count);
    slices.resize(slices_count);
    row->begin = at;
    for (Slice& slice : slices) {
      const unsigned head = *in++;
      slice.code = head & kLongCode;
      if (slice.code == kLongCode) {
        in = GetVarint(in, &value);
        slice.code = static_cast<std::uint32_t>(value);
      }
      in = kLengths.Get(in, head >> kLengthShift, &value);
      slice.ns = static_cast<std::int64_t>(value);
      at += slice.ns;
    }
    row->slices = slices;
  }

  const std::uint8_t* in;
  std::int64_t at;
  std::int64_t index;
  std::vector<Slice> slices;
};

// The slab of the last block, with room for another row of so many bytes.
Slabs::Slab& RowStore::Room(std::size_t bytes) {
  if (!slabs_.empty() && slabs_.back().room() >= bytes) return slabs_.back();
  // A block lies in one slab: what there is of it moves along.
  Block& block = groups_.back().blocks.back();
  const std::size_t written =
      count_ % kBlockRows == 0 || slabs_.empty() ? 0 : slabs_.back().used - block.offset;
  const std::size_t last = slabs_.size();
  slabs_.Add(static_cast<std::uint32_t>(2 * (written + bytes)));
  if (written > 0) {
    std::memcpy(slabs_.back().bytes.get(), slabs_[last - 1].bytes.get() + block.offset, written);
  }
  slabs_.back().used = static_cast<std::uint32_t>(written);
  block.slab = slabs_.size() - 1;
  block.offset = 0;
  return slabs_.back();
}

void RowStore::StartBlock(std::int64_t begin) {
  if (groups_.empty() || groups_.back().blocks.size() == kGroupBlocks) {
    Group group;
    group.before = sealed_;
    groups_.push_back(std::move(group));
  }
  Block block;
  if (!slabs_.empty()) {
    block.slab = slabs_.size() - 1;
    block.offset = slabs_.back().used;
  }
  block.begin = begin;
  block.index_before = index_;
  groups_.back().blocks.push_back(std::move(block));
}

void RowStore::SealBlock() {
  Block& block = groups_.back().blocks.back();
  for (std::size_t i = 0; i < block_sums_.ns.size(); ++i) {
    if (block_sums_.ns[i] != 0) {
      block.ns.emplace_back(static_cast<BucketId>(i), block_sums_.ns[i]);
    }
  }
  sealed_.Add(block_sums_);
  block.slow = block_sums_.slow;
  block.overlapped = block_sums_.overlapped;
  block.steps = block_sums_.steps;
  block.outside = block_sums_.outside;
  std::fill(block_sums_.ns.begin(), block_sums_.ns.end(), 0);
  block_sums_.slow = block_sums_.overlapped = block_sums_.steps = block_sums_.outside = 0;
}

// What a row says beyond being the next step, behind the flags. Returns those.
[[gnu::noinline]] unsigned RowStore::PutUnusual(const Row& row, std::uint8_t** place) {
  std::uint8_t* out = *place;
  unsigned flags = static_cast<unsigned>(row.extra_kind) << kExtraShift;
  if (row.is_step) {
    flags |= kStep;
    if (row.index == Undelta(index_, 1)) {
      flags |= kNextIndex;
    } else {
      out = PutVarint(out, ZigZag(Delta(row.index, index_)));
    }
    index_ = row.index;
  }
  if (row.first) flags |= kFirst;
  if (row.loading != 0) {
    flags |= kLoading;
    out = PutVarint(out, static_cast<std::uint64_t>(row.loading));
  }
  if (row.extra_kind != Row::Extra::kNone) {
    out = PutVarint(out, static_cast<std::uint64_t>(row.extra));
  }
  if (row.slow != 0) {
    flags |= kSlow;
    out = PutVarint(out, static_cast<std::uint64_t>(row.slow));
  }
  *place = out;
  return flags;
}

void RowStore::Append(const Row& row, const RowMeasures& measures) {
  if (count_ % kBlockRows == 0) StartBlock(row.begin);
  Slabs::Slab& slab = Room(5 * kVarintBytesMax + 16 * row.slices.size() + kSlack);
  std::uint8_t* const begin = slab.bytes.get() + slab.used;
  std::uint8_t* out = begin + 1;
  unsigned flags = kStep | kNextIndex;
  if (row.is_step && !row.first && row.index == Undelta(index_, 1) &&
      row.extra_kind == Row::Extra::kNone && (row.loading | row.slow) == 0) [[likely]] {
    index_ = row.index;
  } else {
    std::uint8_t* place = out;
    flags = PutUnusual(row, &place);
    out = place;
  }
  if (row.slices.size() == 1) {
    flags |= kOneSlice;
  } else {
    out = PutVarint(out, row.slices.size());
  }
  for (const Slice& slice : row.slices) {
    const auto ns = static_cast<std::uint64_t>(slice.ns);
    const unsigned length = kLengths.CodeOf(ns);
    if (slice.code < kLongCode) [[likely]] {
      *out++ = static_cast<std::uint8_t>(slice.code | length << kLengthShift);
    } else {
      *out++ = static_cast<std::uint8_t>(kLongCode | length << kLengthShift);
      out = PutVarint(out, slice.code);
    }
    out = kLengths.Put(out, ns, length);
  }
  *begin = static_cast<std::uint8_t>(flags);
  slab.used += static_cast<std::uint32_t>(out - begin);
  end_ = row.begin + measures.work + measures.fixed;
  if (row.extra == 0 && measures.fixed == 0 && !measures.labels) [[likely]] {
    // As AddRow; the unnamed categories have their place from the start.
    std::int64_t* const ns = block_sums_.ns.data();
    ns[BucketOf(Category::kProductive)] += measures.work - row.loading;
    ns[BucketOf(Category::kDataLoading)] += row.loading;
    block_sums_.overlapped += measures.overlapped - row.loading;
    block_sums_.slow += row.slow;
    block_sums_.steps += row.is_step && row.complete ? 1 : 0;
  } else {
    AddRow(row, measures, &block_sums_);
  }
  count_ += 1;
  if (count_ % kBlockRows == 0) SealBlock();
}

std::uint64_t RowStore::RowsIn(std::size_t group, std::size_t block) const {
  const std::uint64_t first = (group * kGroupBlocks + block) * kBlockRows;
  return std::min(kBlockRows, count_ - first);
}

void RowStore::Truncate(std::uint64_t count, const std::function<void(const Row&)>& dropped) {
  if (count >= count_) return;
  const std::size_t first_block = count / kBlockRows;
  for (std::size_t b = first_block; b * kBlockRows < count_; ++b) {
    const Group& group = groups_[b / kGroupBlocks];
    Decoder decoder(slabs_, group.blocks[b % kGroupBlocks]);
    const std::uint64_t rows = RowsIn(b / kGroupBlocks, b % kGroupBlocks);
    Row row;
    for (std::uint64_t i = 0; i < rows; ++i) {
      decoder.Next(&row);
      if (b * kBlockRows + i >= count && row.is_step) dropped(row);
    }
  }
  // Keep the beginning of the block that the cut lies in, and re-add its rows.
  const std::size_t g = first_block / kGroupBlocks;
  const std::size_t b = first_block % kGroupBlocks;
  const std::uint64_t keep = count % kBlockRows;
  sealed_ = BeforeBlock(g, b);
  Block block = groups_[g].blocks[b];
  block.ns.clear();
  block.slow = block.overlapped = block.steps = block.outside = 0;
  std::fill(block_sums_.ns.begin(), block_sums_.ns.end(), 0);
  block_sums_.slow = block_sums_.overlapped = block_sums_.steps = block_sums_.outside = 0;
  Decoder decoder(slabs_, block);
  Row row;
  for (std::uint64_t i = 0; i < keep; ++i) {
    decoder.Next(&row);
    AddRow(row, &block_sums_);
  }
  index_ = decoder.index;
  end_ = decoder.at;
  slabs_.Keep(block.slab + 1);
  slabs_.back().used = static_cast<std::uint32_t>(decoder.in - slabs_[block.slab].bytes.get());
  groups_.resize(keep == 0 && b == 0 ? g : g + 1);
  if (groups_.size() > g) {
    groups_[g].blocks.resize(b);
    if (keep != 0) groups_[g].blocks.push_back(std::move(block));
  }
  count_ = count;
}

std::pair<std::size_t, std::size_t> RowStore::FindBlock(std::int64_t net) const {
  // The last block that begins at or before `net` and is not followed by one that does too.
  auto group = std::partition_point(groups_.begin(), groups_.end(), [&](const Group& candidate) {
    return candidate.blocks.front().begin <= net;
  });
  if (group == groups_.begin()) return {0, 0};
  --group;
  auto block = std::partition_point(group->blocks.begin(), group->blocks.end(),
                                    [&](const Block& candidate) { return candidate.begin <= net; });
  return {static_cast<std::size_t>(group - groups_.begin()),
          static_cast<std::size_t>(block - group->blocks.begin() - 1)};
}

Sums RowStore::BeforeBlock(std::size_t group, std::size_t block) const {
  Sums sums = groups_[group].before;
  for (std::size_t i = 0; i < block; ++i) {
    const Block& earlier = groups_[group].blocks[i];
    AddSparse(earlier.ns, &sums);
    sums.slow += earlier.slow;
    sums.overlapped += earlier.overlapped;
    sums.steps += earlier.steps;
    sums.outside += earlier.outside;
  }
  return sums;
}

Sums RowStore::BeforeRow(std::uint64_t ordinal) const {
  if (ordinal >= count_) return Total();
  const std::size_t block = ordinal / kBlockRows;
  const std::size_t g = block / kGroupBlocks;
  const std::size_t b = block % kGroupBlocks;
  Sums sums = BeforeBlock(g, b);
  Decoder decoder(slabs_, groups_[g].blocks[b]);
  Row row;
  for (std::uint64_t i = 0; i < ordinal % kBlockRows; ++i) {
    decoder.Next(&row);
    AddRow(row, &sums);
  }
  return sums;
}

Sums RowStore::Before(std::int64_t net) const {
  if (net >= end_ || groups_.empty()) {
    // Rows of no length may stand at end() itself; they count as before it.
    return net >= end_ ? Total() : Sums{};
  }
  const auto [g, b] = FindBlock(net);
  Sums sums = BeforeBlock(g, b);
  Decoder decoder(slabs_, groups_[g].blocks[b]);
  Row row;
  const std::uint64_t rows = RowsIn(g, b);
  for (std::uint64_t i = 0; i < rows; ++i) {
    decoder.Next(&row);
    if (row.begin >= net) break;
    AddRow(row, row.begin, net, &sums);
  }
  return sums;
}

void RowStore::Visit(std::int64_t from, std::int64_t to,
                     const std::function<bool(std::uint64_t, const Row&)>& visit) const {
  if (groups_.empty()) return;
  auto [g, b] = FindBlock(from);
  // Rows of no length at `from` may end the block before.
  while ((g > 0 || b > 0) && groups_[g].blocks[b].begin == from) {
    if (b > 0) {
      --b;
    } else {
      --g;
      b = kGroupBlocks - 1;
    }
  }
  for (; g < groups_.size(); ++g, b = 0) {
    for (; b < groups_[g].blocks.size(); ++b) {
      Decoder decoder(slabs_, groups_[g].blocks[b]);
      Row row;
      const std::uint64_t rows = RowsIn(g, b);
      for (std::uint64_t i = 0; i < rows; ++i) {
        decoder.Next(&row);
        if (row.begin >= to) return;
        if (decoder.at <= from && row.begin < from) continue;
        if (!visit((g * kGroupBlocks + b) * kBlockRows + i, row)) return;
      }
    }
  }
}

void RowStore::VisitBackward(const std::function<bool(const Row&)>& visit) const {
  struct Kept {
    Row row;
    std::vector<Slice> slices;
  };
  std::vector<Kept> rows;
  for (std::size_t g = groups_.size(); g-- > 0;) {
    for (std::size_t b = groups_[g].blocks.size(); b-- > 0;) {
      Decoder decoder(slabs_, groups_[g].blocks[b]);
      rows.resize(RowsIn(g, b));
      for (Kept& kept : rows) {
        decoder.Next(&kept.row);
        kept.slices = decoder.slices;
        kept.row.slices = kept.slices;
      }
      for (std::size_t i = rows.size(); i-- > 0;) {
        if (!visit(rows[i].row)) return;
      }
    }
  }
}

std::int64_t RowStore::BeginOf(std::uint64_t ordinal) const {
  if (ordinal >= count_) return end_;
  const std::size_t b = ordinal / kBlockRows;
  const Group& group = groups_[b / kGroupBlocks];
  Decoder decoder(slabs_, group.blocks[b % kGroupBlocks]);
  Row row;
  for (std::uint64_t i = 0; i <= ordinal % kBlockRows; ++i) decoder.Next(&row);
  return row.begin;
}

std::uint64_t RowStore::OrdinalOfIndex(std::uint64_t first, std::uint64_t last,
                                       std::int64_t index) const {
  last = std::min(last, count_);
  if (first >= last) return last;
  // Blocks that begin inside the range after a step that is still too small can be skipped.
  std::size_t low = first / kBlockRows;
  std::size_t high = (last - 1) / kBlockRows;
  while (low < high) {
    const std::size_t middle = (low + high + 1) / 2;
    const Block& block = groups_[middle / kGroupBlocks].blocks[middle % kGroupBlocks];
    if (block.index_before < index) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  for (std::size_t b = low; b * kBlockRows < last; ++b) {
    const Group& group = groups_[b / kGroupBlocks];
    Decoder decoder(slabs_, group.blocks[b % kGroupBlocks]);
    Row row;
    for (std::uint64_t i = b * kBlockRows; i < std::min(last, (b + 1) * kBlockRows); ++i) {
      decoder.Next(&row);
      if (i >= first && row.is_step && row.index >= index) return i;
    }
  }
  return last;
}

std::optional<std::int64_t> RowStore::LastIndex(std::uint64_t first, std::uint64_t last) const {
  last = std::min(last, count_);
  if (first >= last) return std::nullopt;
  for (std::size_t b = (last - 1) / kBlockRows + 1; b-- > first / kBlockRows;) {
    const Group& group = groups_[b / kGroupBlocks];
    Decoder decoder(slabs_, group.blocks[b % kGroupBlocks]);
    std::optional<std::int64_t> index;
    Row row;
    for (std::uint64_t i = b * kBlockRows; i < std::min(last, (b + 1) * kBlockRows); ++i) {
      decoder.Next(&row);
      if (i >= first && row.is_step) index = row.index;
    }
    if (index) return index;
  }
  return std::nullopt;
}

std::size_t RowStore::MemoryBytes() const {
  std::size_t bytes = slabs_.MemoryBytes();
  for (const Group& group : groups_) {
    bytes += sizeof(Group) + group.before.ns.size() * 8;
    for (const Block& block : group.blocks) bytes += sizeof(Block) + block.ns.capacity() * 16;
  }
  return bytes;
}

}  // namespace headway::ledger
