#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Text as people read it: durations, percentages, counts, and strings that fit into columns. Pure.

namespace headway {

/// "12 d 04:31:07", "4:31:07", "0:01:04", "2.871 s", "0.871 ms", "15 ns". Rounded to what is shown.
std::string ShowDuration(std::int64_t ns);
/// "–" when it is not known.
std::string ShowDuration(std::optional<std::int64_t> ns);

/// "2026-01-01 00:01:04": UTC, whole seconds.
std::string ShowTime(std::int64_t wall_ns);

/// "1,234,567".
std::string ShowCount(std::int64_t count);
std::string ShowCount(std::optional<std::int64_t> count);

/// "16.0 MiB".
std::string ShowBytes(std::uint64_t bytes);

/// "37.50 %" of a share 0..1.
std::string ShowPercent(double share);

/// What part of their sum each of `parts` is, in hundredths of a percent that add up to exactly
/// 100.00 % (largest remainders are rounded up). `parts` are not negative. All 0 when their sum is.
std::vector<std::int64_t> PercentHundredths(const std::vector<std::int64_t>& parts);
/// "37.50 %" of 3750.
std::string ShowHundredths(std::int64_t hundredths);

/// `text` without what could move the cursor or change the terminal: control characters and bytes
/// that are no UTF-8 become "\xNN" or U+FFFD. Line feeds stay.
std::string Printable(std::string_view text);
/// The same for a cell of a table: line feeds and tabs too are made visible.
std::string PrintableLine(std::string_view text);

/// Columns that `text` takes on a terminal (wide East Asian characters take two).
std::size_t DisplayWidth(std::string_view text);

/// `text` cut to at most `width` columns, with "…" in the place of what is missing.
std::string Shorten(std::string_view text, std::size_t width);

/// `text` filled with blanks to `width` columns.
std::string PadRight(std::string_view text, std::size_t width);
std::string PadLeft(std::string_view text, std::size_t width);

/// `text` broken at blanks into lines of at most `width` columns; every line but the first begins
/// with `indent` blanks, which count. A word that is too long stands alone. No line feed at the
/// end.
std::string Wrap(std::string_view text, std::size_t width, std::size_t indent);

/// `text` for the place right of something that takes `column` columns: broken into lines of
/// `width` - `column` columns, every line but the first begins with `column` blanks.
std::string WrapBeside(std::string_view text, std::size_t width, std::size_t column);

/// The candidate with the fewest edits away from `word`; empty when none is close.
std::string Closest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace headway
