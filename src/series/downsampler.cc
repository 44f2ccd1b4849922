#include "series/downsampler.h"

#include <algorithm>
#include <string>

#include "base/limits.h"

namespace headway::series {
namespace {

std::uint64_t Distance(std::int64_t from, std::int64_t to) {
  return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}

__extension__ using Wide = unsigned __int128;

}  // namespace

Result<Downsampler> Downsampler::Make(const Range& range) {
  if (range.from >= range.to) {
    return Status(Code::kInvalidArgument, "a chart from " + std::to_string(range.from) + " to " +
                                              std::to_string(range.to) +
                                              " is of nothing: it has to end after it begins");
  }
  if (range.buckets == 0 || range.buckets > limits::kChartBuckets) {
    return Status(Code::kInvalidArgument, "a chart has 1 to " +
                                              std::to_string(limits::kChartBuckets) +
                                              " buckets, not " + std::to_string(range.buckets));
  }
  if (!(range.slack >= 0 && range.slack <= 1)) {
    return Status(Code::kInvalidArgument, "the slack of a chart is between 0 and 1");
  }
  return Downsampler(range);
}

Downsampler::Downsampler(const Range& range)
    : range_(range), edges_(range.buckets + 1), buckets_(range.buckets) {
  const std::uint64_t units = Distance(range.from, range.to);
  const double length = static_cast<double>(units);
  const double buckets = static_cast<double>(range.buckets);
  per_unit_ = buckets / length;
  slack_length_ = static_cast<std::uint64_t>(std::min(range.slack * (length / buckets), 0x1p63));
  for (std::size_t i = 0; i <= range.buckets; ++i) {
    // The first place that is in this bucket: rounded up.
    const Wide place = (static_cast<Wide>(units) * i + (range.buckets - 1)) / range.buckets;
    edges_[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(range.from) +
                                          static_cast<std::uint64_t>(place));
  }
}

// By a guess that is off by one at most, and by edges.
std::size_t Downsampler::BucketOf(std::int64_t place) const {
  const std::uint64_t distance = Distance(range_.from, place);
  const std::size_t last = buckets_.size() - 1;
  auto bucket = std::min(static_cast<std::size_t>(static_cast<double>(distance) * per_unit_), last);
  while (bucket > 0 && place < edges_[bucket]) --bucket;
  while (bucket < last && place >= edges_[bucket + 1]) ++bucket;
  return bucket;
}

std::size_t Downsampler::PlaceOf(const Summary& summary, std::size_t hint) const {
  if (summary.count == 0) return kNone;
  std::int64_t least = summary.min_time_ns;
  std::int64_t most = summary.max_time_ns;
  if (range_.axis == Axis::kStep) {
    if (summary.min_step == kNoStep) return kNone;
    least = summary.min_step;
    most = summary.max_step;
  }
  if (most < range_.from || least >= range_.to) return kNone;
  if (least < range_.from || most >= range_.to) return kAcross;
  // Points without a step have no place on that axis.
  if (range_.axis == Axis::kStep && summary.stepless_count > 0) return kAcross;
  // Pieces come in order.
  if (least >= edges_[hint] && most < edges_[hint + 1]) return hint;
  const std::uint64_t extent = Distance(least, most);
  if (slack_length_ > 0 && extent <= slack_length_) {
    return BucketOf(least + static_cast<std::int64_t>(extent / 2));
  }
  const std::size_t bucket = BucketOf(least);
  return most < edges_[bucket + 1] ? bucket : kAcross;
}

bool Downsampler::Add(const Summary& summary) {
  const std::size_t place = PlaceOf(summary, last_);
  if (place == kAcross) return false;
  if (place != kNone) {
    Merge(summary, &buckets_[place]);
    last_ = place;
  }
  return true;
}

void Downsampler::Add(std::span<const std::int64_t> times_ns, std::span<const std::int64_t> steps,
                      std::span<const double> values) {
  const bool by_step = range_.axis == Axis::kStep;
  if (by_step && steps.empty()) return;
  const std::span<const std::int64_t> places = by_step ? steps : times_ns;
  // By stretches of neighbours that lie in one bucket.
  for (std::size_t i = 0; i < places.size();) {
    const std::int64_t place = places[i];
    if (place < range_.from || place >= range_.to || (by_step && place == kNoStep)) {
      ++i;
      continue;
    }
    const std::size_t bucket = BucketOf(place);
    const std::int64_t begin = edges_[bucket];
    const std::int64_t end = edges_[bucket + 1];
    std::size_t past = i + 1;
    while (past < places.size() && places[past] >= begin && places[past] < end &&
           !(by_step && places[past] == kNoStep)) {
      ++past;
    }
    const std::size_t count = past - i;
    Merge(Summarize(times_ns.subspan(i, count), steps.empty() ? steps : steps.subspan(i, count),
                    values.subspan(i, count)),
          &buckets_[bucket]);
    i = past;
  }
}

}  // namespace headway::series
