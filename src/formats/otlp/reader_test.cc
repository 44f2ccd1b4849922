#include "formats/otlp/reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "formats/metrics/test_report.h"
#include "formats/otlp/writer.h"
#include "formats/protobuf/wire.h"

namespace headway::otlp {
namespace {

using protobuf::AppendBytesField;
using protobuf::AppendDoubleField;
using protobuf::AppendFixed64Field;
using protobuf::AppendVarintField;

std::string Text(const DataPoint& point) {
  std::string text(point.metric);
  text.append("[").append(point.unit).append("]").append(point.scope).append("{");
  for (const Attributes* const attributes : {point.resource, point.attributes}) {
    for (const auto& [key, value] : *attributes) {
      text.append(key).append("=").append(value).append(";");
    }
    text += "|";
  }
  text += "}@" + std::to_string(point.time_ns);
  for (const DataPoint::Value& value : point.values) {
    text.append(" ").append(value.suffix);
    if (value.quantile >= 0) text += "q" + std::to_string(value.quantile);
    text += "=" + std::to_string(value.value);
  }
  return text;
}

std::vector<std::string> Read(const std::string& body, bool json, Code expected = Code::kOk) {
  std::vector<std::string> all;
  const TakePoint take = [&all](const DataPoint& point) { all.push_back(Text(point)); };
  const Status status = json ? ReadJson(body, take) : ReadProtobuf(body, take);
  EXPECT_EQ(status.code(), expected) << status.ToString() << body;
  return all;
}

std::string Field(std::uint32_t id, const std::string& bytes) {
  std::string field;
  AppendBytesField(id, bytes, &field);
  return field;
}
std::string Number(std::uint32_t id, double value) {
  std::string field;
  AppendDoubleField(id, value, &field);
  return field;
}
std::string Fixed(std::uint32_t id, std::uint64_t value) {
  std::string field;
  AppendFixed64Field(id, value, &field);
  return field;
}
std::string Varint(std::uint32_t id, std::uint64_t value) {
  std::string field;
  AppendVarintField(id, value, &field);
  return field;
}
std::string Pair(const std::string& key, const std::string& value) {
  return Field(1, key) + Field(2, value);
}

// One metric of each kind, said in both encodings.
std::string Protobuf() {
  const std::string resource =
      Field(1, Pair("a", Field(1, "x"))) + Field(1, Pair("n", Varint(3, 7))) +
      Field(1, Pair("l", Field(5, Field(1, Field(1, "p\"")) + Field(1, Varint(2, 1))))) +
      Field(1, Pair("y", Field(7, "abcd"))) +
      Field(1, Pair("m", Field(6, Field(1, Pair("k", Number(4, 0.5))))));
  const std::string gauge =
      Field(1, "g") + Field(3, "s") +
      Field(5, Field(1, Field(7, Pair("b", Varint(2, 1))) + Fixed(3, 10) + Number(4, 1.5)) +
                   Field(1, Fixed(3, 11) + Fixed(6, static_cast<std::uint64_t>(-4))) +
                   Field(1, Fixed(3, 12) + Varint(8, 1)));
  const std::string sum = Field(7, Field(1, Fixed(3, 13) + Number(4, 2)) + Varint(2, 2)) +
                          Field(1, "s");  // the name comes last
  const std::string histogram =
      Field(1, "h") + Field(9, Field(1, Fixed(3, 14) + Fixed(4, 3) + Number(5, 6) + Number(11, 1) +
                                            Number(12, 4) + Field(9, Pair("c", Field(1, "y")))));
  const std::string exponential =
      Field(1, "e") + Field(10, Field(1, Fixed(3, 15) + Fixed(4, 2) + Number(12, 0.5)));
  const std::string summary =
      Field(1, "q") + Field(11, Field(1, Fixed(3, 16) + Fixed(4, 5) + Number(5, 9) +
                                             Field(6, Number(1, 0.5) + Number(2, 3)) +
                                             Field(7, Pair("d", Field(1, "z")))));
  const std::string scope = Field(2, gauge) + Field(2, sum) + Field(2, histogram) +
                            Field(2, exponential) + Field(2, summary) + Field(1, Field(1, "lib"));
  return Field(1, Field(2, scope) + Field(1, resource));
}

constexpr char kJson[] = R"({"resourceMetrics": [{
  "resource": {"attributes": [
    {"key": "a", "value": {"stringValue": "x"}}, {"key": "n", "value": {"intValue": "7"}},
    {"key": "l", "value": {"arrayValue": {"values": [{"stringValue": "p\""}, {"boolValue": true}]}}},
    {"key": "y", "value": {"bytesValue": "YWJjZA=="}},
    {"key": "m", "value": {"kvlistValue": {"values": [{"key": "k", "value": {"doubleValue": 0.5}}]}}}
  ]},
  "scopeMetrics": [{"scope": {"name": "lib"}, "metrics": [
    {"name": "g", "unit": "s", "gauge": {"dataPoints": [
      {"attributes": [{"key": "b", "value": {"boolValue": true}}], "timeUnixNano": "10", "asDouble": 1.5},
      {"timeUnixNano": 11, "asInt": "-4"}, {"timeUnixNano": "12", "flags": 1}]}},
    {"name": "s", "sum": {"aggregationTemporality": 2, "dataPoints": [{"timeUnixNano": "13", "asDouble": 2}]}},
    {"name": "h", "histogram": {"dataPoints": [{"timeUnixNano": "14", "count": "3", "sum": 6, "min": 1,
      "max": 4, "attributes": [{"key": "c", "value": {"stringValue": "y"}}]}]}},
    {"name": "e", "exponentialHistogram": {"dataPoints": [{"timeUnixNano": "15", "count": 2, "min": 0.5}]}},
    {"name": "q", "summary": {"dataPoints": [{"timeUnixNano": "16", "count": "5", "sum": 9,
      "quantileValues": [{"quantile": 0.5, "value": 3}],
      "attributes": [{"key": "d", "value": {"stringValue": "z"}}]}]}}
  ]}]}]})";

TEST(OtlpReaderTest, ReadsEveryKindOfMetricInEitherEncoding) {
  const std::string resource = R"(a=x;n=7;l=["p\"",true];y=YWJjZA==;m={"k":0.5};|)";
  const std::vector<std::string> expected = {
      "g[s]lib{" + resource + "b=true;|}@10 =1.500000",
      "g[s]lib{" + resource + "|}@11 =-4.000000",
      "s[]lib{" + resource + "|}@13 =2.000000",
      "h[]lib{" + resource + "c=y;|}@14 _count=3.000000 _sum=6.000000 _min=1.000000 _max=4.000000",
      "e[]lib{" + resource + "|}@15 _count=2.000000 _min=0.500000",
      "q[]lib{" + resource + "d=z;|}@16 _count=5.000000 _sum=9.000000 q0.500000=3.000000",
  };
  EXPECT_EQ(Read(Protobuf(), false), expected);
  EXPECT_EQ(Read(kJson, true), expected);
  EXPECT_TRUE(Read("", false).empty());
  EXPECT_TRUE(Read("{}", true).empty());
}

TEST(OtlpReaderTest, ReadsWhatTheWriterWrites) {
  metrics::RunMetrics run;
  run.project = "p";
  run.run = "r \"1\"";
  run.time_ns = 1'700'000'000'000'000'000;
  const metrics::Definition& first = metrics::Definitions()[0];
  run.metrics.push_back({&first, {{"category", "eval"}}, std::nan("")});
  run.metrics.push_back({&first, {}, std::int64_t{5}});
  const auto json = Read(WriteJson({&run, 1}), true);
  EXPECT_EQ(json.size(), 2);
  EXPECT_EQ(Read(WriteProtobuf({&run, 1}), false), json);
  EXPECT_NE(json[1].find("headway.run=r \"1\";"), std::string::npos) << json[1];
  EXPECT_NE(json[1].find("@1700000000000000000 =5.000000"), std::string::npos) << json[1];
}

TEST(OtlpReaderTest, RefusesWhatIsNoRequest) {
  const std::string whole = Protobuf();
  for (std::size_t size = 1; size < whole.size(); ++size) {
    Read(whole.substr(0, size), false, Code::kInvalidArgument);
  }
  for (const char* const body : {
           "",
           "[]",
           "1",
           "{",
           R"({"resourceMetrics": 1})",
           R"({"resourceMetrics": [1]})",
           R"({"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"gauge": {"dataPoints": [
              {"timeUnixNano": "x"}]}}]}]}]})",
           R"({"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"gauge": {"dataPoints": [
              {"asDouble": "1x"}]}}]}]}]})",
           R"({"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"summary": {"dataPoints": [
              {"quantileValues": [{"quantile": 2}]}]}}]}]}]})",
           R"({"resourceMetrics": [{"resource": {"attributes": [{"key": "k", "value": "v"}]}}]})",
       }) {
    Read(body, true, Code::kInvalidArgument);
  }
  // However deep values lie in values.
  std::string value = Field(1, "x");
  for (int i = 0; i < 1000; ++i) value = Field(5, Field(1, value));
  Read(Field(1, Field(1, Field(1, Pair("k", value)))), false, Code::kInvalidArgument);
}

}  // namespace
}  // namespace headway::otlp
