#include "ledger/row.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace headway::ledger {
namespace {

using Slices = std::vector<Slice>;
using Parts = std::vector<std::string>;

constexpr BucketId kEval = 100;  // any bucket beyond the categories
constexpr std::uint32_t kWork = SliceCode(SliceKind::kWork, LoadState::kNone, 0);
constexpr std::uint32_t kLoad = SliceCode(SliceKind::kWorkLoad, LoadState::kActive, 0);
constexpr std::uint32_t kAside = SliceCode(SliceKind::kWork, LoadState::kPassive, 0);
constexpr std::uint32_t kSpan = SliceCode(SliceKind::kFixed, LoadState::kNone, kEval);
constexpr std::uint32_t kBlockingLoad =
    SliceCode(SliceKind::kFixed, LoadState::kActive, BucketOf(Category::kDataLoading));
constexpr std::uint32_t kPhase = SliceCode(SliceKind::kRetainable, LoadState::kNone, kEval);

Row Step(const Slices& slices, std::int64_t loading = 0, std::int64_t extra = 0,
         Row::Extra kind = Row::Extra::kNone) {
  Row row;
  row.is_step = row.complete = true;
  row.loading = loading;
  row.extra = extra;
  row.extra_kind = kind;
  row.slices = slices;
  return row;
}

Parts PartsOf(const Row& row) {
  Parts parts;
  ForEachPiece(row, [&](const Piece& piece) {
    parts.push_back(std::to_string(piece.begin) + ".." + std::to_string(piece.end) + " " +
                    (piece.bucket == kEval
                         ? "eval"
                         : std::string(CategoryName(static_cast<Category>(piece.bucket)))));
  });
  return parts;
}

TEST(RowTest, LaysOutItsParts) {
  struct Case {
    const char* what;
    Slices slices;
    std::int64_t loading, extra;
    Row::Extra kind;
    Parts parts;
  };
  const Case cases[] = {
      {"productive", {{kWork, 10}}, 0, 0, Row::Extra::kNone, {"0..10 productive"}},
      {"start-up comes first",
       {{kWork, 30}},
       0,
       20,
       Row::Extra::kStartup,
       {"0..20 program_startup", "20..30 productive"}},
      {"a stall comes last",
       {{kWork, 30}},
       0,
       20,
       Row::Extra::kStall,
       {"0..10 productive", "10..30 step_stall"}},
      {"so does the rest of a step that evidently completed",
       {{kWork, 30}},
       0,
       20,
       Row::Extra::kRecovery,
       {"0..10 productive", "10..30 infrastructure_recovery"}},
      {"data_loading is the last of the loading",
       {{kLoad, 9}, {kWork, 7}},
       6,
       0,
       Row::Extra::kNone,
       {"0..3 productive", "3..9 data_loading", "9..16 productive"}},
      {"over several stretches of it",
       {{kLoad, 4}, {kWork, 2}, {kLoad, 4}},
       6,
       0,
       Row::Extra::kNone,
       {"0..2 productive", "2..4 data_loading", "4..6 productive", "6..10 data_loading"}},
      {"what blocks is stepped over",
       {{kWork, 5}, {kSpan, 3}, {kWork, 25}},
       0,
       20,
       Row::Extra::kStall,
       {"0..5 productive", "5..8 eval", "8..13 productive", "13..33 step_stall"}},
      {"start-up and loading",
       {{kWork, 4}, {kLoad, 6}},
       3,
       5,
       Row::Extra::kStartup,
       {"0..4 program_startup", "4..5 program_startup", "5..7 productive", "7..10 data_loading"}},
      {"nothing", {}, 0, 0, Row::Extra::kNone, {}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(PartsOf(Step(c.slices, c.loading, c.extra, c.kind)), c.parts) << c.what;
  }
}

TEST(RowTest, MeasuresItsSlices) {
  const Slices slices = {{kWork, 1}, {kLoad, 2}, {kAside, 4}, {kSpan, 8}, {kBlockingLoad, 16}};
  const RowMeasures measures = Measure(slices);
  EXPECT_EQ(measures.work, 7);
  EXPECT_EQ(measures.load_in_work, 2);
  EXPECT_EQ(measures.load_total, 22);
  EXPECT_EQ(measures.overlapped, 6);
  EXPECT_EQ(measures.fixed, 24);
  EXPECT_FALSE(measures.labels);
}

// The sums of the parts, of the whole and of any two halves are the same.
TEST(RowTest, AddsUpInAnyPieces) {
  const Slices slices = {{kWork, 5}, {kLoad, 9}, {kSpan, 3}, {kAside, 4}, {kPhase, 2}, {kWork, 8}};
  for (const Row::Extra kind : {Row::Extra::kStartup, Row::Extra::kStall, Row::Extra::kRecovery}) {
    Row row = Step(slices, 7, 6, kind);
    row.begin = 1'000;
    Sums whole;
    AddRow(row, &whole);
    std::map<BucketId, std::int64_t> by_part;
    ForEachPiece(row,
                 [&](const Piece& piece) { by_part[piece.bucket] += piece.end - piece.begin; });
    for (const auto& [bucket, ns] : by_part) EXPECT_EQ(whole.ns[bucket], ns);
    for (std::int64_t cut = row.begin - 1; cut <= row.end() + 1; ++cut) {
      Sums halves;
      AddRow(row, row.begin - 5, cut, &halves);
      AddRow(row, cut, row.end() + 5, &halves);
      halves.ns.resize(whole.ns.size());
      EXPECT_EQ(halves.ns, whole.ns) << cut;
      EXPECT_EQ(halves.overlapped, whole.overlapped) << cut;
      EXPECT_EQ(halves.steps, whole.steps) << cut;
    }
  }
}

}  // namespace
}  // namespace headway::ledger
