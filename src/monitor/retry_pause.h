#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace headway::monitor {

/// When to try again after something failed that another try can help: doubling from a quarter of
/// a second to a minute, each up to a quarter shorter, so that a thousand jobs don't come at once.
/// What a server asks for (Retry-After) outweighs it, up to an hour. Not thread-safe.
class RetryPause {
 public:
  static constexpr std::int64_t kFirstNs = kNanosPerSecond / 4;
  static constexpr std::int64_t kLongestNs = 60 * kNanosPerSecond;
  static constexpr std::int64_t kLongestAskedNs = 3600 * kNanosPerSecond;

  explicit RetryPause(const Clock* clock)
      : clock_(clock), random_(static_cast<std::uint64_t>(clock->Wall().ns)) {}

  /// No try is due before it.
  MonoNs next() const { return next_; }

  void Failed(std::optional<std::int64_t> asked_ns) {
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;  // Knuth, MMIX
    const auto part = static_cast<std::int64_t>(random_ >> 56);       // 0..255
    const std::int64_t own_ns = pause_ns_ - pause_ns_ / 1024 * part;
    pause_ns_ = std::min(2 * pause_ns_, kLongestNs);
    asked_ = clock_->Mono() + std::min(asked_ns.value_or(0), std::int64_t{kLongestAskedNs});
    next_ = std::max(asked_, clock_->Mono() + own_ns);
  }
  void Succeeded() {
    pause_ns_ = kFirstNs;
    next_ = asked_ = {};
  }
  /// There will be no other chance: only what the server has asked for is waited for.
  void Hurry() {
    pause_ns_ = kFirstNs;
    next_ = asked_;
  }

 private:
  const Clock* clock_;
  std::uint64_t random_;
  std::int64_t pause_ns_ = kFirstNs;
  MonoNs next_{}, asked_{};
};

}  // namespace headway::monitor
