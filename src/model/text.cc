#include "model/text.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "base/clock.h"
#include "base/time_format.h"
#include "base/utf8.h"

namespace headway {
namespace {

constexpr std::int64_t kMicro = 1'000;
constexpr std::int64_t kMilli = 1'000'000;
constexpr std::int64_t kMinute = 60 * kNanosPerSecond;
constexpr std::int64_t kDaySeconds = 86'400;
constexpr std::string_view kUnknown = "–";

template <typename... Values>
std::string Print(const char* format, Values... values) {
  char buffer[96];
  const int size = std::snprintf(buffer, sizeof buffer, format, values...);
  return std::string(buffer, static_cast<std::size_t>(std::max(0, size)));
}

// The first character of valid UTF-8 as a code point.
char32_t Decode(std::string_view text, std::size_t length) {
  const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (length == 1) return byte(0);
  char32_t code = byte(0) & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) code = code << 6 | (byte(i) & 0x3fu);
  return code;
}

bool IsControl(char32_t c) {
  // C0, DEL, C1, and the marks that turn the direction of text around.
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200e && c <= 0x200f) ||
         (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x2028 || c == 0x2029;
}

std::size_t WidthOf(char32_t c) {
  const bool combining = (c >= 0x300 && c <= 0x36f) || (c >= 0x200b && c <= 0x200d) ||
                         (c >= 0xfe00 && c <= 0xfe0f) || c == 0xfeff;
  if (combining) return 0;
  const bool wide = (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
                    (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
                    (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
                    (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) ||
                    (c >= 0x20000 && c <= 0x3fffd);
  return wide ? 2 : 1;
}

std::string MakePrintable(std::string_view text, bool keep_lines) {
  std::string out;
  const std::string valid = ToValidUtf8(text);
  std::string_view rest = valid;
  while (!rest.empty()) {
    const std::size_t length = std::max<std::size_t>(1, Utf8SequenceLength(rest));
    const char32_t c = Decode(rest, length);
    if (IsControl(c) && !(keep_lines && (c == '\n' || c == '\t'))) {
      out += c < 0x100 ? Print("\\x%02x", static_cast<unsigned>(c)) : std::string("\xef\xbf\xbd");
    } else {
      out += rest.substr(0, length);
    }
    rest.remove_prefix(length);
  }
  return out;
}

// Where the first word of `text` ends; a number has its unit with it.
std::size_t WordEnd(std::string_view text) {
  const std::size_t end = text.find(' ');
  if (end == 0 || end == std::string_view::npos) return end;
  if (text[end - 1] < '0' || text[end - 1] > '9') return end;
  const std::string_view next = text.substr(end + 1);
  for (const std::string_view unit : {"ns", "µs", "ms", "s", "%", "bytes", "KiB", "MiB", "GiB"}) {
    if (!next.starts_with(unit)) continue;
    const std::string_view rest = next.substr(unit.size());
    if (rest.empty() || std::string_view(" ,.;:)]").find(rest.front()) != std::string_view::npos) {
      const std::size_t more = rest.find(' ');
      return more == std::string_view::npos ? more : end + 1 + unit.size() + more;
    }
  }
  return end;
}

}  // namespace

std::string ShowDuration(std::int64_t ns) {
  if (ns < 0) {
    return ns == INT64_MIN ? "-" + ShowDuration(INT64_MAX) : "-" + ShowDuration(-ns);
  }
  if (ns == 0) return "0 s";
  if (ns < kMicro) return Print("%d ns", static_cast<int>(ns));
  if (ns < kMilli) return Print("%.3f ms", static_cast<double>(ns) / 1e6);
  // Whether it is a minute is decided by what would be shown: 59.9996 s are 0:01:00.
  if (const std::int64_t millis = ns / kMilli + (ns % kMilli >= kMilli / 2 ? 1 : 0);
      millis < 60'000) {
    return Print("%d.%03d s", static_cast<int>(millis / 1000), static_cast<int>(millis % 1000));
  }
  static_assert(kMinute == 60'000 * kMilli);
  const std::int64_t seconds =
      ns / kNanosPerSecond + (ns % kNanosPerSecond >= kNanosPerSecond / 2 ? 1 : 0);
  const auto hours = static_cast<int>(seconds % kDaySeconds / 3600);
  const auto minutes = static_cast<int>(seconds % 3600 / 60);
  const auto rest = static_cast<int>(seconds % 60);
  if (seconds < kDaySeconds) return Print("%d:%02d:%02d", hours, minutes, rest);
  return Print("%lld d %02d:%02d:%02d", static_cast<long long>(seconds / kDaySeconds), hours,
               minutes, rest);
}

std::string ShowDuration(std::optional<std::int64_t> ns) {
  return ns ? ShowDuration(*ns) : std::string(kUnknown);
}

std::string ShowTime(std::int64_t wall_ns) {
  std::string text = FormatTime(WallNs{wall_ns});
  text.resize(std::min(text.size(), text.find('.')));
  if (const std::size_t t = text.find('T'); t != std::string::npos) text[t] = ' ';
  return text;
}

std::string ShowCount(std::int64_t count) {
  std::string digits = std::to_string(count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

std::string ShowCount(std::optional<std::int64_t> count) {
  return count ? ShowCount(*count) : std::string(kUnknown);
}

std::string ShowBytes(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return Print("%.1f %s", value, kUnits[unit]);
}

std::string ShowPercent(double share) { return Print("%.2f %%", share * 100); }

std::vector<std::int64_t> PercentHundredths(const std::vector<std::int64_t>& parts) {
  using Wide = __int128;
  constexpr std::int64_t kWhole = 100'00;  // hundredths of a percent
  const Wide total = std::accumulate(parts.begin(), parts.end(), Wide{0});
  std::vector<std::int64_t> shown(parts.size(), 0);
  if (total > 0) {
    std::vector<Wide> rest(parts.size());
    std::int64_t missing = kWhole;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Wide scaled = Wide{parts[i]} * kWhole;
      shown[i] = static_cast<std::int64_t>(scaled / total);
      rest[i] = scaled % total;
      missing -= shown[i];
    }
    std::vector<std::size_t> order(parts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&rest](std::size_t a, std::size_t b) { return rest[a] > rest[b]; });
    for (std::size_t i = 0; missing > 0 && i < order.size(); ++i, --missing) ++shown[order[i]];
  }
  return shown;
}

std::string ShowHundredths(std::int64_t hundredths) {
  return Print("%d.%02d %%", static_cast<int>(hundredths / 100),
               static_cast<int>(hundredths % 100));
}

std::string Printable(std::string_view text) { return MakePrintable(text, true); }
std::string PrintableLine(std::string_view text) { return MakePrintable(text, false); }

std::size_t DisplayWidth(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(1, Utf8SequenceLength(text));
    width += WidthOf(Decode(text, length));
    text.remove_prefix(length);
  }
  return width;
}

std::string Shorten(std::string_view text, std::size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::string out;
  std::size_t used = 0;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(1, Utf8SequenceLength(text));
    const std::size_t columns = WidthOf(Decode(text, length));
    if (used + columns > width - 1) break;
    out += text.substr(0, length);
    used += columns;
    text.remove_prefix(length);
  }
  return out + "…";
}

std::string PadRight(std::string_view text, std::size_t width) {
  const std::size_t used = DisplayWidth(text);
  return std::string(text) + std::string(used < width ? width - used : 0, ' ');
}

std::string PadLeft(std::string_view text, std::size_t width) {
  const std::size_t used = DisplayWidth(text);
  return std::string(used < width ? width - used : 0, ' ') + std::string(text);
}

std::string Wrap(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out;
  std::size_t used = 0;
  bool fresh = true;  // nothing stands on this line yet
  while (!text.empty()) {
    const std::size_t blank = WordEnd(text);
    const std::string_view word = text.substr(0, blank);
    text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
    if (word.empty()) continue;
    const std::size_t columns = DisplayWidth(word);
    if (!fresh && used + 1 + columns > width) {
      out += "\n" + std::string(indent, ' ');
      used = indent;
      fresh = true;
    }
    if (!fresh) out += ' ';
    out += word;
    used += columns + (fresh ? 0 : 1);
    fresh = false;
  }
  return out;
}

std::string WrapBeside(std::string_view text, std::size_t width, std::size_t column) {
  constexpr std::size_t kLeast = 20;
  std::string out;
  for (const char c : Wrap(text, std::max(kLeast, width - std::min(width, column)), 0)) {
    out += c;
    if (c == '\n') out += std::string(column, ' ');
  }
  return out;
}

std::string Closest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  // A third of the word may be wrong; more is no typing error any more.
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    std::vector<std::size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= word.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j <= candidate.size(); ++j) {
        const std::size_t change = diagonal + (word[i - 1] == candidate[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
      }
    }
    const bool prefix = word.size() >= 2 && candidate.starts_with(word);
    const std::size_t distance = prefix ? 1 : row.back();
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace headway
