#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "series/summary.h"

namespace headway::series {

/// What points are placed by.
enum class Axis : std::uint8_t { kTime, kStep };

/// A stretch of an axis, [from, to), in `buckets` equal parts; where it can't be divided evenly the
/// parts differ by one. Points outside of it, and on the axis of steps those without a step, are
/// left out.
///
/// A chart of any length is made of the summaries of its pieces; a piece is unpacked only where it
/// lies across an edge:
///
///     if (!chart.Add(summary)) chart.Add(times, steps, values);
///
/// `slack` says what lies across an edge *between* buckets and is added whole all the same: a piece
/// that is no longer than this share of a bucket, which then counts where its middle is. 0: every
/// point is in its own bucket. With 1/8 a point is off its bucket by less than 1/8 of one, the
/// buckets' times and steps show by how much, every point is still counted once, and hardly a piece
/// of a long chart is unpacked. At `from` and `to` there is no slack.
///
/// One thread at a time. Memory: a Summary and an edge for each bucket.
class Downsampler {
 public:
  struct Range {
    Axis axis = Axis::kTime;
    std::int64_t from = 0;  ///< nanoseconds since the epoch, or a step
    std::int64_t to = 0;
    std::size_t buckets = 0;
    double slack = 0;  ///< 0 to 1
  };

  /// InvalidArgument: no stretch, no buckets, more than limits::kChartBuckets, or such a slack.
  static Result<Downsampler> Make(const Range& range);

  /// Whether the points behind a summary may be added as a whole: all are in one bucket, or none is
  /// in any, or the slack allows it.
  bool Fits(const Summary& summary) const { return PlaceOf(summary, last_) != kAcross; }

  /// Adds the points behind a summary if it fits; else does nothing, and they have to be given.
  [[nodiscard]] bool Add(const Summary& summary);

  /// Points [n], in any order. `steps` is empty where no point has one.
  void Add(std::span<const std::int64_t> times_ns, std::span<const std::int64_t> steps,
           std::span<const double> values);

  /// [buckets]: what is in each; a count of 0 is an empty one.
  std::span<const Summary> buckets() const { return buckets_; }

  /// Where bucket `index` begins, or, with the number of buckets, where the last one ends.
  std::int64_t EdgeOf(std::size_t index) const { return edges_[index]; }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);    // in no bucket
  static constexpr std::size_t kAcross = static_cast<std::size_t>(-2);  // in more than one

  explicit Downsampler(const Range& range);
  std::size_t PlaceOf(const Summary& summary, std::size_t hint) const;  // a bucket to look at first
  std::size_t BucketOf(std::int64_t place) const;                       // of one within the range

  Range range_;
  std::uint64_t slack_length_ = 0;
  double per_unit_ = 0;              // buckets in a unit of the axis, about
  std::vector<std::int64_t> edges_;  // [buckets + 1]
  std::vector<Summary> buckets_;
  std::size_t last_ = 0;  // bucket of the summary before
};

}  // namespace headway::series
