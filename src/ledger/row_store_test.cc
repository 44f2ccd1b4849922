#include "ledger/row_store.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace headway::ledger {
namespace {

/// Rows with slices of their own, in a vector: what the store must agree with.
struct Kept {
  Row row;
  std::vector<Slice> slices;
  Row View() const {
    Row view = row;
    view.slices = slices;
    return view;
  }
};

class RowStoreTest : public testing::Test {
 protected:
  void Append(int count) {
    for (int i = 0; i < count; ++i) {
      Kept& kept = kept_.emplace_back(Random());
      const Row row = kept.View();
      store_.Append(row, Measure(row.slices));
      end_ = row.end();
    }
  }

  Kept Random() {
    Kept kept;
    Row& row = kept.row;
    row.begin = end_;
    row.is_step = row.complete = random_() % 4 != 0;
    if (row.is_step) index_ += random_() % 9 == 0 ? static_cast<std::int64_t>(random_() % 50) : 1;
    row.index = index_;
    row.first = random_() % 30 == 0;
    const std::size_t slices = random_() % 5 == 0 ? random_() % 6 : 1;
    for (std::size_t i = 0; i < slices; ++i) {
      const BucketId bucket = random_() % 9 == 0 ? static_cast<BucketId>(random_() % 300) : 0;
      const auto kind = static_cast<SliceKind>(row.is_step ? random_() % 3 : 2 + random_() % 2);
      const LoadState load = kind == SliceKind::kWorkLoad ? LoadState::kActive : LoadState::kNone;
      const std::uint64_t below = random_() % 3 == 0 ? 4 : 9'000'000'000;
      const auto ns = static_cast<std::int64_t>(random_() % below);
      kept.slices.push_back({SliceCode(kind, load, bucket), ns});
    }
    const RowMeasures measures = Measure(kept.slices);
    if (random_() % 3 == 0) row.loading = measures.load_in_work / 2;
    if (random_() % 4 == 0) {
      row.extra_kind = static_cast<Row::Extra>(1 + random_() % 3);
      row.extra = (measures.work - row.loading) / 3;
    }
    if (random_() % 5 == 0) row.slow = row.extra;
    return kept;
  }

  Sums Before(std::int64_t net) const {
    Sums sums;
    for (const Kept& kept : kept_) {
      const Row row = kept.View();
      const bool at_end = net >= end_;
      if (row.begin < net || at_end) AddRow(row, row.begin, at_end ? row.end() + 1 : net, &sums);
    }
    return sums;
  }

  static void ExpectSame(Sums a, Sums b, const std::string& where, bool with_steps = true) {
    a.ns.resize(std::max(a.ns.size(), b.ns.size()));
    b.ns.resize(a.ns.size());
    EXPECT_EQ(a.ns, b.ns) << where;
    EXPECT_EQ(a.slow, b.slow) << where;
    // Steps of no length right at an instant may be before it or not.
    if (with_steps) {
      EXPECT_EQ(a.steps, b.steps) << where;
    }
    EXPECT_EQ(a.outside, b.outside) << where;
    EXPECT_EQ(a.overlapped, b.overlapped) << where;
  }

  static void ExpectSameRow(const Row& a, const Row& b) {
    EXPECT_EQ(a.begin, b.begin);
    EXPECT_EQ(a.is_step, b.is_step);
    if (b.is_step) {
      EXPECT_EQ(a.index, b.index);
    }
    EXPECT_EQ(a.loading, b.loading);
    EXPECT_EQ(a.extra, b.extra);
    EXPECT_EQ(a.slow, b.slow);
    EXPECT_EQ(a.extra_kind, b.extra_kind);
    EXPECT_EQ(a.first, b.first);
    ASSERT_EQ(a.slices.size(), b.slices.size());
    for (std::size_t i = 0; i < a.slices.size(); ++i) {
      EXPECT_EQ(a.slices[i].code, b.slices[i].code);
      EXPECT_EQ(a.slices[i].ns, b.slices[i].ns);
    }
  }

  /// Every question, at some places.
  void ExpectItAgrees() {
    ASSERT_EQ(store_.size(), kept_.size());
    EXPECT_EQ(store_.end(), end_);
    std::size_t at = 0;
    store_.Visit(begin_, end_ + 1, [&](std::uint64_t, const Row& row) {
      ExpectSameRow(row, kept_[at++].View());
      return true;
    });
    EXPECT_EQ(at, kept_.size());
    store_.VisitBackward([&](const Row& row) {
      ExpectSameRow(row, kept_[--at].View());
      return at > 0;
    });
    Sums rows;
    for (std::size_t i = 0; i <= kept_.size(); ++i) {
      const std::int64_t begin = i < kept_.size() ? kept_[i].row.begin : end_;
      if (i % 61 < 3) {
        const std::string where = "row " + std::to_string(i);
        ExpectSame(store_.BeforeRow(i), rows, where);
        ExpectSame(store_.Before(begin), Before(begin), where, false);
        ExpectSame(store_.Before(begin + 7), Before(begin + 7), where, false);
        EXPECT_EQ(store_.BeginOf(i), begin) << where;
      }
      if (i < kept_.size()) AddRow(kept_[i].View(), &rows);
    }
    ExpectSame(store_.Total(), rows, "all");
  }

  RowStore store_;
  std::vector<Kept> kept_;
  std::mt19937_64 random_{7};
  const std::int64_t begin_ = -5'000'000'000;
  std::int64_t end_ = begin_;
  std::int64_t index_ = -3;
};

TEST_F(RowStoreTest, AnswersLikeAPlainList) {
  for (const int more : {1, 62, 1, 1, 63, 500, 64 * 64 - 700}) {
    Append(more);
    ExpectItAgrees();
  }
}

TEST_F(RowStoreTest, GoesOnAfterACut) {
  Append(64 * 64 * 2 + 100);
  for (const std::size_t count : {64 * 64 * 2 + 64, 64 * 64 * 2, 64 * 64 + 1, 4'000, 128, 65, 0}) {
    std::vector<std::int64_t> gone;
    std::vector<std::int64_t> dropped;
    for (std::size_t i = count; i < kept_.size(); ++i) {
      if (kept_[i].row.is_step) gone.push_back(kept_[i].row.index);
    }
    store_.Truncate(count, [&](const Row& row) { dropped.push_back(row.index); });
    EXPECT_EQ(dropped, gone) << count;
    kept_.resize(count);
    end_ = kept_.empty() ? begin_ : kept_.back().View().end();
    index_ = -3;
    for (const Kept& kept : kept_) index_ = kept.row.index;
    Append(80);
    ExpectItAgrees();
  }
}

TEST_F(RowStoreTest, FindsStepsByTheirNumber) {
  Append(300);
  for (const auto& [first, last] :
       {std::pair(0U, 300U), std::pair(70U, 250U), std::pair(64U, 65U)}) {
    for (std::int64_t index = -5; index < index_ + 3; ++index) {
      std::uint64_t wanted = last;
      for (std::uint64_t i = last; i-- > first;) {
        if (kept_[i].row.is_step && kept_[i].row.index >= index) wanted = i;
      }
      ASSERT_EQ(store_.OrdinalOfIndex(first, last, index), wanted) << first << " " << index;
    }
    std::optional<std::int64_t> highest;
    for (std::uint64_t i = first; i < last; ++i) {
      if (kept_[i].row.is_step) highest = kept_[i].row.index;
    }
    EXPECT_EQ(store_.LastIndex(first, last), highest);
  }
  EXPECT_EQ(store_.LastIndex(5, 5), std::nullopt);
}

TEST(EmptyRowStoreTest, HasNothing) {
  const RowStore store;
  EXPECT_EQ(store.size(), 0U);
  EXPECT_EQ(store.Before(0).steps, 0);
  EXPECT_EQ(store.LastIndex(0, 9), std::nullopt);
  store.Visit(-1, 1, [](std::uint64_t, const Row&) {
    ADD_FAILURE();
    return true;
  });
}

}  // namespace
}  // namespace headway::ledger
