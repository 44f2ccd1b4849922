#include "base/json_writer.h"

#include <charconv>
#include <cmath>

#include "base/status.h"
#include "base/utf8.h"

namespace headway {

void AppendJsonString(std::string_view text, std::string* out) {
  constexpr char kHex[] = "0123456789abcdef";
  out->push_back('"');
  while (!text.empty()) {
    const char c = text.front();
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) {
      const std::size_t length = Utf8SequenceLength(text);
      if (length == 0) {
        out->append("\xef\xbf\xbd");
        text.remove_prefix(1);
      } else {
        out->append(text.substr(0, length));
        text.remove_prefix(length);
      }
      continue;
    }
    switch (c) {
      case '"': out->append("\\\""); break;
      case '\\': out->append("\\\\"); break;
      case '\b': out->append("\\b"); break;
      case '\f': out->append("\\f"); break;
      case '\n': out->append("\\n"); break;
      case '\r': out->append("\\r"); break;
      case '\t': out->append("\\t"); break;
      default:
        if (byte < 0x20 || byte == 0x7f) {
          out->append("\\u00");
          out->push_back(kHex[byte >> 4]);
          out->push_back(kHex[byte & 15]);
        } else {
          out->push_back(c);
        }
    }
    text.remove_prefix(1);
  }
  out->push_back('"');
}

void JsonWriter::NewLine() {
  if (indent_ <= 0) return;
  out_->push_back('\n');
  out_->append(stack_.size() * static_cast<std::size_t>(indent_), ' ');
}

void JsonWriter::BeforeValue() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (stack_.empty()) {
    HEADWAY_CHECK(!wrote_);  // one value only
  } else {
    HEADWAY_CHECK(stack_.back() == '[');  // in an object a key comes first
    if (wrote_) out_->push_back(',');
    NewLine();
  }
  wrote_ = true;
}

JsonWriter& JsonWriter::Key(std::string_view key) {
  HEADWAY_CHECK(!stack_.empty() && stack_.back() == '{' && !after_key_);
  if (wrote_) out_->push_back(',');
  NewLine();
  AppendJsonString(key, out_);
  out_->append(indent_ > 0 ? ": " : ":");
  wrote_ = true;
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::Open(char kind) {
  BeforeValue();
  out_->push_back(kind);
  stack_.push_back(kind);
  wrote_ = false;
  return *this;
}

JsonWriter& JsonWriter::Close(char open, char close) {
  HEADWAY_CHECK(!stack_.empty() && stack_.back() == open && !after_key_);
  stack_.pop_back();
  if (wrote_) NewLine();
  out_->push_back(close);
  wrote_ = true;
  return *this;
}

JsonWriter& JsonWriter::String(std::string_view text) {
  BeforeValue();
  AppendJsonString(text, out_);
  return *this;
}

JsonWriter& JsonWriter::Int(std::int64_t value) {
  BeforeValue();
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  out_->append(buffer, end);
  return *this;
}

JsonWriter& JsonWriter::Uint(std::uint64_t value) {
  BeforeValue();
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  out_->append(buffer, end);
  return *this;
}

JsonWriter& JsonWriter::Double(double value) {
  if (!std::isfinite(value)) return Null();
  BeforeValue();
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  out_->append(buffer, end);
  return *this;
}

JsonWriter& JsonWriter::Bool(bool value) { return Raw(value ? "true" : "false"); }

JsonWriter& JsonWriter::Null() { return Raw("null"); }

JsonWriter& JsonWriter::Raw(std::string_view json) {
  BeforeValue();
  out_->append(json);
  return *this;
}

}  // namespace headway
