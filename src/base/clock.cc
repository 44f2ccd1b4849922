#include "base/clock.h"

#include <limits>

namespace headway {

const SystemClock& SystemClock::Get() noexcept {
  static const SystemClock clock;
  return clock;
}

ClockAnchor TakeAnchor(const Clock& clock) noexcept {
  ClockAnchor best;
  std::int64_t best_gap = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < 3; ++i) {
    const MonoNs before = clock.Mono();
    const WallNs wall = clock.Wall();
    const MonoNs after = clock.Mono();
    const std::int64_t gap = after - before;
    if (gap < best_gap) {
      best_gap = gap;
      best = {wall, before + gap / 2};
    }
  }
  return best;
}

}  // namespace headway
