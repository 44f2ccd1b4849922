#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"

/// Times and durations as people write them. Pure functions of their arguments; UTC only.
///
/// Everything is exact: nanoseconds in, nanoseconds out, over the whole int64 range
/// (1677-09-21T00:12:43.145224192Z to 2262-04-11T23:47:16.854775807Z).

namespace headway {

/// RFC 3339 with nine digits, e.g. "2026-01-01T00:00:00.000000000Z".
std::string FormatTime(WallNs time);

/// "20260101T000000Z": whole seconds, for file names.
std::string FormatCompactTime(WallNs time);

/// `ns` as decimal seconds without a loss: "1.5", "0.000000001", "-3".
std::string FormatSeconds(std::int64_t ns);

/// Parses RFC 3339: date, 'T' (or 't' or a space), time, an optional fraction, 'Z' or an offset.
/// Digits beyond the ninth round to nearest; a leap second (":60") is the next minute's first
/// instant. InvalidArgument for anything else, OutOfRange for what int64 nanoseconds can't hold.
Result<WallNs> ParseRfc3339(std::string_view whole);

/// Parses a duration: one or more numbers with units, e.g. "1h30m", "500ms", "2d", "1.5h", "-10s".
/// Units: ns, us (or µs), ms, s, m, h, d (24 h), w (7 d). A bare "0" is zero; other bare numbers
/// are refused, for nobody can tell their unit. InvalidArgument or OutOfRange.
Result<std::int64_t> ParseDuration(std::string_view whole);

/// Parses a time as the command line takes it: RFC 3339, "@NS" (nanoseconds since the epoch), or
/// "+DUR" from `start` (InvalidArgument when there is no start to count from).
Result<WallNs> ParseTime(std::string_view text, std::optional<WallNs> start = std::nullopt);

}  // namespace headway
