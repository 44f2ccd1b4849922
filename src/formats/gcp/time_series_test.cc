#include "formats/gcp/time_series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "formats/gcp/accelerator.h"

namespace headway::gcp {
namespace {

const Workload kWorkload{"job", "us-central1-a", "0", "TPU-v5e", "c1"};

compat::Figures SomeFigures() {
  return {.goodput_percent = 75,
          .productive_s = 30,
          .total_s = 40,
          .badput = {{"TPU_INITIALIZATION", 4}, {"DATA_LOADING_ASYNC", 9}, {"OTHER", 2}},
          .custom = {{"EVAL", 4}},
          .max_productive_step = 17,
          .disruptions = 1};
}

std::string Text(const Series& series) {
  std::string text(series.metric);
  for (const auto& [name, value] : series.labels) {
    text.append(" ").append(name).append("=").append(value);
  }
  if (const auto* number = std::get_if<double>(&series.value)) {
    return text + " " + std::to_string(*number);
  }
  return text + " #" + std::to_string(std::get<std::int64_t>(series.value));
}

std::vector<std::string> Texts(const std::vector<Series>& all) {
  std::vector<std::string> texts;
  for (const Series& series : all) texts.push_back(Text(series));
  return texts;
}

TEST(TimeSeriesTest, TheSeriesOfAJob) {
  const compat::Figures figures = SomeFigures();
  Values values;
  values.figures = &figures;
  values.efficiency = compat::SliceEfficiency{0.5, 0.75};
  values.ideal_step_s = 1.5;
  values.deviation_s = 0.25;
  values.windows.push_back({3600, &figures, compat::SliceEfficiency{0.25, 1}});
  const std::string common = " accelerator_type=TPU-v5e cluster_name=c1 ";
  EXPECT_EQ(
      Texts(SeriesOf(kWorkload, values)),
      (std::vector<std::string>{
          "goodput_time goodput_source=TOTAL" + common + "30.000000",
          "badput_time badput_source=CUSTOM_BADPUT_EVENTS.EVAL" + common + "4.000000",
          "badput_time badput_source=OTHER" + common + "2.000000",
          "badput_time badput_source=TPU_INITIALIZATION" + common + "4.000000",
          "disruptions window_type=cumulative" + common + "#1",
          "max_productive_steps" + common + "#17",
          "total_elapsed_time window_type=cumulative" + common + "40.000000",
          "step_time_deviation" + common + "0.250000",
          "performance 1.500000",
          "stepping_slice_efficiency window_type=CUMULATIVE rolling_window_size=0" + common +
              "0.500000",
          "available_slice_efficiency window_type=CUMULATIVE rolling_window_size=0" + common +
              "0.750000",
          "interval_goodput goodput_source=TOTAL rolling_window_size=3600" + common + "75.000000",
          "interval_badput badput_source=CUSTOM_BADPUT_EVENTS.EVAL rolling_window_size=3600" +
              common + "10.000000",
          "interval_badput badput_source=OTHER rolling_window_size=3600" + common + "5.000000",
          "interval_badput badput_source=TPU_INITIALIZATION rolling_window_size=3600" + common +
              "10.000000",
          "stepping_slice_efficiency window_type=INTERVAL rolling_window_size=3600" + common +
              "0.250000",
          "available_slice_efficiency window_type=INTERVAL rolling_window_size=3600" + common +
              "1.000000",
      }));
}

TEST(TimeSeriesTest, WhatIsNoNumberIsLeftOut) {
  compat::Figures figures = SomeFigures();
  figures.total_s = 0;  // shares of nothing
  figures.productive_s = std::numeric_limits<double>::quiet_NaN();
  figures.badput = {{"OTHER", std::numeric_limits<double>::infinity()}};
  figures.custom.clear();
  Values values;
  values.figures = &figures;
  values.deviation_s = -std::numeric_limits<double>::infinity();
  values.ideal_step_s = std::numeric_limits<double>::quiet_NaN();
  values.windows.push_back({60, &figures, std::nullopt});
  std::vector<std::string_view> metrics;
  for (const Series& series : SeriesOf(kWorkload, values)) metrics.push_back(series.metric);
  EXPECT_EQ(metrics, (std::vector<std::string_view>{"disruptions", "max_productive_steps",
                                                    "total_elapsed_time", "interval_goodput"}));
}

TEST(TimeSeriesTest, LabelsAreBoundedAndValid) {
  compat::Figures figures;
  figures.custom = {{std::string(3000, 'A'), 1}, {std::string(3001, 'A'), 2}, {"B\xff", 3}};
  Values values;
  values.figures = &figures;
  std::vector<std::string> sources;
  double sum = 0;
  for (const Series& series : SeriesOf(kWorkload, values)) {
    if (series.metric != "badput_time") continue;
    sources.push_back(series.labels[0].second);
    sum += std::get<double>(series.value);
  }
  ASSERT_EQ(sources.size(), 2U);  // two names that can't be told apart are one series
  EXPECT_EQ(sources[0].size(), 1024U);
  EXPECT_EQ(sources[1], "CUSTOM_BADPUT_EVENTS.B\xef\xbf\xbd");
  EXPECT_EQ(sum, 6);
}

TEST(TimeSeriesTest, TheBody) {
  const std::vector<Point> points{
      {{"goodput_time", {{"goodput_source", "TOTAL"}}, 1.5}, {1'700'000'000'500'000'000}},
      {{"disruptions", {}, std::int64_t{3}}, {1'700'000'001'000'000'000}}};
  const std::string resource =
      R"("resource":{"type":"compute.googleapis.com/Workload","labels":{)"
      R"("location":"us-central1-a","workload_id":"job","replica_id":"0"}},)";
  const std::vector<std::string> bodies = CreateBodies(kWorkload, points);
  ASSERT_EQ(bodies.size(), 1U);
  EXPECT_EQ(bodies[0],
            R"({"timeSeries":[{"metric":{"type":"compute.googleapis.com/workload/goodput_time",)"
            R"("labels":{"goodput_source":"TOTAL"}},)" +
                resource +
                R"("points":[{"interval":{"endTime":"2023-11-14T22:13:20.500000000Z"},)"
                R"("value":{"doubleValue":1.5}}]},)"
                R"({"metric":{"type":"compute.googleapis.com/workload/disruptions"},)" +
                resource +
                R"("points":[{"interval":{"endTime":"2023-11-14T22:13:21.000000000Z"},)"
                R"("value":{"int64Value":"3"}}]}]})");
}

TEST(TimeSeriesTest, RequestsAreBounded) {
  EXPECT_TRUE(CreateBodies(kWorkload, {}).empty());
  const std::vector<Point> points(401, Point{{"goodput_time", {}, 1.0}, {0}});
  const std::vector<std::string> bodies = CreateBodies(kWorkload, points);
  ASSERT_EQ(bodies.size(), 3U);
  const auto count = [](const std::string& body) {
    std::size_t found = 0;
    for (std::size_t at = body.find("endTime"); at != std::string::npos;
         at = body.find("endTime", at + 1)) {
      ++found;
    }
    return found;
  };
  EXPECT_EQ(count(bodies[0]), 200U);
  EXPECT_EQ(count(bodies[2]), 1U);
}

TEST(TimeSeriesTest, KeysTellSeriesApart) {
  const Series one{"m", {{"a", "b"}, {"c", "d"}}, 1.0};
  const Series other{"m", {{"a", "b c"}, {"d", ""}}, 1.0};
  EXPECT_NE(one.Key(), other.Key());
  EXPECT_EQ(one.Key(), (Series{"m", {{"a", "b"}, {"c", "d"}}, 2.0}.Key()));
}

TEST(AcceleratorTest, MachineTypes) {
  EXPECT_EQ(AcceleratorOf("ct5lp-hightpu-4t"), "TPU-v5e");
  EXPECT_EQ(AcceleratorOf("ct5p-hightpu-4t"), "TPU-v5p");
  EXPECT_EQ(AcceleratorOf("a3-ultragpu-8g"), "NVIDIA-H200");
  EXPECT_EQ(AcceleratorOf("n2-standard-4"), "UNKNOWN");
  EXPECT_EQ(AcceleratorOf(""), "UNKNOWN");
}

}  // namespace
}  // namespace headway::gcp
