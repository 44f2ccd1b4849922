#include "formats/jsonl/decimal.h"

#include <gtest/gtest.h>

#include <string>

namespace headway::jsonl {
namespace {

constexpr std::int64_t kMost = 9223372036854775807;

struct Case {
  std::string token;
  NumberError error;
  std::int64_t value = 0;
};

TEST(ParseSecondsTest, IsExact) {
  const Case cases[] = {
      {"0", NumberError::kNone, 0},
      {"-0.0", NumberError::kNone, 0},
      {"10", NumberError::kNone, 10'000'000'000},
      {"-2.5", NumberError::kNone, -2'500'000'000},
      {"1.000000001", NumberError::kNone, 1'000'000'001},
      {"1700000000.123456789", NumberError::kNone, 1'700'000'000'123'456'789},
      {"92.19999999999999", NumberError::kNone, 92'200'000'000},
      {"0.1234567894", NumberError::kNone, 123'456'789},
      {"0.1234567895", NumberError::kNone, 123'456'790},
      {"-0.1234567895", NumberError::kNone, -123'456'790},
      {"0.12345678949999999999999999999", NumberError::kNone, 123'456'789},
      {"0.0000000005", NumberError::kNone, 1},
      {"0.00000000049", NumberError::kNone, 0},
      {"-0.0000000005", NumberError::kNone, -1},
      {"1.7e9", NumberError::kNone, 1'700'000'000'000'000'000},
      {"1.7E+9", NumberError::kNone, 1'700'000'000'000'000'000},
      {"170000000000e-2", NumberError::kNone, 1'700'000'000'000'000'000},
      {"5e-10", NumberError::kNone, 1},
      {"4e-10", NumberError::kNone, 0},
      {"1e-999999999999", NumberError::kNone, 0},
      {"0e999999999999", NumberError::kNone, 0},
      {"9223372036.854775807", NumberError::kNone, kMost},
      {"-9223372036.854775807", NumberError::kNone, -kMost},
      {"9223372036.854775808", NumberError::kRange},
      {"-9223372036.854775808", NumberError::kRange},
      {"9223372036.8547758075", NumberError::kRange},
      {"9999999999999999999", NumberError::kRange},
      {"1e10", NumberError::kRange},
      {"1e999999999999", NumberError::kRange},
      {"", NumberError::kSyntax},
      {"-", NumberError::kSyntax},
      {"+1", NumberError::kSyntax},
      {"01", NumberError::kSyntax},
      {"1.", NumberError::kSyntax},
      {".5", NumberError::kSyntax},
      {"1e", NumberError::kSyntax},
      {"1e+", NumberError::kSyntax},
      {"1.5.5", NumberError::kSyntax},
      {"12abc", NumberError::kSyntax},
      {"0x10", NumberError::kSyntax},
      {"NaN", NumberError::kSyntax},
  };
  for (const Case& c : cases) {
    std::int64_t value = 0;
    EXPECT_EQ(ParseSeconds(c.token, &value), c.error) << c.token;
    EXPECT_EQ(value, c.value) << c.token;
    EXPECT_EQ(IsNumber(c.token), c.error != NumberError::kSyntax) << c.token;
  }
}

TEST(ParseIntegerTest, TakesIntegersHoweverWritten) {
  const Case cases[] = {
      {"5", NumberError::kNone, 5},
      {"5.0", NumberError::kNone, 5},
      {"5e3", NumberError::kNone, 5000},
      {"-12", NumberError::kNone, -12},
      {"1200e-2", NumberError::kNone, 12},
      {"9223372036854775807", NumberError::kNone, kMost},
      {"9223372036854775808", NumberError::kRange},
      {"-9223372036854775808", NumberError::kRange},
      {"999999999999999999", NumberError::kNone, 999'999'999'999'999'999},
      {"18446744073709551616", NumberError::kRange},
      {"5.5", NumberError::kNotInteger},
      {"1e-1", NumberError::kNotInteger},
      {"0.000", NumberError::kNone, 0},
  };
  for (const Case& c : cases) {
    std::int64_t value = 0;
    EXPECT_EQ(ParseInteger(c.token, &value), c.error) << c.token;
    EXPECT_EQ(value, c.value) << c.token;
  }
}

TEST(ParseSecondsTest, TakesVeryLongTokens) {
  std::int64_t value = 0;
  EXPECT_EQ(ParseSeconds("1." + std::string(1'000'000, '0') + "1", &value), NumberError::kNone);
  EXPECT_EQ(value, 1'000'000'000);
  EXPECT_EQ(ParseSeconds("0." + std::string(100, '0') + "12e102", &value), NumberError::kNone);
  EXPECT_EQ(value, 12'000'000'000);
}

}  // namespace
}  // namespace headway::jsonl
