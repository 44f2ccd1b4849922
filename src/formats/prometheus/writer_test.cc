#include "formats/prometheus/writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "formats/metrics/test_report.h"

namespace headway::prometheus {
namespace {

using metrics::DefinitionOf;
using metrics::Id;
using metrics::MetricsOf;
using metrics::RunMetrics;

TEST(WriteTextTest, OfAReport) {
  const RunMetrics run{"lm", "r", 0, MetricsOf(metrics::TestReport())};
  EXPECT_EQ(WriteText({&run, 1}),
            R"(# HELP headway_goodput_ratio Productive share of the elapsed time, 0 to 1.
# TYPE headway_goodput_ratio gauge
headway_goodput_ratio{project="lm",run="r"} 0.525
# HELP headway_goodput_seconds Productive time; falls when a disruption wastes steps.
# TYPE headway_goodput_seconds gauge
headway_goodput_seconds{project="lm",run="r"} 21
# HELP headway_badput_seconds Time that was not productive, by category.
# TYPE headway_badput_seconds gauge
headway_badput_seconds{project="lm",run="r",category="custom",name="eval"} 15
headway_badput_seconds{project="lm",run="r",category="step_stall"} 4
# HELP headway_elapsed_seconds Time since the run began, without what is excluded.
# TYPE headway_elapsed_seconds gauge
headway_elapsed_seconds{project="lm",run="r"} 40
# HELP headway_disruptions Disruptions so far.
# TYPE headway_disruptions gauge
headway_disruptions{project="lm",run="r"} 2
# HELP headway_step_time_deviation_seconds How much further recent steps are off the ideal step time than those before.
# TYPE headway_step_time_deviation_seconds gauge
headway_step_time_deviation_seconds{project="lm",run="r"} -0.5
# HELP headway_ideal_step_seconds Ideal step time, as computed from the run's steps.
# TYPE headway_ideal_step_seconds gauge
headway_ideal_step_seconds{project="lm",run="r"} 1.5
# HELP headway_max_productive_step Highest step whose work is retained.
# TYPE headway_max_productive_step gauge
headway_max_productive_step{project="lm",run="r"} 9007199254740993
)");
}

TEST(WriteTextTest, RunsShareAFamily) {
  const std::vector<RunMetrics> runs = {
      {"p", "a", 0, {{&DefinitionOf(Id::kElapsed), {}, 1.0}}},
      {"p",
       "b",
       0,
       {{&DefinitionOf(Id::kGoodput), {}, 0.5}, {&DefinitionOf(Id::kElapsed), {}, 2.0}}}};
  EXPECT_EQ(WriteText(runs),
            R"(# HELP headway_goodput_ratio Productive share of the elapsed time, 0 to 1.
# TYPE headway_goodput_ratio gauge
headway_goodput_ratio{project="p",run="b"} 0.5
# HELP headway_elapsed_seconds Time since the run began, without what is excluded.
# TYPE headway_elapsed_seconds gauge
headway_elapsed_seconds{project="p",run="a"} 1
headway_elapsed_seconds{project="p",run="b"} 2
)");
}

TEST(WriteTextTest, NothingToTell) {
  EXPECT_EQ(WriteText({}), "");
  const RunMetrics run{"p", "a", 0, {}};
  EXPECT_EQ(WriteText({&run, 1}), "");
}

std::string ValueOf(double value) {
  const RunMetrics run{"p", "r", 0, {{&DefinitionOf(Id::kElapsed), {}, value}}};
  const std::string text = WriteText({&run, 1});
  return text.substr(text.rfind(' ') + 1);
}

TEST(WriteTextTest, Numbers) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(ValueOf(std::nan("")), "NaN\n");
  EXPECT_EQ(ValueOf(-std::nan("")), "NaN\n");
  EXPECT_EQ(ValueOf(kInfinity), "+Inf\n");
  EXPECT_EQ(ValueOf(-kInfinity), "-Inf\n");
  EXPECT_EQ(ValueOf(0.1), "0.1\n");
  EXPECT_EQ(ValueOf(1e300), "1e+300\n");
  EXPECT_EQ(ValueOf(-0.0), "-0\n");
  EXPECT_EQ(ValueOf(std::numeric_limits<double>::denorm_min()), "5e-324\n");
}

TEST(WriteTextTest, LabelsAreEscaped) {
  const RunMetrics run{"a\\b\"c\nd\te",
                       std::string("\xff\0z", 3),
                       0,
                       {{&DefinitionOf(Id::kElapsed), {{"window", "\"\\\n"}}, 1.0}}};
  const std::string text = WriteText({&run, 1});
  EXPECT_NE(text.find("{project=\"a\\\\b\\\"c\\nd\te\","
                      "run=\"\xef\xbf\xbd\xef\xbf\xbdz\",window=\"\\\"\\\\\\n\"} 1\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace headway::prometheus
