#include "formats/otlp/writer.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace headway::otlp {
namespace {

using metrics::DefinitionOf;
using metrics::Id;
using metrics::RunMetrics;

std::string WithoutVersion(std::string json) {
  constexpr std::string_view kKey = R"("version":")";
  const std::size_t begin = json.find(kKey) + kKey.size();
  return json.erase(begin, json.find('"', begin) - begin);
}

// tests/exporters compares every field of both encodings by the published message types.

TEST(OtlpTest, Json) {
  const RunMetrics run{"p",
                       "r",
                       1'700'000'000'123'456'789,
                       {{&DefinitionOf(Id::kMaxProductiveStep), {}, std::int64_t{7}},
                        {&DefinitionOf(Id::kBadputTime), {{"category", "custom"}}, 0.5}}};
  EXPECT_EQ(
      WithoutVersion(WriteJson({&run, 1})),
      R"({"resourceMetrics":[{"resource":{"attributes":[)"
      R"({"key":"service.name","value":{"stringValue":"headway"}},)"
      R"({"key":"service.instance.id","value":{"stringValue":"p/r"}},)"
      R"({"key":"headway.project","value":{"stringValue":"p"}},)"
      R"({"key":"headway.run","value":{"stringValue":"r"}}]},)"
      R"("scopeMetrics":[{"scope":{"name":"headway","version":""},"metrics":[)"
      R"({"name":"headway.badput.time","description":"Time that was not productive, by category",)"
      R"("unit":"s","gauge":{"dataPoints":[{"attributes":[)"
      R"({"key":"category","value":{"stringValue":"custom"}}],)"
      R"("timeUnixNano":"1700000000123456789","asDouble":0.5}]}},)"
      R"({"name":"headway.step.max_productive",)"
      R"("description":"Highest step whose work is retained","unit":"{step}",)"
      R"("gauge":{"dataPoints":[{"timeUnixNano":"1700000000123456789","asInt":"7"}]}}]}]}]})");
}

TEST(OtlpTest, NumbersForWhichJsonHasNoWord) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const RunMetrics run{"p",
                       "r",
                       -1,
                       {{&DefinitionOf(Id::kElapsed), {}, kInfinity},
                        {&DefinitionOf(Id::kElapsed), {}, -kInfinity},
                        {&DefinitionOf(Id::kElapsed), {}, kInfinity - kInfinity}}};
  const std::string json = WriteJson({&run, 1});
  EXPECT_NE(json.find(R"("dataPoints":[{"timeUnixNano":"0","asDouble":"Infinity"},)"
                      R"({"timeUnixNano":"0","asDouble":"-Infinity"},)"
                      R"({"timeUnixNano":"0","asDouble":"NaN"}])"),
            std::string::npos)
      << json;
}

TEST(OtlpTest, NothingToTell) {
  const RunMetrics run{"p", "r", 0, {}};
  EXPECT_EQ(WriteProtobuf({&run, 1}), "");
  EXPECT_EQ(WriteJson({&run, 1}), R"({"resourceMetrics":[]})");
}

}  // namespace
}  // namespace headway::otlp
