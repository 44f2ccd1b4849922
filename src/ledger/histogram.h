#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>

namespace headway::ledger {

/// Log-linear histogram of non-negative durations with removal and merging. A quantile is the mean
/// of its bucket, so its error is below 1/1024 (0.1 %), and none when all values are equal.
/// Add and Remove: O(1). Not thread-safe.
class Histogram {
 public:
  void Add(std::int64_t value) { Change(value, 1); }
  void Remove(std::int64_t value) { Change(value, -1); }

  std::int64_t count() const { return count_; }
  /// Value below or at which a share `q` (0..1] of all values lie; 0 when empty.
  std::int64_t Quantile(double q) const;
  /// Floor-median: the mean of the middle two values for an even count; 0 when empty.
  std::int64_t Median() const;
  /// Floor-median of |value - center|.
  std::int64_t MedianDeviation(std::int64_t center) const;
  /// Mean of the values up to `limit` (whole buckets by their mean); 0 when there are none.
  std::int64_t MeanUpTo(std::int64_t limit) const;

  std::size_t MemoryBytes() const;
  template <typename Ar>
  void Persist(Ar& ar);

 private:
  static constexpr int kSubBits = 10;
  static constexpr int kPages = 64 - kSubBits;
  struct Bucket {
    std::int64_t count = 0;
    std::uint64_t sum_low = 0;  // sum of the values, 128 bits wide
    std::int64_t sum_high = 0;
    std::int64_t Mean() const;
  };
  using Page = std::array<Bucket, std::size_t{1} << kSubBits>;

  void Change(std::int64_t value, std::int64_t sign);
  template <typename Visit>
  void ForEach(Visit&& visit) const;

  std::array<std::unique_ptr<Page>, kPages> pages_;
  std::int64_t count_ = 0;
};

inline void Histogram::Change(std::int64_t value, std::int64_t sign) {
  const auto v = static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0));
  // Page 0 holds 0..1023 exactly, page p holds [2^(p+9), 2^(p+10)) in 1024 equal buckets.
  const int page = v < (1u << kSubBits) ? 0 : static_cast<int>(std::bit_width(v)) - kSubBits;
  auto& slot = pages_[static_cast<std::size_t>(page)];
  if (slot == nullptr) slot = std::make_unique<Page>();
  const std::uint64_t sub = page == 0 ? v : (v >> (page - 1)) - (std::uint64_t{1} << kSubBits);
  Bucket& bucket = (*slot)[sub];
  bucket.count += sign;
  count_ += sign;
  if (sign > 0) {
    bucket.sum_low += v;
    bucket.sum_high += bucket.sum_low < v ? 1 : 0;
  } else {
    bucket.sum_high -= bucket.sum_low < v ? 1 : 0;
    bucket.sum_low -= v;
  }
}

}  // namespace headway::ledger
