#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ledger/compat/entry.h"
#include "ledger/compat/step_table.h"

namespace headway::compat {

/// How long each step took, from its start to the next number's start.
class StepTimes {
 public:
  explicit StepTimes(const EntryLog* log) : log_(log) {}

  /// Takes the entries up to `end`. O(1) an entry.
  void TakeUpTo(std::size_t end);
  /// Seconds by step; a repeated step has its last time, at its first place.
  const StepTable& seconds() const { return seconds_; }

 private:
  const EntryLog* log_;
  std::size_t taken_ = 0;
  std::optional<StepTable::Item> previous_;
  StepTable seconds_;
};

/// The mean of the times up to median + 3 * (median absolute deviation), those below one second
/// left out. nullopt when that leaves none. O(n).
std::optional<double> IdealStepTime(std::span<const double> seconds);

/// The same for a table.
std::optional<double> IdealStepTime(const StepTable& seconds);

/// The one number that is uploaded of all steps: how far the last hundred are off `ideal` (their
/// 90th percentile), less the median of the thousand before them. nullopt without a step. O(n).
std::optional<double> StepDeviation(const StepTable& seconds, double ideal);

}  // namespace headway::compat
