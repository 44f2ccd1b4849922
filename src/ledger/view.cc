#include "ledger/view.h"

#include <algorithm>

namespace headway::ledger {

std::size_t ViewCache::MemoryBytes() const {
  constexpr std::size_t kNode = 80;  // of a tree, with what it holds
  return keep_below.capacity() * 8 + (total ? total->ns.capacity() * 8 : 0) +
         (progress.size() + completions.size()) * kNode;
}

template <typename Ar>
void ViewCache::Persist(Ar& ar) {
  ar(end, evident, in_flight_lost, only_step);
  ar.List(keep_below);
  ar(total, retained_steps);
  ar.Map(progress, [&ar](auto& key, std::int64_t& ns) {
    auto& [segment, from, to] = key;
    ar(segment, from, to, ns);
  });
  ar.Map(completions,
         [&ar](std::int64_t& index, std::optional<std::int64_t>& at) { ar(index, at); });
  ar(highest_completed);
}
template void ViewCache::Persist(SnapshotWriter& ar);
template void ViewCache::Persist(SnapshotReader& ar);

AttemptView::AttemptView(const Attempt* attempt, Attempt::Closed closed, const RunContext* context)
    : attempt_(attempt), closed_(std::move(closed)), context_(context) {
  const Attempt::State& s = state();
  begin_wall_ = s.BeginWall();
  begin_ = context_->net.Net(begin_wall_);
  lead_begin_ = s.begun ? context_->net.Net(s.lead_first_wall) : begin_;
  end_ = std::max(closed_.end_net, begin_);
  keep_below_.assign(attempt_->segments().size(), kNoLimit);
}

void AttemptView::CutAt(std::int64_t net) { end_ = std::clamp(net, begin_, end_); }

void AttemptView::MarkEvident() {
  evident_ = true;
  PendingRow& last = closed_.tail.back();
  Row& row = last.row;
  row.complete = true;
  if (row.first || !last.baseline) return;
  row.loading = row.slow = 0;
  row.extra = last.measures.work - std::min(*last.baseline, last.measures.work);
  row.extra_kind = row.extra > 0 ? Row::Extra::kRecovery : Row::Extra::kNone;
}

void AttemptView::MarkOnlyStep() {
  only_step_ = true;
  for (PendingRow& pending : closed_.tail) {
    if (pending.row.extra_kind != Row::Extra::kStartup) continue;
    pending.row.extra = 0;
    pending.row.extra_kind = Row::Extra::kNone;
  }
}

void AttemptView::KeepBelow(std::size_t segment, std::int64_t below) {
  keep_below_[segment] = below;
}

void AttemptView::Keep(ViewCache* cache) {
  const bool holds = cache->end == end_ && cache->evident == evident_ &&
                     cache->in_flight_lost == in_flight_lost_ && cache->only_step == only_step_ &&
                     cache->keep_below == keep_below_;
  if (!holds) *cache = {end_, evident_, in_flight_lost_, only_step_, keep_below_, {}, {}, {}, {}};
  cache_ = cache;
}

Sums AttemptView::Between(std::int64_t from, std::int64_t to) const {
  if (cache_ == nullptr || from > begin_ || to < end_) return SumBetween(from, to);
  if (!cache_->total) cache_->total = SumBetween(from, to);
  return *cache_->total;
}

std::int64_t AttemptView::ProgressOf(std::size_t segment_index, std::int64_t from,
                                     std::int64_t to) const {
  if (cache_ == nullptr) return SumProgressOf(segment_index, from, to);
  const auto [it, added] = cache_->progress.try_emplace({segment_index, from, to});
  if (added) it->second = SumProgressOf(segment_index, from, to);
  return it->second;
}

std::int64_t AttemptView::RetainedSteps() const {
  if (cache_ == nullptr) return CountRetainedSteps();
  if (!cache_->retained_steps) cache_->retained_steps = CountRetainedSteps();
  return *cache_->retained_steps;
}

std::optional<std::int64_t> AttemptView::CompletionOf(std::int64_t index) const {
  if (cache_ == nullptr) return FindCompletionOf(index);
  const auto [it, added] = cache_->completions.try_emplace(index);
  if (added) it->second = FindCompletionOf(index);
  return it->second;
}

std::int64_t AttemptView::HighestCompleted() const {
  if (cache_ == nullptr) return FindHighestCompleted();
  if (!cache_->highest_completed) cache_->highest_completed = FindHighestCompleted();
  return *cache_->highest_completed;
}

std::int64_t AttemptView::FindHighestCompleted() const {
  const std::uint64_t stored = attempt_->rows().size();
  const std::uint64_t completed = rows() - (closed_.in_flight ? 1 : 0);
  std::int64_t highest = kNoStep;
  for (std::size_t s = 0; s < segments(); ++s) {
    const std::uint64_t first = segment(s).first_row;
    const std::uint64_t last = std::min(SegmentEnd(s), completed);
    std::optional<std::int64_t> index;
    for (std::uint64_t i = last; i-- > std::max(first, stored) && !index;) {
      const Row& row = closed_.tail[i - stored].row;
      if (row.is_step) index = row.index;
    }
    if (!index) index = attempt_->rows().LastIndex(first, std::min(last, stored));
    if (index) highest = std::max(highest, *index);
  }
  return highest;
}

std::int64_t AttemptView::BeginOf(std::uint64_t ordinal) const {
  const std::uint64_t stored = attempt_->rows().size();
  if (ordinal < stored) return attempt_->rows().BeginOf(ordinal);
  if (ordinal < rows()) return closed_.tail[ordinal - stored].row.begin;
  return closed_.end_net;
}

Sums AttemptView::BeforeRow(std::uint64_t ordinal) const {
  Sums sums = attempt_->rows().BeforeRow(ordinal);
  for (std::size_t i = 0; i < closed_.tail.size(); ++i) {
    if (attempt_->rows().size() + i < ordinal) AddRow(TailRow(i), &sums);
  }
  return sums;
}

Sums AttemptView::Before(std::int64_t net) const {
  if (net <= begin_) return Sums{};
  Sums sums = attempt_->rows().Before(net);
  if (lead_begin_ > begin_) {
    sums.Add(BucketOf(Category::kProgramStartup), std::min(net, lead_begin_) - begin_);
  }
  for (std::size_t i = 0; i < closed_.tail.size(); ++i) {
    const Row row = TailRow(i);
    if (row.begin >= net) break;
    AddRow(row, row.begin, net, &sums);
  }
  return sums;
}

std::uint64_t AttemptView::SegmentEnd(std::size_t i) const {
  return i + 1 < segments() ? segment(i + 1).first_row : rows();
}

AttemptView::Range AttemptView::RowsOf(std::size_t segment_index, std::int64_t from,
                                       std::int64_t to) const {
  const std::uint64_t first = segment(segment_index).first_row;
  const std::uint64_t last = SegmentEnd(segment_index);
  const std::uint64_t stored = attempt_->rows().size();
  auto ordinal_of = [&](std::int64_t index) {
    if (index == kNoLimit) return last;
    if (index <= segment(segment_index).first_index) return std::min(first, last);
    if (first < stored) {
      const std::uint64_t end = std::min(last, stored);
      const std::uint64_t found = attempt_->rows().OrdinalOfIndex(first, end, index);
      if (found < end) return found;
    }
    for (std::uint64_t i = std::max(first, stored); i < last; ++i) {
      const Row& row = closed_.tail[i - stored].row;
      if (row.is_step && row.index >= index) return i;
    }
    return last;
  };
  Range range{ordinal_of(from), ordinal_of(to)};
  // What lies before the attempt's first step shares that step's fate.
  if (segment_index == 0 && range.first == first && range.last > range.first) range.first = 0;
  return range;
}

AttemptView::Range AttemptView::WastedRows(std::size_t i) const {
  if (keep_below_[i] == kNoLimit) return {SegmentEnd(i), SegmentEnd(i)};
  Range range = RowsOf(i, keep_below_[i], kNoLimit);
  return range;
}

std::int64_t AttemptView::Retainable(const Sums& sums) const {
  std::int64_t ns = 0;
  for (std::size_t i = 0; i < sums.ns.size(); ++i) {
    if (context_->buckets.category(static_cast<BucketId>(i)) == Category::kProductive) {
      ns += sums.ns[i];
    }
  }
  return ns;
}

Sums AttemptView::SumBetween(std::int64_t from, std::int64_t to) const {
  from = std::max(from, begin_);
  to = std::min(to, end_);
  if (from >= to) return Sums{};
  Sums sums = Before(to);
  sums.Add(Before(from), -1);
  auto waste = [&](std::int64_t begin, std::int64_t end) {
    begin = std::max(begin, from);
    end = std::min(end, to);
    if (begin >= end) return;
    Sums lost = Before(end);
    lost.Add(Before(begin), -1);
    for (std::size_t i = 0; i < lost.ns.size(); ++i) {
      const auto bucket = static_cast<BucketId>(i);
      if (lost.ns[i] == 0 || context_->buckets.category(bucket) != Category::kProductive) continue;
      sums.Add(bucket, -lost.ns[i]);
      sums.Add(BucketOf(Category::kWastedProgress), lost.ns[i]);
    }
    sums.slow -= lost.slow;
    sums.outside -= lost.outside;
    sums.steps -= lost.steps;
  };
  ForEachWasted(waste);
  return sums;
}

void AttemptView::ForEachWasted(
    const std::function<void(std::int64_t, std::int64_t)>& waste) const {
  bool in_flight_wasted = false;
  for (std::size_t i = 0; i < segments(); ++i) {
    const Range range = WastedRows(i);
    if (range.first >= range.last) continue;
    waste(BeginOf(range.first), BeginOf(range.last));
    in_flight_wasted |= range.last == rows();
  }
  if (in_flight_lost_ && !in_flight_wasted) {
    // A first step that never completed takes what came before it along.
    const bool only = state().steps_started == 1;
    waste(only ? begin_ : closed_.tail.back().row.begin, closed_.end_net);
  }
}

void AttemptView::Split(std::span<const std::int64_t> points, const Part& part) const {
  const std::int64_t from = points.front();
  const std::int64_t to = points.back();
  if (const std::int64_t lead_begin = std::min(lead_begin_, to); from < lead_begin) {
    for (std::size_t i = 0; i + 1 < points.size() && points[i] < lead_begin; ++i) {
      part(i, BucketOf(Category::kProgramStartup), std::min(points[i + 1], lead_begin) - points[i]);
    }
  }
  // With the ends of what is lost among the instants, all between two of them is lost or kept.
  std::vector<std::int64_t> instants(points.begin(), points.end());
  std::vector<std::pair<std::int64_t, std::int64_t>> lost;
  ForEachWasted([&](std::int64_t begin, std::int64_t end) {
    begin = std::max(begin, from);
    end = std::min(end, to);
    if (begin >= end) return;
    lost.emplace_back(begin, end);
    instants.push_back(begin);
    instants.push_back(end);
  });
  if (!lost.empty()) {
    std::ranges::sort(instants);
    instants.erase(std::ranges::unique(instants).begin(), instants.end());
  }
  std::size_t i = 0;          // of the part that the last instant lies in
  std::size_t next_lost = 0;  // of those that end behind it
  std::vector<std::int64_t> last;
  RowWalk walk(instants, [&](std::size_t at, const Sums& sums) {
    last.resize(sums.ns.size());
    if (at > 0) {
      const std::int64_t begin = instants[at - 1];
      while (points[i + 1] <= begin) ++i;
      while (next_lost < lost.size() && lost[next_lost].second <= begin) ++next_lost;
      const bool wasted = next_lost < lost.size() && lost[next_lost].first <= begin;
      for (std::size_t k = 0; k < last.size(); ++k) {
        if (sums.ns[k] == last[k]) continue;
        auto bucket = static_cast<BucketId>(k);
        if (wasted && context_->buckets.category(bucket) == Category::kProductive) {
          bucket = BucketOf(Category::kWastedProgress);
        }
        part(i, bucket, sums.ns[k] - last[k]);
      }
    }
    std::ranges::copy(sums.ns, last.begin());
  });
  Sums sums = attempt_->rows().Walk(&walk);
  for (std::size_t k = 0; k < closed_.tail.size() && !walk.done(); ++k) {
    walk.Pass(TailRow(k), &sums);
  }
  walk.To(to, sums);
}

std::int64_t AttemptView::SumProgressOf(std::size_t segment_index, std::int64_t from,
                                        std::int64_t to) const {
  const Range range = RowsOf(segment_index, from, to);
  if (range.first >= range.last) return 0;
  Sums sums = Before(std::min(BeginOf(range.last), end_));
  sums.Add(Before(std::min(BeginOf(range.first), end_)), -1);
  return Retainable(sums);
}

std::int64_t AttemptView::InFlightProgress() const {
  if (!closed_.in_flight) return 0;
  const bool only = state().steps_started == 1;
  Sums sums = Before(end_);
  sums.Add(Before(only ? begin_ : std::min(closed_.tail.back().row.begin, end_)), -1);
  return Retainable(sums);
}

std::int64_t AttemptView::RetainedBeyond(std::int64_t index) const {
  if (index == kNoLimit) return 0;
  std::int64_t ns = 0;
  for (std::size_t i = segments(); i-- > 0;) {
    const std::int64_t from = std::max(index + 1, segment(i).first_index);
    if (from < keep_below_[i]) {
      Range range = RowsOf(i, from, keep_below_[i]);
      const bool drop_last =
          closed_.in_flight && range.last == rows() && !closed_.tail.back().row.complete;
      if (drop_last) range.last -= 1;
      if (range.first < range.last) {
        Sums sums = Before(std::min(BeginOf(range.last), end_));
        sums.Add(Before(std::min(BeginOf(range.first), end_)), -1);
        ns += Retainable(sums) - sums.outside;
      }
    }
  }
  return ns;
}

std::int64_t AttemptView::CountRetainedSteps() const {
  std::int64_t steps = 0;
  for (std::size_t i = 0; i < segments(); ++i) {
    const Range kept = RowsOf(i, segment(i).first_index, keep_below_[i]);
    if (kept.first >= kept.last) continue;
    steps += BeforeRow(kept.last).steps - BeforeRow(kept.first).steps;
  }
  return steps;
}

std::optional<std::int64_t> AttemptView::HighestRetained() const {
  const std::uint64_t stored = attempt_->rows().size();
  for (std::size_t s = segments(); s-- > 0;) {
    const Range kept = RowsOf(s, segment(s).first_index, keep_below_[s]);
    for (std::uint64_t i = kept.last; i-- > std::max(kept.first, stored);) {
      const Row& row = closed_.tail[i - stored].row;
      if (row.is_step && row.complete) return row.index;
    }
    const auto index = attempt_->rows().LastIndex(kept.first, std::min(kept.last, stored));
    if (index) return index;
  }
  return std::nullopt;
}

std::optional<std::int64_t> AttemptView::FindCompletionOf(std::int64_t index) const {
  const std::uint64_t stored = attempt_->rows().size();
  for (std::size_t s = 0; s < segments(); ++s) {
    const Range range = RowsOf(s, index, kNoLimit);
    std::uint64_t first = range.first;
    if (first == 0) first = segment(s).first_row;
    if (first >= SegmentEnd(s)) continue;
    if (first < stored) return BeginOf(first + 1);
    const bool evident = closed_.in_flight && first + 1 == rows();
    if (!evident) return closed_.tail[first - stored].View().end();
  }
  return std::nullopt;
}

void AttemptView::Visit(std::int64_t from, std::int64_t to,
                        const std::function<bool(const Row&, bool wasted)>& visit) const {
  // A step of no length at the attempt's own end is in it, too.
  const bool whole = to >= end_ && end_ == std::max(closed_.end_net, begin_);
  from = std::max(from, begin_);
  to = std::min(to, end_);
  if (from > to || (from == to && !(whole && from == begin_))) return;
  if (whole) ++to;
  std::vector<Range> lost;  // in order
  for (std::size_t i = 0; i < segments(); ++i) {
    const Range range = WastedRows(i);
    if (range.first < range.last) lost.push_back(range);
  }
  if (in_flight_lost_) {
    // A first step that never completed takes what came before it along.
    const bool only = state().steps_started == 1;
    lost.push_back({only ? 0 : rows() - 1, rows()});
  }
  std::size_t next = 0;
  auto tell = [&](std::uint64_t ordinal, const Row& row) {
    while (next < lost.size() && lost[next].last <= ordinal) ++next;
    return visit(row, next < lost.size() && ordinal >= lost[next].first);
  };
  if (lead_begin_ > begin_ && from < lead_begin_) {
    const Slice before{
        SliceCode(SliceKind::kFixed, LoadState::kNone, BucketOf(Category::kProgramStartup)),
        lead_begin_ - begin_};
    Row row;
    row.begin = begin_;
    row.slices = {&before, 1};
    if (!visit(row, false)) return;
  }
  bool go_on = true;
  attempt_->rows().Visit(
      from, to, [&](std::uint64_t ordinal, const Row& row) { return go_on = tell(ordinal, row); });
  for (std::size_t i = 0; i < closed_.tail.size() && go_on; ++i) {
    const Row row = TailRow(i);
    if (row.begin >= to) break;
    if (row.end() <= from && row.begin < from) continue;
    go_on = tell(attempt_->rows().size() + i, row);
  }
}

void AttemptView::VisitStepsBackward(
    const std::function<bool(const Row&, const RowMeasures&)>& visit) const {
  for (std::size_t i = closed_.tail.size(); i-- > 0;) {
    const PendingRow& pending = closed_.tail[i];
    const bool own = pending.row.complete && !(closed_.in_flight && i + 1 == closed_.tail.size());
    if (pending.row.is_step && own && !visit(pending.View(), pending.measures)) return;
  }
  attempt_->rows().VisitBackward(
      [&](const Row& row) { return !row.is_step || visit(row, Measure(row.slices)); });
}

}  // namespace headway::ledger
