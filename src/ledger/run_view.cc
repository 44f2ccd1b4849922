#include "ledger/run_view.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace headway::ledger {
namespace {

// Finds the next of many values that is large enough, in O(log n).
class MaxTree {
 public:
  explicit MaxTree(const std::vector<std::int64_t>& values)
      : leaves_(std::bit_ceil(std::max<std::size_t>(values.size(), 1))),
        most_(2 * leaves_, std::numeric_limits<std::int64_t>::min()) {
    std::copy(values.begin(), values.end(), most_.begin() + static_cast<std::ptrdiff_t>(leaves_));
    for (std::size_t node = leaves_; node-- > 1;) {
      most_[node] = std::max(most_[2 * node], most_[2 * node + 1]);
    }
  }

  /// The first position from `from` on whose value is at least `wanted`; beyond the end: none.
  std::size_t FirstAtLeast(std::size_t from, std::int64_t wanted) const {
    if (from >= leaves_) return leaves_;
    std::size_t node = leaves_ + from;
    while (most_[node] < wanted) {
      // Up, as long as this is the right half; then to the right.
      while ((node & 1) != 0) node /= 2;
      if (node == 0) return leaves_;
      ++node;
    }
    while (node < leaves_) node = most_[2 * node] >= wanted ? 2 * node : 2 * node + 1;
    return node - leaves_;
  }

 private:
  std::size_t leaves_;
  std::vector<std::int64_t> most_;  // of the subtree of each node; the root is node 1
};

__extension__ using Wide = __int128;

double Seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

constexpr std::int64_t kMinute = 60'000'000'000;
constexpr std::size_t kMedianSteps = 101;  // for input_bound
constexpr std::size_t kDeviationRecent = 100;
constexpr std::size_t kDeviationBefore = 1000;

/// The part of a step's time that a piece of its row is. What no rule of its work time put there is
/// a span that blocks.
std::int64_t* PartOf(const Piece& piece, bool wasted, StepSummary* step) {
  if (piece.retainable) return wasted ? &step->wasted_ns : &step->productive_ns;
  if (piece.loading_taken) return &step->data_loading_ns;
  if (piece.bucket == BucketOf(Category::kProgramStartup)) return &step->program_startup_ns;
  if (piece.bucket == BucketOf(Category::kStepStall)) return &step->step_stall_ns;
  if (piece.bucket == BucketOf(Category::kInfrastructureRecovery)) {
    return &step->infrastructure_recovery_ns;
  }
  return &step->blocked_ns;
}

std::int64_t MagnitudeOf(std::int64_t value) { return value < 0 ? -value : value; }

}  // namespace

RunView::RunView(Intake* intake, std::int64_t as_of, bool supervised)
    : intake_(intake), context_(&intake->context()), as_of_(as_of) {
  LayOut(as_of, supervised);
  if (attempts_.empty()) return;
  Judge(as_of);
  Retain();
  for (AttemptView& view : attempts_) {
    const auto kept = intake_->kept().find(&view.attempt());
    if (kept != intake_->kept().end()) view.Keep(&kept->second.cache);
  }
  Charge();
}

// In an event file nobody can be asked whether a process lives: two heartbeats promise more.
bool RunView::PresumedLost(const Attempt& attempt, std::int64_t as_of) const {
  if (attempt.state().heartbeats < 2) return false;
  const NetTime& net = context_->net;
  const std::int64_t silence = net.Net(as_of) - net.Net(attempt.state().life_wall);
  if (silence < kMinute) return false;
  std::vector<std::int64_t> gaps;
  std::optional<std::int64_t> last;
  RecordLog::Cursor cursor;
  TimedRecord timed;
  while (attempt.log().Next(&cursor, &timed)) {
    if (timed.record.type != RecordType::kHeartbeat) continue;
    const std::int64_t at = net.Net(timed.time);
    if (last) gaps.push_back(at - *last);
    last = at;
  }
  if (gaps.empty()) return false;
  const std::int64_t median = FloorMedian(&gaps);
  return median <= silence / 5;
}

// Nobody starts again what has ended well.
bool RunView::EndedWell(const AttemptView& view) {
  return view.closed().kind == EndKind::kClean && view.state().Status().value_or(0) == 0 &&
         view.state().exit_signal.value_or(0) == 0;
}

// Whether the environment counts attempt `next` before `attempt`, of one job.
bool RunView::CountedBackwards(const Attempt& attempt, const Attempt& next) const {
  if (attempt.lead() == kNoWriter || next.lead() == kNoWriter) return false;
  const Writer& a = context_->writers[attempt.lead()];
  const Writer& b = context_->writers[next.lead()];
  auto job = [](const Writer& writer) {
    return std::string_view(writer.attempt_key).substr(0, writer.attempt_key.rfind('#'));
  };
  return !a.event_file && !b.event_file && b.attempt_index >= 0 &&
         a.attempt_index > b.attempt_index && job(a) == job(b);
}

void RunView::LayOut(std::int64_t as_of, bool supervised) {
  const std::vector<const Attempt*>& ordered = intake_->attempts();
  attempts_.reserve(ordered.size());
  bool open = false;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    const Attempt* attempt = ordered[i];
    if (i + 1 < ordered.size()) {
      attempts_.emplace_back(attempt, intake_->kept().at(attempt).closed, context_);
      continue;
    }
    const Attempt::State& s = attempt->state();
    EndKind kind = s.End();
    std::int64_t end_wall = s.EndWall();
    if (!s.ended) {
      const Liveness liveness =
          attempt->lead() == kNoWriter ? Liveness::kUnknown : intake_->liveness(attempt->lead());
      const bool presumed = liveness == Liveness::kUnknown && PresumedLost(*attempt, as_of);
      if (presumed) notes_[Note::kPresumedLost] += 1;
      if (liveness != Liveness::kDead && !presumed) {
        kind = EndKind::kOpen;
        end_wall = std::max(as_of, s.life_wall);
        open = true;
      }
    }
    attempts_.emplace_back(attempt, attempt->Close(kind, end_wall), context_);
  }
  if (attempts_.empty()) {
    // Processes that died before they said anything.
    bool dead = !context_->writers.empty();
    for (WriterId id = 0; id < context_->writers.size(); ++id) {
      dead &= intake_->liveness(id) == Liveness::kDead;
    }
    if (dead) state_ = RunState::kInterrupted;
    return;
  }
  begin_ = attempts_.front().begin();
  for (std::size_t i = 0; i + 1 < attempts_.size(); ++i) {
    const std::int64_t next = attempts_[i + 1].begin();
    if (CountedBackwards(attempts_[i].attempt(), attempts_[i + 1].attempt())) {
      notes_[Note::kClockOverlap] += 1;
      overlap_s_ += Seconds(next - attempts_[i].begin());
    }
    if (attempts_[i].end() <= next) continue;
    notes_[Note::kClockOverlap] += 1;
    overlap_s_ += Seconds(attempts_[i].end() - next);
    attempts_[i].CutAt(next);
  }
  const AttemptView& last = attempts_.back();
  end_ = last.end();
  if (open) {
    state_ = RunState::kRunning;
  } else if (supervised && !EndedWell(last)) {
    state_ = RunState::kRestarting;
    end_ = std::max(end_, context_->net.Net(as_of));
  } else {
    switch (last.closed().kind) {
      case EndKind::kClean: state_ = RunState::kCompleted; break;
      case EndKind::kLost: state_ = RunState::kInterrupted; break;
      default: state_ = RunState::kFailed; break;
    }
  }
  // The only step of a run that ends cleanly is productive, although nothing tells its normal time.
  std::int64_t started = 0;
  for (const AttemptView& view : attempts_) started += view.state().steps_started;
  if (started != 1 || last.closed().kind != EndKind::kClean) return;
  for (AttemptView& view : attempts_) {
    if (view.has_steps()) view.MarkOnlyStep();
  }
}

bool RunView::Excluded(std::int64_t wall, std::int64_t as_of) const {
  return std::any_of(intake_->annotations().begin(), intake_->annotations().end(),
                     [&](const Record& record) {
                       if (record.type != RecordType::kExclude || wall < record.a) return false;
                       return wall < (record.b == kNoTime ? as_of : record.b);
                     });
}

void RunView::Judge(std::int64_t as_of) {
  fates_.resize(attempts_.size());
  std::size_t disruptions = 0;
  std::optional<std::size_t> successor;
  for (std::size_t i = attempts_.size(); i-- > 0;) {
    fates_[i].successor = successor;
    if (attempts_[i].has_steps()) successor = i;
  }
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    const Attempt::Closed& closed = attempts_[i].closed();
    if (closed.kind == EndKind::kOpen) continue;
    const bool planned = closed.kind == EndKind::kClean && !attempts_[i].state().interrupted;
    fates_[i].disrupted = !planned && !Excluded(closed.end_wall, as_of);
    if (fates_[i].disrupted) fates_[i].disruption = disruptions++;
  }
  charged_.assign(disruptions, 0);
}

// Which steps were kept: of every segment those below the first index of all later segments.
void RunView::Retain() {
  for (std::size_t a = 0; a < attempts_.size(); ++a) {
    for (std::size_t s = 0; s < attempts_[a].segments(); ++s) order_.push_back({a, s});
  }
  std::int64_t below = AttemptView::kNoLimit;
  for (std::size_t i = order_.size(); i-- > 0;) {
    AttemptView& view = attempts_[order_[i].attempt];
    view.KeepBelow(order_[i].segment, below);
    below = std::min(below, view.segment(order_[i].segment).first_index);
  }
  for (std::size_t a = 0; a < attempts_.size(); ++a) {
    AttemptView& view = attempts_[a];
    if (!view.has_steps()) continue;
    const std::int64_t reached = view.state().last_index;
    const std::optional<std::size_t> successor = fates_[a].successor;
    if (successor) {
      const std::int64_t resumed = attempts_[*successor].segment(0).first_index;
      if (resumed > reached && resumed - 1 > reached) notes_[Note::kStepGap] += 1;
      if (view.in_flight() && resumed > reached && resumed - 1 == reached) view.MarkEvident();
    } else if (view.in_flight() && view.closed().kind != EndKind::kOpen) {
      view.MarkInFlightLost();
    }
  }
}

// Who wasted what: each segment that begins at step r takes the steps from r on from those before.
void RunView::Charge() {
  // Segments of which something was still kept, by rising first index: each one's part ends where
  // the next one begins.
  std::vector<std::size_t> kept;
  for (std::size_t j = 1; j < order_.size(); ++j) {
    kept.push_back(j - 1);
    const AttemptView& view = attempts_[order_[j].attempt];
    const Segment& segment = view.segment(order_[j].segment);
    const std::int64_t resumed = segment.first_index;
    std::int64_t wasted = 0;
    bool any = false;
    std::int64_t below = AttemptView::kNoLimit;
    while (!kept.empty() && below > resumed) {
      const std::size_t i = kept.back();
      const AttemptView& earlier = attempts_[order_[i].attempt];
      const Segment& from = earlier.segment(order_[i].segment);
      const bool last_segment = order_[i].segment + 1 == earlier.segments();
      const std::int64_t reached = last_segment ? earlier.state().last_index
                                                : earlier.segment(order_[i].segment + 1).from_index;
      if (reached >= resumed) {
        any |= std::max(resumed, from.first_index) < below;
        wasted += earlier.ProgressOf(order_[i].segment, std::max(resumed, from.first_index), below);
      }
      below = from.first_index;
      if (below >= resumed) kept.pop_back();
    }
    if (order_[j].segment > 0) {
      rollbacks_.push_back({segment.begin_wall, segment.from_index, resumed, wasted, false});
      continue;
    }
    const std::size_t before = order_[j - 1].attempt;  // the last attempt with a step
    std::optional<std::size_t> disruption;
    if (attempts_[before].in_flight() && fates_[before].disrupted) {
      disruption = fates_[before].disruption;
    } else {
      for (std::size_t a = before; a < order_[j].attempt; ++a) {
        if (fates_[a].disrupted) disruption = fates_[a].disruption;
      }
    }
    if (disruption) {
      charged_[*disruption] += wasted;
    } else if (any) {
      rollbacks_.push_back(
          {segment.begin_wall, attempts_[before].state().last_index, resumed, wasted, true});
    }
  }
  std::stable_sort(rollbacks_.begin(), rollbacks_.end(),
                   [](const Rollback& a, const Rollback& b) { return a.time < b.time; });
  for (std::size_t a = 0; a < attempts_.size(); ++a) {
    const AttemptView& view = attempts_[a];
    const bool lost =
        view.in_flight() && view.closed().kind != EndKind::kOpen && !fates_[a].successor;
    if (lost && fates_[a].disrupted) charged_[fates_[a].disruption] += view.InFlightProgress();
  }
}

Sums RunView::Between(std::int64_t from, std::int64_t to) const {
  Sums sums;
  from = std::max(from, begin_);
  to = std::min(to, end_);
  if (from >= to) return sums;
  std::int64_t alive_until = begin_;
  auto down = [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t ns = std::min(end, to) - std::max(begin, from);
    if (ns > 0) sums.Add(BucketOf(Category::kInfrastructureRecovery), ns);
  };
  for (const AttemptView& view : attempts_) {
    down(alive_until, view.begin());
    sums.Add(view.Between(from, to));
    alive_until = view.end();
  }
  down(alive_until, end_);
  return sums;
}

void RunView::Split(std::span<const std::int64_t> points, const AttemptView::Part& part) const {
  auto down = [&](std::int64_t begin, std::int64_t end) {
    begin = std::max(begin, points.front());
    end = std::min(end, points.back());
    if (begin >= end) return;
    std::size_t i =
        static_cast<std::size_t>(std::ranges::upper_bound(points, begin) - points.begin() - 1);
    for (; points[i] < end; ++i) {
      part(i, BucketOf(Category::kInfrastructureRecovery),
           std::min(end, points[i + 1]) - std::max(begin, points[i]));
      if (i + 2 == points.size()) break;
    }
  };
  std::vector<std::int64_t> inside;
  std::int64_t alive_until = begin_;
  for (const AttemptView& view : attempts_) {
    down(alive_until, view.begin());
    alive_until = view.end();
    const std::int64_t from = std::max(view.begin(), points.front());
    const std::int64_t to = std::min(view.end(), points.back());
    if (from >= to) continue;
    const auto first = std::ranges::upper_bound(points, from);
    const auto last = std::ranges::lower_bound(points, to);
    const auto i = static_cast<std::size_t>(first - points.begin() - 1);
    if (first == last) {  // all of it in one part
      const Sums sums = view.Between(from, to);
      for (std::size_t k = 0; k < sums.ns.size(); ++k) {
        if (sums.ns[k] != 0) part(i, static_cast<BucketId>(k), sums.ns[k]);
      }
      continue;
    }
    inside.assign(1, from);
    inside.insert(inside.end(), first, last);
    inside.push_back(to);
    view.Split(inside,
               [&](std::size_t k, BucketId bucket, std::int64_t ns) { part(i + k, bucket, ns); });
  }
  down(alive_until, end_);
}

void RunView::Account(std::int64_t from, std::int64_t to, Report* report) const {
  from = std::max(from, begin_);
  to = std::max(from, std::min(to, end_));
  Sums sums = Between(from, to);
  report->elapsed_ns = to - from;
  std::int64_t productive = 0;
  report->categories.clear();
  for (std::size_t i = 0; i < sums.ns.size(); ++i) {
    const auto bucket = static_cast<BucketId>(i);
    const Category category = context_->buckets.category(bucket);
    if (category == Category::kProductive) productive += sums.ns[i];
    if (sums.ns[i] == 0 && bucket != BucketOf(Category::kProductive)) continue;
    report->categories.push_back(
        {category, std::string(context_->names.Text(context_->buckets.name(bucket))), sums.ns[i]});
  }
  if (sums.ns.empty()) report->categories.push_back({Category::kProductive, "", 0});
  std::stable_sort(report->categories.begin(), report->categories.end(),
                   [](const CategoryTime& a, const CategoryTime& b) {
                     if (a.ns != b.ns) return a.ns > b.ns;
                     return std::pair(CategoryName(a.category), std::string_view(a.name)) <
                            std::pair(CategoryName(b.category), std::string_view(b.name));
                   });
  report->data_loading_overlapped_ns = sums.overlapped;
  report->slow_steps_ns = sums.slow;
  const auto elapsed = static_cast<double>(report->elapsed_ns);
  report->goodput.reset();  // nothing was recorded so far
  if (!attempts_.empty()) {
    report->goodput = report->elapsed_ns > 0 ? static_cast<double>(productive) / elapsed : 0.0;
  }
  report->goodput_if_loading_blocked.reset();
  const std::int64_t tenth = report->elapsed_ns / 10 + (report->elapsed_ns % 10 != 0 ? 1 : 0);
  if (report->elapsed_ns > 0 && sums.overlapped >= tenth) {
    const std::int64_t rest = std::max<std::int64_t>(0, productive - sums.overlapped);
    report->goodput_if_loading_blocked = static_cast<double>(rest) / elapsed;
  }
}

void RunView::Describe(Report* report) const {
  report->state = state_;
  report->as_of = as_of_;
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    const AttemptView& view = attempts_[i];
    const Attempt::State& s = view.state();
    AttemptSummary summary;
    summary.index = static_cast<std::int64_t>(i);
    summary.start = view.begin_wall();
    const bool cut =
        i + 1 < attempts_.size() && view.closed().end_wall > attempts_[i + 1].begin_wall();
    summary.end = cut ? attempts_[i + 1].begin_wall() : view.closed().end_wall;
    summary.end_kind = view.closed().kind;
    summary.exit_status = s.Status();
    summary.signal = s.exit_signal;
    summary.notice = s.notice;
    if (s.any_step) {
      summary.first_step = s.first_index;
      summary.last_step = s.last_index;
    }
    report->attempts.push_back(summary);
  }
  DescribeNotes(report);
  if (attempts_.empty()) return;
  report->start = attempts_.front().begin_wall();
  const bool at_as_of = state_ == RunState::kRunning || state_ == RunState::kRestarting;
  report->end = at_as_of ? std::max(as_of_, *report->start) : *report->attempts.back().end;
  if (state_ == RunState::kInterrupted) report->down_since = report->attempts.back().end;
  report->rollbacks = rollbacks_;
  DescribeSteps(report);
  DescribeDisruptions(report);
  DescribeCheckpoints(report);
}

void RunView::DescribeSteps(Report* report) const {
  StepStatistics& steps = report->steps;
  for (const AttemptView& view : attempts_) {
    steps.count += view.RetainedSteps();
    if (view.has_steps()) steps.last_step = view.state().last_index;
  }
  for (std::size_t i = attempts_.size(); i-- > 0 && !steps.max_productive_step;) {
    steps.max_productive_step = attempts_[i].HighestRetained();
  }
  for (std::size_t i = attempts_.size(); i-- > 0;) {
    if (!attempts_[i].state().saved_index) continue;
    report->unsaved_ns = 0;
    for (const AttemptView& view : attempts_) {
      *report->unsaved_ns += view.RetainedBeyond(*attempts_[i].state().saved_index);
    }
    break;
  }

  // The rows that are not stored yet take part for the length of this report.
  Histogram& work = intake_->context().step_work;
  std::vector<std::int64_t> tail;
  std::int64_t longest = 0;
  for (const AttemptView& view : attempts_) {
    const std::vector<PendingRow>& rows = view.closed().tail;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool in_flight = view.in_flight() && i + 1 == rows.size();
      if (rows[i].row.is_step && !in_flight) tail.push_back(rows[i].measures.work);
    }
    longest = std::max(longest, view.state().max_work);
  }
  for (const std::int64_t ns : tail) work.Add(ns);
  if (work.count() > 0) {
    steps.p50_ns = work.Quantile(0.5);
    steps.p90_ns = work.Quantile(0.9);
    steps.p99_ns = work.Quantile(0.99);
    steps.max_ns = longest;
    const std::int64_t median = work.Median();
    const std::int64_t spread = work.MedianDeviation(median);
    const std::int64_t limit =
        spread > (AttemptView::kNoLimit - median) / 3 ? AttemptView::kNoLimit : median + 3 * spread;
    const std::int64_t ideal = work.MeanUpTo(limit);
    steps.ideal_ns = ideal;
    std::vector<std::int64_t> recent;
    std::vector<std::int64_t> before;
    for (std::size_t i = attempts_.size(); i-- > 0 && before.size() < kDeviationBefore;) {
      attempts_[i].VisitStepsBackward([&](const Row&, const RowMeasures& measures) {
        auto& list = recent.size() < kDeviationRecent ? recent : before;
        list.push_back(MagnitudeOf(measures.work - ideal));
        return before.size() < kDeviationBefore;
      });
    }
    std::sort(recent.begin(), recent.end());
    const std::int64_t high = recent[(recent.size() * 9 + 9) / 10 - 1];
    const std::int64_t usual = before.size() >= kDeviationRecent ? FloorMedian(&before) : 0;
    steps.deviation_ns = std::max<std::int64_t>(0, high - usual);
  }
  for (const std::int64_t ns : tail) work.Remove(ns);
}

// What the records say of why a disrupted attempt ended; docs/accounting.md, section 9.
namespace {

constexpr std::int64_t kSigkill = 9;

Cause CauseOf(const AttemptView& view) {
  const Attempt::State& s = view.state();
  if (s.notice) return Cause::kNotice;
  const bool silenced = view.closed().kind == EndKind::kLost || s.exit_signal == kSigkill;
  if (silenced && view.in_flight() &&
      view.closed().tail.back().row.extra_kind == Row::Extra::kStall) {
    return Cause::kHang;
  }
  if (s.exit_signal) return Cause::kSignal;
  if (s.Status().value_or(0) != 0) return Cause::kExitStatus;
  return s.ended ? Cause::kFailed : Cause::kLost;
}

}  // namespace

void RunView::DescribeDisruptions(Report* report) const {
  std::int64_t alive = 0;
  Wide regained_ns = 0;
  std::int64_t regained_count = 0;
  std::optional<std::int64_t> reached;
  std::vector<std::int64_t> completed;
  for (const AttemptView& view : attempts_) completed.push_back(view.HighestCompleted());
  const MaxTree highest(completed);
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    const AttemptView& view = attempts_[i];
    alive += view.end() - view.begin();
    if (view.has_steps()) reached = view.state().last_index;
    if (!fates_[i].disrupted) continue;
    Disruption disruption;
    disruption.time = view.closed().end_wall;
    disruption.step_reached = reached;
    disruption.wasted_ns = charged_[fates_[i].disruption];
    disruption.exit_status = view.state().Status();
    disruption.signal = view.state().exit_signal;
    disruption.notice = view.state().notice;
    disruption.cause = CauseOf(view);
    if (fates_[i].successor) {
      disruption.resumed_from = attempts_[*fates_[i].successor].segment(0).first_index;
    }
    if (i + 1 < attempts_.size()) {
      const AttemptView& next = attempts_[i + 1];
      disruption.downtime_ns = std::max<std::int64_t>(0, next.begin() - view.end());
      const std::int64_t stepped =
          next.has_steps() ? std::min(next.state().first_step_net, next.end()) : next.end();
      disruption.reinit_ns = stepped - next.begin();
    } else if (state_ == RunState::kRestarting) {
      disruption.downtime_ns = end_ - view.end();
    }
    const std::int64_t wanted = reached.value_or(kNoStep + 1);
    const std::size_t k = highest.FirstAtLeast(i + 1, wanted);
    if (k < attempts_.size()) {
      const std::int64_t done = attempts_[k].CompletionOf(wanted).value();
      disruption.regained = context_->net.WallEnd(done);
      regained_ns += std::max<std::int64_t>(0, done - view.closed().end_net);
      regained_count += 1;
    }
    report->disruptions.push_back(disruption);
  }
  if (!report->disruptions.empty()) {
    report->mtbf_ns = alive / static_cast<std::int64_t>(report->disruptions.size());
  }
  if (regained_count > 0) {
    report->mttr_ns = static_cast<std::int64_t>(regained_ns / regained_count);
  }
}

void RunView::DescribeCheckpoints(Report* report) const {
  Checkpointing& checkpointing = report->checkpointing;
  std::int64_t blocking = 0;
  std::int64_t intervals = 0;
  std::int64_t interval_ns = 0;
  for (const AttemptView& view : attempts_) {
    checkpointing.saves += view.state().saves;
    blocking += view.state().blocking_saves;
    intervals += view.state().save_intervals;
    interval_ns += view.state().save_interval_ns;
  }
  if (intervals > 0) checkpointing.interval_ns = interval_ns / intervals;
  if (blocking == 0) return;
  const Sums all = Between(begin_, end_);
  const BucketId save = BucketOf(Category::kCheckpointSave);
  checkpointing.mean_blocking_ns = (save < all.ns.size() ? all.ns[save] : 0) / blocking;
  if (report->mtbf_ns) {
    // Young (1974): the interval that loses least to saving and to repeating.
    constexpr double kMost = 9.2e18;  // of times that nobody can have
    const double best = std::sqrt(2.0 * static_cast<double>(*checkpointing.mean_blocking_ns) *
                                  static_cast<double>(*report->mtbf_ns));
    checkpointing.advised_interval_ns = static_cast<std::int64_t>(std::min(best, kMost));
  }
}

bool RunView::InputBound() const {
  std::vector<std::int64_t> loading;
  std::vector<std::int64_t> lengths;
  for (std::size_t i = attempts_.size(); i-- > 0 && lengths.size() < kMedianSteps;) {
    attempts_[i].VisitStepsBackward([&](const Row& row, const RowMeasures& measures) {
      loading.push_back(measures.load_total);
      lengths.push_back(row.Length());
      return lengths.size() < kMedianSteps;
    });
  }
  if (lengths.empty()) return false;
  const std::int64_t length = FloorMedian(&lengths);
  const std::int64_t load = FloorMedian(&loading);
  return length > 0 && load >= length - length / 10;
}

void RunView::DescribeNotes(Report* report) const {
  NoteCounts notes = notes_;
  notes.Add(intake_->Notes());
  bool any_step = false;
  if (!attempts_.empty() && attempts_[0].has_steps() && !attempts_[0].state().has_job_start &&
      attempts_[0].segment(0).first_index > 1) {
    notes[Note::kStartMissing] += 1;
  }
  for (const AttemptView& view : attempts_) {
    notes.Add(view.state().notes);
    any_step |= view.has_steps();
    if (!view.state().has_job_start) notes[Note::kNoJobStart] += 1;
    notes[Note::kSeveralLeads] += static_cast<std::int64_t>(view.state().rivals.size());
    const WriterId lead = view.attempt().lead();
    if (lead != kNoWriter && context_->writers[lead].rank > 0) notes[Note::kNoLead] += 1;
  }
  if (!any_step && !attempts_.empty()) notes[Note::kNoSteps] += 1;
  if (InputBound()) notes[Note::kInputBound] += 1;
  for (int i = 0; i < kNoteCount; ++i) {
    const auto note = static_cast<Note>(i);
    if (notes[note] == 0) continue;
    const double seconds = note == Note::kClockOverlap ? overlap_s_ : 0;
    report->notes.push_back(
        {std::string(NoteCode(note)), notes[note], NoteMessage(note, notes[note], seconds)});
  }
}

std::optional<std::vector<TimelineInterval>> RunView::Timeline(std::int64_t from, std::int64_t to,
                                                               std::size_t most) const {
  constexpr std::size_t kRowsEach = 16;  // of an interval; usually it is one
  std::vector<TimelineInterval> intervals;
  std::size_t rows = 0;
  from = std::max(from, begin_);
  to = std::min(to, end_);
  auto put = [&](std::int64_t begin, std::int64_t end, BucketId bucket, std::int64_t attempt,
                 std::optional<std::int64_t> step) {
    for (const WallInterval& wall : context_->net.Wall(std::max(begin, from), std::min(end, to))) {
      TimelineInterval next{wall.begin,
                            wall.end,
                            context_->buckets.category(bucket),
                            std::string(context_->names.Text(context_->buckets.name(bucket))),
                            attempt,
                            step};
      if (!intervals.empty()) {
        TimelineInterval& last = intervals.back();
        if (last.end == next.begin && last.category == next.category && last.name == next.name &&
            last.attempt == next.attempt && last.step == next.step) {
          last.end = next.end;
          continue;
        }
      }
      intervals.push_back(std::move(next));
    }
  };
  const BucketId recovery = BucketOf(Category::kInfrastructureRecovery);
  std::int64_t alive_until = begin_;
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    const AttemptView& view = attempts_[i];
    put(alive_until, view.begin(), recovery, -1, std::nullopt);
    view.Visit(from, to, [&](const Row& row, bool wasted) {
      const auto step = row.is_step ? std::optional(row.index) : std::nullopt;
      ForEachPiece(row, [&](const Piece& piece) {
        BucketId bucket = piece.bucket;
        if (piece.retainable && wasted) bucket = BucketOf(Category::kWastedProgress);
        put(piece.begin, std::min(piece.end, view.end()), bucket, static_cast<std::int64_t>(i),
            step);
      });
      return intervals.size() <= most && ++rows / kRowsEach <= most;
    });
    if (intervals.size() > most || rows / kRowsEach > most) return std::nullopt;
    alive_until = view.end();
  }
  put(alive_until, end_, recovery, -1, std::nullopt);
  if (intervals.size() > most) return std::nullopt;
  return intervals;
}

void RunView::VisitSteps(std::int64_t from, std::int64_t to, const VisitStep& visit) const {
  bool more = true;
  for (std::size_t i = 0; i < attempts_.size() && more; ++i) {
    attempts_[i].Visit(std::max(from, begin_), std::min(to, end_),
                       [&](const Row& row, bool wasted) {
                         if (row.is_step) more = visit(static_cast<std::int64_t>(i), row, wasted);
                         return more;
                       });
  }
}

StepSummary RunView::Summarize(std::int64_t attempt, const Row& row, bool wasted) const {
  const AttemptView& view = attempts_[static_cast<std::size_t>(attempt)];
  const std::int64_t end = std::min(row.end(), view.end());  // cut as in the partition
  StepSummary step;
  step.attempt = attempt;
  step.step = row.index;
  step.start = context_->net.WallBegin(row.begin);
  step.end = context_->net.WallEnd(end);
  ForEachPiece(row, [&](const Piece& piece) {
    const std::int64_t ns = std::min(piece.end, end) - piece.begin;
    if (ns > 0) *PartOf(piece, wasted, &step) += ns;
  });
  step.work_ns = end - row.begin - step.blocked_ns;
  step.first = row.first;
  step.complete = row.complete;
  step.retained = row.complete && !wasted;
  return step;
}

std::vector<StepSummary> RunView::Steps(std::int64_t from, std::int64_t to) const {
  std::vector<StepSummary> steps;
  VisitSteps(from, to, [&](std::int64_t attempt, const Row& row, bool wasted) {
    steps.push_back(Summarize(attempt, row, wasted));
    return true;
  });
  return steps;
}

}  // namespace headway::ledger
