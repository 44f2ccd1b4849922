#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "ledger/row.h"

namespace headway::ledger {

/// A row whose split may still change, with its own copy of its slices.
struct PendingRow {
  Row row;
  std::vector<Slice> slices;
  RowMeasures measures;
  bool settled = false;                  // its split will not change any more
  std::optional<std::int64_t> baseline;  // b it was split with; a first step's when no follower
  std::vector<std::int64_t> followers;   // first steps: productive parts of the next later steps
  bool no_baseline = false;

  template <typename Ar>
  void Persist(Ar& ar) {
    ar(row);
    ar.List(slices);
    ar(measures, settled, baseline);
    ar.List(followers);
    ar(no_baseline);
  }

  /// The row with `slices` pointing into this value.
  Row View() const {
    Row view = row;
    view.slices = slices;
    return view;
  }
};

/// Floor-median: for an even count the floor of the mean of the middle two. Reorders `values`.
std::int64_t FloorMedian(std::vector<std::int64_t>* values);

/// Splits each step's work time into progress, loading, start-up and stall, keeping the attempt's
/// current normal step time (the baseline) as it goes. A plain value: copying it and finishing the
/// copy answers "what if the attempt ended now".
class Splitter {
 public:
  /// `inherited`: the nearest earlier attempt's last baseline.
  void Start(std::optional<std::int64_t> inherited) { inherited_ = inherited; }

  /// Takes the next row with its measures, complete steps and stretches between steps alike, sets
  /// its split, and calls `commit(const Row&, const RowMeasures&)` for every row whose split has
  /// become final, in order.
  template <typename Commit>
  void Add(Row* row, const RowMeasures& measures, const Commit& commit);

  /// An elastic_reinit came before the next step: the baseline starts anew.
  void RestartBaseline();

  /// Splits an in-flight step by what is known; it becomes the last row.
  void AddInFlight(Row row);

  /// No more rows: settles everything that waits. Afterwards `pending()` holds the settled rest.
  void Finish();

  const std::vector<PendingRow>& pending() const { return pending_; }
  /// Gives away the rows that wait.
  std::vector<PendingRow> TakePending();

  /// What later attempts inherit; after Finish, that includes a weak baseline.
  std::optional<std::int64_t> HandedOn() const;
  /// The baseline in force for the next step, provisional ones included.
  std::optional<std::int64_t> InForce() const;
  std::int64_t baseline_shifts() const { return baseline_shifts_; }
  std::int64_t weak_baselines() const { return weak_baselines_; }

  std::size_t MemoryBytes() const;
  template <typename Ar>
  void Persist(Ar& ar);

 private:
  static constexpr std::size_t kWindow = 101;    // steps a baseline is the median of
  static constexpr std::uint64_t kCadence = 32;  // refreshed each time at first, then every 32nd
  static constexpr int kWaiting = 3;             // later steps that form an own baseline
  static constexpr int kShiftStalls = 3;         // stalls in a row that are a new normal
  static constexpr int kShiftExcesses = 32;      // late steps in a row that are one too
  static constexpr std::size_t kFollowers = 5;   // later steps a first step is measured by

  void AddSlow(const Row& row, const RowMeasures& measures);
  bool SplitFast(Row* row, const RowMeasures& measures);
  bool SplitLate(Row* row, const RowMeasures& measures);
  void Split(PendingRow* pending, std::optional<std::int64_t> baseline) const;
  void Observe(const PendingRow& pending);
  void PushWindow(std::int64_t value);
  void RefreshBaseline(std::int64_t value);
  std::int64_t WindowMedian(std::int64_t guess);
  void FormBaseline();
  void SettleWaiting();
  void SettleAllBut(int held);
  PendingRow& AddPending(const Row& row, const RowMeasures& measures);
  void ResolveFirst(PendingRow* first) const;

  template <typename Commit>
  void CommitSettled(const Commit& commit) {
    std::size_t settled = 0;
    while (settled < pending_.size() && pending_[settled].settled) {
      commit(pending_[settled].View(), pending_[settled].measures);
      ++settled;
    }
    if (settled == 0) return;
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(settled));
    for (std::size_t& at : unsettled_) at -= settled;
    for (std::size_t& at : firsts_) at -= settled;
  }

  std::optional<std::int64_t> own_;        // the attempt's own baseline
  std::optional<std::int64_t> inherited_;  // stands in until there is an own one
  std::optional<std::int64_t> weak_;       // stands in when nothing else does
  std::vector<PendingRow> pending_;
  // Positions in `pending_`, ascending, of what keeps rows there.
  std::vector<std::size_t> unsettled_;  // later steps with work time whose split may change
  std::vector<std::size_t> firsts_;     // first steps that look for followers
  int waiting_ = 0;                     // later steps that wait for the own baseline
  int stall_run_ = 0;                   // stalled completed steps in a row
  int excess_run_ = 0;                  // completed later steps with an excess in a row
  std::array<std::int64_t, kWindow> window_{};
  std::size_t window_at_ = 0;   // where the next one goes
  std::uint64_t observed_ = 0;  // steps in the window since the last restart
  std::int64_t usual_ = 0;      // the most work time without an excess over own_
  std::int64_t reach_ = 0;      // how far from own_ the next median is looked for first
  std::int64_t baseline_shifts_ = 0;
  std::int64_t weak_baselines_ = 0;
};

/// What a later step with work time `work` and baseline `b` may last before it has hung.
std::int64_t StallBound(std::int64_t b);

/// Jitter is not lateness: up to a sixteenth above the baseline there is no excess.
inline std::int64_t UsualWork(std::int64_t b) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return b > kMost - b / 16 ? kMost : b + b / 16;
}

inline void Splitter::PushWindow(std::int64_t value) {
  window_[window_at_] = value;
  window_at_ = window_at_ + 1 == kWindow ? 0 : window_at_ + 1;
  observed_ += 1;
  if (observed_ <= kCadence || observed_ % kCadence == 0) RefreshBaseline(value);
}

// Nearly every row. False: it needs more thought, and nothing has been changed.
inline bool Splitter::SplitFast(Row* row, const RowMeasures& measures) {
  if (!row->is_step) return true;
  if (row->first) return false;
  if (measures.work == 0) {
    stall_run_ = excess_run_ = 0;
    return true;
  }
  if (!own_) return false;
  if (measures.work > usual_) return SplitLate(row, measures);
  stall_run_ = excess_run_ = 0;
  PushWindow(measures.work);
  return true;
}

template <typename Commit>
void Splitter::Add(Row* row, const RowMeasures& measures, const Commit& commit) {
  if (pending_.empty() && SplitFast(row, measures)) {
    commit(*row, measures);
    return;
  }
  AddSlow(*row, measures);
  CommitSettled(commit);
}

}  // namespace headway::ledger
