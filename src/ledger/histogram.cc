#include "ledger/histogram.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ledger/persist.h"

namespace headway::ledger {
namespace {

__extension__ using Wide = __int128;
using Weighted = std::pair<std::int64_t, std::int64_t>;  // value, how often

std::int64_t MedianOf(const std::vector<Weighted>& sorted, std::int64_t count) {
  std::int64_t low = 0;
  std::int64_t seen = 0;
  for (const auto& [value, often] : sorted) {
    if (seen < (count + 1) / 2) low = value;
    seen += often;
    if (seen >= count / 2 + 1) return low + (value - low) / 2;
  }
  return low;
}

}  // namespace

std::int64_t Histogram::Bucket::Mean() const {
  const Wide sum = (static_cast<Wide>(sum_high) << 64) + sum_low;
  return static_cast<std::int64_t>(sum / count);
}

template <typename Visit>
void Histogram::ForEach(Visit&& visit) const {
  for (const auto& page : pages_) {
    if (page == nullptr) continue;
    for (const Bucket& bucket : *page) {
      if (bucket.count != 0 && !visit(bucket)) return;
    }
  }
}

std::int64_t Histogram::Quantile(double q) const {
  if (count_ == 0) return 0;
  auto rank = static_cast<std::int64_t>(q * static_cast<double>(count_));
  if (static_cast<double>(rank) < q * static_cast<double>(count_)) rank += 1;
  rank = std::clamp<std::int64_t>(rank, 1, count_);
  std::int64_t seen = 0;
  std::int64_t answer = 0;
  ForEach([&](const Bucket& bucket) {
    seen += bucket.count;
    answer = bucket.Mean();
    return seen < rank;
  });
  return answer;
}

std::int64_t Histogram::Median() const {
  std::vector<Weighted> values;
  ForEach([&](const Bucket& bucket) {
    values.emplace_back(bucket.Mean(), bucket.count);
    return true;
  });
  return MedianOf(values, count_);
}

std::int64_t Histogram::MedianDeviation(std::int64_t center) const {
  std::vector<Weighted> deviations;
  ForEach([&](const Bucket& bucket) {
    const std::int64_t mean = bucket.Mean();
    deviations.emplace_back(mean < center ? center - mean : mean - center, bucket.count);
    return true;
  });
  std::sort(deviations.begin(), deviations.end());
  return MedianOf(deviations, count_);
}

std::size_t Histogram::MemoryBytes() const {
  std::size_t bytes = 0;
  for (const auto& page : pages_) bytes += page == nullptr ? 0 : sizeof(Page);
  return bytes;
}

template <typename Ar>
void Histogram::Persist(Ar& ar) {
  std::uint64_t used = 0;
  ForEach([&used](const Bucket&) { return ++used > 0; });
  ar.Amount(used);
  constexpr std::uint64_t kAll = std::uint64_t{kPages} << kSubBits;
  std::uint64_t at = 0;  // page and bucket
  std::uint64_t before = 0;
  for (std::uint64_t i = 0; i < used && ar.ok(); ++i, ++at) {
    if constexpr (!Ar::kReading) {
      const auto empty = [this](std::uint64_t place) {
        const auto& page = pages_[place >> kSubBits];
        return page == nullptr || (*page)[place & ((1u << kSubBits) - 1)].count == 0;
      };
      while (empty(at)) ++at;
    }
    ar.Near(at, &before);
    if (!ar.Check(at < kAll)) return;
    auto& page = pages_[at >> kSubBits];
    if (page == nullptr) page = std::make_unique<Page>();
    Bucket& bucket = (*page)[at & ((1u << kSubBits) - 1)];
    if constexpr (Ar::kReading) count_ -= bucket.count;
    ar(bucket.count, bucket.sum_low, bucket.sum_high);
    ar.Check(bucket.count > 0 && bucket.count < std::int64_t{1} << 48);
    if constexpr (Ar::kReading) count_ += bucket.count;
  }
}
template void Histogram::Persist(SnapshotWriter& ar);
template void Histogram::Persist(SnapshotReader& ar);

std::int64_t Histogram::MeanUpTo(std::int64_t limit) const {
  Wide sum = 0;
  std::int64_t count = 0;
  ForEach([&](const Bucket& bucket) {
    if (bucket.Mean() > limit) return false;
    sum += (static_cast<Wide>(bucket.sum_high) << 64) + bucket.sum_low;
    count += bucket.count;
    return true;
  });
  return count == 0 ? 0 : static_cast<std::int64_t>(sum / count);
}

}  // namespace headway::ledger
