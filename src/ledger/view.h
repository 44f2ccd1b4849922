#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "ledger/attempt.h"
#include "model/report.h"

namespace headway::ledger {

/// Answers of an attempt that does not change any more, kept from one report to the next. They hold
/// for as long as its cut and what later attempts made of its steps stay the same.
struct ViewCache {
  std::int64_t end = kNoTime;
  bool evident = false;
  bool in_flight_lost = false;
  bool only_step = false;
  std::vector<std::int64_t> keep_below;
  std::optional<Sums> total;
  std::optional<std::int64_t> retained_steps;
  std::map<std::tuple<std::size_t, std::int64_t, std::int64_t>, std::int64_t> progress;
  std::map<std::int64_t, std::optional<std::int64_t>> completions;
  std::optional<std::int64_t> highest_completed{};

  std::size_t MemoryBytes() const;
  template <typename Ar>
  void Persist(Ar& ar);
};

/// One attempt inside a run: its own accounting, cut where the next attempt begins, and what later
/// attempts and rollbacks made of its steps.
class AttemptView {
 public:
  static constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

  AttemptView(const Attempt* attempt, Attempt::Closed closed, const RunContext* context);

  const Attempt& attempt() const { return *attempt_; }
  const Attempt::State& state() const { return closed_.state; }
  const Attempt::Closed& closed() const { return closed_; }
  /// From now on answers are kept in `cache`, and taken from there. After the last change.
  void Keep(ViewCache* cache);

  std::int64_t begin_wall() const { return begin_wall_; }
  std::int64_t begin() const { return begin_; }  // net, like all that follow
  std::int64_t end() const { return end_; }
  bool has_steps() const { return state().any_step; }
  /// Whether the last step started did not complete by its own records.
  bool in_flight() const { return closed_.in_flight; }

  /// Ends the attempt's life at `net` (the next one's start).
  void CutAt(std::int64_t net);

  /// The in-flight step was completed after all: the next attempt went on after it.
  void MarkEvident();
  /// The step is the only one of a run that ended cleanly: its work time is progress.
  void MarkOnlyStep();
  /// The in-flight step's progress is lost without a later step that says so.
  void MarkInFlightLost() { in_flight_lost_ = true; }
  /// Steps of segment `segment` with an index of at least `below` are lost.
  void KeepBelow(std::size_t segment, std::int64_t below);

  std::size_t segments() const { return attempt_->segments().size(); }
  const Segment& segment(std::size_t i) const { return attempt_->segments()[i]; }
  std::int64_t keep_below(std::size_t i) const { return keep_below_[i]; }

  /// Sums over [from, to) with lost progress in wasted_progress. `steps`, `slow` and `outside`
  /// count retained steps only, and those that begin inside.
  Sums Between(std::int64_t from, std::int64_t to) const;
  /// The same cut at `points`, ascending ones from begin() to end(): calls `part(i, bucket, ns)`
  /// for what of [points[i], points[i + 1]) belongs to a bucket, perhaps in several pieces.
  using Part = std::function<void(std::size_t, BucketId, std::int64_t)>;
  void Split(std::span<const std::int64_t> points, const Part& part) const;
  /// The same over the whole life.
  Sums Total() const { return Between(begin_, end_); }
  /// Progress (steps, and phases that share their fate) of the segment's steps with an index in
  /// [from, to), the in-flight step included.
  std::int64_t ProgressOf(std::size_t segment, std::int64_t from, std::int64_t to) const;
  /// Progress of the in-flight step alone.
  std::int64_t InFlightProgress() const;
  /// Progress inside steps that are retained and lie beyond step `index`.
  std::int64_t RetainedBeyond(std::int64_t index) const;
  /// Retained complete steps, and the highest of them.
  std::int64_t RetainedSteps() const;
  std::optional<std::int64_t> HighestRetained() const;
  /// End of the first complete step with an index of at least `index`.
  std::optional<std::int64_t> CompletionOf(std::int64_t index) const;
  /// The highest index for which CompletionOf has an answer; kNoStep: there is none.
  std::int64_t HighestCompleted() const;

  /// Calls `visit(row, wasted)` for the rows that overlap [from, to), in order, until it returns
  /// false.
  void Visit(std::int64_t from, std::int64_t to,
             const std::function<bool(const Row&, bool wasted)>& visit) const;
  /// Calls `visit` for complete steps, the newest first, until it returns false.
  void VisitStepsBackward(const std::function<bool(const Row&, const RowMeasures&)>& visit) const;

 private:
  struct Range {
    std::uint64_t first = 0, last = 0;  // ordinals
  };

  std::uint64_t rows() const { return attempt_->rows().size() + closed_.tail.size(); }
  Row TailRow(std::size_t i) const { return closed_.tail[i].View(); }
  std::int64_t BeginOf(std::uint64_t ordinal) const;
  Sums BeforeRow(std::uint64_t ordinal) const;
  Sums Before(std::int64_t net) const;
  std::uint64_t SegmentEnd(std::size_t i) const;
  /// Rows of the segment's steps with an index in [from, to), with what shares their fate.
  Range RowsOf(std::size_t segment, std::int64_t from, std::int64_t to) const;
  Range WastedRows(std::size_t i) const;
  /// Calls `waste(begin, end)` for stretches whose progress is lost, in order; disjoint.
  void ForEachWasted(const std::function<void(std::int64_t, std::int64_t)>& waste) const;
  std::int64_t Retainable(const Sums& sums) const;
  Sums SumBetween(std::int64_t from, std::int64_t to) const;
  std::int64_t SumProgressOf(std::size_t segment, std::int64_t from, std::int64_t to) const;
  std::int64_t CountRetainedSteps() const;
  std::optional<std::int64_t> FindCompletionOf(std::int64_t index) const;
  std::int64_t FindHighestCompleted() const;

  const Attempt* attempt_;
  Attempt::Closed closed_;
  const RunContext* context_;
  std::int64_t begin_wall_ = 0;
  std::int64_t begin_ = 0;
  std::int64_t lead_begin_ = 0;
  std::int64_t end_ = 0;
  bool in_flight_lost_ = false;
  bool evident_ = false;
  bool only_step_ = false;
  ViewCache* cache_ = nullptr;
  std::vector<std::int64_t> keep_below_;  // [num_segments]
};

}  // namespace headway::ledger
