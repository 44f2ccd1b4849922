#include "formats/metrics/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "formats/metrics/test_report.h"

namespace headway::metrics {
namespace {

// "name{key=value,...} number" of each.
std::vector<std::string> TextOf(const std::vector<Metric>& metrics) {
  std::vector<std::string> lines;
  for (const Metric& metric : metrics) {
    std::string line(metric.definition->prometheus);
    for (const Label& label : metric.labels) {
      line.append(" ").append(label.key).append("=").append(label.value);
    }
    const auto* integer = std::get_if<std::int64_t>(&metric.value);
    line += " ";
    line += integer ? std::to_string(*integer) : std::to_string(std::get<double>(metric.value));
    lines.push_back(line);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(DefinitionsTest, NamesAreUniqueAndAsTheConsumersHaveThem) {
  std::set<std::string_view> prometheus, otlp, tags;
  for (const Definition& definition : Definitions()) {
    SCOPED_TRACE(definition.prometheus);
    EXPECT_TRUE(prometheus.insert(definition.prometheus).second);
    EXPECT_TRUE(otlp.insert(definition.otlp).second);
    EXPECT_TRUE(tags.insert(definition.tag).second);
    EXPECT_EQ(definition.prometheus.ends_with("_seconds"), definition.unit == Unit::kSeconds);
    EXPECT_EQ(definition.prometheus.ends_with("_ratio"), definition.unit == Unit::kRatio);
    EXPECT_TRUE(definition.otlp.starts_with("headway."));
    EXPECT_FALSE(definition.help.ends_with('.'));
    EXPECT_FALSE(UcumUnit(definition.unit).empty());
  }
  EXPECT_EQ(Definitions().size(), static_cast<std::size_t>(Id::kSliceEfficiency) + 1);
  EXPECT_EQ(DefinitionOf(Id::kElapsed).prometheus, "headway_elapsed_seconds");
  EXPECT_EQ(DefinitionOf(Id::kSliceEfficiency).otlp, "headway.slice.efficiency");
}

TEST(MetricsTest, OfAReport) {
  EXPECT_EQ(TextOf(MetricsOf(TestReport())),
            (Lines{
                "headway_goodput_ratio 0.525000",
                "headway_goodput_seconds 21.000000",
                "headway_badput_seconds category=custom name=eval 15.000000",
                "headway_badput_seconds category=step_stall 4.000000",
                "headway_elapsed_seconds 40.000000",
                "headway_disruptions 2",
                "headway_step_time_deviation_seconds -0.500000",
                "headway_ideal_step_seconds 1.500000",
                "headway_max_productive_step 9007199254740993",
            }));
}

TEST(MetricsTest, WhatIsNullIsAbsent) {
  EXPECT_EQ(TextOf(MetricsOf(Report{})),
            (Lines{"headway_goodput_seconds 0.000000", "headway_elapsed_seconds 0.000000",
                   "headway_disruptions 0"}));
}

TEST(MetricsTest, OfAWindow) {
  EXPECT_EQ(TextOf(WindowMetricsOf(TestReport(), 600)),
            (Lines{
                "headway_interval_goodput_ratio window=600s 0.525000",
                "headway_interval_badput_ratio window=600s category=custom name=eval 0.375000",
                "headway_interval_badput_ratio window=600s category=step_stall 0.100000",
            }));
}

TEST(MetricsTest, OfAWindowInWhichNothingElapsed) {
  Report report;
  report.goodput = 0;
  EXPECT_TRUE(WindowMetricsOf(report, 600).empty());
}

TEST(MetricsTest, OfSlices) {
  EXPECT_EQ(TextOf(MetricsOf(compat::SliceEfficiency{0.5, 0.75})),
            (Lines{"headway_slice_efficiency_ratio kind=stepping 0.500000",
                   "headway_slice_efficiency_ratio kind=available 0.750000"}));
}

TEST(MetricsTest, NamesThatCleanMakesTheSameAreOne) {
  Report report;
  report.categories = {{Category::kCustom, "a\xff", 3'000'000'000},
                       {Category::kOther, "", 2'000'000'000},
                       {Category::kCustom, std::string("a\0", 2), 1'000'000'000}};
  EXPECT_EQ(TextOf(MetricsOf(report))[1],
            "headway_badput_seconds category=custom name=a\xef\xbf\xbd 4.000000");
  EXPECT_EQ(TextOf(MetricsOf(report))[2], "headway_badput_seconds category=other 2.000000");
}

TEST(MetricsTest, TagsAndTitles) {
  std::vector<std::string> found;
  std::vector<Metric> all = MetricsOf(TestReport());
  for (auto&& more : {WindowMetricsOf(TestReport(), 60), MetricsOf(compat::SliceEfficiency{})}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  for (const Metric& metric : all) found.push_back(TagOf(metric) + ": " + TitleOf(metric));
  EXPECT_EQ(found, (Lines{
                       "goodput/goodput: goodput (0..1)",
                       "goodput/time: productive time (s)",
                       "badput/custom/eval: custom/eval (s)",
                       "badput/step_stall: step_stall (s)",
                       "goodput/elapsed: elapsed (s)",
                       "goodput/disruptions: disruptions",
                       "step_deviation: step deviation (s)",
                       "goodput/ideal_step_time: ideal step time (s)",
                       "goodput/max_productive_step: max productive step",
                       "interval/60s/goodput: goodput, 60s (0..1)",
                       "interval/60s/badput/custom/eval: custom/eval, 60s (0..1)",
                       "interval/60s/badput/step_stall: step_stall, 60s (0..1)",
                       "goodput/slice_efficiency/stepping: slice efficiency, stepping (0..1)",
                       "goodput/slice_efficiency/available: slice efficiency, available (0..1)",
                   }));
}

TEST(MetricsTest, AValueIsNotReadAsATemplate) {
  Report report;
  report.categories = {{Category::kCustom, "<category>[/<name>]", 1'000'000'000}};
  EXPECT_EQ(TagOf(MetricsOf(report)[1]), "badput/custom/<category>[/<name>]");
}

TEST(MetricsTest, InTheOrderOfTheTable) {
  const std::vector<Metric> metrics = MetricsOf(TestReport());
  const auto grouped = ByDefinition(metrics);
  ASSERT_EQ(grouped.size(), 8U);
  EXPECT_TRUE(std::ranges::is_sorted(grouped, {}, [](const auto& group) { return group.first; }));
  EXPECT_EQ(grouped[2].second.size(), 2U);
}

}  // namespace
}  // namespace headway::metrics
