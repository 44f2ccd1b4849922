#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "series/summary.h"

/// Points of all sorts, for tests.

namespace headway::series {

struct Points {
  std::vector<std::int64_t> times;
  std::vector<std::int64_t> steps;  // empty: none
  std::vector<double> values;

  Points Part(std::size_t from, std::size_t count) const {
    const auto cut = [&](const auto& all) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(from);
      return std::decay_t<decltype(all)>(begin, begin + static_cast<std::ptrdiff_t>(count));
    };
    return {cut(times), steps.empty() ? steps : cut(steps), cut(values)};
  }
};

/// In order or not, with steps, without, or with some; some values are no numbers.
inline Points RandomPoints(std::size_t count, std::mt19937_64* random) {
  const auto below = [&](std::uint64_t most) {
    return static_cast<std::int64_t>((*random)() % most);
  };
  Points points;
  const bool ordered = below(2) == 0;
  const bool special = below(2) == 0;
  const std::int64_t steps = below(3);
  std::int64_t time = below(1000) - 500;
  for (std::size_t i = 0; i < count; ++i) {
    time = ordered ? time + below(20) : below(1000) - 500;
    points.times.push_back(time);
    if (steps > 0) points.steps.push_back(steps == 2 && below(5) == 0 ? kNoStep : below(1000));
    double value = static_cast<double>(below(2001) - 1000) / 8;
    if (special && below(4) == 0) {
      const double specials[] = {std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity(), 0.0, -0.0};
      value = specials[below(5)];
    }
    points.values.push_back(value);
  }
  return points;
}

/// All fields; NaN is NaN, and sums may be off by their last bits.
inline void ExpectSame(const Summary& a, const Summary& b) {
  const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  EXPECT_EQ(a.count, b.count);
  EXPECT_EQ(a.nan_count, b.nan_count);
  EXPECT_EQ(a.plus_inf_count, b.plus_inf_count);
  EXPECT_EQ(a.minus_inf_count, b.minus_inf_count);
  EXPECT_EQ(a.stepless_count, b.stepless_count);
  EXPECT_EQ(a.min, b.min);
  EXPECT_EQ(a.max, b.max);
  EXPECT_NEAR(a.sum, b.sum, 1e-9);
  EXPECT_TRUE(same(a.first, b.first)) << a.first << " " << b.first;
  EXPECT_TRUE(same(a.last, b.last)) << a.last << " " << b.last;
  EXPECT_EQ(a.min_time_ns, b.min_time_ns);
  EXPECT_EQ(a.max_time_ns, b.max_time_ns);
  EXPECT_EQ(a.min_step, b.min_step);
  EXPECT_EQ(a.max_step, b.max_step);
}

}  // namespace headway::series
