#include "series/downsampler.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/limits.h"
#include "series/summary_tree.h"
#include "series/test_points.h"

namespace headway::series {
namespace {

constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();
__extension__ using Wide = __int128;

// Each bucket by going through all points.
std::vector<Summary> Slowly(const Downsampler::Range& range, const Points& points) {
  std::vector<Summary> buckets(range.buckets);
  for (std::size_t i = 0; i < points.values.size(); ++i) {
    std::int64_t place = points.times[i];
    if (range.axis == Axis::kStep) {
      if (points.steps.empty() || points.steps[i] == kNoStep) continue;
      place = points.steps[i];
    }
    if (place < range.from || place >= range.to) continue;
    const Wide length = Wide{range.to} - range.from;
    const auto bucket = static_cast<std::size_t>((Wide{place} - range.from) *
                                                 static_cast<Wide>(range.buckets) / length);
    const Points point = points.Part(i, 1);
    Merge(Summarize(point.times, point.steps, point.values), &buckets[bucket]);
  }
  return buckets;
}

void ExpectSame(std::span<const Summary> a, std::span<const Summary> b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(i);
    ExpectSame(a[i], b[i]);
  }
}

Downsampler::Range RandomRange(std::mt19937_64* random) {
  const auto from = static_cast<std::int64_t>((*random)() % 1400) - 700;
  return {.axis = (*random)() % 2 == 0 ? Axis::kTime : Axis::kStep,
          .from = from,
          .to = from + 1 + static_cast<std::int64_t>((*random)() % 900),
          .buckets = 1 + (*random)() % 40};
}

TEST(Downsampler, PointsEqualBruteForce) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 1000; ++round) {
    const Downsampler::Range range = RandomRange(&random);
    Downsampler chart = Downsampler::Make(range).value();
    const Points points = RandomPoints(random() % 200, &random);
    chart.Add(points.times, points.steps, points.values);
    ExpectSame(chart.buckets(), Slowly(range, points));
    if (HasFailure()) break;
  }
}

// Summaries where they fit, points where they do not.
TEST(Downsampler, SummariesEqualBruteForce) {
  std::mt19937_64 random(2);
  int whole = 0, across = 0;
  for (int round = 0; round < 1000; ++round) {
    const Downsampler::Range range = RandomRange(&random);
    Downsampler chart = Downsampler::Make(range).value();
    const Points points = RandomPoints(random() % 200, &random);
    for (std::size_t i = 0; i < points.values.size();) {
      const std::size_t count = std::min<std::size_t>(1 + random() % 6, points.values.size() - i);
      const Points part = points.Part(i, count);
      const Summary summary = Summarize(part.times, part.steps, part.values);
      const bool fits = chart.Fits(summary);
      EXPECT_EQ(chart.Add(summary), fits);
      if (!fits) chart.Add(part.times, part.steps, part.values);
      ++(fits ? whole : across);
      i += count;
    }
    ExpectSame(chart.buckets(), Slowly(range, points));
    if (HasFailure()) break;
  }
  EXPECT_GT(whole, 1000);
  EXPECT_GT(across, 1000);
}

TEST(Downsampler, SlackMovesNoPointFarAndLosesNone) {
  const Downsampler::Range range = {.from = 0, .to = 10'000, .buckets = 10, .slack = 0.125};
  Downsampler chart = Downsampler::Make(range).value();
  std::mt19937_64 random(3);
  std::uint64_t count = 0;
  for (std::int64_t time = 0; time < 9'870;) {
    const std::int64_t last = time + static_cast<std::int64_t>(random() % 126);
    Summary piece;
    piece.count = 1 + random() % 9;
    piece.min_time_ns = time;
    piece.max_time_ns = last;
    count += piece.count;
    ASSERT_TRUE(chart.Add(piece));
    time = last + 1;
  }
  for (std::size_t i = 0; i < 10; ++i) {
    const Summary& bucket = chart.buckets()[i];
    count -= bucket.count;
    EXPECT_GE(bucket.min_time_ns, chart.EdgeOf(i) - 63);
    EXPECT_LT(bucket.max_time_ns, chart.EdgeOf(i + 1) + 63);
  }
  EXPECT_EQ(count, 0u);
  Summary piece;
  piece.count = 1;
  piece.min_time_ns = 4'900;
  piece.max_time_ns = 5'026;  // too long
  EXPECT_FALSE(chart.Add(piece));
  piece.min_time_ns = 9'990;
  piece.max_time_ns = 10'000;  // over the end
  EXPECT_FALSE(chart.Add(piece));
  piece.min_time_ns = 10'000;
  EXPECT_TRUE(chart.Add(piece));  // nothing of it is in the chart
}

TEST(SummaryTree, DrawsWhatBruteForceDoes) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 500; ++round) {
    const Downsampler::Range range = RandomRange(&random);
    const Points points = RandomPoints(random() % 400, &random);
    SummaryTree tree;
    std::vector<Points> parts;
    for (std::size_t i = 0; i < points.values.size(); i += parts.back().values.size()) {
      parts.push_back(
          points.Part(i, std::min<std::size_t>(1 + random() % 4, points.values.size() - i)));
      tree.Append(Summarize(parts.back().times, parts.back().steps, parts.back().values));
    }
    ASSERT_EQ(tree.pieces().size(), parts.size());
    Downsampler chart = Downsampler::Make(range).value();
    tree.Draw(&chart,
              [&](std::size_t i) { chart.Add(parts[i].times, parts[i].steps, parts[i].values); });
    ExpectSame(chart.buckets(), Slowly(range, points));
    if (HasFailure()) break;
  }
}

// Of ten thousand pieces only those are unpacked that no summary can stand for.
TEST(SummaryTree, AsksForWhatLiesAcrossEdges) {
  SummaryTree tree;
  for (std::int64_t i = 0; i < 10'000; ++i) {
    Summary piece;
    piece.count = 1;
    piece.min_time_ns = 10 * i;
    piece.max_time_ns = 10 * i + 10;  // the beginning of the next one
    tree.Append(piece);
  }
  Downsampler chart = Downsampler::Make({.from = 0, .to = 100'001, .buckets = 7}).value();
  int asked = 0;
  tree.Draw(&chart, [&](std::size_t) { ++asked; });
  EXPECT_EQ(asked, 6);  // the edges between buckets
  std::uint64_t count = 0;
  for (const Summary& bucket : chart.buckets()) count += bucket.count;
  EXPECT_EQ(count, 10'000u - 6);
}

TEST(Downsampler, WidestAndNarrowestRanges) {
  Downsampler widest = Downsampler::Make({.from = kLow, .to = kHigh, .buckets = 3}).value();
  const std::int64_t times[] = {kLow, -1, 0, kHigh - 1, kHigh};
  const double values[] = {1, 2, 3, 4, 5};
  widest.Add(times, {}, values);
  EXPECT_EQ(widest.buckets()[0].count, 1u);
  EXPECT_EQ(widest.buckets()[1].count, 2u);
  EXPECT_EQ(widest.buckets()[2].count, 1u);  // the range does not hold its end
  EXPECT_EQ(widest.EdgeOf(3), kHigh);

  // More buckets than there are units: some stay empty.
  Downsampler narrow = Downsampler::Make({.from = 5, .to = 7, .buckets = 5}).value();
  const std::int64_t few[] = {5, 6};
  narrow.Add(few, {}, {values, 2});
  EXPECT_EQ(narrow.buckets()[0].count, 1u);
  EXPECT_EQ(narrow.buckets()[2].count, 1u);
}

TEST(Downsampler, PointsWithoutAStep) {
  const Downsampler::Range range = {.axis = Axis::kStep, .from = 0, .to = 100, .buckets = 2};
  Downsampler chart = Downsampler::Make(range).value();
  const std::int64_t times[] = {1, 2};
  const std::int64_t steps[] = {kNoStep, 7};
  const double values[] = {1, 2};
  EXPECT_TRUE(chart.Add(Summarize(times, {}, values)));  // none has one: none is in the chart
  EXPECT_EQ(chart.buckets()[0].count, 0u);
  EXPECT_FALSE(chart.Add(Summarize(times, steps, values)));
  chart.Add(times, steps, values);
  EXPECT_EQ(chart.buckets()[0].count, 1u);
  EXPECT_EQ(chart.buckets()[0].min_step, 7);
}

TEST(Downsampler, BadRanges) {
  EXPECT_EQ(Downsampler::Make({.from = 7, .to = 7, .buckets = 1}).status().message(),
            "a chart from 7 to 7 is of nothing: it has to end after it begins");
  for (const std::size_t buckets : {std::size_t{0}, limits::kChartBuckets + 1}) {
    EXPECT_EQ(Downsampler::Make({.from = 0, .to = 7, .buckets = buckets}).status().code(),
              Code::kInvalidArgument);
  }
  for (const double slack : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(Downsampler::Make({.from = 0, .to = 7, .buckets = 1, .slack = slack}).status().code(),
              Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace headway::series
