#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/record.h"

/// What there is to say about many points of one series in a fixed number of bytes.

namespace headway::series {

/// Of a run of points, or of none. Plain values: any thread.
struct Summary {
  std::uint64_t count = 0;            ///< points, of whatever value
  std::uint64_t nan_count = 0;        ///< of them NaN,
  std::uint64_t plus_inf_count = 0;   ///< +infinity,
  std::uint64_t minus_inf_count = 0;  ///< -infinity: the others are finite
  std::uint64_t stepless_count = 0;   ///< of all points those whose step is kNoStep

  /// Of the finite values; +infinity and -infinity where there are none. Of 0.0 and -0.0 either.
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  /// Of the finite values, added up in some order: the last bits depend on it, and beyond the
  /// largest double it is infinite.
  double sum = 0;

  /// The value at min_time_ns and that at max_time_ns, be it NaN; of several points with that time
  /// the one that was given first, or last. NaN where there are no points.
  double first = std::numeric_limits<double>::quiet_NaN();
  double last = std::numeric_limits<double>::quiet_NaN();
  std::int64_t min_time_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_time_ns = std::numeric_limits<std::int64_t>::min();

  /// Of those that have a step; kNoStep where none has.
  std::int64_t min_step = kNoStep;
  std::int64_t max_step = kNoStep;

  std::uint64_t finite_count() const {
    return count - nan_count - plus_inf_count - minus_inf_count;
  }
  /// Of the finite values; NaN where there are none.
  double mean() const;
};

/// Of points [n], in any order. `steps` is empty where no point has one.
Summary Summarize(std::span<const std::int64_t> times_ns, std::span<const std::int64_t> steps,
                  std::span<const double> values);

/// Adds the points of `other`, as if they had been given after those of `summary`. But for the last
/// bits of `sum` the outcome is that of Summarize over all points, however they are put together.
void Merge(const Summary& other, Summary* summary);

/// The times of its points become later by `ns`, as times of 64 bits that wrap around; then nothing
/// is known of them but that.
void Move(std::int64_t ns, Summary* summary);

/// Appends it in 20 to 120 bytes ("a summary" in docs/formats/series-columns.md), to be read by
/// ParseSummary: every field as it is, bit for bit.
void AppendSummary(const Summary& summary, std::string* out);

/// Reads what AppendSummary wrote from the front of `bytes`, and takes it away from there.
/// DataLoss: it is cut off or says what no summary says; `bytes` is as before then.
Result<Summary> ParseSummary(std::string_view* bytes);

}  // namespace headway::series
