#include "server/query_string.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace headway::server {
namespace {

Result<std::string> Decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    unsigned char byte = 0;
    const char* const begin = text.data() + i + 1;
    const char* const end = text.data() + std::min(text.size(), i + 3);
    const auto [stop, error] = std::from_chars(begin, end, byte, 16);
    if (error != std::errc() || stop != begin + 2) {
      return Status(
          Code::kInvalidArgument,
          "the query of the URL has a bad escape: a % that no two hexadecimal digits follow");
    }
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

}  // namespace

Result<std::map<std::string, std::string>> ParseQueryString(std::string_view text) {
  std::map<std::string, std::string> values;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(pair.size() + 1, text.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    Result<std::string> name = Decode(pair.substr(0, equals));
    if (!name.ok()) return name.status();
    Result<std::string> value = Decode(pair.substr(std::min(equals + 1, pair.size())));
    if (!value.ok()) return value.status();
    if (!values.emplace(*name, *std::move(value)).second) {
      return Status(Code::kInvalidArgument, "the URL says " + *name + " twice");
    }
  }
  return values;
}

}  // namespace headway::server
