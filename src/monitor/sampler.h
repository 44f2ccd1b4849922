#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "ledger/compat/calculator.h"
#include "ledger/compat/translator.h"
#include "ledger/lead_place.h"
#include "monitor/sample.h"
#include "runs/growing_run.h"

namespace headway::monitor {

/// How numbers in the incumbent's words are made.
struct Accounting {
  bool exact = false;                  ///< by the ledger; else as the incumbent does
  bool elastic = false;                ///< with what its calculator for elastic jobs adds
  std::optional<double> ideal_step_s;  ///< in place of the one computed
};

/// What a sample is to hold.
struct Wanted {
  bool whole = false;                 ///< what is said of the whole run
  std::vector<std::int64_t> windows;  ///< seconds
  bool step_deviations = false;
  bool log = false;  ///< what the incumbent would have written down
};

/// Makes samples of a run while it is recorded. One thread; only reads.
class Sampler {
 public:
  /// `reader` reads the run of that name and project, and must outlive it.
  Sampler(runs::GrowingRun* reader, std::string project, std::string run,
          const Accounting& accounting);

  /// Reads what was recorded of the run up to `at`; of a run of which no process lives, all of it.
  /// NotFound: nothing has been recorded yet.
  Status Refresh(WallNs at, WallNs now) { return reader_->Refresh(at.ns, now.ns + kClockErrorNs); }

  /// What is known `at` that time, which is now or a little ago: of a living run nothing counts
  /// that was recorded later. O(what is new) where times do not go back. `problem` (may be null)
  /// says why there are no figures, where there are none.
  Sample Take(WallNs at, WallNs now, const Wanted& wanted, Status* problem);

 private:
  // Beyond it a time that has not come yet is none.
  static constexpr std::int64_t kClockErrorNs = 60 * kNanosPerSecond;

  void Account(std::int64_t until, std::int64_t future);
  bool ReadOn(std::int64_t until, std::int64_t future);
  void AddLog(Sample* sample);
  void FindIdealStep(const Report& whole);
  void AddWhole(const ledger::Query& query, Report report, Sample* sample, Status* problem);
  void AddWindow(std::int64_t seconds, const ledger::Query& query, Sample* sample);
  void AddStepDeviations(Sample* sample);

  runs::GrowingRun* reader_;
  std::string project_;
  std::string run_;
  Accounting accounting_;
  int starts_ = 0;
  // Their log, as far as it was read, and how far that is.
  std::unique_ptr<compat::Calculator> calculator_;
  std::optional<compat::Translator> translator_;
  ledger::LeadPlace place_;
  std::int64_t latest_ = kNoTime;
  std::int64_t edition_ = 0;
  // Entries before those that a process made which only leads until its leader is heard of.
  std::size_t settled_ = 0;
  std::shared_ptr<const compat::EntryLog> log_;  // as last handed out
  std::optional<double> ideal_step_s_;           // as of the last sample
  std::vector<compat::StepTable::Item> told_;    // seconds by step, as told
};

}  // namespace headway::monitor
