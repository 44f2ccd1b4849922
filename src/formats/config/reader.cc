#include "formats/config/reader.h"

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/json_writer.h"
#include "base/limits.h"
#include "formats/jsonl/decimal.h"

namespace headway::config {
namespace {

namespace ondemand = simdjson::ondemand;
using Kind = ConfigValue::Kind;

class Reader {
 public:
  Result<ConfigValue> Read(std::string_view json) {
    const simdjson::padded_string padded(json);
    ondemand::parser parser;
    ondemand::document document;
    simdjson::error_code error = parser.iterate(padded).get(document);
    const bool opened = error == simdjson::SUCCESS;  // else the document has no place
    ConfigValue value;
    if (opened) {
      ondemand::object object;
      error = document.get_object().get(object);
      if (error == simdjson::INCORRECT_TYPE) {
        return Status(Code::kInvalidArgument, "it is no JSON object");
      }
      if (error == simdjson::SUCCESS) error = Object(object, 1, &value);
      const char* rest = nullptr;
      if (error == simdjson::SUCCESS &&
          document.current_location().get(rest) != simdjson::OUT_OF_BOUNDS) {
        return Status(Code::kInvalidArgument, "it goes on behind its JSON object");
      }
    }
    if (too_deep_ || error == simdjson::DEPTH_ERROR) {
      return Status(Code::kInvalidArgument,
                    "it is nested deeper than " + std::to_string(limits::kJsonDepth) + " levels");
    }
    if (too_many_) {
      return Status(Code::kResourceExhausted,
                    "it has more than " + std::to_string(limits::kConfigValues) + " values");
    }
    if (error == simdjson::UTF8_ERROR) {
      return Status(Code::kInvalidArgument, "it is not valid UTF-8");
    }
    if (error != simdjson::SUCCESS) {
      std::string where;
      const char* at = nullptr;
      if (opened && document.current_location().get(at) == simdjson::SUCCESS &&
          at >= padded.data() && at <= padded.data() + padded.size()) {
        where = " at byte " + std::to_string(at - padded.data());
      }
      return Status(Code::kInvalidArgument, "it is no valid JSON" + where);
    }
    return value;
  }

 private:
  simdjson::error_code Object(ondemand::object object, int depth, ConfigValue* out) {
    out->kind = Kind::kObject;
    std::unordered_map<std::string, std::size_t> places;
    for (auto field : object) {
      std::string_view key;
      if (const auto error = field.unescaped_key().get(key)) return error;
      std::string name(key);  // what it lies in is used again
      ondemand::value inner;
      if (const auto error = field.value().get(inner)) return error;
      ConfigValue value;
      if (const auto error = Value(inner, depth, &value)) return error;
      const auto [place, fresh] = places.emplace(name, out->items.size());
      if (fresh) {
        out->keys.push_back(std::move(name));
        out->items.push_back(std::move(value));
      } else {
        Update(&out->items[place->second], std::move(value));
      }
    }
    return simdjson::SUCCESS;
  }

  simdjson::error_code Array(ondemand::array array, int depth, ConfigValue* out) {
    out->kind = Kind::kArray;
    for (auto item : array) {
      ondemand::value inner;
      if (const auto error = item.get(inner)) return error;
      if (const auto error = Value(inner, depth, &out->items.emplace_back())) return error;
    }
    return simdjson::SUCCESS;
  }

  // `depth`: of what it lies in.
  simdjson::error_code Value(ondemand::value value, int depth, ConfigValue* out) {
    if (++values_ > limits::kConfigValues) {
      too_many_ = true;
      return simdjson::CAPACITY;
    }
    ondemand::json_type type;
    if (const auto error = value.type().get(type)) return error;
    switch (type) {
      case ondemand::json_type::object: {
        if (depth >= limits::kJsonDepth) return TooDeep();
        ondemand::object object;
        if (const auto error = value.get_object().get(object)) return error;
        return Object(object, depth + 1, out);
      }
      case ondemand::json_type::array: {
        if (depth >= limits::kJsonDepth) return TooDeep();
        ondemand::array array;
        if (const auto error = value.get_array().get(array)) return error;
        return Array(array, depth + 1, out);
      }
      case ondemand::json_type::string: {
        std::string_view text;
        if (const auto error = value.get_string().get(text)) return error;
        out->text.clear();
        AppendJsonString(text, &out->text);
        return simdjson::SUCCESS;
      }
      case ondemand::json_type::number: {
        const std::string_view token = TrimRight(value.raw_json_token());
        if (!jsonl::IsNumber(token)) return simdjson::NUMBER_ERROR;
        out->text = token;
        return simdjson::SUCCESS;
      }
      case ondemand::json_type::boolean: {
        bool truth = false;
        if (const auto error = value.get_bool().get(truth)) return error;
        out->text = truth ? "true" : "false";
        return simdjson::SUCCESS;
      }
      case ondemand::json_type::null: {
        bool null = false;
        if (const auto error = value.is_null().get(null)) return error;
        return null ? simdjson::SUCCESS : simdjson::N_ATOM_ERROR;
      }
      default: return simdjson::TAPE_ERROR;
    }
  }

  simdjson::error_code TooDeep() {
    too_deep_ = true;
    return simdjson::DEPTH_ERROR;
  }

  static std::string_view TrimRight(std::string_view text) {
    const std::size_t last = text.find_last_not_of(" \t\r\n");
    return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
  }

  std::uint64_t values_ = 0;
  bool too_deep_ = false;
  bool too_many_ = false;
};

}  // namespace

Result<ConfigValue> ReadConfig(std::string_view json) { return Reader().Read(json); }

}  // namespace headway::config
