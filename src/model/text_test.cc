#include "model/text.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace headway {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(ShowDuration, PicksTheUnitByWhatIsShown) {
  const struct {
    std::int64_t ns;
    const char* text;
  } cases[] = {
      {0, "0 s"},
      {15, "15 ns"},
      {999, "999 ns"},
      {1'000, "0.001 ms"},
      {871'000, "0.871 ms"},
      {999'999, "1.000 ms"},
      {1'000'000, "0.001 s"},
      {871'000'000, "0.871 s"},
      {2'871 * kSecond / 1000, "2.871 s"},
      {59'999'499'999, "59.999 s"},
      {59'999'500'000, "0:01:00"},
      {60 * kSecond, "0:01:00"},
      {60 * kSecond + 499'999'999, "0:01:00"},
      {60 * kSecond + 500'000'000, "0:01:01"},
      {16'267 * kSecond, "4:31:07"},
      {86'399 * kSecond + 499'999'999, "23:59:59"},
      {86'399 * kSecond + 500'000'000, "1 d 00:00:00"},
      {(12 * 86'400 + 16'267) * kSecond, "12 d 04:31:07"},
      {INT64_MAX, "106751 d 23:47:17"},
      {-2'871 * kSecond / 1000, "-2.871 s"},
      {INT64_MIN, "-106751 d 23:47:17"},
  };
  for (const auto& c : cases) EXPECT_EQ(ShowDuration(c.ns), c.text) << c.ns;
  EXPECT_EQ(ShowDuration(std::optional<std::int64_t>()), "–");
}

TEST(ShowTime, IsWholeSecondsOfUtc) {
  EXPECT_EQ(ShowTime(0), "1970-01-01 00:00:00");
  EXPECT_EQ(ShowTime(1'767'225'664 * kSecond + 999'999'999), "2026-01-01 00:01:04");
}

TEST(ShowCount, HasSeparators) {
  EXPECT_EQ(ShowCount(0), "0");
  EXPECT_EQ(ShowCount(999), "999");
  EXPECT_EQ(ShowCount(1'000), "1,000");
  EXPECT_EQ(ShowCount(1'234'567), "1,234,567");
  EXPECT_EQ(ShowCount(-1'234), "-1,234");
  EXPECT_EQ(ShowCount(-123), "-123");
  EXPECT_EQ(ShowCount(INT64_MIN), "-9,223,372,036,854,775,808");
}

TEST(ShowBytes, PicksTheUnit) {
  EXPECT_EQ(ShowBytes(0), "0 B");
  EXPECT_EQ(ShowBytes(1023), "1023 B");
  EXPECT_EQ(ShowBytes(1024), "1.0 KiB");
  EXPECT_EQ(ShowBytes(16 << 20), "16.0 MiB");
  EXPECT_EQ(ShowBytes((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(ShowBytes(UINT64_MAX), "16.0 EiB");
}

std::int64_t SumOf(const std::vector<std::int64_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0});
}

TEST(PercentHundredths, AddUpToAHundred) {
  using Hundredths = std::vector<std::int64_t>;
  EXPECT_EQ(PercentHundredths({1, 1, 1}), (Hundredths{3334, 3333, 3333}));
  EXPECT_EQ(PercentHundredths({6, 0}), (Hundredths{10000, 0}));
  EXPECT_EQ(PercentHundredths({0, 0}), (Hundredths{0, 0}));
  EXPECT_EQ(PercentHundredths({}), Hundredths());
  EXPECT_EQ(SumOf(PercentHundredths({INT64_MAX, INT64_MAX, INT64_MAX})), 100'00);
  std::mt19937_64 random(7);
  for (int i = 0; i < 1000; ++i) {
    std::vector<std::int64_t> parts(1 + random() % 20);
    for (std::int64_t& part : parts) {
      part = static_cast<std::int64_t>(random() >> (1 + random() % 63));
    }
    if (std::all_of(parts.begin(), parts.end(), [](auto part) { return part == 0; })) continue;
    EXPECT_EQ(SumOf(PercentHundredths(parts)), 100'00);
  }
}

TEST(ShowHundredths, HasTwoDecimals) {
  EXPECT_EQ(ShowHundredths(3750), "37.50 %");
  EXPECT_EQ(ShowHundredths(5), "0.05 %");
  EXPECT_EQ(ShowHundredths(10000), "100.00 %");
}

TEST(Printable, LetsNothingMoveTheCursor) {
  EXPECT_EQ(PrintableLine("plain äöü 漢字"), "plain äöü 漢字");
  EXPECT_EQ(PrintableLine("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(PrintableLine("a\nb\tc\rd"), "a\\x0ab\\x09c\\x0dd");
  EXPECT_EQ(Printable("a\nb\tc\rd"), "a\nb\tc\\x0dd");
  EXPECT_EQ(PrintableLine(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(PrintableLine("\xc2\x9b"
                          "31m"),
            "\\x9b31m");                                 // C1 control
  EXPECT_EQ(PrintableLine("a\xffz"), "a\xef\xbf\xbdz");  // no UTF-8
  EXPECT_EQ(PrintableLine("\xe2\x80\xae"
                          "x"),
            "\xef\xbf\xbdx");  // right-to-left override
}

TEST(DisplayWidth, CountsColumns) {
  EXPECT_EQ(DisplayWidth("abc"), 3u);
  EXPECT_EQ(DisplayWidth("äöü"), 3u);
  EXPECT_EQ(DisplayWidth("漢字"), 4u);
  EXPECT_EQ(DisplayWidth("e\xcc\x81"), 1u);
  EXPECT_EQ(Shorten("abcdef", 4), "abc…");
  EXPECT_EQ(Shorten("abcd", 4), "abcd");
  EXPECT_EQ(Shorten("漢字漢字", 5), "漢字…");
  EXPECT_EQ(Shorten("abc", 0), "");
  EXPECT_EQ(PadRight("漢", 4), "漢  ");
  EXPECT_EQ(PadLeft("ab", 4), "  ab");
}

TEST(Wrap, BreaksAtBlanks) {
  EXPECT_EQ(Wrap("one two three", 7, 2), "one two\n  three");
  EXPECT_EQ(Wrap("ideal 0.018 s, deviation 5 s", 12, 0), "ideal\n0.018 s,\ndeviation\n5 s");
  EXPECT_EQ(Wrap("of 12 (3.5 %) in 4 sets", 7, 0), "of 12\n(3.5 %)\nin 4\nsets");
  EXPECT_EQ(Wrap("incomprehensibilities are", 10, 0), "incomprehensibilities\nare");
  EXPECT_EQ(Wrap("", 10, 0), "");
  EXPECT_EQ(WrapBeside("aaaaaaaaa bbbbbbbbb ccccccccc", 25, 4),
            "aaaaaaaaa bbbbbbbbb\n    ccccccccc");
}

TEST(Closest, FindsTypingErrorsOnly) {
  const std::vector<std::string> words = {"goodput", "timeline", "runs list", "import"};
  EXPECT_EQ(Closest("godput", words), "goodput");
  EXPECT_EQ(Closest("timelien", words), "timeline");
  EXPECT_EQ(Closest("impo", words), "import");
  EXPECT_EQ(Closest("frobnicate", words), "");
  EXPECT_EQ(Closest("", words), "");
}

}  // namespace
}  // namespace headway
