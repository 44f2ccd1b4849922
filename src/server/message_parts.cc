#include "server/message_parts.h"

#include <algorithm>
#include <string>

#include "formats/protobuf/message.h"

namespace headway::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr int kDepth = 100;  // where the parser ends, too

Status TooMany(std::size_t most) {
  return {Code::kInvalidArgument,
          "the body has more than " + std::to_string(most) + " parts; send it in several requests"};
}

// `*left`: of `most`.
Status Count(const Descriptor& type, std::string_view message, int depth, std::size_t most,
             std::size_t* left) {
  protobuf::MessageReader reader(message);
  for (protobuf::MessageField field; reader.Next(&field);) {
    if (*left == 0) return TooMany(most);
    --*left;
    if (field.wire != protobuf::Wire::kBytes || depth == 0) continue;
    const FieldDescriptor* const known = type.FindFieldByNumber(static_cast<int>(field.id));
    if (known == nullptr || known->type() != FieldDescriptor::TYPE_MESSAGE) continue;
    HEADWAY_RETURN_IF_ERROR(Count(*known->message_type(), field.bytes, depth - 1, most, left));
  }
  if (reader.ok()) return OkStatus();
  return {Code::kInvalidArgument, "the body is no " + type.full_name()};
}

}  // namespace

Status CheckParts(const Descriptor& type, std::string_view message, std::size_t most) {
  if (message.size() / 2 <= most / 16) return OkStatus();  // a part has two bytes
  std::size_t left = most;
  return Count(type, message, kDepth, most, &left);
}

Status CheckJsonParts(std::string_view json) {
  if (json.size() <= limits::kMessageParts / 16) return OkStatus();
  const auto parts =
      std::ranges::count_if(json, [](char c) { return c == ',' || c == '{' || c == '['; });
  return static_cast<std::size_t>(parts) <= limits::kMessageParts ? OkStatus()
                                                                  : TooMany(limits::kMessageParts);
}

}  // namespace headway::server
