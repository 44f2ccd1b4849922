#include "series/quantile_sketch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/limits.h"
#include "series/bytes.h"

namespace headway::series {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr auto kCellsMost = static_cast<std::int64_t>(limits::kSketchCells);
constexpr int kMantissaBits = 52;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Cells as the finest ones are numbered.
constexpr std::int64_t kFirstCell = 1 << 6;    // of the smallest normal double
constexpr std::int64_t kEndCell = 0x7ff << 6;  // of infinity
constexpr int kJoinedMost = 6;
static_assert((kEndCell >> kJoinedMost) - (kFirstCell >> kJoinedMost) <= kCellsMost);

}  // namespace

void QuantileSketch::Cells::Cover(std::int64_t from, std::int64_t to) {
  if (counts.empty()) {
    first = from;
    counts.resize(static_cast<std::size_t>(to - from));
    return;
  }
  if (from < first) {
    counts.insert(counts.begin(), static_cast<std::size_t>(first - from), 0);
    first = from;
  }
  if (to > end()) counts.resize(static_cast<std::size_t>(to - first));
}

void QuantileSketch::Cells::Halve() {
  if (counts.empty()) return;
  const std::int64_t from = first >> 1;
  const std::int64_t to = ((end() - 1) >> 1) + 1;
  std::vector<std::uint64_t> joined(static_cast<std::size_t>(to - from));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    joined[static_cast<std::size_t>(((first + static_cast<std::int64_t>(i)) >> 1) - from)] +=
        counts[i];
  }
  first = from;
  counts = std::move(joined);
}

void QuantileSketch::Halve() {
  ++joined_;
  for (Cells& cells : sides_) cells.Halve();
}

// Makes room for a cell, as numbered after `joined` joinings, which are no more than joined_.
void QuantileSketch::CoverCell(std::size_t side, std::int64_t cell, int joined) {
  for (;;) {
    Cells& cells = sides_[side];
    const std::int64_t at = cell >> (joined_ - joined);
    if (cells.counts.empty() ||
        std::max(cells.end(), at + 1) - std::min(cells.first, at) <= kCellsMost) {
      cells.Cover(at, at + 1);
      return;
    }
    Halve();
  }
}

void QuantileSketch::Add(std::span<const double> values) {
  for (const double value : values) Add(value, 1);
}

void QuantileSketch::Add(double value, std::uint64_t times) {
  if (times == 0) return;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  const auto cell = static_cast<std::int64_t>((bits << 1 >> 1) >> (kMantissaBits - kCellBits));
  if (cell >= kEndCell) {
    if (std::isnan(value)) {
      nan_count_ += times;
    } else {
      (value > 0 ? plus_inf_count_ : minus_inf_count_) += times;
    }
    return;
  }
  const bool none = zero_count_ == 0 && sides_[0].counts.empty() && sides_[1].counts.empty();
  if (none || value < min_) min_ = value;
  if (none || value > max_) max_ = value;
  if (cell < kFirstCell) {
    zero_count_ += times;
    return;
  }
  const std::size_t side = bits >> 63;
  Cells* const cells = &sides_[side];
  auto at = static_cast<std::uint64_t>((cell >> joined_) - cells->first);
  if (at >= cells->counts.size()) [[unlikely]] {
    CoverCell(side, cell, 0);
    at = static_cast<std::uint64_t>((cell >> joined_) - cells->first);
  }
  cells->counts[at] += times;
}

void QuantileSketch::Merge(const QuantileSketch& other) {
  const auto is_empty = [](const QuantileSketch& sketch) {
    return sketch.zero_count_ == 0 && sketch.sides_[0].counts.empty() &&
           sketch.sides_[1].counts.empty();
  };
  if (!is_empty(other)) {
    min_ = is_empty(*this) ? other.min_ : std::min(min_, other.min_);
    max_ = is_empty(*this) ? other.max_ : std::max(max_, other.max_);
  }
  zero_count_ += other.zero_count_;
  nan_count_ += other.nan_count_;
  plus_inf_count_ += other.plus_inf_count_;
  minus_inf_count_ += other.minus_inf_count_;
  while (joined_ < other.joined_) Halve();
  for (std::size_t side = 0; side < 2; ++side) {
    const Cells from = other.sides_[side];  // `other` may be this
    if (from.counts.empty()) continue;
    CoverCell(side, from.first, other.joined_);
    CoverCell(side, from.end() - 1, other.joined_);
    Cells& to = sides_[side];
    for (std::size_t i = 0; i < from.counts.size(); ++i) {
      const std::int64_t cell =
          (from.first + static_cast<std::int64_t>(i)) >> (joined_ - other.joined_);
      to.counts[static_cast<std::size_t>(cell - to.first)] += from.counts[i];
    }
  }
}

std::uint64_t QuantileSketch::count() const {
  std::uint64_t count = zero_count_ + plus_inf_count_ + minus_inf_count_;
  for (const Cells& cells : sides_) {
    count = std::accumulate(cells.counts.begin(), cells.counts.end(), count);
  }
  return count;
}

// Where it is off by the same share of either end.
double QuantileSketch::Middle(std::int64_t cell, int joined) {
  const int shift = kMantissaBits - kCellBits + joined;
  const double low = std::bit_cast<double>(static_cast<std::uint64_t>(cell) << shift);
  const double high = std::bit_cast<double>(static_cast<std::uint64_t>(cell + 1) << shift);
  const double ratio = high == kInfinity ? low / 2 / 0x1p1023 : low / high;
  return low * (2 / (1 + ratio));
}

double QuantileSketch::RelativeError() const {
  const double width = std::ldexp(1.0, joined_ - kCellBits);  // of a cell, by its lower end
  return width / (2 + width);
}

double QuantileSketch::Quantile(double q) const {
  const std::uint64_t all = count();
  if (all == 0 || std::isnan(q)) return kNan;
  const long double place = std::floor(static_cast<long double>(std::clamp(q, 0.0, 1.0)) *
                                       static_cast<long double>(all - 1));
  const std::uint64_t rank = std::min(static_cast<std::uint64_t>(place), all - 1);
  if (rank < minus_inf_count_) return -kInfinity;
  if (all - rank <= plus_inf_count_) return kInfinity;
  if (rank == minus_inf_count_) return min_;
  if (all - rank - 1 == plus_inf_count_) return max_;
  std::uint64_t left = rank - minus_inf_count_;
  const auto within = [&](double value) { return std::clamp(value, min_, max_); };
  const Cells& below = sides_[1];
  for (std::size_t i = below.counts.size(); i-- > 0;) {
    if (left < below.counts[i]) {
      return within(-Middle(below.first + static_cast<std::int64_t>(i), joined_));
    }
    left -= below.counts[i];
  }
  if (left < zero_count_) return 0;
  left -= zero_count_;
  const Cells& above = sides_[0];
  for (std::size_t i = 0; i < above.counts.size(); ++i) {
    if (left < above.counts[i]) {
      return within(Middle(above.first + static_cast<std::int64_t>(i), joined_));
    }
    left -= above.counts[i];
  }
  return max_;
}

void QuantileSketch::AppendTo(std::string* out) const {
  out->push_back(static_cast<char>(kVersion));
  out->push_back(static_cast<char>(joined_));
  for (const std::uint64_t some : {zero_count_, nan_count_, plus_inf_count_, minus_inf_count_}) {
    PutVarint(out, some);
  }
  PutDouble(out, min_);
  PutDouble(out, max_);
  for (const Cells& cells : sides_) {
    PutVarint(out, cells.counts.size());
    if (cells.counts.empty()) continue;
    PutVarint(out, static_cast<std::uint64_t>(cells.first));
    // A 0 is followed by how many more there are.
    for (std::size_t i = 0; i < cells.counts.size(); ++i) {
      PutVarint(out, cells.counts[i]);
      if (cells.counts[i] != 0) continue;
      std::size_t past = i + 1;
      while (past < cells.counts.size() && cells.counts[past] == 0) ++past;
      PutVarint(out, past - i - 1);
      i = past - 1;
    }
  }
}

Result<QuantileSketch> QuantileSketch::Parse(std::string_view bytes) {
  ByteReader in(bytes);
  QuantileSketch sketch;
  if (in.Byte() != kVersion) in.Fail();
  sketch.joined_ = in.Byte();
  if (sketch.joined_ > kJoinedMost) in.Fail();
  for (std::uint64_t* const some : {&sketch.zero_count_, &sketch.nan_count_,
                                    &sketch.plus_inf_count_, &sketch.minus_inf_count_}) {
    *some = in.Varint();
  }
  sketch.min_ = in.Double();
  sketch.max_ = in.Double();
  if (!(std::isfinite(sketch.min_) && std::isfinite(sketch.max_) && sketch.min_ <= sketch.max_)) {
    in.Fail();
  }
  for (Cells& cells : sketch.sides_) {
    const std::uint64_t size = in.Varint();
    if (size == 0) continue;
    const std::uint64_t first = in.Varint();
    const std::uint64_t end = static_cast<std::uint64_t>((kEndCell - 1) >> sketch.joined_) + 1;
    const auto begin = static_cast<std::uint64_t>(kFirstCell >> sketch.joined_);
    if (!in.ok() || size > limits::kSketchCells || first < begin || first > end - size) {
      in.Fail();
      break;
    }
    cells.first = static_cast<std::int64_t>(first);
    cells.counts.resize(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < cells.counts.size() && in.ok(); ++i) {
      cells.counts[i] = in.Varint();
      if (cells.counts[i] != 0) continue;
      const std::uint64_t more = in.Varint();
      if (more >= size - i) in.Fail();
      i += static_cast<std::size_t>(more);
    }
    // They reach as far as they have to.
    if (cells.counts.front() == 0 || cells.counts.back() == 0) in.Fail();
  }
  if (!in.ok() || in.left() != 0) {
    return Status(Code::kDataLoss, "a sketch of quantiles is damaged");
  }
  return sketch;
}

}  // namespace headway::series
