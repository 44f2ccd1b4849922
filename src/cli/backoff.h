#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace headway::cli {

/// How long to wait before the next restart: doubling, so that a program that can't start does not
/// keep a machine busy, and from the beginning again after it has lived for a while. Pure.
class Backoff {
 public:
  static constexpr std::int64_t kLongestNs = 30 * kNanosPerSecond;
  static constexpr std::int64_t kLongLifeNs = 600 * kNanosPerSecond;

  explicit Backoff(std::int64_t first_ns) : first_ns_(first_ns), next_ns_(first_ns) {}

  /// The pause after an attempt that lived for `lived_ns`.
  std::int64_t After(std::int64_t lived_ns) {
    if (lived_ns >= kLongLifeNs) next_ns_ = first_ns_;
    const std::int64_t pause = std::min(next_ns_, std::max(kLongestNs, first_ns_));
    next_ns_ = std::min(next_ns_ > INT64_MAX / 2 ? INT64_MAX : next_ns_ * 2,
                        std::max(kLongestNs, first_ns_));
    return pause;
  }

 private:
  std::int64_t first_ns_;
  std::int64_t next_ns_;
};

}  // namespace headway::cli
