#include "formats/jsonl/line_parser.h"

#include <simdjson.h>

#include <cstring>
#include <utility>

#include "base/limits.h"
#include "formats/jsonl/decimal.h"

namespace headway::jsonl {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::array<std::string_view, kFieldCount> kFieldNames = {
    "ts",      "ts_ns",      "type",      "step",      "name",       "rank",    "writer",
    "attempt", "seq",        "blocking",  "insert_id", "mono",       "mono_ns", "status",
    "signal",  "available",  "active",    "total",     "from",       "to",      "from_ns",
    "to_ns",   "thread",     "begin_seq", "wall_ns",   "value",      "count",   "host",
    "pid",     "world_size", "monotonic", "liveness",  "supervisor", "journal"};

constexpr std::size_t kKeyLengths = 12;  // one more than the longest known key
constexpr std::size_t kKeysOfLength = 8;

/// The known keys by length: [length][i] is an index into kFieldNames, or kFieldCount.
constexpr auto kKeysByLength = [] {
  std::array<std::array<std::uint8_t, kKeysOfLength>, kKeyLengths> table{};
  for (auto& row : table) row.fill(kFieldCount);
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    std::size_t at = 0;
    while (table[kFieldNames[i].size()][at] != kFieldCount) ++at;
    table[kFieldNames[i].size()][at] = static_cast<std::uint8_t>(i);
  }
  return table;
}();

/// Index of a known key, or kFieldCount.
std::size_t FindField(std::string_view key) {
  if (key.size() >= kKeyLengths) return kFieldCount;
  for (const std::uint8_t i : kKeysByLength[key.size()]) {
    if (i == kFieldCount || kFieldNames[i] == key) return i;
  }
  return kFieldCount;
}

std::string_view TrimRight(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r' ||
                           text.back() == '\n')) {
    text.remove_suffix(1);
  }
  return text;
}

enum class Walk : std::uint8_t { kOk, kNotJson, kTooDeep };

Walk WalkValue(ondemand::value value, int depth, Value* out);

Walk WalkObject(ondemand::value value, int depth) {
  ondemand::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return Walk::kNotJson;
  for (auto item : object) {
    ondemand::field field;
    if (std::move(item).get(field) != simdjson::SUCCESS) return Walk::kNotJson;
    if (field.unescaped_key().error() != simdjson::SUCCESS) return Walk::kNotJson;
    Value ignored;
    if (const Walk walk = WalkValue(field.value(), depth, &ignored); walk != Walk::kOk) return walk;
  }
  return Walk::kOk;
}

Walk WalkArray(ondemand::value value, int depth) {
  ondemand::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) return Walk::kNotJson;
  for (auto item : array) {
    ondemand::value element;
    if (std::move(item).get(element) != simdjson::SUCCESS) return Walk::kNotJson;
    Value ignored;
    if (const Walk walk = WalkValue(element, depth, &ignored); walk != Walk::kOk) return walk;
  }
  return Walk::kOk;
}

/// Checks `value` in full (the library alone would skip over what nobody asks for).
Walk WalkValue(ondemand::value value, int depth, Value* out) {
  if (depth >= limits::kJsonDepth) return Walk::kTooDeep;
  const std::string_view token = TrimRight(value.raw_json_token());
  if (token.empty()) return Walk::kNotJson;
  switch (token.front()) {
    case '{': out->kind = ValueKind::kObject; return WalkObject(value, depth + 1);
    case '[': out->kind = ValueKind::kArray; return WalkArray(value, depth + 1);
    case '"':
      out->kind = ValueKind::kString;
      if (token.size() < 2 || token.back() != '"') return Walk::kNotJson;
      out->text = token.substr(1, token.size() - 2);
      if (std::memchr(out->text.data(), '\\', out->text.size()) == nullptr) {
        // Consumed by name: a string the library skips by itself may pass for a key.
        return value.get_raw_json_string().error() == simdjson::SUCCESS ? Walk::kOk
                                                                        : Walk::kNotJson;
      }
      return value.get_string().get(out->text) == simdjson::SUCCESS ? Walk::kOk : Walk::kNotJson;
    case 't': out->kind = ValueKind::kTrue; return token == "true" ? Walk::kOk : Walk::kNotJson;
    case 'f': out->kind = ValueKind::kFalse; return token == "false" ? Walk::kOk : Walk::kNotJson;
    case 'n': out->kind = ValueKind::kNull; return token == "null" ? Walk::kOk : Walk::kNotJson;
    default:
      out->kind = ValueKind::kNumber;
      out->text = token;
      return IsNumber(token) ? Walk::kOk : Walk::kNotJson;
  }
}

}  // namespace

std::string_view FieldName(Field field) { return kFieldNames[static_cast<std::size_t>(field)]; }

std::string_view ValueKindText(ValueKind kind) {
  switch (kind) {
    case ValueKind::kNull: return "null";
    case ValueKind::kFalse: return "false";
    case ValueKind::kTrue: return "true";
    case ValueKind::kNumber: return "a number";
    case ValueKind::kString: return "a string";
    case ValueKind::kObject: return "an object";
    case ValueKind::kArray: return "an array";
  }
  return "";
}

struct LineParser::Impl {
  ondemand::parser parser;
  std::string padded;  // the lines at the end of the text, which lack room behind them
};

LineParser::LineParser() : impl_(std::make_unique<Impl>()) {}
LineParser::~LineParser() = default;

bool LineParser::Fail(std::string_view problem, bool not_json) {
  problem_ = problem;
  not_json_ = not_json;
  return false;
}

bool LineParser::Parse(std::string_view line, std::size_t readable, ParsedLine* out) {
  out->present = 0;
  if (readable - line.size() < simdjson::SIMDJSON_PADDING) {
    impl_->padded.assign(line);
    impl_->padded.append(simdjson::SIMDJSON_PADDING, ' ');
    line = std::string_view(impl_->padded).substr(0, line.size());
    readable = impl_->padded.size();
  }
  ondemand::document document;
  const simdjson::error_code opened =
      impl_->parser.iterate(line.data(), line.size(), readable).get(document);
  if (opened == simdjson::UTF8_ERROR) return Fail("the line is not valid UTF-8", true);
  if (opened != simdjson::SUCCESS) return Fail("the line is not JSON", true);
  ondemand::object object;
  if (document.get_object().get(object) != simdjson::SUCCESS) {
    return Fail("the line is not a JSON object", true);
  }
  for (auto item : object) {
    ondemand::field field;
    if (std::move(item).get(field) != simdjson::SUCCESS) return Fail("the line is not JSON", true);
    const char* begin = field.key().raw();
    const char* end = begin;
    while (*end != '"' && *end != '\\') ++end;
    std::string_view key(begin, static_cast<std::size_t>(end - begin));
    if (*end == '\\' && field.unescaped_key().get(key) != simdjson::SUCCESS) {
      return Fail("the line is not JSON", true);
    }
    Value value;
    switch (WalkValue(field.value(), 1, &value)) {
      case Walk::kOk: break;
      case Walk::kNotJson: return Fail("the line is not JSON", true);
      case Walk::kTooDeep: return Fail("values nest deeper than 64", false);
    }
    const std::size_t known = FindField(key);
    if (known == kFieldCount || value.kind == ValueKind::kNull) continue;
    if ((out->present >> known & 1) != 0) {
      return Fail("the field \"" + std::string(key) + "\" stands twice", false);
    }
    out->present |= std::uint64_t{1} << known;
    out->values[known] = value;
  }
  const char* location = nullptr;
  if (document.current_location().get(location) != simdjson::OUT_OF_BOUNDS) {
    return Fail("the line goes on behind its JSON object", true);
  }
  return true;
}

}  // namespace headway::jsonl
