#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/report.h"

namespace headway::ledger {

/// What there is to say about the steps of each of many parts of an axis, see
/// Ledger::MakeStepHistory.
struct StepHistory {
  /// Of a step's work: its time without the spans that block. Within 0.1 %, exact for up to 65,536
  /// steps; 0 without any.
  struct Column {
    std::int64_t count = 0;   ///< complete steps that begin in it
    std::int64_t wasted = 0;  ///< those of them that were lost again
    std::int64_t min_ns = 0, p10_ns = 0, p50_ns = 0, p90_ns = 0, max_ns = 0;
    /// The last step that was started before the column's end, and the highest complete one before
    /// it that counts. Of the axis of time.
    std::optional<std::int64_t> last_step, productive_step;

    friend bool operator==(const Column&, const Column&) = default;
  };
  std::vector<Column> columns;
  /// Of what was asked for, those with most work, the slowest first; no first steps of attempts.
  std::vector<StepSummary> slowest;
};

struct StepQuestion {
  enum class Axis {
    kTime,
    kStep,  ///< steps by their number: those that count
  };
  Axis axis = Axis::kTime;
  /// [columns + 1] Where columns begin, and the end of the last one; ascending. Wall time, or
  /// numbers of steps.
  std::vector<std::int64_t> ends;
  std::size_t slowest = 0;
};

class RunView;
struct RunContext;

/// Ledger::MakeStepHistory of a run that `view` looks at, of [from, to) in net time.
StepHistory MakeStepHistory(const RunView& view, const RunContext& context, std::int64_t from,
                            std::int64_t to, const StepQuestion& question);

}  // namespace headway::ledger
