#include "formats/prometheus/remote_write.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "formats/protobuf/wire.h"

namespace headway::prometheus {
namespace {

using protobuf::AppendBytesField;
using protobuf::AppendDoubleField;
using protobuf::AppendVarintField;

std::string Label(std::string_view key, std::string_view value) {
  std::string label;
  AppendBytesField(1, key, &label);
  AppendBytesField(2, value, &label);
  return label;
}

std::string Sample(std::int64_t time, double value) {
  std::string sample;
  AppendDoubleField(1, value, &sample);
  AppendVarintField(2, static_cast<std::uint64_t>(time), &sample);
  return sample;
}

struct Taken {
  std::string labels;
  std::vector<std::pair<std::int64_t, double>> samples;
  std::vector<RemoteSeries::Histogram> histograms;
};

std::vector<Taken> Read(const std::string& message, Code expected = Code::kOk) {
  std::vector<Taken> all;
  const Status status = ReadWriteRequest(message, [&all](const RemoteSeries& series) {
    Taken& taken = all.emplace_back();
    for (const auto& [key, value] : series.labels) {
      taken.labels.append(key).append("=").append(value).append(";");
    }
    for (const auto& sample : series.samples) {
      taken.samples.emplace_back(sample.time_ms, sample.value);
    }
    taken.histograms = series.histograms;
  });
  EXPECT_EQ(status.code(), expected) << status.ToString();
  return all;
}

TEST(RemoteWriteTest, ReadsSeriesWithTheirSamples) {
  std::string one;
  AppendBytesField(1, Label("__name__", "loss"), &one);
  AppendBytesField(1, Label("run", "r"), &one);
  AppendBytesField(2, Sample(5, 1.5), &one);
  AppendBytesField(2, Sample(-6, -2), &one);
  AppendBytesField(3, "an exemplar", &one);
  std::string two;
  AppendBytesField(1, Label("__name__", "up"), &two);
  std::string histogram;
  AppendVarintField(1, 7, &histogram);
  AppendDoubleField(3, 2.5, &histogram);
  AppendVarintField(15, 9, &histogram);
  AppendBytesField(4, histogram, &two);
  std::string message;
  AppendBytesField(1, one, &message);
  AppendBytesField(3, "metadata", &message);
  AppendBytesField(1, two, &message);
  const std::vector<Taken> taken = Read(message);
  ASSERT_EQ(taken.size(), 2);
  EXPECT_EQ(taken[0].labels, "__name__=loss;run=r;");
  EXPECT_EQ(taken[0].samples, (std::vector<std::pair<std::int64_t, double>>{{5, 1.5}, {-6, -2.0}}));
  EXPECT_EQ(taken[1].labels, "__name__=up;");
  ASSERT_EQ(taken[1].histograms.size(), 1);
  EXPECT_EQ(taken[1].histograms[0].count, 7);
  EXPECT_EQ(taken[1].histograms[0].sum, 2.5);
  EXPECT_EQ(taken[1].histograms[0].time_ms, 9);
  EXPECT_TRUE(Read("").empty());
}

TEST(RemoteWriteTest, KnowsTheMarkOfAnEnd) {
  EXPECT_TRUE(IsStaleMarker(std::bit_cast<double>(std::uint64_t{0x7ff0000000000002})));
  EXPECT_FALSE(IsStaleMarker(std::bit_cast<double>(std::uint64_t{0x7ff8000000000001})));
  EXPECT_FALSE(IsStaleMarker(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(IsStaleMarker(std::numeric_limits<double>::infinity()));
}

TEST(RemoteWriteTest, RefusesWhatIsCutOff) {
  std::string series;
  AppendBytesField(1, Label("__name__", "loss"), &series);
  AppendBytesField(2, Sample(5, 1.5), &series);
  std::string message;
  AppendBytesField(1, series, &message);
  EXPECT_EQ(Read(message).size(), 1);
  for (std::size_t size = 1; size < message.size(); ++size) {
    Read(message.substr(0, size), Code::kInvalidArgument);
  }
  // Cut off inside, where the outer sizes are right.
  for (std::size_t size = 1; size < series.size(); ++size) {
    std::string outer;
    AppendBytesField(1, series.substr(0, size), &outer);
    std::vector<Taken> taken;
    const Status status = ReadWriteRequest(outer, [](const RemoteSeries&) {});
    const bool whole = size == 2 + Label("__name__", "loss").size();
    EXPECT_EQ(status.ok(), whole) << size;
  }
  Read(message + "\x0f", Code::kInvalidArgument);
}

}  // namespace
}  // namespace headway::prometheus
