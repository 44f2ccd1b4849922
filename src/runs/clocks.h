#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/clock.h"
#include "journal/format.h"
#include "runs/runs.h"

namespace headway::runs {

/// Whether two journals, or looks at one, are read with the same anchor.
inline bool SameAnchor(const std::optional<ClockAnchor>& a, const std::optional<ClockAnchor>& b) {
  if (!a || !b) return !a && !b;
  return a->wall == b->wall && a->mono == b->mono;
}

/// What ties the clocks of a run's journals together.
///
/// Journals that one boot of a machine has written share its monotonic clock, so that a system
/// clock that was stepped between them changes neither their order nor the time from one to the
/// next: the newest of them says what the wall time was.
class Clocks {
 public:
  Clocks() = default;
  explicit Clocks(const Run& run) {
    for (const journal::JournalFile& file : run.journals) {
      if (!Ticks(file.header)) continue;
      const auto [newest, fresh] = newest_.try_emplace(file.header.boot_id, file.header.anchor);
      if (!fresh && file.header.anchor.mono > newest->second.mono) {
        newest->second = file.header.anchor;
      }
    }
  }

  /// The anchor to read the journal with; nullopt: its own, for its clock was not stepped since.
  std::optional<ClockAnchor> AnchorOf(const journal::Header& header) const {
    if (!Ticks(header)) return std::nullopt;
    const ClockAnchor& newest = newest_.at(header.boot_id);
    const std::int64_t moved =
        (newest.wall.ns - newest.mono.ns) - (header.anchor.wall.ns - header.anchor.mono.ns);
    if (moved >= -kStepNs && moved <= kStepNs) return std::nullopt;
    return newest;
  }

 private:
  static constexpr std::int64_t kStepNs = kNanosPerSecond;
  static constexpr std::int64_t kFarthest = std::int64_t{1} << 61;  // sums of two don't overflow

  static bool Ticks(const journal::Header& header) {
    auto sane = [](std::int64_t ns) { return -kFarthest < ns && ns < kFarthest; };
    return header.origin != journal::Origin::kImport && !(header.boot_id == BootId()) &&
           sane(header.anchor.wall.ns) && sane(header.anchor.mono.ns);
  }

  std::map<BootId, ClockAnchor> newest_;
};

}  // namespace headway::runs
