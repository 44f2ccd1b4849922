#include "base/time_format.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace headway {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(TimeFormatTest, FormatsAndParsesTheWholeRange) {
  const struct {
    std::int64_t ns;
    const char* text;
  } kCases[] = {
      {0, "1970-01-01T00:00:00.000000000Z"},
      {-1, "1969-12-31T23:59:59.999999999Z"},
      {1'767'225'600'000'000'000, "2026-01-01T00:00:00.000000000Z"},
      {951'782'399'123'456'789, "2000-02-28T23:59:59.123456789Z"},
      {951'782'400'000'000'000, "2000-02-29T00:00:00.000000000Z"},
      {kMax, "2262-04-11T23:47:16.854775807Z"},
      {kMin, "1677-09-21T00:12:43.145224192Z"},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(FormatTime({c.ns}), c.text);
    const Result<WallNs> parsed = ParseRfc3339(c.text);
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
    EXPECT_EQ(parsed->ns, c.ns);
  }
}

TEST(TimeFormatTest, FormatsCompactTime) {
  EXPECT_EQ(FormatCompactTime({1'767'225'600'999'999'999}), "20260101T000000Z");
}

TEST(TimeFormatTest, ParsesOffsetsFractionsAndLeapSeconds) {
  const struct {
    const char* text;
    std::int64_t ns;
  } kCases[] = {
      {"1970-01-01T01:00:00+01:00", 0},
      {"1969-12-31T19:30:00-04:30", 0},
      {"1970-01-01t00:00:01z", 1'000'000'000},
      {"1970-01-01 00:00:00.5Z", 500'000'000},
      {"1970-01-01T00:00:00.0000000014Z", 1},
      {"1970-01-01T00:00:00.0000000015Z", 2},
      {"1970-01-01T00:00:00.9999999999Z", 1'000'000'000},
      {"2016-12-31T23:59:60Z", 1'483'228'800'000'000'000},
      {"2016-12-31T23:59:60.7Z", 1'483'228'800'000'000'000},
  };
  for (const auto& c : kCases) {
    const Result<WallNs> parsed = ParseRfc3339(c.text);
    ASSERT_TRUE(parsed.ok()) << c.text << ": " << parsed.status().ToString();
    EXPECT_EQ(parsed->ns, c.ns) << c.text;
  }
}

TEST(TimeFormatTest, RefusesWhatIsNoTime) {
  for (const char* text :
       {"", "2026", "2026-01-01", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z",
        "2026-02-29T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:61Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00Zx",
        "2026-01-01T00:00:00+1:00", "2026-01-01T00:00:00+24:00", " 2026-01-01T00:00:00Z"}) {
    EXPECT_EQ(ParseRfc3339(text).status().code(), Code::kInvalidArgument) << text;
  }
  for (const char* text : {"2262-04-11T23:47:16.854775808Z", "1677-09-21T00:12:43.145224191Z",
                           "9999-12-31T23:59:59Z", "0000-01-01T00:00:00Z"}) {
    EXPECT_EQ(ParseRfc3339(text).status().code(), Code::kOutOfRange) << text;
  }
}

TEST(TimeFormatTest, ParsesTimesOfTheCommandLine) {
  EXPECT_EQ(ParseTime("@-5")->ns, -5);
  EXPECT_EQ(ParseTime("@9223372036854775807")->ns, kMax);
  EXPECT_EQ(ParseTime("+1h30m", WallNs{10})->ns, 5'400'000'000'010);
  EXPECT_EQ(ParseTime("1970-01-01T00:00:00Z")->ns, 0);
  EXPECT_EQ(ParseTime("@9223372036854775808").status().code(), Code::kOutOfRange);
  EXPECT_EQ(ParseTime("@").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(ParseTime("@1x").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(ParseTime("+1h").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(ParseTime("+1h", WallNs{kMax}).status().code(), Code::kOutOfRange);
}

TEST(TimeFormatTest, ParsesDurations) {
  const struct {
    const char* text;
    std::int64_t ns;
  } kCases[] = {
      {"0", 0},
      {"1h30m", 5'400'000'000'000},
      {"500ms", 500'000'000},
      {"2d", 172'800'000'000'000},
      {"1w", 604'800'000'000'000},
      {"1.5h", 5'400'000'000'000},
      {".5s", 500'000'000},
      {"-10s", -10'000'000'000},
      {"+10s", 10'000'000'000},
      {"7us", 7'000},
      {"7\xc2\xb5s", 7'000},
      {"7\xce\xbcs", 7'000},
      {"3ns", 3},
      {"1m1ms", 60'001'000'000},
      {"0.3ns", 0},
      {"0.5ns", 1},
      {"9223372036854775807ns", kMax},
      {"-9223372036854775808ns", kMin},
  };
  for (const auto& c : kCases) {
    const Result<std::int64_t> parsed = ParseDuration(c.text);
    ASSERT_TRUE(parsed.ok()) << c.text << ": " << parsed.status().ToString();
    EXPECT_EQ(*parsed, c.ns) << c.text;
  }
}

TEST(TimeFormatTest, RefusesWhatIsNoDuration) {
  for (const char* text : {"", "-", "5", "h", "1x", "1h30", "1 h", "1.h.", "--1s", "1.2.3s"}) {
    EXPECT_EQ(ParseDuration(text).status().code(), Code::kInvalidArgument) << text;
  }
  for (const char* text :
       {"9223372036854775808ns", "300y0d", "106752d", "99999999999999999999999999999999999999s"}) {
    EXPECT_FALSE(ParseDuration(text).ok()) << text;
  }
}

TEST(TimeFormatTest, ReadsDurations) {
  const struct {
    std::int64_t ns;
    const char* text;
  } kCases[] = {
      {0, "0s"},
      {1, "1ns"},
      {1'500, "1.5us"},
      {250'000'000, "250ms"},
      {1'500'000'000, "1.5s"},
      {5'400'000'000'000, "1h30m"},
      {-172'800'000'000'000, "-2d"},
      {86'461'000'000'001, "1d1m1.000000001s"},
  };
  for (const auto& c : kCases) EXPECT_EQ(*ParseDuration(c.text), c.ns) << c.text;
}

TEST(TimeFormatTest, SecondsAreExact) {
  EXPECT_EQ(FormatSeconds(1'500'000'000), "1.5");
  EXPECT_EQ(FormatSeconds(-1), "-0.000000001");
  EXPECT_EQ(FormatSeconds(kMin), "-9223372036.854775808");
}

}  // namespace
}  // namespace headway
