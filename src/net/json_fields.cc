#include "net/json_fields.h"

#include <simdjson.h>

namespace headway::net {
namespace {

void Read(simdjson::dom::object object, const std::string& prefix, int levels, JsonFields* fields) {
  for (const auto& [key, value] : object) {
    const std::string path = prefix + std::string(key);
    switch (value.type()) {
      case simdjson::dom::element_type::STRING: {
        std::string_view text;
        if (value.get_string().get(text) == simdjson::SUCCESS) fields->emplace(path, text);
        break;
      }
      case simdjson::dom::element_type::INT64:
      case simdjson::dom::element_type::UINT64:
      case simdjson::dom::element_type::DOUBLE:
      case simdjson::dom::element_type::BOOL: fields->emplace(path, simdjson::minify(value)); break;
      case simdjson::dom::element_type::OBJECT: {
        simdjson::dom::object inner;
        if (levels > 1 && value.get_object().get(inner) == simdjson::SUCCESS) {
          Read(inner, path + ".", levels - 1, fields);
        }
        break;
      }
      default: break;
    }
  }
}

}  // namespace

Result<JsonFields> ReadJsonFields(std::string_view text) {
  constexpr int kLevels = 4;
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(simdjson::padded_string(text)).get_object().get(object) != simdjson::SUCCESS) {
    return Status(Code::kInvalidArgument, "no JSON object");
  }
  JsonFields fields;
  Read(object, "", kLevels, &fields);
  return fields;
}

Result<std::string> ReadJsonArray(std::string_view text, std::string_view key) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(simdjson::padded_string(text)).get_object().get(object) != simdjson::SUCCESS) {
    return Status(Code::kInvalidArgument, "no JSON object");
  }
  simdjson::dom::array array;
  if (object.at_key(key).get_array().get(array) != simdjson::SUCCESS) return std::string("[]");
  return simdjson::minify(array);
}

std::string_view FieldOf(const JsonFields& fields, std::string_view path) {
  const auto found = fields.find(path);
  return found == fields.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace headway::net
