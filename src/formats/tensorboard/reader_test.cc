#include "formats/tensorboard/reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/limits.h"
#include "formats/tensorboard/test_files.h"

namespace headway::tensorboard {
namespace {

std::string Tensor(std::uint64_t dtype, const std::string& values) {
  return VarintField(field::kDtype, dtype) + values;
}

std::string Shape(const std::vector<std::uint64_t>& dims) {
  std::string shape;
  for (const std::uint64_t dim : dims) {
    shape += BytesField(field::kDim, VarintField(field::kSize, dim));
  }
  return BytesField(field::kShape, shape);
}

std::string Content(std::uint64_t bits, std::size_t size) {
  return BytesField(field::kContent, Fixed(bits, size));
}

std::string Plugin(std::string_view name) {
  return BytesField(field::kMetadata,
                    BytesField(field::kPluginData, BytesField(field::kPluginName, name)));
}

constexpr std::uint64_t kMinusTwo = std::bit_cast<std::uint64_t>(std::int64_t{-2});

TEST(ReadEventFileTest, TensorsOfOneElementAreScalars) {
  struct Case {
    const char* what;
    std::string tensor;
    std::optional<double> value;
  };
  const std::uint64_t half = std::bit_cast<std::uint64_t>(0.5);
  const std::vector<Case> cases = {
      {"float content", Tensor(1, Content(0x3f000000, 4)), 0.5},
      {"float value", Tensor(1, Key(5, Wire::kFixed32) + Fixed(0x3f000000, 4)), 0.5},
      {"packed float", Tensor(1, BytesField(5, Fixed(0x3f000000, 4))), 0.5},
      {"double content", Tensor(2, Content(half, 8)), 0.5},
      {"double value", Tensor(2, Key(6, Wire::kFixed64) + Fixed(half, 8)), 0.5},
      {"packed double", Tensor(2, BytesField(6, Fixed(half, 8))), 0.5},
      {"int32 content", Tensor(3, Content(kMinusTwo, 4)), -2},
      {"int32 value", Tensor(3, VarintField(7, kMinusTwo)), -2},
      {"packed int32", Tensor(3, BytesField(7, Varint(kMinusTwo))), -2},
      {"int64 content", Tensor(9, Content(kMinusTwo, 8)), -2},
      {"int64 value", Tensor(9, VarintField(10, kMinusTwo)), -2},
      {"uint8", Tensor(4, Content(200, 1)), 200},
      {"int8", Tensor(6, Content(200, 1)), -56},
      {"int16", Tensor(5, Content(0xfffe, 2)), -2},
      {"half", Tensor(19, Content(0x3800, 2)), 0.5},
      {"half value", Tensor(19, VarintField(13, 0xb800)), -0.5},
      {"smallest half", Tensor(19, Content(1, 2)), std::ldexp(1, -24)},
      {"half infinity", Tensor(19, Content(0x7c00, 2)), HUGE_VAL},
      {"bfloat16", Tensor(14, Content(0x3f00, 2)), 0.5},
      {"shape of one", Tensor(1, Shape({1, 1}) + Content(0x3f000000, 4)), 0.5},
      {"shape of none", Tensor(1, Shape({0}) + Content(0x3f000000, 4)), std::nullopt},
      {"one value for many", Tensor(1, Shape({9}) + BytesField(5, Fixed(0, 4))), std::nullopt},
      {"two values", Tensor(1, BytesField(5, Fixed(0, 8))), std::nullopt},
      {"no value", Tensor(1, ""), std::nullopt},
      {"content too short", Tensor(2, Content(0, 4)), std::nullopt},
      {"text", Tensor(7, BytesField(8, "hello")), std::nullopt},
      {"no type", Content(0, 4), std::nullopt},
      {"a type that is not known", Tensor(1000, Content(0, 4)), std::nullopt},
      {"rubbish", "\xff\xff", std::nullopt},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const std::string value = BytesField(field::kTag, "t") + BytesField(field::kTensor, c.tensor);
    const EventFile file = ReadEventFile(VersionRecord() + ValueEvent(value));
    EXPECT_EQ(file.problems_total, 0U);
    EXPECT_EQ(file.scalars.size(), c.value ? 1U : 0U);
    EXPECT_EQ(file.other_values, c.value ? 0U : 1U);
    if (c.value && !file.scalars.empty()) {
      EXPECT_EQ(file.scalars[0].value, *c.value);
      EXPECT_EQ(file.scalars[0].step, 7);
      EXPECT_EQ(file.scalars[0].time_ns, 1'000'000'000);
    }
  }
}

TEST(ReadEventFileTest, ATagBelongsToThePluginOfItsFirstMetadata) {
  const std::string tensor = BytesField(field::kTensor, Tensor(1, Content(0x3f000000, 4)));
  const std::string a = BytesField(field::kTag, "a") + tensor;
  const std::string b = BytesField(field::kTag, "b") + tensor;
  const EventFile file = ReadEventFile(VersionRecord() + ValueEvent(a + Plugin("scalars")) +
                                       ValueEvent(a + Plugin("images")) +
                                       ValueEvent(b + Plugin("images")) + ValueEvent(b));
  EXPECT_EQ(file.tags, std::vector<std::string>{"a"});
  EXPECT_EQ(file.scalars.size(), 2U);
  EXPECT_EQ(file.other_values, 2U);
}

TEST(ReadEventFileTest, Damage) {
  const std::string good = ScalarFile(1, {0, 1});
  const std::string record = good.substr(VersionRecord().size());
  const std::size_t one = record.size() / 2 - 1;  // the first step is 0, and not written
  std::string bad_data = good;
  bad_data[VersionRecord().size() + 20] ^= 1;
  std::string bad_length = good;
  bad_length[VersionRecord().size()] ^= 1;
  std::string unwritten = good;
  unwritten.replace(unwritten.size() - 10, 10, 10, '\0');
  const std::uint64_t giant = std::uint64_t{1} << 40;
  const std::string giant_head = Fixed(giant, 8) + Fixed(MaskedCrc(Fixed(giant, 8)), 4);
  const std::uint64_t promised = 1000;
  const std::string promised_head = Fixed(promised, 8) + Fixed(MaskedCrc(Fixed(promised, 8)), 4);
  struct Case {
    const char* what;
    std::string bytes;
    std::size_t scalars;
    std::optional<ProblemKind> problem;
    std::uint64_t offset = 0;
    std::uint64_t end = 0;
  };
  const std::uint64_t second = VersionRecord().size() + one;
  const std::uint64_t size = good.size();
  const std::vector<Case> cases = {
      {"empty", "", 0, std::nullopt, 0, 0},
      {"whole", good, 2, std::nullopt, 0, size},
      {"without a version", record, 2, std::nullopt, 0, record.size()},
      {"cut in the data", good.substr(0, size - 6), 1, ProblemKind::kTornTail, second, second},
      {"cut in the head", good.substr(0, second + 5), 1, ProblemKind::kTornTail, second, second},
      {"cut in the checksum", good.substr(0, size - 1), 1, ProblemKind::kTornTail, second, second},
      {"zeros for a record", good + std::string(400, '\0'), 2, ProblemKind::kTornTail, size, size},
      {"zeros for a head", good + std::string(4, '\0'), 2, ProblemKind::kTornTail, size, size},
      {"nothing but zeros", std::string(400, '\0'), 0, ProblemKind::kTornTail, 0, 0},
      {"a record that ends in zeros", unwritten, 1, ProblemKind::kTornTail, second, second},
      {"bad data", bad_data, 1, ProblemKind::kBadData, VersionRecord().size(), size},
      {"bad length", bad_length, 0, ProblemKind::kBadLength, VersionRecord().size(),
       VersionRecord().size()},
      {"oversized", good + giant_head + record, 2, ProblemKind::kOversized, size, size},
      {"longer than the file", good + promised_head + record, 2, ProblemKind::kTornTail, size,
       size},
      {"a text", "these are the bytes of a text", 0, ProblemKind::kForeign, 0, 0},
      {"another message", Frame(BytesField(1, "x")), 0, ProblemKind::kForeign, 0, 0},
      {"another version", Frame(BytesField(3, "tale:2")), 0, ProblemKind::kForeign, 0, 0},
      {"no event", good + Frame(BytesField(1, "x")), 2, ProblemKind::kBadRecord, size, size + 19},
      {"no message", good + Frame("\xff"), 2, ProblemKind::kBadRecord, size, size + 17},
      {"no time", good + Frame(WallTimeField(std::nan(""))), 2, ProblemKind::kBadRecord, size,
       size + 25},
      {"no time that we have", good + Frame(WallTimeField(1e300)), 2, ProblemKind::kBadRecord, size,
       size + 25},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const EventFile file = ReadEventFile(c.bytes);
    EXPECT_EQ(file.scalars.size(), c.scalars);
    EXPECT_EQ(file.end, c.end);
    ASSERT_EQ(file.problems.size(), c.problem ? 1U : 0U);
    EXPECT_EQ(file.problems_total, file.problems.size());
    if (!c.problem) continue;
    EXPECT_EQ(ProblemCode(file.problems[0].kind), ProblemCode(*c.problem));
    EXPECT_EQ(file.problems[0].offset, c.offset);
    EXPECT_FALSE(file.problems[0].sentence.empty());
  }
}

TEST(ReadEventFileTest, ProblemsAreCountedBeyondThoseThatAreListed) {
  std::string bytes = VersionRecord();
  for (int i = 0; i < 1500; ++i) bytes += Frame("\xff");
  const EventFile file = ReadEventFile(bytes);
  EXPECT_EQ(file.problems.size(), 1000U);
  EXPECT_EQ(file.problems_total, 1500U);
}

TEST(ReadEventFileTest, LongTagsAreCut) {
  std::string bytes = VersionRecord();
  const std::string tag(limits::kNameBytes + 1, 'x');
  AppendScalar(0, 0, tag, 1, "", &bytes);
  AppendScalar(0, 1, tag, 1, "", &bytes);
  const EventFile file = ReadEventFile(bytes);
  EXPECT_EQ(file.tags, std::vector<std::string>{tag.substr(1)});
  EXPECT_EQ(file.tags_cut, 1U);
}

TEST(ReadEventFileTest, SeveralValuesOfOneEvent) {
  auto value = [](std::string_view tag) {
    return BytesField(field::kValue, BytesField(field::kTag, tag) +
                                         Key(field::kSimpleValue, Wire::kFixed32) + Fixed(0, 4));
  };
  const EventFile file = ReadEventFile(
      Frame(BytesField(field::kSummary, value("a") + value("b") + BytesField(field::kValue, ""))));
  EXPECT_EQ(file.tags, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(file.scalars.size(), 2U);
  EXPECT_EQ(file.other_values, 1U);
}

}  // namespace
}  // namespace headway::tensorboard
