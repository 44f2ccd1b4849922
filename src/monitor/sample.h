#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ledger/compat/calculator.h"
#include "ledger/compat/figures.h"
#include "model/report.h"

namespace headway::monitor {

/// What is said about a window that ends at a sample's time.
struct WindowSample {
  std::int64_t seconds = 0;      ///< how long the window is
  std::optional<Report> report;  ///< exact; absent: the run has no time in it
  std::optional<compat::Figures>
      figures;  ///< in the incumbent's words, by the accounting asked for
  std::optional<compat::SliceEfficiency> efficiency;
};

/// What is told of a run at one instant. What was not asked for is absent.
struct Sample {
  std::int64_t time_ns = 0;  ///< wall time it is as of
  std::string project;
  std::string run;
  std::int64_t step = 0;  ///< the highest productive step, else the last one started, else 0

  // Of the whole run.
  std::optional<Report> report;  ///< exact, with `run` and `project`
  std::optional<compat::Figures>
      figures;  ///< in the incumbent's words, by the accounting asked for
  std::optional<compat::SliceEfficiency> efficiency;
  std::optional<double> ideal_step_s;  ///< as configured, else as computed
  std::optional<double> deviation_s;   ///< the one number that the incumbent makes of all steps

  /// What the incumbent would have written down so far. Of earlier samples of the same edition it
  /// was the beginning; another edition was made anew.
  std::shared_ptr<const compat::EntryLog> log;
  std::int64_t log_edition = 0;

  std::vector<WindowSample> windows;
  /// Step and how many seconds it is off the ideal step time; each step is told once.
  std::vector<std::pair<std::int64_t, double>> step_deviations;
};

/// Whether the log of `later` holds that of `earlier`, which then need not be kept: it may be
/// large.
inline bool HoldsLogOf(const Sample& later, const Sample& earlier) {
  return later.log != nullptr && earlier.log != nullptr && later.log_edition == earlier.log_edition;
}

}  // namespace headway::monitor
