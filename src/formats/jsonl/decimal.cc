#include "formats/jsonl/decimal.h"

#include <algorithm>
#include <limits>

namespace headway::jsonl {
namespace {

/// The digits of a token as they stand: value = 0.<integer><fraction> * 10^(len(integer)+exponent).
struct Decimal {
  bool negative = false;
  std::string_view integer;
  std::string_view fraction;
  std::int64_t exponent = 0;
};

// Larger exponents change nothing: the digits of a line could not bring them back into range.
constexpr std::int64_t kExponentLimit = 1'000'000'000;
constexpr std::int64_t kMostDigits = 19;  // what fits into 64 bits whatever the digits are

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

inline std::string_view TakeDigits(std::string_view* rest) {
  std::size_t length = 0;
  while (length < rest->size() && IsDigit((*rest)[length])) ++length;
  const std::string_view digits = rest->substr(0, length);
  rest->remove_prefix(length);
  return digits;
}

bool TakeExponent(std::string_view* rest, std::int64_t* exponent) {
  rest->remove_prefix(1);
  bool negative = false;
  if (!rest->empty() && (rest->front() == '+' || rest->front() == '-')) {
    negative = rest->front() == '-';
    rest->remove_prefix(1);
  }
  const std::string_view digits = TakeDigits(rest);
  if (digits.empty()) return false;
  std::int64_t magnitude = 0;
  for (const char c : digits) magnitude = std::min(magnitude * 10 + (c - '0'), kExponentLimit);
  *exponent = negative ? -magnitude : magnitude;
  return true;
}

bool Scan(std::string_view token, Decimal* decimal) {
  if (!token.empty() && token.front() == '-') {
    decimal->negative = true;
    token.remove_prefix(1);
  }
  decimal->integer = TakeDigits(&token);
  if (decimal->integer.empty()) return false;
  if (decimal->integer.size() > 1 && decimal->integer.front() == '0') return false;
  if (!token.empty() && token.front() == '.') {
    token.remove_prefix(1);
    decimal->fraction = TakeDigits(&token);
    if (decimal->fraction.empty()) return false;
  }
  if (!token.empty() && (token.front() == 'e' || token.front() == 'E')) {
    if (!TakeExponent(&token, &decimal->exponent)) return false;
  }
  return token.empty();
}

/// round(`token` * 10^`shift`), or kNotInteger where `exact` is asked for and rounding would be
/// due.
NumberError Scale(std::string_view token, std::int64_t shift, bool exact, std::int64_t* out) {
  Decimal decimal;
  if (!Scan(token, &decimal)) return NumberError::kSyntax;
  const auto integers = static_cast<std::int64_t>(decimal.integer.size());
  const auto total = integers + static_cast<std::int64_t>(decimal.fraction.size());
  const auto digit = [&](std::int64_t i) -> int {
    if (i < 0 || i >= total) return 0;
    const auto at = static_cast<std::size_t>(i < integers ? i : i - integers);
    return (i < integers ? decimal.integer[at] : decimal.fraction[at]) - '0';
  };
  std::int64_t first = 0;
  while (first < total && digit(first) == 0) ++first;
  if (first == total) {
    *out = 0;
    return NumberError::kNone;
  }
  const std::int64_t point = integers + decimal.exponent + shift;  // where the result's digits end
  if (point - first > kMostDigits) return NumberError::kRange;
  std::uint64_t magnitude = 0;
  for (std::int64_t i = first; i < point; ++i) {
    magnitude = magnitude * 10 + static_cast<std::uint64_t>(digit(i));
  }
  if (exact) {
    for (std::int64_t i = std::max(point, first); i < total; ++i) {
      if (digit(i) != 0) return NumberError::kNotInteger;
    }
  } else if (digit(point) >= 5) {
    ++magnitude;
  }
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (magnitude > kMost) return NumberError::kRange;
  const auto value = static_cast<std::int64_t>(magnitude);
  *out = decimal.negative ? -value : value;
  return NumberError::kNone;
}

/// Handles what nearly all tokens are: at most 18 digits, a fraction of at most `shift` digits, no
/// exponent, no sign. Returns false for anything else and leaves it to Scale.
bool ScaleShort(std::string_view token, int shift, std::int64_t* out) {
  constexpr std::size_t kShort = 19;
  if (token.empty() || token.size() > kShort) return false;
  if (token.front() == '0' || !IsDigit(token.front())) return false;
  std::uint64_t value = 0;  // 19 digits fit
  int places = -1;          // digits behind the point; -1: no point yet
  for (const char c : token) {
    if (IsDigit(c)) {
      value = value * 10 + static_cast<std::uint64_t>(c - '0');
      if (places >= 0) ++places;
    } else if (c == '.' && places < 0) {
      places = 0;
    } else {
      return false;
    }
  }
  if (places == 0 || places > shift || (places < 0 && token.size() == kShort)) return false;
  for (int i = std::max(places, 0); i < shift; ++i) {
    if (value > std::numeric_limits<std::int64_t>::max() / 10) return false;
    value *= 10;
  }
  *out = static_cast<std::int64_t>(value);
  return true;
}

}  // namespace

bool IsNumber(std::string_view token) {
  Decimal decimal;
  return Scan(token, &decimal);
}

NumberError ParseSeconds(std::string_view token, std::int64_t* nanoseconds) {
  if (ScaleShort(token, 9, nanoseconds)) return NumberError::kNone;
  return Scale(token, 9, false, nanoseconds);
}

NumberError ParseInteger(std::string_view token, std::int64_t* integer) {
  if (ScaleShort(token, 0, integer)) return NumberError::kNone;
  return Scale(token, 0, true, integer);
}

}  // namespace headway::jsonl
