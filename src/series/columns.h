#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/status.h"

/// Columns of a metric's points in few bytes (docs/formats/series-columns.md): times, steps and
/// values apart, so that series that were sampled together share one column of times. What comes
/// out is what went in, in its order and bit for bit, whatever it was.
///
/// A column says itself of what kind it is, how many entries it has and whether it is whole.
/// Any thread. Each thread that packs or unpacks keeps about 300 KiB for it until it ends.

namespace headway::series {

/// Put in place of what is in `out`. At most limits::kSeriesColumn entries: more are a bug of the
/// caller's.
void PackTimes(std::span<const std::int64_t> times_ns, std::string* out);
/// Steps may be kNoStep.
void PackSteps(std::span<const std::int64_t> steps, std::string* out);
void PackValues(std::span<const double> values, std::string* out);

/// The entries of a packed column in place of what is in `out`. DataLoss: damaged, of another kind,
/// or made by a later version; `out` is empty then. ResourceExhausted: no memory. Takes no more
/// memory than a column of limits::kSeriesColumn entries, whatever the bytes are.
Status UnpackTimes(std::string_view packed, std::vector<std::int64_t>* out);
Status UnpackSteps(std::string_view packed, std::vector<std::int64_t>* out);
Status UnpackValues(std::string_view packed, std::vector<double>* out);

}  // namespace headway::series
