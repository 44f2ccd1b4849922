#include "formats/otlp/answer.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>

#include "formats/otlp/writer.h"
#include "formats/protobuf/message.h"

namespace headway::otlp {
namespace {

// ExportMetricsServiceResponse
constexpr std::uint32_t kPartialSuccess = 1;
// ExportMetricsPartialSuccess
constexpr std::uint32_t kRejectedDataPoints = 1;
constexpr std::uint32_t kErrorMessage = 2;

PartialSuccess ReadProtobuf(std::string_view body) {
  using protobuf::Wire;
  PartialSuccess partial;
  protobuf::MessageReader response(body);
  for (protobuf::MessageField field; response.Next(&field);) {
    if (field.id != kPartialSuccess || field.wire != Wire::kBytes) continue;
    protobuf::MessageReader inner(field.bytes);
    for (protobuf::MessageField of_partial; inner.Next(&of_partial);) {
      if (of_partial.id == kRejectedDataPoints && of_partial.wire == Wire::kVarint) {
        partial.rejected_points = static_cast<std::int64_t>(of_partial.number);
      }
      if (of_partial.id == kErrorMessage && of_partial.wire == Wire::kBytes) {
        partial.message = of_partial.bytes;
      }
    }
    if (!inner.ok()) return {};
  }
  return response.ok() ? partial : PartialSuccess();
}

PartialSuccess ReadJson(std::string_view body) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  PartialSuccess partial;
  if (parser.parse(simdjson::padded_string(body))["partialSuccess"].get(object) !=
      simdjson::SUCCESS) {
    return partial;
  }
  // The JSON of protocol buffers has 64-bit integers as texts; numbers are to be taken, too.
  std::string_view text;
  if (object["rejectedDataPoints"].get(text) == simdjson::SUCCESS) {
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, partial.rejected_points);
    if (error != std::errc() || rest != end) partial.rejected_points = 0;
  } else if (object["rejectedDataPoints"].get(partial.rejected_points) != simdjson::SUCCESS) {
    partial.rejected_points = 0;
  }
  if (object["errorMessage"].get(text) == simdjson::SUCCESS) partial.message = text;
  return partial;
}

}  // namespace

PartialSuccess ReadPartialSuccess(std::string_view content_type, std::string_view body) {
  PartialSuccess partial =
      content_type.starts_with(kJsonContentType) ? ReadJson(body) : ReadProtobuf(body);
  partial.rejected_points = std::max<std::int64_t>(0, partial.rejected_points);
  return partial;
}

}  // namespace headway::otlp
