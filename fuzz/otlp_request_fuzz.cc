#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "formats/otlp/reader.h"

// Any bytes are the body of an OTLP request, in either encoding.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const headway::otlp::TakePoint take = [](const headway::otlp::DataPoint& point) {
    HEADWAY_CHECK(!point.values.empty());
    for (const auto& value : point.values) {
      HEADWAY_CHECK(value.quantile == -1 || (value.quantile >= 0 && value.quantile <= 1));
      HEADWAY_CHECK(value.suffix.empty() || value.suffix.front() == '_');
    }
  };
  for (const auto read : {&headway::otlp::ReadProtobuf, &headway::otlp::ReadJson}) {
    const headway::Status status = read(body, take);
    HEADWAY_CHECK(status.ok() || status.code() == headway::Code::kInvalidArgument);
  }
  return 0;
}
