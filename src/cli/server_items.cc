#include "cli/server_items.h"

#include "cli/server_runs.h"

#ifdef HEADWAY_REMOTE
#include <google/protobuf/descriptor.h>

#include "base/time_format.h"
#include "cli/report_text.h"
#include "model/text.h"
#endif

namespace headway::cli {

void DescribeItemList(Description* description, const std::string& what, ItemList* list,
                      Place* place) {
  DescribeOptionalRun(description, &list->run);
  DescribeList(description, what, "'start, run desc'; the newest first without it", list, place);
}

void DescribeList(Description* description, const std::string& what, const std::string& order,
                  ItemList* list, Place* place) {
  description->Option("--filter", "EXPR", &list->filter, "only " + what + " for which it holds");
  description->Option("--order-by", "FIELDS", &list->order_by, "e.g. " + order);
  description->Count("--limit", "N", 1, &list->limit,
                     "how many " + what + " (text: 50, JSON: all)");
  DescribeServerOnly(description, place);
}

#ifdef HEADWAY_REMOTE

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

void WriteTime(std::int64_t ns, JsonWriter* json) {
  ns == 0 ? json->Null() : json->String(FormatTime(WallNs{ns}));
}

void WriteValue(const Message& message, const FieldDescriptor& field, JsonWriter* json) {
  const Reflection& reflection = *message.GetReflection();
  if (field.has_presence() && !reflection.HasField(message, &field)) {
    json->Null();
    return;
  }
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      json->String(reflection.GetString(message, &field));
      return;
    case FieldDescriptor::CPPTYPE_INT32: json->Int(reflection.GetInt32(message, &field)); return;
    case FieldDescriptor::CPPTYPE_INT64: {
      const std::int64_t value = reflection.GetInt64(message, &field);
      field.name().ends_with("_time") ? WriteTime(value, json) : void(json->Int(value));
      return;
    }
    case FieldDescriptor::CPPTYPE_DOUBLE:
      json->Double(reflection.GetDouble(message, &field));
      return;
    case FieldDescriptor::CPPTYPE_BOOL: json->Bool(reflection.GetBool(message, &field)); return;
    case FieldDescriptor::CPPTYPE_ENUM:
      json->String(EnumText(*field.enum_type(), reflection.GetEnumValue(message, &field)));
      return;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      WriteMessage(reflection.GetMessage(message, &field), json);
      return;
    default: json->Null();  // no message of ours has another
  }
}

}  // namespace

void WriteMessage(const Message& message, JsonWriter* json) {
  const Reflection& reflection = *message.GetReflection();
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  json->BeginObject();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    json->Key(field.name());
    if (!field.is_repeated()) {
      WriteValue(message, field, json);
      continue;
    }
    json->BeginArray();
    for (int j = 0; j < reflection.FieldSize(message, &field); ++j) {
      if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        WriteMessage(reflection.GetRepeatedMessage(message, &field, j), json);
      } else {
        json->String(reflection.GetRepeatedString(message, &field, j));
      }
    }
    json->EndArray();
  }
  json->EndObject();
}

std::string EnumText(const google::protobuf::EnumDescriptor& type, int value) {
  const auto* const none = type.FindValueByNumber(0);
  const auto* const found = type.FindValueByNumber(value);
  if (value == 0) return {};
  if (none == nullptr || found == nullptr) return std::to_string(value);  // of a newer server
  std::string name(found->name());
  constexpr std::string_view kUnspecified = "UNSPECIFIED";
  name.erase(0, none->name().size() - kUnspecified.size());
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

std::string JsonOf(const Message& message) {
  std::string text;
  JsonWriter json(&text, 1);
  WriteMessage(message, &json);
  return text + "\n";
}

void Facts::Add(const std::string& label, const std::string& value) {
  if (value.empty()) return;
  text_ += FactLine(indent_ + label, Printable(value), terminal_);
}

std::string PlaceOfList(const Place& place, const ItemList& list) {
  return (list.run ? "of run " + PrintableLine(*list.run) + " " : std::string()) + "in project " +
         PrintableLine(place.project) + " on " + place.server;
}

#endif

}  // namespace headway::cli
