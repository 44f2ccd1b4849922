#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "ledger/compat/account.h"
#include "ledger/compat/accountant.h"
#include "ledger/compat/entry.h"
#include "ledger/compat/exclusions.h"
#include "ledger/compat/step_times.h"

namespace headway::compat {

/// Time-weighted means of slices over the whole, 0..1 for sane records.
struct SliceEfficiency {
  double stepping = 0;
  double available = 0;
};

/// What is said about a window; one may be known without the other.
struct WindowAnswer {
  Result<Answer> answer;
  std::optional<SliceEfficiency> efficiency;
};

/// Answers what ml-goodput-measurement 0.2.3 answers, on the same entries. Differences to exact
/// accounting: docs/compat.md. Times are POSIX seconds. Pure; not thread-safe.
class Calculator {
 public:
  explicit Calculator(bool elastic = false) : elastic_(elastic), accountant_(&log_, elastic) {}
  Calculator(const Calculator&) = delete;
  Calculator& operator=(const Calculator&) = delete;

  /// Append to it at will, in the order of the log.
  EntryLog* log() { return &log_; }
  const EntryLog& log() const { return log_; }

  /// The whole job, as of `now`. FailedPrecondition: no total time, or an account that can't be.
  /// O(entries since the last call).
  Result<Answer> Cumulative(double now);

  /// The entries in (from, to]. NotFound: there are none. FailedPrecondition as above.
  /// O(entries).
  WindowAnswer Window(double from, double to) const;

  /// The whole job but for `exclusions` (in order, disjoint). Where nothing is left the total and
  /// the goodput are 0. `step_times` (may be null): what is left of each step. O(entries).
  Answer Without(std::span<const Exclusion> exclusions, double now, StepTable* step_times);

  /// Times of all steps so far.
  const StepTable& StepSeconds();

  /// Over [from, to); nullopt without a record of slices.
  std::optional<SliceEfficiency> Efficiency(double from, double to) const;

  /// The first job start, as `datetime` keeps it.
  std::optional<double> JobStart();

 private:
  double Total(double now);

  const bool elastic_;
  EntryLog log_;
  Accountant accountant_;
  StepTimes step_times_{&log_};
  std::size_t noted_ = 0;  // entries before it have been looked at for job start and end
  std::optional<double> job_start_, job_end_;
};

}  // namespace headway::compat
