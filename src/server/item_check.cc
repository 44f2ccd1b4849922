#include "server/item_check.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/item_limits.h"
#include "base/names.h"
#include "base/utf8.h"
#include "model/mask.h"

namespace headway::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

Status Bad(const std::string& what) { return {Code::kInvalidArgument, what}; }

template <typename Names>
bool IsOneOf(std::string_view name, const Names& names) {
  return std::ranges::find(names, name) != std::end(names);
}

constexpr std::string_view kTexts[] = {"text", "details", "error", "description"};
constexpr std::string_view kPages[] = {"documentation_url", "dashboard_uri"};
constexpr std::string_view kPlaces[] = {"storage_uri", "path"};

bool HasControlCharacter(std::string_view text, std::string_view but) {
  return std::ranges::any_of(text, [but](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 || byte == 0x7f) && but.find(c) == std::string_view::npos;
  });
}

Status CheckBytes(const std::string& path, const std::string& value, std::size_t most) {
  if (value.size() > most) {
    return Bad(path + " has " + std::to_string(value.size()) + " bytes, and may have " +
               std::to_string(most));
  }
  if (!IsValidUtf8(value)) return Bad(path + " is no valid UTF-8");
  return OkStatus();
}

Status CheckText(const std::string& path, const std::string& value) {
  HEADWAY_RETURN_IF_ERROR(CheckBytes(path, value, limits::kItemTextBytes));
  if (HasControlCharacter(value, "\n\r\t")) {
    return Bad(path + " must not hold control characters but ends of lines and tabs");
  }
  return OkStatus();
}

// `schemes`: what may stand before "://"; `or_path`: it may also be a path, without any.
Status CheckUri(const std::string& path, const std::string& value,
                std::initializer_list<std::string_view> schemes, bool or_path) {
  if (value.empty()) return OkStatus();
  HEADWAY_RETURN_IF_ERROR(CheckBytes(path, value, limits::kItemUriBytes));
  if (HasControlCharacter(value, "")) return Bad(path + " must not hold control characters");
  const std::size_t end = value.find("://");
  std::string scheme = value.substr(0, end);
  std::ranges::transform(scheme, scheme.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (end != std::string::npos && IsOneOf(scheme, schemes) && value.size() > end + 3) {
    return OkStatus();
  }
  // A colon before any slash would be a scheme: javascript:, data:.
  const std::size_t colon = value.find(':');
  if (or_path && (colon == std::string::npos || value.find('/') < colon) &&
      end == std::string::npos) {
    return OkStatus();
  }
  std::string wanted;
  for (const std::string_view one : schemes) {
    wanted.append(wanted.empty() ? "" : ", ").append(one).append("://");
  }
  return Bad(path + " begins with one of " + wanted + (or_path ? ", or is a path" : "") +
             ", and is \"" + std::string(TruncateUtf8(value, 100)) + "\"");
}

Status CheckString(const std::string& path, std::string_view name, const std::string& value) {
  if (IsOneOf(name, kTexts)) return CheckText(path, value);
  if (IsOneOf(name, kPages)) return CheckUri(path, value, {"http", "https"}, false);
  if (IsOneOf(name, kPlaces)) {
    return CheckUri(path, value, {"http", "https", "gs", "s3", "file"}, true);
  }
  return CheckNewName(path, value);
}

Status CheckInteger(const std::string& path, std::string_view name, std::int64_t value) {
  if (value < 0) return Bad(path + " is below 0");
  if (value > kItemTimeMost && (name.ends_with("_time") || name.ends_with("_ns"))) {
    return Bad(path + " is above " + std::to_string(kItemTimeMost) + ": it is in nanoseconds" +
               (name.ends_with("_time") ? " since the Unix epoch" : ""));
  }
  return OkStatus();
}

Status CheckReal(const std::string& path, std::string_view name, double value) {
  // A negation, so that NaN is none.
  if (name == "confidence" && !(value >= 0 && value <= 1)) {
    return Bad(path + " is from 0 to 1, not " + std::to_string(value));
  }
  return OkStatus();
}

Status CheckField(const std::string& path, const FieldDescriptor& field, Message* message) {
  const Reflection& reflection = *message->GetReflection();
  const std::string_view name = field.name();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string value = reflection.GetString(*message, &field);
      HEADWAY_RETURN_IF_ERROR(CheckString(path, name, value));
      value = MaskedText(value);
      HEADWAY_RETURN_IF_ERROR(CheckString(path, name, value));  // it may be longer now
      reflection.SetString(message, &field, std::move(value));
      return OkStatus();
    }
    case FieldDescriptor::CPPTYPE_INT64:
      return CheckInteger(path, name, reflection.GetInt64(*message, &field));
    case FieldDescriptor::CPPTYPE_INT32:
      return CheckInteger(path, name, reflection.GetInt32(*message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return CheckReal(path, name, reflection.GetDouble(*message, &field));
    case FieldDescriptor::CPPTYPE_ENUM: {
      const int value = reflection.GetEnumValue(*message, &field);
      if (field.enum_type()->FindValueByNumber(value) != nullptr) return OkStatus();
      return Bad(path + " is " + std::to_string(value) + ", which this server does not know");
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return CheckItem(path, reflection.MutableMessage(message, &field));
    case FieldDescriptor::CPPTYPE_BOOL: return OkStatus();
    default: break;
  }
  return {Code::kInternal, path + " is of a type that nobody checks"};
}

Status CheckElement(const std::string& path, const FieldDescriptor& field, int i,
                    Message* message) {
  const Reflection& reflection = *message->GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return CheckItem(path, reflection.MutableRepeatedMessage(message, &field, i));
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    const std::string value = MaskedText(reflection.GetRepeatedString(*message, &field, i));
    reflection.SetRepeatedString(message, &field, i, value);
    return CheckGivenName(path, value);
  }
  return {Code::kInternal, path + " is of a type that nobody checks"};
}

// Lists of texts are of names, each of which is in it once.
void KeepEachOnce(const FieldDescriptor& field, Message* message) {
  const Reflection& reflection = *message->GetReflection();
  std::set<std::string> seen;
  int kept = 0;
  for (int i = 0; i < reflection.FieldSize(*message, &field); ++i) {
    if (!seen.insert(reflection.GetRepeatedString(*message, &field, i)).second) continue;
    reflection.SwapElements(message, &field, i, kept++);
  }
  while (reflection.FieldSize(*message, &field) > kept) reflection.RemoveLast(message, &field);
}

}  // namespace

Status CheckItem(const std::string& path, Message* message) {
  const Reflection& reflection = *message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(*message, &fields);
  for (const FieldDescriptor* const field : fields) {
    const std::string at = path + "." + std::string(field->name());
    if (!field->is_repeated()) {
      HEADWAY_RETURN_IF_ERROR(CheckField(at, *field, message));
      continue;
    }
    const int count = reflection.FieldSize(*message, field);
    for (int i = 0; i < count; ++i) {
      HEADWAY_RETURN_IF_ERROR(CheckElement(at + "[" + std::to_string(i) + "]", *field, i, message));
    }
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) KeepEachOnce(*field, message);
  }
  return OkStatus();
}

void CopyFields(const Message& from, std::span<const std::string_view> names, Message* to) {
  const std::unique_ptr<Message> only(from.New());
  only->CopyFrom(from);
  const google::protobuf::Descriptor& type = *from.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* const field = type.field(i);
    const bool named = IsOneOf(field->name(), names);
    Message* const cleared = named ? to : only.get();
    cleared->GetReflection()->ClearField(cleared, field);
  }
  only->GetReflection()->MutableUnknownFields(only.get())->Clear();
  to->MergeFrom(*only);
}

Status UpdateFields(const Message& values,
                    const google::protobuf::RepeatedPtrField<std::string>& mask,
                    std::span<const std::string_view> settable, Message* item) {
  std::vector<std::string_view> names;
  const google::protobuf::Descriptor& type = *values.GetDescriptor();
  if (mask.empty()) {
    std::vector<const FieldDescriptor*> given;
    values.GetReflection()->ListFields(values, &given);
    for (const std::string_view name : settable) {
      if (std::ranges::find(given, type.FindFieldByName(std::string(name))) != given.end()) {
        names.push_back(name);
      }
    }
  }
  for (const std::string& path : mask) {
    if (path == "*") {
      names.assign(settable.begin(), settable.end());
      continue;
    }
    if (!IsOneOf(path, settable)) {
      std::string all;
      for (const std::string_view name : settable) all.append(all.empty() ? "" : ", ").append(name);
      return Bad("update_mask: \"" + path + "\" can't be set; there are " + all);
    }
    names.emplace_back(path);
  }
  CopyFields(values, names, item);
  return OkStatus();
}

}  // namespace headway::server
