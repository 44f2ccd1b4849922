#include "series/columns.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "base/crc32c.h"
#include "model/record.h"

namespace headway::series {
namespace {

using Integers = std::vector<std::int64_t>;
using Values = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();

std::vector<std::uint64_t> BitsOf(const Values& values) {
  std::vector<std::uint64_t> bits;
  for (const double value : values) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

// Packs, unpacks, expects the same again, and says how many bytes it took.
std::size_t TripTimes(const Integers& times) {
  std::string packed = "before";
  PackTimes(times, &packed);
  Integers unpacked = {1, 2, 3};
  const Status status = UnpackTimes(packed, &unpacked);
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(unpacked, times);
  return packed.size();
}

std::size_t TripSteps(const Integers& steps) {
  std::string packed = "before";
  PackSteps(steps, &packed);
  Integers unpacked = {1, 2, 3};
  const Status status = UnpackSteps(packed, &unpacked);
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(unpacked, steps);
  return packed.size();
}

std::size_t TripValues(const Values& values) {
  std::string packed = "before";
  PackValues(values, &packed);
  Values unpacked = {1, 2, 3};
  const Status status = UnpackValues(packed, &unpacked);
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(BitsOf(unpacked), BitsOf(values));
  return packed.size();
}

double BytesPer(std::size_t bytes, std::size_t count) {
  return static_cast<double>(bytes) / static_cast<double>(count);
}

Values Make(std::size_t count, const std::function<double()>& next) {
  Values values(count);
  for (double& value : values) value = next();
  return values;
}

TEST(Columns, EmptyAndSmall) {
  EXPECT_LT(TripTimes({}), 8u);
  EXPECT_LT(TripSteps({}), 8u);
  EXPECT_LT(TripValues({}), 12u);
  for (const std::int64_t a : {kLow, std::int64_t{-1}, std::int64_t{0}, std::int64_t{7}, kHigh}) {
    TripTimes({a});
    TripSteps({a});
    for (const std::int64_t b : {kLow, std::int64_t{0}, kHigh}) {
      TripTimes({a, b});
      TripSteps({a, b, a});
    }
  }
}

TEST(Columns, SpecialValues) {
  const Values special = {0.0,
                          -0.0,
                          kInf,
                          -kInf,
                          kNan,
                          -kNan,
                          std::numeric_limits<double>::denorm_min(),
                          -std::numeric_limits<double>::denorm_min(),
                          std::numeric_limits<double>::min(),
                          std::numeric_limits<double>::max(),
                          std::numeric_limits<double>::lowest(),
                          std::bit_cast<double>(0x7ff0000000000001),  // signalling
                          std::bit_cast<double>(0xfff8dead0000beef),
                          std::bit_cast<double>(0x7fffffffffffffff),
                          0x1p53,
                          0x1p53 + 2,
                          -0x1p63,
                          0.1,
                          1e-300};
  TripValues(special);
  for (const double value : special) {
    TripValues({value});
    TripValues({value, 1.0});
    TripValues({1.0, value});
    EXPECT_LT(TripValues(Values(limits::kSeriesColumn, value)), 24u) << value;
    Values among(200, 97.5);  // a percentage that is once unknown
    among[0] = among[77] = value;
    TripValues(among);
  }
}

// Any bits, in any mixture of what columns are made of.
TEST(Columns, AnySequenceComesBack) {
  std::mt19937_64 random(7);
  const std::function<double()> sources[] = {
      [&] { return std::bit_cast<double>(random()); },
      [&] { return std::bit_cast<double>(0x7ff0000000000000 | random() >> 12); },  // NaN payloads
      [&] {
        return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
      },
      [&] { return static_cast<double>(random() % 100); },
      [&] { return static_cast<double>(random() % 100'000) / 1000; },
      [&] { return static_cast<double>(random() % 1000) * 0.001; },
      [&] { return -static_cast<double>(random() % 3) / 7; },
      [&] { return random() % 2 == 0 ? 0.0 : -0.0; },
      [&] { return std::ldexp(1.0, static_cast<int>(random() % 2000) - 1000); },
      [&] { return kNan; },
      [&] { return 1e15 + static_cast<double>(random() % 1000) / 8; },
  };
  for (int round = 0; round < 3000; ++round) {
    std::size_t count = random() % 130;
    if (round % 50 == 0) count = 1 + random() % limits::kSeriesColumn;
    const auto& main = sources[random() % std::size(sources)];
    const auto& other = sources[random() % std::size(sources)];
    const std::uint64_t seldom = 1 + random() % 40;
    const double held = main();
    const bool holds = random() % 4 == 0;
    TripValues(Make(count, [&] {
      if (random() % seldom == 0) return other();
      return holds ? held : main();
    }));
    if (HasFailure()) break;
  }
}

TEST(Columns, AnyIntegersComeBack) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 3000; ++round) {
    std::size_t count = random() % 130;
    if (round % 50 == 0) count = 1 + random() % limits::kSeriesColumn;
    const int order = static_cast<int>(random() % 4);
    const auto width = static_cast<unsigned>(random() % 64);
    const std::uint64_t unit = random() % 2 == 0 ? 1 : random() % 3'000'000;
    const std::uint64_t seldom = random() % 2 == 0 ? ~0ull : 1 + random() % 40;
    std::uint64_t sums[4] = {random(), random() >> 20, random() >> 40, random() >> 50};
    Integers numbers(count);
    for (std::int64_t& number : numbers) {
      const std::uint64_t noise = random() >> width;
      for (int i = order; i > 0; --i) sums[i - 1] += i == order ? noise : sums[i];
      number = static_cast<std::int64_t>((order == 0 ? noise : sums[0]) * unit);
      if (random() % seldom == 0) number = random() % 2 == 0 ? kNoStep : kHigh;
    }
    TripTimes(numbers);
    TripSteps(numbers);
    if (HasFailure()) break;
  }
}

TEST(Columns, FullAndTooFull) {
  std::mt19937_64 random(9);
  TripValues(Make(limits::kSeriesColumn, [&] { return std::bit_cast<double>(random()); }));
  Integers numbers(limits::kSeriesColumn + 1);
  for (std::int64_t& number : numbers) number = static_cast<std::int64_t>(random());
  std::string packed;
  EXPECT_DEATH(PackTimes(numbers, &packed), "kMost");
  numbers.pop_back();
  EXPECT_LT(TripTimes(numbers), 8 * numbers.size() + 64);  // hardly more than what is in it
}

// What columns of their kind take at most. A change that makes them larger should know.
TEST(Columns, Sizes) {
  std::mt19937_64 random(10);
  std::normal_distribution<double> normal;
  constexpr std::size_t kCount = limits::kSeriesColumn;
  const auto per_value = [&](const std::function<double()>& next) {
    return BytesPer(TripValues(Make(kCount, next)), kCount);
  };
  Integers times(kCount), round_times(kCount), steps(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto n = static_cast<std::int64_t>(i);
    times[i] = 1'700'000'000'000'000'000 + n * 10'000'000'000 +
               static_cast<std::int64_t>(normal(random) * 100'000);
    round_times[i] = 1'700'000'000'000'000'000 + n * 10'000'000'000;
    steps[i] = 100 * n;
  }
  EXPECT_LT(BytesPer(TripTimes(times), kCount), 2.5);
  EXPECT_LT(TripTimes(round_times), 32u);
  EXPECT_LT(TripSteps(steps), 20u);
  EXPECT_LT(TripSteps(Integers(kCount, kNoStep)), 24u);

  EXPECT_LT(per_value([&] { return 97.0; }), 0.005);
  EXPECT_LT(per_value([&] { return static_cast<double>(95 + random() % 4); }), 0.26);  // 2 bits
  double temperature = 60;
  EXPECT_LT(per_value([&] {
              if (random() % 8 == 0) temperature += random() % 2 == 0 ? 1 : -1;
              return temperature;
            }),
            0.2);
  EXPECT_LT(per_value([&] { return std::round(99 + normal(random) * 5) / 10; }), 0.65);
  double used = 40e9;
  EXPECT_LT(per_value([&] {
              if (random() % 50 == 0) used += 2097152.0 * static_cast<double>(random() % 20);
              return used;
            }),
            0.2);
  EXPECT_LT(
      per_value([&] { return static_cast<double>(static_cast<float>(2 + normal(random) * 0.05)); }),
      2.75);
  EXPECT_LT(per_value([&] { return 1.0 / static_cast<double>(1 + random() % 8); }), 0.42);
  int step = 0;  // a schedule
  EXPECT_LT(per_value([&] {
              return static_cast<double>(static_cast<float>(3e-4 * (1 + std::cos(step++ * 1e-4))));
            }),
            0.7);
  EXPECT_LT(
      per_value([&] { return random() % 16 == 0 ? kNan : static_cast<double>(random() % 4); }),
      0.6);
  EXPECT_LT(TripValues({61, 62, 61, 61, 60, 61}), 20u);
}

void ExpectDamaged(const std::string& packed) {
  Values values;
  Integers numbers;
  for (const Status& status : {UnpackValues(packed, &values), UnpackTimes(packed, &numbers),
                               UnpackSteps(packed, &numbers)}) {
    EXPECT_EQ(status.code(), Code::kDataLoss);
  }
  EXPECT_TRUE(values.empty());
  EXPECT_TRUE(numbers.empty());
}

TEST(Columns, DamageShows) {
  std::mt19937_64 random(11);
  std::string packed;
  PackValues(Make(500, [&] { return static_cast<double>(random() % 10'000) / 100; }), &packed);
  for (std::size_t size = 0; size < packed.size(); ++size) ExpectDamaged(packed.substr(0, size));
  for (std::size_t bit = 0; bit < 8 * packed.size(); ++bit) {
    std::string flipped = packed;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    ExpectDamaged(flipped);
  }
  ExpectDamaged(packed + '\0');
}

TEST(Columns, KindsAreToldApart) {
  std::string times, steps, values;
  PackTimes({{1, 2, 3}}, &times);
  PackSteps({{1, 2, 3}}, &steps);
  PackValues({{1, 2, 3}}, &values);
  Integers numbers;
  Values doubles;
  EXPECT_EQ(UnpackTimes(steps, &numbers).code(), Code::kDataLoss);
  EXPECT_EQ(UnpackTimes(values, &numbers).code(), Code::kDataLoss);
  EXPECT_EQ(UnpackSteps(times, &numbers).code(), Code::kDataLoss);
  const Status status = UnpackValues(times, &doubles);
  EXPECT_EQ(status.ToString(), "DATA_LOSS: a packed column of values is of another kind");
}

// Behind a checksum that is right anything may stand.
TEST(Columns, HostileBytesEndInAnError) {
  std::mt19937_64 random(12);
  std::string packed;
  PackValues(Make(300, [&] { return static_cast<double>(random() % 10'000) / 100; }), &packed);
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = packed.substr(0, packed.size() - 4);
    for (std::uint64_t n = 1 + random() % 4; n > 0; --n) {
      bytes[random() % std::min<std::size_t>(bytes.size(), round % 2 == 0 ? 30 : 1 << 20)] =
          static_cast<char>(random());
    }
    const std::uint32_t crc = Crc32c(bytes.data(), bytes.size());
    bytes.append(reinterpret_cast<const char*>(&crc), 4);
    Values values;
    const Status status = UnpackValues(bytes, &values);
    if (status.ok()) continue;
    ++refused;
    EXPECT_EQ(status.code(), Code::kDataLoss);
    EXPECT_TRUE(values.empty());
  }
  EXPECT_GT(refused, 1000);
}

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

// What was written once is read for ever. The first two are the examples of the format's page.
TEST(Columns, WrittenColumnsStayReadable) {
  Integers numbers;
  Values values;
  ASSERT_TRUE(UnpackTimes(FromHex("10030803d00ff40301200574aa8899"), &numbers).ok());
  EXPECT_EQ(numbers, (Integers{1000, 2000, 3500}));
  ASSERT_TRUE(UnpackSteps(FromHex("20040802006400e45735b9a8"), &numbers).ok());
  EXPECT_EQ(numbers, (Integers{0, 100, 200, 300}));
  ASSERT_TRUE(UnpackValues(FromHex("310300080101d6aad5aad5aad5ea3f00051d832bb4"), &values).ok());
  EXPECT_EQ(BitsOf(values), BitsOf({1. / 3, -0.0, 1. / 3}));
  const std::string choices =
      "320c030200a492c9a492c9a4c27f0086c3e1b0988c861385c3e1b0988c860300020001499224e820deb9";
  ASSERT_TRUE(UnpackValues(FromHex(choices), &values).ok());
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(values[i], i % 3 == 0 ? 1. / 3 : i % 3 == 1 ? 2. / 3 : 1. / 7);
  }
  ASSERT_EQ(values.size(), 12u);
  const std::string decimals =
      "301802030907ee5d0700000100030507090b0d0f00241517191b1d1f00442527292b2d000500010009110200ffff"
      "ffffffffffffff0100ffffffffffffff07d5aad5aad5aad59a8001b9ead286";
  ASSERT_TRUE(UnpackValues(FromHex(decimals), &values).ok());
  Values expected;
  for (int i = 0; i < 24; ++i) {
    expected.push_back(i == 0    ? -0.0
                       : i == 9  ? kNan
                       : i == 17 ? 1. / 3
                                 : (6000 + i * i * 7) / 100.0);
  }
  EXPECT_EQ(BitsOf(values), BitsOf(expected));
  const std::string frames =
      "30700100050b8c01920400022e28b52ffd206f2d0100b80e05050e33280e0508130e0505050e050e050e04000000"
      "05000192808101c180600eee0b021728b52ffd2038750000300000440030000200a0c109200281fc0cf5";
  ASSERT_TRUE(UnpackValues(FromHex(frames), &values).ok());
  ASSERT_EQ(values.size(), 112u);
  for (int i = 0; i < 112; ++i) {
    const double value = i == 5 ? 7 : i == 9 ? 61 : i < 48 ? 60 + (i * 7 % 10) / 10.0 : 99.5;
    EXPECT_EQ(values[static_cast<std::size_t>(i)], value) << i;
  }
}

}  // namespace
}  // namespace headway::series
