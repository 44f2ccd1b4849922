#include "monitor/sample_metrics.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "formats/metrics/test_report.h"

namespace headway::monitor {
namespace {

Sample Named(std::int64_t time_ns) {
  Sample sample;
  sample.time_ns = time_ns;
  sample.project = "p";
  sample.run = "r";
  return sample;
}

Sample WithReport(Sample sample, double goodput) {
  sample.report = Report{};
  sample.report->goodput = goodput;
  return sample;
}

Sample WithWindow(Sample sample, std::int64_t seconds, double goodput) {
  WindowSample& window = sample.windows.emplace_back();
  window.seconds = seconds;
  window.report = metrics::TestReport();
  window.report->goodput = goodput;
  return sample;
}

// The ratios of goodput, with their labels.
std::vector<std::string> Goodputs(const metrics::RunMetrics& run) {
  std::vector<std::string> found;
  for (const metrics::Metric& metric : run.metrics) {
    if (!metric.definition->otlp.ends_with("goodput") &&
        metric.definition->otlp != "headway.goodput.ratio") {
      continue;
    }
    std::string text = std::to_string(metrics::Number(metric)).substr(0, 4);
    for (const metrics::Label& label : metric.labels) text += " " + label.value;
    found.push_back(text);
  }
  return found;
}

using Texts = std::vector<std::string>;

TEST(LatestMetricsTest, KeepsWhatALaterSampleDoesNotTell) {
  LatestMetrics latest;
  EXPECT_TRUE(latest.Get().metrics.empty());
  latest.Take(WithReport(Named(1), 0.25));
  latest.Take(WithWindow(WithWindow(Named(2), 600, 0.5), 60, 0.75));
  EXPECT_EQ(latest.Get().time_ns, 2);
  EXPECT_EQ(latest.Get().run, "r");
  EXPECT_EQ(Goodputs(latest.Get()), (Texts{"0.25", "0.75 60s", "0.50 600s"}));

  Sample sample = WithReport(WithWindow(Named(3), 60, 0.125), 0.375);
  WindowSample& gone = sample.windows.emplace_back();
  gone.seconds = 600;
  latest.Take(sample);
  EXPECT_EQ(Goodputs(latest.Get()), (Texts{"0.37", "0.12 60s"}));
  latest.Take(Named(4));
  EXPECT_EQ(Goodputs(latest.Get()), (Texts{"0.37", "0.12 60s"}));
}

TEST(MetricsOfTest, TellsOneSampleOnly) {
  EXPECT_EQ(Goodputs(MetricsOf(WithWindow(Named(2), 60, 0.75))), (Texts{"0.75 60s"}));
  EXPECT_EQ(MetricsOf(Named(7)).time_ns, 7);
  Sample sample = Named(1);
  sample.efficiency = compat::SliceEfficiency{0.5, 1};
  EXPECT_EQ(MetricsOf(sample).metrics.size(), 2U);
}

}  // namespace
}  // namespace headway::monitor
