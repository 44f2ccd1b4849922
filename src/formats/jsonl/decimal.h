#pragma once

#include <cstdint>
#include <string_view>

/// Numbers of an event file, read exactly from their text and never through a double.
///
/// Pure functions; any thread. Cost: linear in the length of the token, no allocation.

namespace headway::jsonl {

enum class NumberError : std::uint8_t {
  kNone = 0,
  kSyntax,      ///< not a JSON number
  kNotInteger,  ///< an integer was asked for and a fraction remains
  kRange,       ///< beyond +-(2^63 - 1)
};

/// Whether `token` is a number by JSON's grammar: no leading zeros, no "+", no bare ".".
bool IsNumber(std::string_view token);

/// `token` seconds as integer nanoseconds, rounded to nearest, ties away from zero. Exponents are
/// exact ("1.7e9"). On an error `*nanoseconds` is left alone. Never yields the value of kNoTime.
NumberError ParseSeconds(std::string_view token, std::int64_t* nanoseconds);

/// `token` as an integer; "5.0" and "5e3" are integers, "5.5" is not.
NumberError ParseInteger(std::string_view token, std::int64_t* integer);

}  // namespace headway::jsonl
