#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace headway {
namespace {

TEST(JsonWriterTest, WritesNestedValues) {
  std::string out;
  JsonWriter json(&out);
  json.BeginObject().Field("a", 1).Field("b", "x").Key("c").BeginArray();
  json.Bool(true).Null().Double(0.5).BeginObject().EndObject().BeginArray().EndArray();
  json.EndArray().Field("d", false).Field("e", 2u).Field("f", 1.5f).EndObject();
  EXPECT_EQ(out, R"({"a":1,"b":"x","c":[true,null,0.5,{},[]],"d":false,"e":2,"f":1.5})");
  EXPECT_TRUE(json.done());
}

TEST(JsonWriterTest, IndentsMembers) {
  std::string out;
  JsonWriter json(&out, 2);
  json.BeginObject().Field("a", 1).Key("b").BeginArray().Int(1).Int(2).EndArray();
  json.Key("c").BeginObject().EndObject().EndObject();
  EXPECT_EQ(out, "{\n  \"a\": 1,\n  \"b\": [\n    1,\n    2\n  ],\n  \"c\": {}\n}");
}

TEST(JsonWriterTest, WritesIntegersExactly) {
  std::string out;
  JsonWriter json(&out);
  json.BeginArray()
      .Int(std::numeric_limits<std::int64_t>::min())
      .Int(std::numeric_limits<std::int64_t>::max())
      .Uint(std::numeric_limits<std::uint64_t>::max())
      .EndArray();
  EXPECT_EQ(out, "[-9223372036854775808,9223372036854775807,18446744073709551615]");
}

TEST(JsonWriterTest, WritesDoublesShortAndNonFiniteAsNull) {
  std::string out;
  JsonWriter json(&out);
  json.BeginArray()
      .Double(0.1)
      .Double(1e300)
      .Double(-0.0)
      .Double(std::numeric_limits<double>::quiet_NaN())
      .Double(std::numeric_limits<double>::infinity())
      .EndArray();
  EXPECT_EQ(out, "[0.1,1e+300,-0,null,null]");
}

TEST(JsonWriterTest, EscapesStrings) {
  const struct {
    std::string text;
    std::string json;
  } kCases[] = {
      {"", R"("")"},
      {"a\"b\\c/", R"("a\"b\\c/")"},
      {"\b\f\n\r\t", R"("\b\f\n\r\t")"},
      {std::string("\x00\x1f\x7f", 3), R"("\u0000\u001f\u007f")"},
      {"h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\"h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""},
      {"\xff", "\"\xef\xbf\xbd\""},
      {"a\xc3", "\"a\xef\xbf\xbd\""},                                // cut short
      {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                  // overlong
      {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},  // surrogate
      {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
  };
  for (const auto& c : kCases) {
    std::string out;
    AppendJsonString(c.text, &out);
    EXPECT_EQ(out, c.json);
  }
}

TEST(JsonWriterDeathTest, RefusesWhatIsNoJson) {
  std::string out;
  EXPECT_DEATH(JsonWriter(&out).BeginObject().Int(1), "check failed");
  EXPECT_DEATH(JsonWriter(&out).BeginArray().EndObject(), "check failed");
  EXPECT_DEATH(JsonWriter(&out).Int(1).Int(2), "check failed");
}

}  // namespace
}  // namespace headway
