#include "ledger/splitter.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "base/limits.h"

namespace headway::ledger {
namespace {

using Strings = std::vector<std::string>;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(FloorMedianTest, RoundsDown) {
  struct Case {
    std::vector<std::int64_t> values;
    std::int64_t median;
  };
  for (Case c : {Case{{5}, 5}, Case{{9, 1}, 5}, Case{{9, 2}, 5}, Case{{3, 1, 2}, 2},
                 Case{{4, 1, 3, 2}, 2}, Case{{kMost, kMost}, kMost}}) {
    EXPECT_EQ(FloorMedian(&c.values), c.median);
  }
}

TEST(StallBoundTest, IsTenTimesOrAMinuteMore) {
  struct Case {
    std::int64_t baseline;
    std::int64_t bound;
  };
  for (const Case& c : {Case{0, 0}, Case{kSecond, 51 * kSecond}, Case{2 * kSecond, 62 * kSecond},
                        Case{10 * kSecond, 100 * kSecond}, Case{kMost / 5, kMost}}) {
    EXPECT_EQ(StallBound(c.baseline), c.bound);
  }
}

/// Steps in seconds, "loading/work" with loading inside the work; `!` in front: a first step.
/// Returns what became of each, "productive+loading+extra", as if the attempt ended behind them.
Strings Split(Splitter* splitter, const Strings& steps) {
  Strings split;
  auto tell = [&split](const Row& row, const RowMeasures& measures) {
    const std::int64_t rest = measures.work - row.loading - row.extra;
    std::string line = std::to_string(rest / kSecond);
    if (row.loading > 0) line += " load " + std::to_string(row.loading / kSecond);
    const char* const kinds[] = {"", " start ", " stall ", " recovery "};
    if (row.extra > 0) {
      line += kinds[static_cast<int>(row.extra_kind)] + std::to_string(row.extra / kSecond);
    }
    split.push_back(line);
  };
  std::int64_t begin = 0;
  for (std::string text : steps) {
    Row row;
    row.is_step = row.complete = true;
    row.begin = begin;
    row.first = text.starts_with("!");
    if (row.first) text.erase(0, 1);
    const std::size_t slash = text.find('/');
    const std::int64_t load = slash == std::string::npos ? 0 : std::stoll(text) * kSecond;
    const std::int64_t work =
        std::stoll(slash == std::string::npos ? text : text.substr(slash + 1)) * kSecond;
    const std::vector<Slice> slices = {
        {SliceCode(SliceKind::kWorkLoad, LoadState::kActive, 0), load},
        {SliceCode(SliceKind::kWork, LoadState::kNone, 0), work - load}};
    row.slices = slices;
    begin += work;
    splitter->Add(&row, Measure(slices), tell);
  }
  splitter->Finish();
  for (const PendingRow& pending : splitter->pending()) tell(pending.View(), pending.measures);
  return split;
}

TEST(SplitterTest, SplitsByTheBaseline) {
  struct Case {
    const char* what;
    std::optional<std::int64_t> inherited;  // seconds
    Strings steps;
    Strings split;
    std::optional<std::int64_t> handed_on;  // seconds
  };
  const Case cases[] = {
      {"A first step compiles",
       {},
       {"!30", "10", "10", "10"},
       {"10 start 20", "10", "10", "10"},
       10},
      {"its loading is late, too",
       {},
       {"!8/30", "10", "10", "10"},
       {"10 load 8 start 12", "10", "10", "10"},
       10},
      {"alone it is all start-up", {}, {"!8/30"}, {"0 load 8 start 22"}, {}},
      {"unless an earlier attempt tells", 10, {"!30"}, {"10 start 20"}, 10},
      {"late loading",
       {},
       {"!10", "4/10", "4/10", "4/10", "9/16"},
       {"10", "10", "10", "10", "10 load 6"},
       10},
      {"jitter is not lateness",
       {},
       {"!160", "160", "160", "160", "9/170"},
       {"160", "160", "160", "160", "170"},
       160},
      {"a hang",
       {},
       {"!10", "10", "10", "10", "1800", "10"},
       {"10", "10", "10", "10", "10 stall 1790", "10"},
       10},
      {"at the bound it is no hang",
       {},
       {"!10", "10", "10", "10", "100"},
       {"10", "10", "10", "10", "100"},
       10},
      {"three hangs are a new normal",
       {},
       {"!5", "5", "5", "5", "70", "70", "70", "70"},
       {"5", "5", "5", "5", "70", "70", "70", "70"},
       70},
      {"two are not",
       {},
       {"!5", "5", "5", "5", "300", "300", "5"},
       {"5", "5", "5", "5", "5 stall 295", "5 stall 295", "5"},
       5},
      {"a step without work breaks the row",
       {},
       {"!5", "5", "5", "5", "300", "300", "0", "300"},
       {"5", "5", "5", "5", "5 stall 295", "5 stall 295", "0", "5 stall 295"},
       5},
      {"the smaller of two is a weak baseline",
       {},
       {"!21", "10", "12"},
       {"11 start 10", "10", "12"},
       10},
      {"an inherited one serves until there are three", 5, {"!20", "10"}, {"10 start 10", "10"}, 5},
      {"and is forgotten then",
       5,
       {"!20", "10", "10", "10"},
       {"10 start 10", "10", "10", "10"},
       10},
      {"nothing", {}, {}, {}, {}},
  };
  for (const Case& c : cases) {
    Splitter splitter;
    if (c.inherited) {
      splitter.Start(*c.inherited * kSecond);
    }
    EXPECT_EQ(Split(&splitter, c.steps), c.split) << c.what;
    const auto handed_on = splitter.HandedOn();
    EXPECT_EQ(handed_on ? std::optional(*handed_on / kSecond) : std::nullopt, c.handed_on)
        << c.what;
  }
}

TEST(SplitterTest, CountsWhatItHadToGuess) {
  Splitter weak;
  Split(&weak, {"!21", "10", "12"});
  EXPECT_EQ(weak.weak_baselines(), 1);
  Splitter shift;
  Split(&shift, {"!5", "5", "5", "5", "70", "70", "70"});
  EXPECT_EQ(shift.baseline_shifts(), 1);
  Strings late = {"!10", "10", "10", "10"};
  for (int i = 0; i < 40; ++i) late.push_back("13");
  Splitter excess;
  Split(&excess, late);
  EXPECT_EQ(excess.baseline_shifts(), 0);  // the window has followed before 32 came in a row
  EXPECT_EQ(excess.HandedOn(), 13 * kSecond);
}

TEST(SplitterTest, StartsAnewWhenTold) {
  Splitter splitter;
  Splitter copy;
  const auto nothing = [](const Row&, const RowMeasures&) {};
  std::vector<Slice> slices = {{SliceCode(SliceKind::kWork, LoadState::kNone, 0), 10 * kSecond}};
  Row row;
  row.is_step = row.complete = true;
  row.slices = slices;
  for (int i = 0; i < 4; ++i) {
    row.first = i == 0;
    splitter.Add(&row, Measure(slices), nothing);
  }
  EXPECT_EQ(splitter.InForce(), 10 * kSecond);
  splitter.RestartBaseline();
  EXPECT_EQ(splitter.HandedOn(), 10 * kSecond);  // until three later steps are there
  slices[0].ns = 20 * kSecond;
  for (int i = 0; i < 4; ++i) {
    row.first = i == 0;
    splitter.Add(&row, Measure(slices), nothing);
  }
  EXPECT_EQ(splitter.HandedOn(), 20 * kSecond);
}

TEST(SplitterTest, OnlySoManyRowsWaitForALaterStep) {
  Strings steps = {"!30"};
  steps.resize(limits::kWaitingRows + 5, "0");
  for (int i = 0; i < 6; ++i) steps.emplace_back("10");
  Splitter splitter;
  splitter.Start({});
  const Strings split = Split(&splitter, steps);
  ASSERT_EQ(split.size(), steps.size());
  EXPECT_EQ(split.front(), "0 start 30");  // nothing has told what is normal
  EXPECT_EQ(split.back(), "10");
  EXPECT_EQ(splitter.HandedOn(), 10 * kSecond);
}

}  // namespace
}  // namespace headway::ledger
