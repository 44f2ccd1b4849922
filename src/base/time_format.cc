#include "base/time_format.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <limits>

namespace headway {
namespace {

using Wide = __int128;  // sums and products that may leave int64 before they are checked

constexpr std::int64_t kSecondsPerDay = 86400;
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

struct Civil {
  std::int64_t year;
  int month;  // 1..12
  int day;    // 1..31
};

// Proleptic Gregorian calendar, after Howard Hinnant's "chrono-compatible low-level date
// algorithms".
constexpr std::int64_t DaysFromCivil(Civil c) {
  const std::int64_t y = c.month <= 2 ? c.year - 1 : c.year;
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  const std::int64_t year_of_era = y - era * 400;
  const std::int64_t shifted_month = c.month > 2 ? c.month - 3 : c.month + 9;
  const std::int64_t day_of_year = (153 * shifted_month + 2) / 5 + c.day - 1;
  const std::int64_t day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

constexpr Civil CivilFromDays(std::int64_t days) {
  days += 719468;
  const std::int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  const std::int64_t day_of_era = days - era * 146097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted_month = (5 * day_of_year + 2) / 153;
  const auto day = static_cast<int>(day_of_year - (153 * shifted_month + 2) / 5 + 1);
  const auto month = static_cast<int>(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month, day};
}

constexpr int DaysInMonth(std::int64_t year, int month) {
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : kDays[static_cast<std::size_t>(month - 1)];
}

struct Parts {
  Civil date;
  int hour, minute, second;
  std::int64_t nanos;
};

Parts Split(WallNs time) {
  std::int64_t seconds = time.ns / kNanosPerSecond;
  std::int64_t nanos = time.ns % kNanosPerSecond;
  if (nanos < 0) {
    nanos += kNanosPerSecond;
    --seconds;
  }
  std::int64_t days = seconds / kSecondsPerDay;
  std::int64_t rest = seconds % kSecondsPerDay;
  if (rest < 0) {
    rest += kSecondsPerDay;
    --days;
  }
  return {CivilFromDays(days), static_cast<int>(rest / 3600), static_cast<int>(rest / 60 % 60),
          static_cast<int>(rest % 60), nanos};
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Takes exactly `count` digits off the front of `*text`.
bool TakeDigits(std::string_view* text, std::size_t count, int* value) {
  if (text->size() < count) return false;
  int sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!IsDigit((*text)[i])) return false;
    sum = sum * 10 + ((*text)[i] - '0');
  }
  text->remove_prefix(count);
  *value = sum;
  return true;
}

bool TakeChar(std::string_view* text, std::string_view allowed) {
  if (text->empty() || allowed.find(text->front()) == std::string_view::npos) return false;
  text->remove_prefix(1);
  return true;
}

Status BadTime(std::string_view text, std::string_view why) {
  return {Code::kInvalidArgument, "not a time: \"" + std::string(text) + "\" (" + std::string(why) +
                                      "); write 2026-01-31T12:00:00Z, @NANOSECONDS or +1h30m"};
}

Status BadDuration(std::string_view text, std::string_view why) {
  return {Code::kInvalidArgument, "not a duration: \"" + std::string(text) + "\" (" +
                                      std::string(why) + "); write for example 1h30m, 500ms or 2d"};
}

Status TooFar(std::string_view text) {
  return {Code::kOutOfRange, "\"" + std::string(text) + "\" does not fit into 64-bit nanoseconds"};
}

// Takes ".ddd…" off the front; the value in nanoseconds, rounded to nearest, is in 0..1e9.
bool TakeFraction(std::string_view* text, std::int64_t* nanos) {
  *nanos = 0;
  if (text->empty() || (text->front() != '.' && text->front() != ',')) return true;
  text->remove_prefix(1);
  std::size_t digits = 0;
  bool round_up = false;
  while (!text->empty() && IsDigit(text->front())) {
    const int digit = text->front() - '0';
    if (digits < 9) {
      *nanos = *nanos * 10 + digit;
    } else if (digits == 9) {
      round_up = digit >= 5;
    }
    ++digits;
    text->remove_prefix(1);
  }
  if (digits == 0) return false;
  for (std::size_t i = digits; i < 9; ++i) *nanos *= 10;
  if (round_up) ++*nanos;
  return true;
}

// A decimal number times 10^shift, rounded to nearest (halves away from zero).
struct Decimal {
  Wide digits = 0;  // all digits as one integer; saturates far above int64
  int scale = 0;    // digits after the point, less the exponent
};

constexpr Wide kSaturated = Wide{1} << 100;

Wide Scale(Wide value, int shift) {
  for (; shift > 0 && value != 0 && value < kSaturated; --shift) value *= 10;
  bool half_or_more = false;
  for (; shift < 0 && value != 0; ++shift) {
    half_or_more = value % 10 >= 5;
    value /= 10;
  }
  if (shift < 0) half_or_more = false;
  return half_or_more ? value + 1 : value;
}

// Takes digits with an optional point off the front.
bool TakeDecimal(std::string_view* text, Decimal* out) {
  bool any = false;
  bool point = false;
  while (!text->empty()) {
    const char c = text->front();
    if (c == '.' && !point) {
      point = true;
    } else if (IsDigit(c)) {
      any = true;
      if (out->digits < kSaturated) {
        out->digits = out->digits * 10 + (c - '0');
        if (point) ++out->scale;
      } else if (!point) {
        return false;  // longer than anything that fits
      }
    } else {
      break;
    }
    text->remove_prefix(1);
  }
  return any;
}

struct Unit {
  std::string_view name;
  std::int64_t ns;
};
// Longer names first where one begins with another.
constexpr std::array<Unit, 10> kUnits = {{{"ns", 1},
                                          {"us", 1'000},
                                          {"\xc2\xb5s", 1'000},  // micro sign
                                          {"\xce\xbcs", 1'000},  // Greek mu
                                          {"ms", 1'000'000},
                                          {"s", kNanosPerSecond},
                                          {"m", 60 * kNanosPerSecond},
                                          {"h", 3600 * kNanosPerSecond},
                                          {"d", 86400 * kNanosPerSecond},
                                          {"w", 7 * 86400 * kNanosPerSecond}}};

}  // namespace

std::string FormatTime(WallNs time) {
  const Parts p = Split(time);
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%04lld-%02d-%02dT%02d:%02d:%02d.%09lldZ",
                static_cast<long long>(p.date.year), p.date.month, p.date.day, p.hour, p.minute,
                p.second, static_cast<long long>(p.nanos));
  return buffer;
}

std::string FormatCompactTime(WallNs time) {
  const Parts p = Split(time);
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%04lld%02d%02dT%02d%02d%02dZ",
                static_cast<long long>(p.date.year), p.date.month, p.date.day, p.hour, p.minute,
                p.second);
  return buffer;
}

std::string FormatSeconds(std::int64_t ns) {
  const bool negative = ns < 0;
  const std::uint64_t magnitude =
      negative ? std::uint64_t{0} - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  const auto per_second = static_cast<std::uint64_t>(kNanosPerSecond);
  std::string out = negative ? "-" : "";
  out += std::to_string(magnitude / per_second);
  if (const std::uint64_t fraction = magnitude % per_second; fraction != 0) {
    std::string digits = std::to_string(fraction);
    digits.insert(0, 9 - digits.size(), '0');
    digits.erase(digits.find_last_not_of('0') + 1);
    out += "." + digits;
  }
  return out;
}

Result<WallNs> ParseRfc3339(std::string_view whole) {
  std::string_view text = whole;
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!TakeDigits(&text, 4, &year) || !TakeChar(&text, "-") || !TakeDigits(&text, 2, &month) ||
      !TakeChar(&text, "-") || !TakeDigits(&text, 2, &day)) {
    return BadTime(whole, "no date at its start");
  }
  if (!TakeChar(&text, "Tt ") || !TakeDigits(&text, 2, &hour) || !TakeChar(&text, ":") ||
      !TakeDigits(&text, 2, &minute) || !TakeChar(&text, ":") || !TakeDigits(&text, 2, &second)) {
    return BadTime(whole, "no time of day after the date");
  }
  std::int64_t nanos = 0;
  if (!TakeFraction(&text, &nanos)) return BadTime(whole, "no digits after the point");
  std::int64_t offset = 0;
  if (!TakeChar(&text, "Zz")) {
    const bool west = !text.empty() && text.front() == '-';
    int hours = 0, minutes = 0;
    if (!TakeChar(&text, "+-") || !TakeDigits(&text, 2, &hours) || !TakeChar(&text, ":") ||
        !TakeDigits(&text, 2, &minutes)) {
      return BadTime(whole, "neither Z nor an offset at its end");
    }
    if (hours > 23 || minutes > 59) return BadTime(whole, "no such offset");
    offset = (hours * 60 + minutes) * (west ? -60 : 60);
  }
  if (!text.empty()) return BadTime(whole, "something follows the offset");
  if (month < 1 || month > 12) return BadTime(whole, "no such month");
  if (day < 1 || day > DaysInMonth(year, month)) return BadTime(whole, "no such day");
  if (hour > 23 || minute > 59 || second > 60) return BadTime(whole, "no such time of day");
  const Wide seconds = Wide{DaysFromCivil({year, month, day})} * kSecondsPerDay + hour * 3600 +
                       minute * 60 + second - offset;
  const Wide ns = seconds * kNanosPerSecond + (second == 60 ? 0 : nanos);
  if (ns < kMin || ns > kMax) return TooFar(whole);
  return WallNs{static_cast<std::int64_t>(ns)};
}

Result<std::int64_t> ParseDuration(std::string_view whole) {
  std::string_view text = whole;
  bool negative = false;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  if (text.empty()) return BadDuration(whole, "empty");
  if (text == "0") return std::int64_t{0};
  Wide sum = 0;
  while (!text.empty()) {
    Decimal number;
    if (!TakeDecimal(&text, &number)) return BadDuration(whole, "a number is missing");
    const Unit* found = nullptr;
    for (const Unit& unit : kUnits) {
      if (!text.starts_with(unit.name)) continue;
      if (found == nullptr || unit.name.size() > found->name.size()) found = &unit;
    }
    if (found == nullptr) return BadDuration(whole, "a unit is missing");
    text.remove_prefix(found->name.size());
    // The product below is exact; only what lies under a nanosecond is rounded.
    if (number.digits > (Wide{1} << 76)) return TooFar(whole);
    sum += Scale(number.digits * found->ns, -number.scale);
    if (sum > Wide{kMax} + 1) return TooFar(whole);
  }
  if (negative) sum = -sum;
  if (sum < kMin || sum > kMax) return TooFar(whole);
  return static_cast<std::int64_t>(sum);
}

Result<WallNs> ParseTime(std::string_view text, std::optional<WallNs> start) {
  if (text.starts_with('@')) {
    std::int64_t ns = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + 1, end, ns);
    if (error == std::errc::result_out_of_range) return TooFar(text);
    if (error != std::errc() || stop != end) return BadTime(text, "no integer after @");
    return WallNs{ns};
  }
  if (text.starts_with('+')) {
    if (!start) return BadTime(text, "there is no run whose start it could count from");
    const Result<std::int64_t> duration = ParseDuration(text.substr(1));
    if (!duration.ok()) return duration.status();
    std::int64_t sum = 0;
    if (__builtin_add_overflow(start->ns, *duration, &sum)) return TooFar(text);
    return WallNs{sum};
  }
  return ParseRfc3339(text);
}

}  // namespace headway
