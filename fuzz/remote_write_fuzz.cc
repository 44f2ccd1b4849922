#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "formats/prometheus/remote_write.h"

// Any bytes are what a remote write unpacks to.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using headway::prometheus::RemoteSeries;
  const std::string_view message(reinterpret_cast<const char*>(data), size);
  const headway::Status status =
      headway::prometheus::ReadWriteRequest(message, [&](const RemoteSeries& series) {
        // Each takes two bytes at least.
        HEADWAY_CHECK(
            2 * (series.labels.size() + series.samples.size() + series.histograms.size()) <= size);
        for (const auto& [key, value] : series.labels) {
          HEADWAY_CHECK(key.size() + value.size() <= size);
        }
      });
  HEADWAY_CHECK(status.ok() || status.code() == headway::Code::kInvalidArgument);
  return 0;
}
