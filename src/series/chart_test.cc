#include "series/chart.h"

#include <gtest/gtest.h>

#include <limits>

#include "model/record.h"

namespace headway::series {
namespace {

constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max();

Summary Of(std::vector<std::int64_t> times, const std::vector<std::int64_t>& steps) {
  return Summarize(times, steps, std::vector<double>(times.size(), 1.0));
}

TEST(RangeOf, IsWhereThePointsAreUnlessAskedOtherwise) {
  const Summary all = Of({100, 200}, {3, 9});
  auto range = RangeOf({.axis = Axis::kTime, .from = {}, .to = {}}, 7, all);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->from, 100);
  EXPECT_EQ(range->to, 201);
  EXPECT_EQ(range->buckets, 7U);
  range = RangeOf({.axis = Axis::kStep, .from = {}, .to = 8}, 7, all);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->axis, Axis::kStep);
  EXPECT_EQ(range->from, 3);
  EXPECT_EQ(range->to, 8);
  // What is asked for is counted from the offset on; what there is, is where it is.
  range = RangeOf({.axis = Axis::kTime, .from = 20, .to = {}, .offset = 100}, 7, all);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->from, 120);
  EXPECT_EQ(range->to, 201);
}

TEST(RangeOf, IsNothingWhereNoPointsCanLie) {
  const Summary all = Of({100, 200}, {kNoStep, kNoStep});
  EXPECT_FALSE(RangeOf({.axis = Axis::kTime, .from = {}, .to = {}}, 7, Summary()));
  EXPECT_FALSE(RangeOf({.axis = Axis::kStep, .from = {}, .to = {}}, 7, all));
  EXPECT_FALSE(RangeOf({.axis = Axis::kTime, .from = 201, .to = {}}, 7, all));
  EXPECT_FALSE(RangeOf({.axis = Axis::kTime, .from = 5, .to = 5}, 7, all));
}

TEST(RangeOf, StaysWithinAllThereIs) {
  const Summary all = Of({100, kLatest}, {1, 2});
  const auto range =
      RangeOf({.axis = Axis::kTime, .from = -kLatest, .to = kLatest, .offset = -100}, 7, all);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->from, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(range->to, kLatest - 100);
  EXPECT_EQ(RangeOf({.axis = Axis::kTime, .from = {}, .to = {}}, 7, all)->to, kLatest);
  EXPECT_EQ(RangeOf({.axis = Axis::kTime, .from = {}, .to = kLatest, .offset = 100}, 7, all)->to,
            kLatest);
}

}  // namespace
}  // namespace headway::series
