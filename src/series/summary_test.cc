#include "series/summary.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "series/test_points.h"

namespace headway::series {
namespace {

// Point by point, in plain words.
Summary Slowly(const Points& points) {
  Summary s;
  for (std::size_t i = 0; i < points.values.size(); ++i) {
    const double value = points.values[i];
    const std::int64_t time = points.times[i];
    const std::int64_t step = points.steps.empty() ? kNoStep : points.steps[i];
    if (s.count == 0 || time < s.min_time_ns) {
      s.min_time_ns = time;
      s.first = value;
    }
    if (s.count == 0 || time >= s.max_time_ns) {
      s.max_time_ns = time;
      s.last = value;
    }
    ++s.count;
    if (std::isnan(value)) {
      ++s.nan_count;
    } else if (std::isinf(value)) {
      ++(value > 0 ? s.plus_inf_count : s.minus_inf_count);
    } else {
      s.min = std::fmin(s.min, value);
      s.max = std::fmax(s.max, value);
      s.sum += value;
    }
    if (step == kNoStep) {
      ++s.stepless_count;
    } else if (s.min_step == kNoStep) {
      s.min_step = s.max_step = step;
    } else {
      s.min_step = std::min(s.min_step, step);
      s.max_step = std::max(s.max_step, step);
    }
  }
  return s;
}

Summary Quickly(const Points& points) {
  return Summarize(points.times, points.steps, points.values);
}

TEST(Summary, OfNoPoints) {
  const Summary none = Summarize({}, {}, {});
  ExpectSame(none, Summary());
  EXPECT_TRUE(std::isnan(none.mean()));
  EXPECT_TRUE(std::isnan(none.first));
  Summary merged = none;
  Merge(Summary(), &merged);
  ExpectSame(merged, none);
}

TEST(Summary, ByHand) {
  const double kNan = std::numeric_limits<double>::quiet_NaN();
  const double kInf = std::numeric_limits<double>::infinity();
  const std::int64_t times[] = {30, 10, 20, 30, 10};
  const std::int64_t steps[] = {3, 1, kNoStep, 4, 2};
  const double values[] = {2, kNan, kInf, -3, -kInf};
  const Summary s = Summarize(times, steps, values);
  EXPECT_EQ(s.count, 5u);
  EXPECT_EQ(s.nan_count, 1u);
  EXPECT_EQ(s.plus_inf_count, 1u);
  EXPECT_EQ(s.minus_inf_count, 1u);
  EXPECT_EQ(s.finite_count(), 2u);
  EXPECT_EQ(s.stepless_count, 1u);
  EXPECT_EQ(s.min, -3);
  EXPECT_EQ(s.max, 2);
  EXPECT_EQ(s.sum, -1);
  EXPECT_EQ(s.mean(), -0.5);
  EXPECT_TRUE(std::isnan(s.first));  // the first of two at 10
  EXPECT_EQ(s.last, -3);             // the last of two at 30
  EXPECT_EQ(s.min_time_ns, 10);
  EXPECT_EQ(s.max_time_ns, 30);
  EXPECT_EQ(s.min_step, 1);
  EXPECT_EQ(s.max_step, 4);
}

TEST(Summary, EqualsPointByPoint) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    const Points points = RandomPoints(random() % 60, &random);
    ExpectSame(Quickly(points), Slowly(points));
    if (HasFailure()) break;
  }
}

TEST(Summary, MergesHoweverItIsPutTogether) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 1000; ++round) {
    const Points points = RandomPoints(random() % 60, &random);
    const std::size_t count = points.values.size();
    const std::size_t one = random() % (count + 1);
    const std::size_t two = one + random() % (count + 1 - one);
    const Summary a = Quickly(points.Part(0, one));
    const Summary b = Quickly(points.Part(one, two - one));
    const Summary c = Quickly(points.Part(two, count - two));
    Summary left = a;
    Merge(b, &left);
    Merge(c, &left);
    Summary right = b;
    Merge(c, &right);
    Summary whole = a;
    Merge(right, &whole);
    ExpectSame(left, Slowly(points));
    ExpectSame(whole, Slowly(points));
    if (HasFailure()) break;
  }
}

TEST(Summary, Moved) {
  const std::int64_t times[] = {5, 9, 7};
  const double values[] = {1, 2, 3};
  Summary summary = Summarize(times, {}, values);
  Move(-6, &summary);
  EXPECT_EQ(summary.min_time_ns, -1);
  EXPECT_EQ(summary.max_time_ns, 3);
  EXPECT_EQ(summary.last, 2);
  // Where some wrap around and others do not they may be anywhere.
  Move(std::numeric_limits<std::int64_t>::max() - 1, &summary);
  EXPECT_EQ(summary.min_time_ns, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(summary.max_time_ns, std::numeric_limits<std::int64_t>::max());
  Summary none;
  Move(1, &none);
  EXPECT_EQ(none.min_time_ns, Summary().min_time_ns);
}

TEST(Summary, BytesAndBack) {
  std::mt19937_64 random(3);
  std::string bytes;
  std::vector<Summary> all;
  for (int round = 0; round < 500; ++round) {
    all.push_back(Quickly(RandomPoints(1 + random() % 60, &random)));
    all.back().first = std::bit_cast<double>(random());
    if (round % 3 == 0) all.back().last = std::bit_cast<double>(0x7ff0000000000001 + random() % 99);
    const std::size_t before = bytes.size();
    AppendSummary(all.back(), &bytes);
    EXPECT_LE(bytes.size() - before, 120u);
  }
  std::string_view rest = bytes;
  for (const Summary& summary : all) {
    const Result<Summary> parsed = ParseSummary(&rest);
    ASSERT_TRUE(parsed.ok());
    ExpectSame(*parsed, summary);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(parsed->sum), std::bit_cast<std::uint64_t>(summary.sum));
    EXPECT_EQ(std::bit_cast<std::uint64_t>(parsed->last),
              std::bit_cast<std::uint64_t>(summary.last));
  }
  EXPECT_TRUE(rest.empty());
}

// The example of the format's page.
TEST(Summary, WrittenSummariesStayReadable) {
  const std::int64_t times[] = {10, 20, 30};
  const std::int64_t steps[] = {1, 2, 3};
  const double values[] = {1, 2, 4};
  const std::string_view written(
      "\x03\x05\xbf\xe0\x03\xc0\x20\xbf\xe0\x03\xc0\x20\xc0\x38\x14\x14\x02\x02", 18);
  std::string_view rest = written;
  ExpectSame(ParseSummary(&rest).value(), Summarize(times, steps, values));
  EXPECT_TRUE(rest.empty());
  std::string bytes;
  AppendSummary(Summarize(times, steps, values), &bytes);
  EXPECT_EQ(bytes, written);
}

TEST(Summary, DamagedBytes) {
  std::mt19937_64 random(4);
  const Points points = RandomPoints(50, &random);
  std::string bytes;
  AppendSummary(Quickly(points), &bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    std::string_view cut(bytes.data(), size);
    EXPECT_EQ(ParseSummary(&cut).status().code(), Code::kDataLoss);
    EXPECT_EQ(cut.size(), size);
  }
  Summary wrong = Quickly(points);
  wrong.nan_count = wrong.count + 1;
  bytes.clear();
  AppendSummary(wrong, &bytes);
  std::string_view rest = bytes;
  EXPECT_EQ(ParseSummary(&rest).status().message(), "a summary of points is damaged");
}

}  // namespace
}  // namespace headway::series
