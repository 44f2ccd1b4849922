#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

/// JsonWriter: writes JSON text (RFC 8259) into a string, without building a tree first.
///
/// Integers are written exactly over the whole 64-bit range, doubles in the shortest form that
/// reads back to the same value, NaN and infinities as null (JSON has no word for them). Strings
/// are escaped; bytes that are not valid UTF-8 become U+FFFD, so the output is always valid UTF-8.
///
///     std::string out;
///     JsonWriter json(&out);
///     json.BeginObject().Key("run").String(name).Key("elapsed_ns").Int(elapsed).EndObject();
///
/// Calls that do not form JSON (a value without its key, an unbalanced end) are bugs of the caller
/// and end the process. Not thread-safe.

namespace headway {

class JsonWriter {
 public:
  /// Appends to `*out`, which must outlive the writer. `indent` > 0 puts every member on a line of
  /// its own, indented by that many spaces a level; 0 writes no white space at all.
  explicit JsonWriter(std::string* out, int indent = 0) : out_(out), indent_(indent) {}

  JsonWriter& BeginObject() { return Open('{'); }
  JsonWriter& EndObject() { return Close('{', '}'); }
  JsonWriter& BeginArray() { return Open('['); }
  JsonWriter& EndArray() { return Close('[', ']'); }

  JsonWriter& Key(std::string_view key);

  JsonWriter& String(std::string_view text);
  JsonWriter& Int(std::int64_t value);
  JsonWriter& Uint(std::uint64_t value);
  JsonWriter& Double(double value);
  JsonWriter& Bool(bool value);
  JsonWriter& Null();
  /// Writes `json`, which must be one valid JSON value, as it is.
  JsonWriter& Raw(std::string_view json);

  /// Key and value in one call.
  JsonWriter& Field(std::string_view key, std::string_view v) { return Key(key).String(v); }
  JsonWriter& Field(std::string_view key, const char* v) { return Key(key).String(v); }
  JsonWriter& Field(std::string_view key, std::same_as<bool> auto v) { return Key(key).Bool(v); }
  JsonWriter& Field(std::string_view key, std::signed_integral auto v) { return Key(key).Int(v); }
  JsonWriter& Field(std::string_view key, std::unsigned_integral auto v)
    requires(!std::same_as<decltype(v), bool>)
  {
    return Key(key).Uint(v);
  }
  JsonWriter& Field(std::string_view key, std::floating_point auto v) { return Key(key).Double(v); }

  /// True once one complete value has been written.
  bool done() const { return stack_.empty() && wrote_; }

 private:
  JsonWriter& Open(char kind);
  JsonWriter& Close(char open, char close);
  void BeforeValue();
  void NewLine();

  std::string* out_;
  int indent_;
  std::string stack_;   // '{' or '[' for each open level
  bool wrote_ = false;  // the current level has a member already
  bool after_key_ = false;
};

/// Appends `text` to `*out` as a JSON string, quotes included. Invalid UTF-8 becomes U+FFFD.
void AppendJsonString(std::string_view text, std::string* out);

}  // namespace headway
