#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ledger/compat/account.h"
#include "ledger/compat/custom_events.h"
#include "ledger/compat/entry.h"
#include "ledger/compat/step_table.h"

namespace headway::compat {

/// Sums what Orbax reported: the mean over all reports of one step, added up over the steps.
class CheckpointTime {
 public:
  void Add(const Checkpoint& checkpoint);
  double seconds() const;

 private:
  struct Step {
    double sum = 0;
    double reports = 0;
  };
  std::unordered_map<std::string, std::size_t> index_;
  std::vector<Step> steps_;
};

/// The accounting of ml-goodput-measurement 0.2.3, its oddities included (docs/compat.md). Where it
/// goes through everything again for each question, this goes on from where it was.
class Accountant {
 public:
  /// `log`: what the entries refer to. `elastic`: also what its calculator for elastic jobs adds.
  Accountant(const EntryLog* log, bool elastic) : log_(log), elastic_(elastic) {}

  /// Takes what is new in `entries`: those of the last call, and more. O(1) an entry, unless a
  /// custom event turns up that lies within steps taken long before: then it starts over.
  void Take(std::span<const Entry> entries);
  /// What has been taken adds up to. O(steps taken since the last call + checkpoints).
  Account Now();

 private:
  using Interval = std::pair<double, double>;
  /// Part of a segment: the steps between two restarts.
  struct Tally {
    double productive = 0;
    double first = 0;  // of it, the lowest step's
    double wasted = 0;
    std::int64_t steps = 0;
    std::int64_t rest = 0;  // of them, all but the lowest
    std::int64_t max_step = 0;
    std::map<NameId, double> custom;
  };
  /// What the entries have added up to, but for the segment that is open.
  struct Sums {
    double productive = 0;
    Unproductive unproductive;
    std::vector<Restart> restarts;
    std::optional<double> job_start, job_end;
    std::optional<double> init, prep, load;  // begun and not ended
    double init_s = 0, prep_s = 0, load_s = 0;
    bool load_blocks = true;
    std::optional<double> last_load_s;
    CheckpointTime saves, restores;
    std::optional<double> latest_step;  // start
  };
  /// What the elastic calculator adds. It pairs begins and ends in its own way.
  struct Elastic {
    std::unordered_map<NameId, double> waits;
    std::optional<double> reinit, init, prep;
    double slice_down_s = 0, scale_up_s = 0, reinit_s = 0;
    bool any_slice_down = false, any_scale_up = false;
    std::vector<Interval> reinits, inits, preps;
  };

  void TakeOne(const Entry& entry);
  void TakeStep(const Entry& entry);
  void TakeElastic(const Entry& entry);
  void Count(std::size_t from, std::int64_t last, Tally* tally);
  static double Settle(const Tally& tally, std::int64_t last, Unproductive* unproductive);
  void AddElastic(Unproductive* unproductive) const;

  const EntryLog* log_;
  std::size_t taken_ = 0;  // entries before it are in `sums_`
  std::size_t noted_ = 0;  // custom events before it are in `custom_`
  bool elastic_;
  CustomEvents custom_;
  StepTable steps_;  // starts, of the open segment
  Sums sums_;
  Elastic more_;
  Tally open_;  // of the open segment
  std::size_t counted_ = 0;
  std::int64_t lowest_ = 0;  // step of the segment when that was counted
};

}  // namespace headway::compat
