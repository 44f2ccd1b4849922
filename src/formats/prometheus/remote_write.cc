#include "formats/prometheus/remote_write.h"

#include <bit>
#include <string>

#include "formats/protobuf/message.h"

namespace headway::prometheus {
namespace {

using protobuf::MessageField;
using protobuf::MessageReader;
using protobuf::Wire;

namespace field {
// WriteRequest
constexpr std::uint32_t kTimeseries = 1;
// TimeSeries
constexpr std::uint32_t kLabels = 1;
constexpr std::uint32_t kSamples = 2;
constexpr std::uint32_t kHistograms = 4;
// Label
constexpr std::uint32_t kLabelName = 1;
constexpr std::uint32_t kLabelValue = 2;
// Sample
constexpr std::uint32_t kSampleValue = 1;
constexpr std::uint32_t kSampleTime = 2;
// Histogram
constexpr std::uint32_t kCountInt = 1;
constexpr std::uint32_t kCountFloat = 2;
constexpr std::uint32_t kSum = 3;
constexpr std::uint32_t kHistogramTime = 15;
}  // namespace field

constexpr std::uint64_t kStale = 0x7ff0000000000002;

// A short name and then a short value, which is how nearly all labels come.
bool ReadShortLabel(std::string_view message, RemoteSeries::Label* label) {
  constexpr std::size_t kNameAt = 2;
  constexpr std::size_t kShort = 0x80;  // a size in one byte
  const auto byte = [message](std::size_t at) { return static_cast<std::uint8_t>(message[at]); };
  if (message.size() < 4 || byte(0) != 0x0a || byte(1) >= kShort) return false;
  const std::size_t value_at = kNameAt + byte(1) + 2;
  if (value_at > message.size() || byte(value_at - 2) != 0x12) return false;
  const std::size_t value_size = byte(value_at - 1);
  if (value_size >= kShort || value_size != message.size() - value_at) return false;
  *label = {message.substr(kNameAt, byte(1)), message.substr(value_at)};
  return true;
}

bool ReadLabel(std::string_view message, RemoteSeries::Label* label) {
  if (ReadShortLabel(message, label)) return true;
  MessageReader reader(message);
  for (MessageField of_label; reader.Next(&of_label);) {
    if (of_label.wire != Wire::kBytes) continue;
    if (of_label.id == field::kLabelName) label->first = of_label.bytes;
    if (of_label.id == field::kLabelValue) label->second = of_label.bytes;
  }
  return reader.ok();
}

bool ReadSample(std::string_view message, RemoteSeries::Sample* sample) {
  MessageReader reader(message);
  for (MessageField of_sample; reader.Next(&of_sample);) {
    if (of_sample.id == field::kSampleValue && of_sample.wire == Wire::kFixed64) {
      sample->value = std::bit_cast<double>(of_sample.number);
    } else if (of_sample.id == field::kSampleTime && of_sample.wire == Wire::kVarint) {
      sample->time_ms = static_cast<std::int64_t>(of_sample.number);
    }
  }
  return reader.ok();
}

bool ReadHistogram(std::string_view message, RemoteSeries::Histogram* histogram) {
  MessageReader reader(message);
  for (MessageField of_histogram; reader.Next(&of_histogram);) {
    const std::uint64_t number = of_histogram.number;
    if (of_histogram.id == field::kCountInt && of_histogram.wire == Wire::kVarint) {
      histogram->count = static_cast<double>(number);
    } else if (of_histogram.id == field::kCountFloat && of_histogram.wire == Wire::kFixed64) {
      histogram->count = std::bit_cast<double>(number);
    } else if (of_histogram.id == field::kSum && of_histogram.wire == Wire::kFixed64) {
      histogram->sum = std::bit_cast<double>(number);
    } else if (of_histogram.id == field::kHistogramTime && of_histogram.wire == Wire::kVarint) {
      histogram->time_ms = static_cast<std::int64_t>(number);
    }
  }
  return reader.ok();
}

bool ReadSeries(std::string_view message, RemoteSeries* series) {
  series->labels.clear();
  series->samples.clear();
  series->histograms.clear();
  MessageReader reader(message);
  for (MessageField of_series; reader.Next(&of_series);) {
    if (of_series.wire != Wire::kBytes) continue;
    bool ok = true;
    if (of_series.id == field::kLabels) {
      ok = ReadLabel(of_series.bytes, &series->labels.emplace_back());
    } else if (of_series.id == field::kSamples) {
      ok = ReadSample(of_series.bytes, &series->samples.emplace_back());
    } else if (of_series.id == field::kHistograms) {
      ok = ReadHistogram(of_series.bytes, &series->histograms.emplace_back());
    }
    if (!ok) return false;
  }
  return reader.ok();
}

}  // namespace

bool IsStaleMarker(double value) { return std::bit_cast<std::uint64_t>(value) == kStale; }

Status ReadWriteRequest(std::string_view message,
                        const std::function<void(const RemoteSeries&)>& take) {
  RemoteSeries series;
  std::size_t count = 0;
  MessageReader reader(message);
  for (MessageField of_request; reader.Next(&of_request);) {
    if (of_request.id != field::kTimeseries || of_request.wire != Wire::kBytes) continue;
    if (!ReadSeries(of_request.bytes, &series)) {
      return {Code::kInvalidArgument, "the body is no prometheus.WriteRequest: its series " +
                                          std::to_string(count) + " can't be read"};
    }
    ++count;
    take(series);
  }
  if (reader.ok()) return OkStatus();
  return {Code::kInvalidArgument,
          "the body is no prometheus.WriteRequest: what follows its series " +
              std::to_string(count) + " can't be read"};
}

}  // namespace headway::prometheus
