#include "ledger/row_store.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/crc32c.h"
#include "ledger/persist.h"
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

constexpr std::uint32_t kSlabBytesMax = 1 << 30;  // for a row of absurdly many slices

// Room behind the last byte, for reading and writing eight bytes at a time; what comes from
// elsewhere has more.
constexpr std::size_t kSlack = 8;

}  // namespace

// Reads the rows of one block one after the other.
struct RowStore::Decoder {
  Decoder(const RowStore& rows, const Block& block)
      : in(rows.slabs_.Bytes(block.slab) + block.offset),
        end(rows.slabs_.Bytes(block.slab) + rows.slabs_[block.slab].used),
        pages(rows.pages_),
        at(block.begin),
        index(block.index_before) {}

  void Next(Row* row) {
    if (in >= end) [[unlikely]]
      throw Pages::Misfit();
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
    // What comes from elsewhere is looked at as it is read.
    if (in > end || slices_count > static_cast<std::uint64_t>(end - in)) [[unlikely]] {
      throw Pages::Misfit();
    }
    slices.resize(slices_count);
    row->begin = at;
    for (Slice& slice : slices) {
      const unsigned head = *in++;
      slice.code = head & kLongCode;
      if (slice.code == kLongCode) {
        in = GetVarint(in, &value);
        slice.code = static_cast<std::uint32_t>(value);
        if (pages != nullptr && BucketIn(slice.code) >= pages->buckets->size()) {
          throw Pages::Misfit();
        }
      }
      in = kLengths.Get(in, head >> kLengthShift, &value);
      slice.ns = static_cast<std::int64_t>(value);
      at += slice.ns;
      if (in > end) [[unlikely]]
        throw Pages::Misfit();
    }
    row->slices = slices;
  }

  const std::uint8_t* in;
  const std::uint8_t* end;
  const Pages* pages;
  std::int64_t at;
  std::int64_t index;
  std::vector<Slice> slices;
};

// The slab of the last block, with room for another row of so many bytes.
Slabs::Slab& RowStore::Room(std::size_t bytes) {
  if (!slabs_.empty() && slabs_.back().room() >= bytes) return slabs_.back();
  // A block lies in one slab: what there is of it moves along.
  Block& block = LastBlock();
  const std::size_t written =
      count_ % kBlockRows == 0 || slabs_.empty() ? 0 : slabs_.back().used - block.offset;
  const std::size_t last = slabs_.size();
  if (slabs_.MakeRoom(static_cast<std::uint32_t>(2 * (written + bytes)))) return slabs_.back();
  if (written > 0) {
    std::memcpy(slabs_.back().bytes, slabs_.Bytes(last - 1) + block.offset, written);
  }
  slabs_.back().used = static_cast<std::uint32_t>(written);
  block.slab = slabs_.size() - 1;
  block.offset = 0;
  return slabs_.back();
}

void RowStore::StartBlock(std::int64_t begin) {
  if (groups_.empty() || Blocks(groups_.size() - 1).size() == kGroupBlocks) {
    Group group;
    group.before = sealed_;
    group.begin = begin;
    group.index_before = index_;
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
  Block& block = LastBlock();
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
  std::uint8_t* const begin = slab.bytes + slab.used;
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
    Decoder decoder(*this, Blocks(b / kGroupBlocks)[b % kGroupBlocks]);
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
  Block block = Blocks(g)[b];
  block.ns.clear();
  block.slow = block.overlapped = block.steps = block.outside = 0;
  std::fill(block_sums_.ns.begin(), block_sums_.ns.end(), 0);
  block_sums_.slow = block_sums_.overlapped = block_sums_.steps = block_sums_.outside = 0;
  Decoder decoder(*this, block);
  Row row;
  for (std::uint64_t i = 0; i < keep; ++i) {
    decoder.Next(&row);
    AddRow(row, &block_sums_);
  }
  index_ = decoder.index;
  end_ = decoder.at;
  slabs_.Cut(block.slab + 1, static_cast<std::uint32_t>(decoder.in - slabs_.Bytes(block.slab)));
  const std::size_t groups = keep == 0 && b == 0 ? g : g + 1;
  if (groups > 0) Blocks(groups - 1);  // which is added to now
  bundles_.resize(std::min(bundles_.size(), groups == 0 ? 0 : (groups - 1) / kBundleGroups));
  rest_ = Bundle();
  groups_.resize(groups);
  if (groups_.size() > g) {
    groups_[g].blocks.resize(b);
    if (keep != 0) groups_[g].blocks.push_back(std::move(block));
  }
  count_ = count;
}

std::pair<std::size_t, std::size_t> RowStore::FindBlock(std::int64_t net) const {
  // The last block that begins at or before `net` and is not followed by one that does too.
  auto group = std::partition_point(groups_.begin(), groups_.end(),
                                    [&](const Group& candidate) { return candidate.begin <= net; });
  if (group == groups_.begin()) return {0, 0};
  --group;
  const auto g = static_cast<std::size_t>(group - groups_.begin());
  const std::vector<Block>& blocks = Blocks(g);
  // Its first block begins there or earlier.
  auto block = std::partition_point(blocks.begin() + 1, blocks.end(),
                                    [&](const Block& candidate) { return candidate.begin <= net; });
  return {g, static_cast<std::size_t>(block - blocks.begin() - 1)};
}

Sums RowStore::BeforeBlock(std::size_t group, std::size_t block) const {
  Sums sums = groups_[group].before;
  if (block == 0) return sums;
  const std::vector<Block>& blocks = Blocks(group);
  for (std::size_t i = 0; i < block; ++i) AddBlock(blocks[i], &sums);
  return sums;
}

void RowStore::AddBlock(const Block& block, Sums* sums) {
  for (const auto& [bucket, ns] : block.ns) sums->Add(bucket, ns);
  sums->slow += block.slow;
  sums->overlapped += block.overlapped;
  sums->steps += block.steps;
  sums->outside += block.outside;
}

Sums RowStore::BeforeRow(std::uint64_t ordinal) const {
  if (ordinal >= count_) return Total();
  const std::size_t block = ordinal / kBlockRows;
  const std::size_t g = block / kGroupBlocks;
  const std::size_t b = block % kGroupBlocks;
  Sums sums = BeforeBlock(g, b);
  Decoder decoder(*this, Blocks(g)[b]);
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
  Decoder decoder(*this, Blocks(g)[b]);
  Row row;
  const std::uint64_t rows = RowsIn(g, b);
  for (std::uint64_t i = 0; i < rows; ++i) {
    decoder.Next(&row);
    if (row.begin >= net) break;
    AddRow(row, row.begin, net, &sums);
  }
  return sums;
}

Sums RowStore::Walk(RowWalk* walk) const {
  Sums before;  // of the rows before the block (g, b)
  std::size_t g = groups_.size();
  std::size_t b = 0;
  Row row;
  while (!walk->done() && walk->next() < end_ && !groups_.empty()) {
    const std::size_t visited = walk->visited();
    const auto [group, block] = FindBlock(walk->next());
    const std::vector<Block>& blocks = Blocks(group);
    if (group == g) {
      for (; b < block; ++b) AddBlock(blocks[b], &before);
    } else {
      before = BeforeBlock(group, block);
    }
    g = group;
    b = block;
    std::int64_t end = end_;  // where the next block begins
    if (b + 1 < blocks.size()) {
      end = blocks[b + 1].begin;
    } else if (g + 1 < groups_.size()) {
      end = groups_[g + 1].begin;
    }
    Sums sums = before;
    Decoder decoder(*this, blocks[b]);
    for (std::uint64_t rows = RowsIn(g, b); rows > 0; --rows) {
      if (walk->done() || walk->next() >= end) break;
      decoder.Next(&row);
      walk->Pass(row, &sums);
    }
    if (walk->visited() == visited || (!walk->done() && walk->next() < end)) [[unlikely]]
      throw Pages::Misfit();  // blocks that don't follow each other, or rows that end too early
  }
  return walk->done() ? Sums{} : Total();
}

void RowStore::Visit(std::int64_t from, std::int64_t to,
                     const std::function<bool(std::uint64_t, const Row&)>& visit) const {
  if (groups_.empty()) return;
  auto [g, b] = FindBlock(from);
  // Rows of no length at `from` may end the block before.
  while ((g > 0 || b > 0) && Blocks(g)[b].begin == from) {
    if (b > 0) {
      --b;
    } else {
      --g;
      b = kGroupBlocks - 1;
    }
  }
  for (; g < groups_.size(); ++g, b = 0) {
    for (; b < Blocks(g).size(); ++b) {
      Decoder decoder(*this, Blocks(g)[b]);
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
    for (std::size_t b = Blocks(g).size(); b-- > 0;) {
      Decoder decoder(*this, Blocks(g)[b]);
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
  Decoder decoder(*this, Blocks(b / kGroupBlocks)[b % kGroupBlocks]);
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
    // Between groups first, of which that much is at hand.
    std::size_t middle = (low + high + 1) / 2;
    if (low / kGroupBlocks != high / kGroupBlocks) {
      middle = (low / kGroupBlocks + high / kGroupBlocks + 1) / 2 * kGroupBlocks;
    }
    const std::size_t g = middle / kGroupBlocks;
    const std::size_t b = middle % kGroupBlocks;
    if ((b == 0 ? groups_[g].index_before : Blocks(g)[b].index_before) < index) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  for (std::size_t b = low; b * kBlockRows < last; ++b) {
    Decoder decoder(*this, Blocks(b / kGroupBlocks)[b % kGroupBlocks]);
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
    Decoder decoder(*this, Blocks(b / kGroupBlocks)[b % kGroupBlocks]);
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

void RowStore::LoadBlocks(std::size_t group) const {
  const std::size_t bundle = group / kBundleGroups;
  const bool full = bundle < bundles_.size();
  const Bundle& from = full ? bundles_[bundle] : rest_;
  if (from.page == 0) throw Pages::Misfit();
  const std::string bytes = pages_->Read(from.page, from.size, from.crc);
  SnapshotReader in(pages_, bytes);
  if (full) {
    PersistBlocks(in, bundle * kBundleGroups, (bundle + 1) * kBundleGroups, count_);
  } else {
    PersistBlocks(in, bundles_.size() * kBundleGroups, groups_.size(), rest_rows_);
  }
  if (!in.ok() || !in.rest().empty()) throw Pages::Misfit();
}

void RowStore::Release() {
  slabs_.Release();
  if (pages_ == nullptr || !pages_->read) return;
  const std::size_t end = rest_is_page() ? groups_.size() : bundles_.size() * kBundleGroups;
  for (std::size_t g = 0; g < end; ++g) groups_[g].blocks = std::vector<Block>();
}

// Blocks of the groups [first, last), where there are so many rows in all.
template <typename Ar>
void RowStore::PersistBlocks(Ar& ar, std::size_t first, std::size_t last,
                             std::uint64_t rows) const {
  const std::uint64_t blocks = rows / kBlockRows + (rows % kBlockRows != 0 ? 1 : 0);
  for (std::size_t g = first; g < last && ar.ok(); ++g) {
    Group& group = groups_[g];
    std::uint32_t slab = 0;
    std::uint32_t offset = 0;
    std::int64_t begin = group.begin;
    std::int64_t index = group.index_before;
    ar.List(group.blocks, [&](Block& block) {
      ar.Near(block.slab, &slab);
      ar.Near(block.offset, &offset);
      ar.Check(block.slab < slabs_.size() && block.offset <= slabs_[block.slab].used);
      ar.Near(block.begin, &begin);
      ar.Near(block.index_before, &index);
      ar(block.slow, block.overlapped, block.steps, block.outside);
      ar.List(block.ns, [&ar](auto& sum) {
        ar.Bucket(sum.first);
        ar(sum.second);
      });
    });
    ar.Check(group.blocks.size() == std::min(kGroupBlocks, blocks - g * kGroupBlocks));
  }
}

template <typename Ar>
void RowStore::Bundle::Persist(Ar& ar) {
  ar.Page(page);
  ar(crc, size);
}

template <typename Ar>
void RowStore::Persist(Ar& ar, bool idle) {
  slabs_.Persist(ar, idle, kSlabBytesMax);
  ar(count_, end_, index_, sealed_, block_sums_);
  // So much has its place from the start.
  ar.Check(block_sums_.ns.size() >= static_cast<std::size_t>(kCategoryCount));
  Group before;
  ar.List(groups_, [&](Group& group) {
    ar.Near(group.begin, &before.begin);
    ar.Near(group.index_before, &before.index_before);
    ar(group.before);
  });
  const std::uint64_t blocks = count_ / kBlockRows + (count_ % kBlockRows != 0 ? 1 : 0);
  ar.Check(groups_.size() == blocks / kGroupBlocks + (blocks % kGroupBlocks != 0 ? 1 : 0));

  std::vector<Bundle> none;
  std::vector<Bundle>* bundles = &bundles_;
  bool rest = rest_is_page();
  if constexpr (!Ar::kReading) {
    auto put = [&](std::size_t first, std::size_t last, std::size_t least) {
      Bundle bundle;
      if (first == last) return bundle;
      for (std::size_t g = first; g < last; ++g) Blocks(g);
      SnapshotWriter page(&ar.pages(), nullptr);
      PersistBlocks(page, first, last, count_);
      bundle.crc = Crc32c(page.out().data(), page.out().size());
      bundle.size = static_cast<std::uint32_t>(page.out().size());
      if (bundle.size >= least) bundle.page = ar.PutPage(page.out());
      return bundle;
    };
    while (ar.paging() && (bundles_.size() + 1) * kBundleGroups < groups_.size()) {
      const std::size_t first = bundles_.size() * kBundleGroups;
      const Bundle bundle = put(first, first + kBundleGroups, 0);
      if (bundle.page == 0) break;
      bundles_.push_back(bundle);
      rest_ = Bundle();
      rest = false;
    }
    if (!ar.paging()) {
      bundles = &none;
      rest = false;
    } else if (!rest && idle) {
      const Bundle bundle = put(bundles_.size() * kBundleGroups, groups_.size(), ar.least_page());
      if (bundle.page != 0) {
        rest_ = bundle;
        rest_rows_ = count_;
        rest = true;
      }
    }
  }
  ar.List(*bundles);
  ar.Check(bundles->empty() || bundles->size() * kBundleGroups < groups_.size());
  ar(rest);
  if (rest) {
    ar(rest_);
    rest_rows_ = count_;
    return;
  }
  const std::size_t first = bundles->size() * kBundleGroups;
  if constexpr (!Ar::kReading) {
    for (std::size_t g = first; g < groups_.size(); ++g) Blocks(g);
  }
  PersistBlocks(ar, first, groups_.size(), count_);
}
template void RowStore::Persist(SnapshotWriter& ar, bool idle);
template void RowStore::Persist(SnapshotReader& ar, bool idle);

std::size_t RowStore::MemoryBytes() const {
  std::size_t bytes = slabs_.MemoryBytes();
  for (const Group& group : groups_) {
    bytes += sizeof(Group) + group.before.ns.capacity() * 8;
    for (const Block& block : group.blocks) bytes += sizeof(Block) + block.ns.capacity() * 16;
  }
  return bytes;
}

}  // namespace headway::ledger
