#include "model/attempt_key.h"

#include <charconv>

namespace headway {
namespace {

constexpr char kMark = '~';

// Of "~12".
std::optional<std::uint64_t> NumberOf(std::string_view end) {
  if (end.size() < 2 || end.front() != kMark || end[1] == '0') return std::nullopt;
  std::uint64_t number = 0;
  const char* const last = end.data() + end.size();
  const auto [stop, error] = std::from_chars(end.data() + 1, last, number);
  if (error != std::errc() || stop != last) return std::nullopt;
  return number;
}

}  // namespace

std::string AttemptPartKey(std::string_view key, std::uint64_t part) {
  std::string text(key);
  if (part > 0) text.append(1, kMark).append(std::to_string(part));
  return text;
}

std::optional<std::uint64_t> AttemptPartOf(std::string_view key, std::string_view other) {
  if (!other.starts_with(key)) return std::nullopt;
  if (other.size() == key.size()) return 0;
  return NumberOf(other.substr(key.size()));
}

std::string_view GivenAttemptKey(std::string_view key) {
  const std::size_t mark = key.rfind(kMark);
  if (mark == std::string_view::npos || !NumberOf(key.substr(mark))) return key;
  return key.substr(0, mark);
}

}  // namespace headway
