#include "formats/tensorboard/writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "formats/tensorboard/framing.h"
#include "formats/tensorboard/reader.h"

namespace headway::tensorboard {
namespace {

std::string Hex(std::string_view bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kHex[static_cast<std::uint8_t>(c) >> 4];
    text += kHex[c & 15];
  }
  return text;
}

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(FramingTest, MasksAsOthersDo) {
  // Of eight zero bytes, as readers have reported it for files that end in zeros.
  EXPECT_EQ(MaskedCrc(std::string(8, '\0')), 0x07980329U);
}

TEST(WriterTest, WritesTheBytesThatTensorboardWrites) {
  // As tensorboard 2.21.0 has written them.
  std::string version;
  AppendVersion(1'530'888'311 * kSecond, &version);
  EXPECT_EQ(Hex(version),
            "1800000000000000a37f4b22"
            "090000c01de0cfd6411a0d627261696e2e4576656e743a32"
            "0e8ae542");
  std::string scalar;
  AppendScalar(1'530'888'312'120'000'000, 1, "a", 1, "", &scalar);
  EXPECT_EQ(Hex(scalar),
            "1700000000000000e7cef81e"
            "0914ae071ee0cfd64110012a0a0a080a0161150000803f"
            "eaae1992");
  std::string start;
  AppendSessionStart(1'530'888'312'120'000'000, 5, &start);
  EXPECT_EQ(Hex(start),
            "0f000000000000006d532b09"
            "0914ae071ee0cfd64110053a020801"
            "804ddd1f");
}

TEST(WriterTest, WhatIsWrittenIsRead) {
  struct Case {
    std::int64_t time_ns;
    std::int64_t step;
    double value;
    double read;
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::vector<Case> cases = {
      {0, 0, 0, 0},
      {1'645'831'401'100'000'000, 1, 0.5, 0.5},
      {1'645'831'401'123'456'000, 2, 0.1, 0.1F},
      {-kSecond, -5, -1, -1},
      {kSecond, kMost, 16'777'217, 16'777'216},
      {kSecond, (std::int64_t{1} << 53) + 1, 1e300, kInfinity},
      {kSecond, kMost - 1, -1e300, -kInfinity},
      {kSecond, 3, kInfinity, kInfinity},
      {kSecond, 3, -kInfinity, -kInfinity},
      {kSecond, 3, 1e-300, 0},
      {kSecond, 3, -0.0, -0.0},
  };
  std::string file;
  AppendVersion(0, &file);
  for (const Case& c : cases) AppendScalar(c.time_ns, c.step, "loss", c.value, "Loss", &file);
  AppendScalar(1, 2, "nan", std::nan(""), "", &file);
  AppendSessionStart(5, 7, &file);
  const EventFile read = ReadEventFile(file);
  EXPECT_EQ(read.problems_total, 0U);
  EXPECT_EQ(read.records, cases.size() + 3);
  EXPECT_EQ(read.tags, (std::vector<std::string>{"loss", "nan"}));
  EXPECT_EQ(read.end, file.size());
  ASSERT_EQ(read.scalars.size(), cases.size() + 1);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(read.scalars[i].time_ns, cases[i].time_ns);
    EXPECT_EQ(read.scalars[i].step, cases[i].step);
    EXPECT_EQ(read.scalars[i].value, cases[i].read);
    EXPECT_EQ(std::signbit(read.scalars[i].value), std::signbit(cases[i].read));
  }
  EXPECT_TRUE(std::isnan(read.scalars.back().value));
  ASSERT_EQ(read.starts.size(), 1U);
  EXPECT_EQ(read.starts[0].step, 7);
  EXPECT_EQ(read.starts[0].before, cases.size() + 1);
}

TEST(WriterTest, TextsAreUtf8) {
  std::string file;
  AppendScalar(0, 0, "a\xff", 1, "b\xff", &file);
  EXPECT_EQ(file.find('\xff'), std::string::npos);
  EXPECT_EQ(ReadEventFile(file).tags, std::vector<std::string>{"a\xef\xbf\xbd"});
}

}  // namespace
}  // namespace headway::tensorboard
