#include "ledger/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace headway::ledger {
namespace {

using Values = std::vector<std::int64_t>;

Histogram Of(const Values& values) {
  Histogram histogram;
  for (const std::int64_t value : values) histogram.Add(value);
  return histogram;
}

TEST(HistogramTest, IsExactForFewAndForSmallValues) {
  struct Case {
    const char* what;
    Values values;
    std::int64_t p50, p90, max, median, deviation;
  };
  const Case cases[] = {
      {"none", {}, 0, 0, 0, 0, 0},
      {"one", {5}, 5, 5, 5, 5, 0},
      {"an even count", {1, 2, 4, 9}, 2, 9, 9, 3, 1},
      {"all equal, large",
       {1'000'000'007, 1'000'000'007},
       1'000'000'007,
       1'000'000'007,
       1'000'000'007,
       1'000'000'007,
       0},
      {"negative ones count as 0", {-4, 0, 3}, 0, 3, 3, 0, 0},
      {"the longest that there is",
       {std::numeric_limits<std::int64_t>::max()},
       std::numeric_limits<std::int64_t>::max(),
       std::numeric_limits<std::int64_t>::max(),
       std::numeric_limits<std::int64_t>::max(),
       std::numeric_limits<std::int64_t>::max(),
       0},
  };
  for (const Case& c : cases) {
    const Histogram histogram = Of(c.values);
    EXPECT_EQ(histogram.count(), static_cast<std::int64_t>(c.values.size())) << c.what;
    EXPECT_EQ(histogram.Quantile(0.5), c.p50) << c.what;
    EXPECT_EQ(histogram.Quantile(0.9), c.p90) << c.what;
    EXPECT_EQ(histogram.Quantile(1), c.max) << c.what;
    EXPECT_EQ(histogram.Median(), c.median) << c.what;
    EXPECT_EQ(histogram.MedianDeviation(c.median), c.deviation) << c.what;
  }
}

TEST(HistogramTest, AnswersWithinAThousandth) {
  std::mt19937_64 random(1);
  Values values;
  for (int i = 0; i < 2'000; ++i) {
    values.push_back(
        static_cast<std::int64_t>(std::exp(static_cast<double>(random() % 40'000) / 1e3)));
  }
  const Histogram histogram = Of(values);
  std::ranges::sort(values);
  for (const int percent : {1, 10, 25, 50, 90, 99, 100}) {
    const auto exact =
        static_cast<double>(values[values.size() * static_cast<std::size_t>(percent) / 100 - 1]);
    const auto answer = static_cast<double>(histogram.Quantile(percent / 100.0));
    EXPECT_NEAR(answer, exact, exact / 1'000 + 1) << percent;
  }
}

TEST(HistogramTest, MeansUpToALimit) {
  const Histogram histogram = Of({1, 2, 3, 500});
  struct Case {
    std::int64_t limit;
    std::int64_t mean;
  };
  for (const Case& c : {Case{0, 0}, Case{1, 1}, Case{3, 2}, Case{499, 2}, Case{500, 126}}) {
    EXPECT_EQ(histogram.MeanUpTo(c.limit), c.mean) << c.limit;
  }
}

TEST(HistogramTest, ForgetsWhatIsRemoved) {
  Histogram histogram = Of({7, 1'000'000, 123'456'789'012});
  histogram.Remove(1'000'000);
  EXPECT_EQ(histogram.count(), 2);
  EXPECT_EQ(histogram.Quantile(0.5), 7);
  histogram.Remove(7);
  EXPECT_EQ(histogram.Median(), 123'456'789'012);
  histogram.Remove(123'456'789'012);
  EXPECT_EQ(histogram.count(), 0);
  EXPECT_EQ(histogram.Quantile(0.5), 0);
}

TEST(HistogramTest, SumsDoNotOverflow) {
  Histogram histogram;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < 1'000; ++i) histogram.Add(kMost);
  EXPECT_EQ(histogram.MeanUpTo(kMost), kMost);
  for (int i = 0; i < 999; ++i) histogram.Remove(kMost);
  EXPECT_EQ(histogram.MeanUpTo(kMost), kMost);
}

}  // namespace
}  // namespace headway::ledger
