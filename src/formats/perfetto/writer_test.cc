#include "formats/perfetto/writer.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <map>
#include <string>

namespace headway::perfetto {
namespace {

TEST(TraceWriterTest, WritesLanesIntervalsStepsAndMarks) {
  Report report;
  report.run = "a \"b\"";
  report.start = 1'767'225'600'000'000'001;
  report.attempts.resize(2);
  report.attempts[1].index = 1;
  report.disruptions.resize(1);
  report.disruptions[0].time = *report.start + 64'000;
  report.disruptions[0].step_reached = 4;
  report.rollbacks.push_back({*report.start + 1, 5, 3, 7, false});
  std::string out;
  TraceWriter writer(report, &out);
  writer.Add(
      TimelineInterval{*report.start, *report.start + 1'234'567, Category::kCustom, "EVAL", 1, 3});
  writer.Add(TimelineInterval{
      *report.start + 5, *report.start + 6, Category::kInfrastructureRecovery, "", -1, {}});
  StepSummary step;
  step.attempt = 1;
  step.step = 3;
  step.start = *report.start + 1'000;
  step.end = *report.start + 2'000;
  writer.Add(step);
  writer.Finish();

  simdjson::dom::parser parser;
  simdjson::dom::element root;
  ASSERT_EQ(parser.parse(out).get(root), simdjson::SUCCESS) << out;
  EXPECT_EQ(std::string_view(root["metadata"]["start_ns"]), "1767225600000000001");
  std::map<std::string, int> phases;
  for (const auto event : root["traceEvents"].get_array()) {
    phases[std::string(std::string_view(event["ph"]))] += 1;
  }
  EXPECT_EQ(phases["M"], 1 + 2 * 5);
  EXPECT_EQ(phases["X"], 3);
  EXPECT_EQ(phases["i"], 2);
  EXPECT_NE(out.find("\"tid\":3,\"ts\":0.000,\"dur\":1234.567,\"cat\":\"custom\""),
            std::string::npos)
      << out;
  EXPECT_NE(out.find("\"name\":\"custom EVAL\",\"args\":{\"step\":3}}"), std::string::npos);
  EXPECT_NE(out.find("\"tid\":0,\"ts\":0.005,\"dur\":0.001"), std::string::npos);
  EXPECT_NE(out.find("\"tid\":4,\"ts\":1.000,\"dur\":1.000"), std::string::npos);
}

TEST(TraceWriterTest, AnEmptyRunIsAFileToo) {
  std::string out;
  TraceWriter writer(Report(), &out);
  writer.Finish();
  simdjson::dom::parser parser;
  EXPECT_EQ(parser.parse(out).error(), simdjson::SUCCESS);
}

}  // namespace
}  // namespace headway::perfetto
