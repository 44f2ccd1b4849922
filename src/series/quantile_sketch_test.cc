#include "series/quantile_sketch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "base/limits.h"

namespace headway::series {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string BytesOf(const QuantileSketch& sketch) {
  std::string bytes;
  sketch.AppendTo(&bytes);
  return bytes;
}

QuantileSketch Of(std::span<const double> values) {
  QuantileSketch sketch;
  sketch.Add(values);
  return sketch;
}

void ExpectNear(const QuantileSketch& sketch, std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  std::sort(values.begin(), values.end());
  ASSERT_EQ(sketch.count(), values.size());
  for (const double q : {0.0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0}) {
    const double exact =
        values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
    const double found = sketch.Quantile(q);
    if (std::isinf(exact)) {
      EXPECT_EQ(found, exact) << q;
    } else if (std::abs(exact) < std::numeric_limits<double>::min()) {
      EXPECT_NEAR(found, 0, std::numeric_limits<double>::min()) << q;
    } else {
      EXPECT_LE(std::abs(found - exact), std::abs(exact) * sketch.RelativeError() * (1 + 1e-12))
          << q << ": " << found << " for " << exact;
    }
  }
}

TEST(QuantileSketch, Empty) {
  QuantileSketch sketch;
  EXPECT_EQ(sketch.count(), 0u);
  EXPECT_TRUE(std::isnan(sketch.Quantile(0.5)));
  sketch.Add(kNan);
  EXPECT_EQ(sketch.count(), 0u);
  EXPECT_EQ(sketch.nan_count(), 1u);
  EXPECT_TRUE(std::isnan(sketch.Quantile(0.5)));
  sketch.Add(3);
  EXPECT_TRUE(std::isnan(sketch.Quantile(kNan)));
}

TEST(QuantileSketch, OneValueIsExact) {
  for (const double value : {0.1, -7e30, kInf, -kInf, 0.0, 5e-324, 1.7e308}) {
    const QuantileSketch sketch = Of({{value}});
    for (const double q : {-1.0, 0.0, 0.3, 1.0, 7.0}) EXPECT_EQ(sketch.Quantile(q), value);
  }
}

TEST(QuantileSketch, NearExactQuantiles) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::exponential_distribution<double> exponential;
  const std::function<double()> sources[] = {
      [&] { return normal(random); },
      [&] { return 1000 + normal(random); },
      [&] { return exponential(random) * 1e-3; },
      [&] { return std::exp(10 * normal(random)); },  // some sixty powers of two and more
      [&] { return static_cast<double>(random() % 5) - 2; },
      [&] { return random() % 10 == 0   ? kNan
                   : random() % 10 == 0 ? kInf
                                        : normal(random); },
      [&] { return random() % 3 == 0 ? -kInf : -exponential(random); },
  };
  for (const auto& source : sources) {
    for (const std::size_t count : {2u, 3u, 10u, 1000u, 50'000u}) {
      std::vector<double> values(count);
      for (double& value : values) value = source();
      const QuantileSketch sketch = Of(values);
      ExpectNear(sketch, values);
    }
  }
  EXPECT_LE(QuantileSketch().RelativeError(), 0.01);
}

// One per cent, as long as the magnitudes are within 63 powers of two.
TEST(QuantileSketch, ErrorIsAsPromised) {
  std::mt19937_64 random(2);
  std::vector<double> values;
  for (int i = 0; i < 100'000; ++i) {
    const double value = std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52,
                                    static_cast<int>(random() % 63) - 30);
    values.push_back(random() % 2 == 0 ? value : -value);
  }
  const QuantileSketch sketch = Of(values);
  EXPECT_LE(sketch.RelativeError(), 0.0078);
  ExpectNear(sketch, values);
}

TEST(QuantileSketch, AnyDoubles) {
  std::mt19937_64 random(3);
  std::vector<double> values;
  for (int i = 0; i < 50'000; ++i) values.push_back(std::bit_cast<double>(random()));
  for (const double value : {std::numeric_limits<double>::max(), 5e-324, -5e-324, 0.0, -0.0}) {
    values.push_back(value);
  }
  const QuantileSketch sketch = Of(values);
  EXPECT_LE(sketch.RelativeError(), 0.34);
  ExpectNear(sketch, values);
  EXPECT_LE(BytesOf(sketch).size(), 10 * 2 * limits::kSketchCells);
}

TEST(QuantileSketch, OrderAndMergingDoNotMatter) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 200; ++round) {
    const int spread = round % 4 == 0 ? 2000 : 10;
    std::vector<double> values(random() % 300);
    for (double& value : values) {
      value = std::ldexp(static_cast<double>(random() % 1000) - 500,
                         static_cast<int>(random() % static_cast<unsigned>(spread)) - spread / 2);
    }
    const std::string whole = BytesOf(Of(values));
    std::vector<QuantileSketch> parts(1 + random() % 5);
    for (const double value : values) parts[random() % parts.size()].Add(value);
    std::shuffle(values.begin(), values.end(), random);
    EXPECT_EQ(BytesOf(Of(values)), whole);
    while (parts.size() > 1) {
      const QuantileSketch last = parts.back();
      parts.pop_back();
      parts[random() % parts.size()].Merge(last);
    }
    EXPECT_EQ(BytesOf(parts[0]), whole);
    if (HasFailure()) break;
  }
}

TEST(QuantileSketch, MergesWithItself) {
  QuantileSketch sketch = Of({{1, 2, -3, 0, kInf, kNan}});
  sketch.Merge(sketch);
  EXPECT_EQ(BytesOf(sketch), BytesOf(Of({{1, 2, -3, 0, kInf, kNan, 1, 2, -3, 0, kInf, kNan}})));
}

TEST(QuantileSketch, ManyAtOnce) {
  QuantileSketch sketch;
  sketch.Add(5, 1'000'000'000'000);
  sketch.Add(7, 0);
  sketch.Add(-2, 10);
  EXPECT_EQ(sketch.count(), 1'000'000'000'010u);
  EXPECT_EQ(sketch.Quantile(1), 5);
  EXPECT_EQ(sketch.Quantile(0), -2);
}

TEST(QuantileSketch, BytesAndBack) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 100; ++round) {
    std::vector<double> values(random() % 100);
    for (double& value : values) value = std::bit_cast<double>(random());
    if (round % 2 == 0) {
      for (double& value : values) value = static_cast<double>(random() % 1000) / 10;
    }
    const QuantileSketch sketch = Of(values);
    const std::string bytes = BytesOf(sketch);
    const Result<QuantileSketch> parsed = QuantileSketch::Parse(bytes);
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(BytesOf(*parsed), bytes);
    EXPECT_EQ(parsed->count(), sketch.count());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_EQ(QuantileSketch::Parse(bytes.substr(0, size)).status().code(), Code::kDataLoss);
    }
    EXPECT_FALSE(QuantileSketch::Parse(bytes + '\0').ok());
  }
}

// The example of the format's page.
TEST(QuantileSketch, WrittenSketchesStayReadable) {
  const std::string_view written(
      "\x01\x00\x01\x00\x00\x00\xc0\x01\xbf\xf0\x03\x21\xc0\xff\x03\x01\x00\x1e\x01\x01"
      "\x80\x80\x04\x01",
      24);
  EXPECT_EQ(BytesOf(QuantileSketch::Parse(written).value()), written);
  EXPECT_EQ(BytesOf(Of({{1, 1.5, -2, 0}})), written);
}

TEST(QuantileSketch, AnyBytes) {
  std::mt19937_64 random(6);
  const std::string bytes = BytesOf(Of({{1, 2, 3, 50, -4, 0}}));
  for (int round = 0; round < 20'000; ++round) {
    std::string changed = bytes;
    for (std::uint64_t n = 1 + random() % 3; n > 0; --n) {
      changed[random() % changed.size()] = static_cast<char>(random());
    }
    Result<QuantileSketch> parsed = QuantileSketch::Parse(changed);
    if (!parsed.ok()) continue;
    parsed->Quantile(0.5);
    parsed->Add(1e300);
    parsed->Merge(Of({{-1e-300}}));
  }
}

}  // namespace
}  // namespace headway::series
