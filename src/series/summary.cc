#include "series/summary.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/wrapping.h"
#include "series/bytes.h"

namespace headway::series {
namespace {

// The first byte of a summary says what need not be said otherwise.
constexpr std::uint8_t kAllFinite = 1;  // no NaN, no infinity
constexpr std::uint8_t kNoSteps = 2;    // all are without
constexpr std::uint8_t kAllSteps = 4;   // none is without
constexpr std::uint8_t kOneValue = 8;   // max, first and last are the bits of min
constexpr std::uint8_t kFlags = kAllFinite | kNoSteps | kAllSteps | kOneValue;

bool SameBits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

bool IsFinite(double value) {
  constexpr std::uint64_t kExponent = std::uint64_t{0x7ff} << 52;
  return (std::bit_cast<std::uint64_t>(value) & kExponent) != kExponent;
}

std::uint64_t Distance(std::int64_t from, std::int64_t to) {
  return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}
std::int64_t At(std::int64_t from, std::uint64_t distance) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(from) + distance);
}

void MergeSteps(std::int64_t min_step, std::int64_t max_step, Summary* summary) {
  if (min_step == kNoStep) return;
  if (summary->min_step == kNoStep) {
    summary->min_step = min_step;
    summary->max_step = max_step;
    return;
  }
  summary->min_step = std::min(summary->min_step, min_step);
  summary->max_step = std::max(summary->max_step, max_step);
}

void AddSteps(std::span<const std::int64_t> steps, Summary* summary) {
  static_assert(kNoStep == std::numeric_limits<std::int64_t>::min());
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = kNoStep;
  std::uint64_t without = 0;
  for (const std::int64_t step : steps) {
    without += step == kNoStep ? 1 : 0;
    least = std::min(least, step == kNoStep ? std::numeric_limits<std::int64_t>::max() : step);
    most = std::max(most, step);
  }
  summary->stepless_count = without;
  if (without < steps.size()) {
    summary->min_step = least;
    summary->max_step = most;
  }
}

}  // namespace

double Summary::mean() const {
  const std::uint64_t finite = finite_count();
  if (finite == 0) return std::numeric_limits<double>::quiet_NaN();
  return sum / static_cast<double>(finite);
}

Summary Summarize(std::span<const std::int64_t> times_ns, std::span<const std::int64_t> steps,
                  std::span<const double> values) {
  HEADWAY_CHECK(times_ns.size() == values.size());
  HEADWAY_CHECK(steps.empty() || steps.size() == values.size());
  Summary summary;
  summary.count = values.size();
  if (values.empty()) return summary;

  // Four of each, so that none waits for the one before.
  constexpr std::size_t kLanes = 4;
  double least[kLanes], most[kLanes], sum[kLanes] = {};
  std::fill_n(least, kLanes, summary.min);
  std::fill_n(most, kLanes, summary.max);
  std::uint64_t others = 0;
  const auto add = [&](std::size_t lane, double value) {
    if (IsFinite(value)) [[likely]] {
      least[lane] = value < least[lane] ? value : least[lane];
      most[lane] = value > most[lane] ? value : most[lane];
      sum[lane] += value;
    } else {
      ++others;
      summary.nan_count += std::isnan(value) ? 1 : 0;
      summary.plus_inf_count += value > 0 ? 1 : 0;
      summary.minus_inf_count += value < 0 ? 1 : 0;
    }
  };
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(lane, values[i + lane]);
  }
  for (; i < values.size(); ++i) add(0, values[i]);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    summary.min = std::min(summary.min, least[lane]);
    summary.max = std::max(summary.max, most[lane]);
  }
  summary.sum = (sum[0] + sum[1]) + (sum[2] + sum[3]);

  // Times nearly always rise.
  std::size_t first = 0, last = 0;
  std::int64_t min_time = times_ns[0], max_time = times_ns[0];
  for (std::size_t at = 1; at < times_ns.size(); ++at) {
    if (times_ns[at] >= max_time) {
      max_time = times_ns[at];
      last = at;
    } else if (times_ns[at] < min_time) {
      min_time = times_ns[at];
      first = at;
    }
  }
  summary.min_time_ns = min_time;
  summary.max_time_ns = max_time;
  summary.first = values[first];
  summary.last = values[last];

  if (steps.empty()) {
    summary.stepless_count = values.size();
  } else {
    AddSteps(steps, &summary);
  }
  return summary;
}

void Merge(const Summary& other, Summary* summary) {
  if (other.count == 0) return;
  if (summary->count == 0) {
    *summary = other;
    return;
  }
  summary->count += other.count;
  summary->nan_count += other.nan_count;
  summary->plus_inf_count += other.plus_inf_count;
  summary->minus_inf_count += other.minus_inf_count;
  summary->stepless_count += other.stepless_count;
  summary->min = std::min(summary->min, other.min);
  summary->max = std::max(summary->max, other.max);
  summary->sum += other.sum;
  if (other.min_time_ns < summary->min_time_ns) {
    summary->min_time_ns = other.min_time_ns;
    summary->first = other.first;
  }
  if (other.max_time_ns >= summary->max_time_ns) {
    summary->max_time_ns = other.max_time_ns;
    summary->last = other.last;
  }
  MergeSteps(other.min_step, other.max_step, summary);
}

void Move(std::int64_t ns, Summary* summary) {
  if (summary->count == 0) return;
  summary->min_time_ns = WrappingAdd(summary->min_time_ns, ns);
  summary->max_time_ns = WrappingAdd(summary->max_time_ns, ns);
  if (summary->min_time_ns <= summary->max_time_ns) return;
  summary->min_time_ns = std::numeric_limits<std::int64_t>::min();
  summary->max_time_ns = std::numeric_limits<std::int64_t>::max();
}

void AppendSummary(const Summary& summary, std::string* out) {
  PutVarint(out, summary.count);
  if (summary.count == 0) return;
  const bool all_finite = summary.finite_count() == summary.count;
  const bool no_steps = summary.stepless_count == summary.count;
  const bool all_steps = summary.stepless_count == 0;
  const bool one_value = SameBits(summary.max, summary.min) &&
                         SameBits(summary.first, summary.min) &&
                         SameBits(summary.last, summary.min);
  out->push_back(static_cast<char>((all_finite ? kAllFinite : 0) | (no_steps ? kNoSteps : 0) |
                                   (all_steps ? kAllSteps : 0) | (one_value ? kOneValue : 0)));
  if (!all_finite) {
    PutVarint(out, summary.nan_count);
    PutVarint(out, summary.plus_inf_count);
    PutVarint(out, summary.minus_inf_count);
  }
  PutDouble(out, summary.min);
  if (!one_value) {
    PutDouble(out, summary.max);
    PutDouble(out, summary.first);
    PutDouble(out, summary.last);
  }
  PutDouble(out, summary.sum);
  PutSigned(out, summary.min_time_ns);
  PutVarint(out, Distance(summary.min_time_ns, summary.max_time_ns));
  if (no_steps) return;
  if (!all_steps) PutVarint(out, summary.stepless_count);
  PutSigned(out, summary.min_step);
  PutVarint(out, Distance(summary.min_step, summary.max_step));
}

Result<Summary> ParseSummary(std::string_view* bytes) {
  ByteReader in(*bytes);
  Summary summary;
  summary.count = in.Varint();
  if (summary.count > 0) {
    const std::uint8_t flags = in.Byte();
    if ((flags & ~kFlags) != 0) in.Fail();
    if ((flags & kAllFinite) == 0) {
      summary.nan_count = in.Varint();
      summary.plus_inf_count = in.Varint();
      summary.minus_inf_count = in.Varint();
    }
    summary.min = in.Double();
    if ((flags & kOneValue) != 0) {
      summary.max = summary.first = summary.last = summary.min;
    } else {
      summary.max = in.Double();
      summary.first = in.Double();
      summary.last = in.Double();
    }
    summary.sum = in.Double();
    summary.min_time_ns = in.Signed();
    summary.max_time_ns = At(summary.min_time_ns, in.Varint());
    if ((flags & kNoSteps) != 0) {
      summary.stepless_count = summary.count;
    } else {
      if ((flags & kAllSteps) == 0) summary.stepless_count = in.Varint();
      summary.min_step = in.Signed();
      summary.max_step = At(summary.min_step, in.Varint());
    }
    // Counts are counts of some of the points.
    std::uint64_t left = summary.count;
    for (const std::uint64_t some :
         {summary.nan_count, summary.plus_inf_count, summary.minus_inf_count}) {
      if (some > left) in.Fail();
      left -= some;
    }
    if (summary.stepless_count > summary.count || summary.max_time_ns < summary.min_time_ns ||
        summary.max_step < summary.min_step ||
        (summary.min_step == kNoStep) != (summary.stepless_count == summary.count)) {
      in.Fail();
    }
  }
  if (!in.ok()) return Status(Code::kDataLoss, "a summary of points is damaged");
  bytes->remove_prefix(bytes->size() - in.left());
  return summary;
}

}  // namespace headway::series
