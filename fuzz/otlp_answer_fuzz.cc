#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "formats/otlp/answer.h"

// Any bytes are the answer of a collector, in either encoding.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  for (const std::string_view type : {"application/json", "application/x-protobuf"}) {
    const auto partial = headway::otlp::ReadPartialSuccess(type, body);
    HEADWAY_CHECK(partial.rejected_points >= 0 && partial.message.size() <= 2 * size);
  }
  return 0;
}
