#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ledger/intake.h"
#include "ledger/view.h"
#include "model/report.h"

namespace headway::ledger {

/// A whole run seen from one instant: its attempts side by side, which of their steps were kept,
/// and what interrupted them. Built anew for each question from what the attempts have derived.
class RunView {
 public:
  /// `as_of` must not lie before the last record. `supervised`: the run will be restarted.
  RunView(Intake* intake, std::int64_t as_of, bool supervised);

  bool empty() const { return attempts_.empty(); }
  std::int64_t begin() const { return begin_; }  // net
  std::int64_t end() const { return end_; }      // net; where elapsed time ends
  RunState state() const { return state_; }
  const std::vector<AttemptView>& attempts() const { return attempts_; }

  /// Sums over [from, to) (net), downtime included.
  Sums Between(std::int64_t from, std::int64_t to) const;

  /// The same cut at `points`, ascending ones from begin() to end(): see AttemptView::Split.
  void Split(std::span<const std::int64_t> points, const AttemptView::Part& part) const;

  /// Fills everything but the header and the categories.
  void Describe(Report* report) const;
  /// Elapsed, categories and what goes with them, for [from, to) in net time.
  void Account(std::int64_t from, std::int64_t to, Report* report) const;
  /// Nothing: there are more than `most`, or it would take as long as if there were.
  std::optional<std::vector<TimelineInterval>> Timeline(std::int64_t from, std::int64_t to,
                                                        std::size_t most) const;
  std::vector<StepSummary> Steps(std::int64_t from, std::int64_t to) const;
  /// Calls `visit(attempt, row, wasted)` for steps that overlap [from, to), in order, until it
  /// returns false.
  using VisitStep = std::function<bool(std::int64_t, const Row&, bool)>;
  void VisitSteps(std::int64_t from, std::int64_t to, const VisitStep& visit) const;
  /// Such a step in wall time, with its parts.
  StepSummary Summarize(std::int64_t attempt, const Row& row, bool wasted) const;

 private:
  struct Fate {
    bool disrupted = false;
    std::size_t disruption = 0;            // its number, when disrupted
    std::optional<std::size_t> successor;  // next attempt with a step
  };
  struct SegmentRef {
    std::size_t attempt = 0;
    std::size_t segment = 0;
  };

  bool CountedBackwards(const Attempt& attempt, const Attempt& next) const;
  static bool EndedWell(const AttemptView& view);
  void LayOut(std::int64_t as_of, bool supervised);
  void Judge(std::int64_t as_of);
  void Retain();
  void Charge();
  /// Whether a crash at `wall` falls into excluded time; without an end that reaches up to as-of.
  bool Excluded(std::int64_t wall, std::int64_t as_of) const;
  bool PresumedLost(const Attempt& attempt, std::int64_t as_of) const;
  void DescribeSteps(Report* report) const;
  void DescribeDisruptions(Report* report) const;
  void DescribeCheckpoints(Report* report) const;
  void DescribeNotes(Report* report) const;
  bool InputBound() const;

  Intake* intake_;
  const RunContext* context_;
  std::vector<AttemptView> attempts_;
  std::vector<Fate> fates_;            // [num_attempts]
  std::vector<SegmentRef> order_;      // all segments, in order
  std::vector<std::int64_t> charged_;  // [num_disruptions] wasted by each
  std::vector<Rollback> rollbacks_;
  std::int64_t begin_ = 0, end_ = 0;
  std::int64_t as_of_ = 0;
  RunState state_ = RunState::kNotStarted;  // as long as there is no attempt
  NoteCounts notes_;
  double overlap_s_ = 0;  // of clock_overlap: all overlaps together
};

}  // namespace headway::ledger
