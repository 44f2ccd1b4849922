#include "ledger/time_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ledger/ledger.h"
#include "ledger/long_run.h"

namespace headway::ledger {
namespace {

using Sums = std::map<std::pair<Category, std::string>, std::int64_t>;

void ExpectAsWindows(Ledger* ledger, const std::vector<WallSpan>& spans) {
  const TimeSplit split = ledger->Split({}, spans);
  ASSERT_EQ(split.elapsed_ns.size(), spans.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    SCOPED_TRACE("[" + std::to_string(spans[i].first) + ", " + std::to_string(spans[i].second) +
                 ")");
    const Report report = ledger->MakeReport({.as_of = {}, .window = spans[i], .now = {}});
    Sums wanted;
    for (const CategoryTime& time : report.categories) {
      if (time.ns != 0) wanted[{time.category, time.name}] = time.ns;
    }
    Sums found;
    for (const TimeSplit::Series& series : split.series) {
      if (series.ns[i] != 0) found[{series.category, series.name}] = series.ns[i];
    }
    ASSERT_EQ(found, wanted);
    ASSERT_EQ(split.elapsed_ns[i], report.elapsed_ns);
  }
}

std::vector<WallSpan> Parts(const Report& report, std::int64_t count) {
  std::vector<WallSpan> parts;
  const std::int64_t length = *report.end - *report.start;
  for (std::int64_t i = 0; i < count; ++i) {
    parts.emplace_back(*report.start + length * i / count,
                       *report.start + length * (i + 1) / count);
  }
  return parts;
}

TEST(TimeSplitTest, PartsOfALongRunAreItsWindows) {
  Ledger ledger = LongRun();
  const Report report = ledger.MakeReport();
  EXPECT_GT(report.Ns(Category::kWastedProgress), 0);
  EXPECT_GT(report.Ns(Category::kStepStall), 0);
  EXPECT_EQ(report.rollbacks.size(), 1U);
  EXPECT_EQ(report.excluded_ns, 50'000);
  ExpectAsWindows(&ledger, Parts(report, 1));
  ExpectAsWindows(&ledger, Parts(report, 7));
  ExpectAsWindows(&ledger, Parts(report, 1'500));
  // Parts of single steps, and of the stretch without one.
  std::vector<WallSpan> small;
  for (std::int64_t i = 0; i < 800; ++i) {
    small.emplace_back(*report.start + i * 97, *report.start + (i + 1) * 97);
    small.emplace_back(*report.end / 2 + i * 97, *report.end / 2 + (i + 1) * 97);
  }
  ExpectAsWindows(&ledger, small);
  std::mt19937_64 random(2);
  std::vector<WallSpan> any;
  for (int i = 0; i < 300; ++i) {
    const auto at = [&] {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(*report.end + 2'000)) -
             1'000;
    };
    any.emplace_back(at(), at());
  }
  ExpectAsWindows(&ledger, any);
}

TEST(TimeSplitTest, SpansThatOverlap) {
  Ledger ledger = LongRun();
  const Report report = ledger.MakeReport();
  std::vector<WallSpan> rolling;
  for (const auto& [begin, end] : Parts(report, 200)) rolling.emplace_back(end - 1'000'000, end);
  ExpectAsWindows(&ledger, rolling);
}

TEST(TimeSplitTest, NamesBeyondAFewAreTakenTogether) {
  Ledger ledger = LongRun();
  const Report report = ledger.MakeReport();
  const std::vector<WallSpan> parts = Parts(report, 10);
  const TimeSplit all = ledger.Split({}, parts);
  const TimeSplit few = ledger.Split({}, parts, 2);
  std::vector<std::int64_t> custom(10);
  std::size_t names = 0;
  for (const TimeSplit::Series& series : all.series) {
    if (series.category != Category::kCustom) continue;
    EXPECT_EQ(series.names, 0U);
    ++names;
    for (std::size_t i = 0; i < 10; ++i) custom[i] += series.ns[i];
  }
  EXPECT_EQ(names, 8U);
  std::vector<std::string> told;
  std::size_t together = 0;
  for (const TimeSplit::Series& series : few.series) {
    if (series.category != Category::kCustom) continue;
    if (series.names == 0) told.push_back(series.name);
    together += series.names;
    for (std::size_t i = 0; i < 10; ++i) custom[i] -= series.ns[i];
  }
  EXPECT_EQ(custom, std::vector<std::int64_t>(10));
  EXPECT_EQ(together, 6U);
  // Those with most time: of the seven parts the first three come once more, and later is longer.
  EXPECT_EQ(told, (std::vector<std::string>{"EVAL", "PART2"}));
}

TEST(TimeSplitTest, ReadsPagesThatLieElsewhere) {
  Ledger stays = LongRun();
  Ledger moves = LongRun();
  std::map<PageId, std::string> pages;
  ASSERT_TRUE(moves
                  .TakeSnapshot([&](PageId page, std::string_view bytes) {
                    pages.emplace(page, bytes);
                    return OkStatus();
                  })
                  .ok());
  std::size_t read = 0;
  moves.SetReadPage([&](PageId page) -> Result<std::string> {
    ++read;
    return pages.at(page);
  });
  const std::vector<WallSpan> parts = Parts(stays.MakeReport(), 100);
  moves.ReleasePages();
  EXPECT_EQ(moves.Split({}, parts), stays.Split({}, parts));
  EXPECT_GT(read, 0U);
}

TEST(TimeSplitTest, OfNothing) {
  Ledger ledger;
  const std::vector<WallSpan> some = {{0, 5}, {7, 3}};
  EXPECT_EQ(ledger.Split({}, some).elapsed_ns, (std::vector<std::int64_t>{0, 0}));
  EXPECT_TRUE(ledger.Split({}, some).series.empty());
  EXPECT_TRUE(ledger.Split({}, {}).elapsed_ns.empty());
}

TEST(TimelineUpToTest, StopsBeforeItIsLong) {
  Ledger ledger = LongRun();
  const std::vector<TimelineInterval> all = ledger.Timeline();
  EXPECT_GT(all.size(), 27'000U);
  EXPECT_FALSE(ledger.TimelineUpTo({}, all.size() - 1).has_value());
  EXPECT_EQ(ledger.TimelineUpTo({}, all.size()).value().size(), all.size());
  const Query narrow{.as_of = {}, .window = {{all[9'000].begin, all[9'010].begin}}, .now = {}};
  EXPECT_FALSE(ledger.TimelineUpTo(narrow, 9).has_value());
  EXPECT_EQ(ToJson(*ledger.TimelineUpTo(narrow, 10)),
            ToJson(std::vector(all.begin() + 9'000, all.begin() + 9'010)));
}

}  // namespace
}  // namespace headway::ledger
