#include "model/metric.h"

#include <gtest/gtest.h>

#include <set>

namespace headway {
namespace {

TEST(Metric, KnownOnesHaveUnitAndClass) {
  const MetricKind* const loss = FindMetric("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->name, "loss");
  EXPECT_EQ(loss->unit, "1");
  EXPECT_EQ(MetricClassName(loss->metric_class), "model_quality");
  EXPECT_EQ(FindMetric("throughput")->unit, "1/s");
  EXPECT_EQ(MetricClassName(FindMetric("tflops")->metric_class), "model_performance");
  EXPECT_EQ(FindMetric("hbm_utilization")->unit, "%");
  EXPECT_EQ(MetricClassName(FindMetric("gpu_duty_cycle")->metric_class), "system");
  EXPECT_EQ(MetricClassName(FindMetric("step")->metric_class), "other");
}

TEST(Metric, FreeNamesHaveNone) {
  for (const std::string_view name : {"", "Loss", "loss ", "train/loss", "system/cpu", "los"}) {
    EXPECT_EQ(FindMetric(name), nullptr) << name;
  }
}

TEST(Metric, EachNameIsThereOnce) {
  std::set<std::string_view> names;
  for (const MetricKind& kind : MetricKinds()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_EQ(FindMetric(kind.name), &kind);
    EXPECT_FALSE(kind.unit.empty()) << kind.name;
  }
  EXPECT_EQ(names.size(), 19u);
}

}  // namespace
}  // namespace headway
