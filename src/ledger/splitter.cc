#include "ledger/splitter.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/limits.h"
#include "ledger/persist.h"

namespace headway::ledger {
namespace {

constexpr std::int64_t kMaxNs = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMinute = 60'000'000'000;

std::int64_t Times(std::int64_t value, std::int64_t factor) {
  return value > kMaxNs / factor ? kMaxNs : value * factor;
}

std::int64_t Plus(std::int64_t a, std::int64_t b) { return a > kMaxNs - b ? kMaxNs : a + b; }

std::int64_t Excess(std::int64_t work, std::int64_t b) {
  return work > UsualWork(b) ? work - b : 0;
}

// The k-th smallest (from 0) of `count` values, by partitions around a guess and then around the
// best of a few values. Without a branch on the values, which nobody could predict.
std::int64_t Select(const std::int64_t* values, std::size_t count, std::size_t k,
                    std::int64_t guess) {
  constexpr std::size_t kMost = 104;
  std::int64_t below[kMost], above[kMost], kept[kMost];
  while (true) {
    std::size_t smaller = 0;
    std::size_t greater = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t value = values[i];
      below[smaller] = value;
      smaller += value < guess ? 1 : 0;
      above[greater] = value;
      greater += value > guess ? 1 : 0;
    }
    const std::size_t equal = count - smaller - greater;
    if (k < smaller) {
      count = smaller;
      std::copy_n(below, count, kept);
    } else if (k < smaller + equal) {
      return guess;
    } else {
      k -= smaller + equal;
      count = greater;
      std::copy_n(above, count, kept);
    }
    values = kept;
    const std::int64_t x = kept[0];
    const std::int64_t y = kept[count / 2];
    const std::int64_t z = kept[count - 1];
    guess = std::max(std::min(x, y), std::min(std::max(x, y), z));
    if (k * 4 < count) guess = std::min({x, y, z});
    if (k * 4 > 3 * count) guess = std::max({x, y, z});
  }
}

// The same for a few values, by counting who is smaller.
std::int64_t SelectOfFew(const std::int64_t* values, std::size_t count, std::size_t k) {
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t rank = 0;
    for (std::size_t j = 0; j < i; ++j) rank += values[j] <= values[i] ? 1 : 0;
    for (std::size_t j = i + 1; j < count; ++j) rank += values[j] < values[i] ? 1 : 0;
    if (rank == k) return values[i];
  }
  return values[0];
}

}  // namespace

std::int64_t FloorMedian(std::vector<std::int64_t>* values) {
  const auto middle = values->begin() + static_cast<std::ptrdiff_t>(values->size() / 2);
  std::nth_element(values->begin(), middle, values->end());
  if (values->size() % 2 == 1) return *middle;
  const std::int64_t low = *std::max_element(values->begin(), middle);
  return low + (*middle - low) / 2;
}

std::int64_t StallBound(std::int64_t b) {
  return std::max(Times(b, 10), Plus(b, std::min(kMinute, Times(b, 50))));
}

std::size_t Splitter::MemoryBytes() const {
  std::size_t bytes = pending_.capacity() * sizeof(PendingRow) +
                      (unsettled_.capacity() + firsts_.capacity()) * sizeof(std::size_t);
  for (const PendingRow& row : pending_) {
    bytes += row.slices.capacity() * sizeof(Slice) + row.followers.capacity() * 8;
  }
  return bytes;
}

template <typename Ar>
void Splitter::Persist(Ar& ar) {
  ar(own_, inherited_, weak_);
  ar.List(pending_);
  for (std::vector<std::size_t>* places : {&unsettled_, &firsts_}) {
    std::size_t before = 0;
    ar.List(*places, [&](std::size_t& at) {
      const std::size_t least = before;
      ar.Near(at, &before);
      ar.Check(at >= least && at < pending_.size() && !pending_[at].settled);
    });
  }
  ar.Below(waiting_, kWaiting);
  ar.Below(stall_run_, kShiftStalls + 1);
  ar.Below(excess_run_, kShiftExcesses + 1);
  ar.Below(window_at_, kWindow);
  ar.Below(observed_, std::uint64_t{1} << 62);
  const std::uint64_t count = std::min<std::uint64_t>(observed_, kWindow);
  std::int64_t before = 0;
  for (std::uint64_t i = 0; i < count; ++i) ar.Near(window_[i], &before);
  ar(usual_, reach_, baseline_shifts_, weak_baselines_);
}
template void Splitter::Persist(SnapshotWriter& ar);
template void Splitter::Persist(SnapshotReader& ar);

std::optional<std::int64_t> Splitter::HandedOn() const {
  if (own_) return own_;
  return inherited_ ? inherited_ : weak_;
}

std::optional<std::int64_t> Splitter::InForce() const {
  if (const auto known = HandedOn()) return known;
  // Too few steps of one's own and nothing before: the smaller one, as it would settle now.
  std::optional<std::int64_t> smallest;
  for (const std::size_t at : unsettled_) {
    const std::int64_t work = pending_[at].measures.work;
    smallest = std::min(smallest.value_or(work), work);
  }
  return smallest;
}

void Splitter::Split(PendingRow* pending, std::optional<std::int64_t> baseline) const {
  Row& row = pending->row;
  row.loading = row.extra = row.slow = 0;
  row.extra_kind = Row::Extra::kNone;
  pending->baseline = baseline;
  pending->no_baseline = !baseline && pending->measures.work > 0;
  if (!baseline) return;  // all of it productive, its loading overlapped
  const std::int64_t b = *baseline;
  row.loading = std::min(pending->measures.load_in_work, Excess(pending->measures.work, b));
  const std::int64_t x = pending->measures.work - row.loading;
  if (x > StallBound(b)) {
    row.extra_kind = Row::Extra::kStall;
    row.extra = x - b;
  } else {
    row.slow = std::max<std::int64_t>(0, x - Times(b, 2));
  }
}

// A step with an excess that neither stalls nor comes close to a new normal.
bool Splitter::SplitLate(Row* row, const RowMeasures& measures) {
  if (excess_run_ + kShiftStalls >= kShiftExcesses) return false;
  const std::int64_t b = *own_;
  const std::int64_t loading = std::min(measures.load_in_work, measures.work - b);
  const std::int64_t x = measures.work - loading;
  if (x > StallBound(b)) return false;
  row->loading = loading;
  row->slow = std::max<std::int64_t>(0, x - Times(b, 2));
  excess_run_ += 1;
  stall_run_ = 0;
  PushWindow(x);
  return true;
}

PendingRow& Splitter::AddPending(const Row& row, const RowMeasures& measures) {
  PendingRow& added = pending_.emplace_back();
  added.row = row;
  added.slices.assign(row.slices.begin(), row.slices.end());
  added.row.slices = {};
  added.measures = measures;
  return added;
}

std::vector<PendingRow> Splitter::TakePending() {
  unsettled_.clear();
  firsts_.clear();
  return std::exchange(pending_, {});
}

void Splitter::AddSlow(const Row& row, const RowMeasures& measures) {
  if (pending_.size() >= limits::kWaitingRows) Finish();
  PendingRow& added = AddPending(row, measures);
  if (!row.is_step) {
    added.settled = true;
    return;
  }
  const std::size_t at = pending_.size() - 1;
  if (row.first) {
    added.baseline = HandedOn();
    firsts_.push_back(at);
    return;
  }
  if (measures.work == 0) {
    stall_run_ = excess_run_ = 0;
    added.settled = true;
    SettleAllBut(own_ ? 0 : waiting_);
    return;
  }
  unsettled_.push_back(at);
  if (!own_) {
    waiting_ += 1;
    if (waiting_ == kWaiting) {
      waiting_ = 0;
      FormBaseline();
    }
    return;
  }
  Split(&added, own_);
  Observe(added);
  if (stall_run_ == kShiftStalls || excess_run_ == kShiftExcesses) {
    baseline_shifts_ += 1;
    FormBaseline();
    return;
  }
  SettleAllBut(std::max(stall_run_, excess_run_ - (kShiftExcesses - kShiftStalls)));
}

void Splitter::Observe(const PendingRow& pending) {
  const bool stalled = pending.row.extra_kind == Row::Extra::kStall;
  stall_run_ = stalled ? stall_run_ + 1 : 0;
  excess_run_ = Excess(pending.measures.work, *pending.baseline) > 0 ? excess_run_ + 1 : 0;
  if (!stalled) PushWindow(pending.measures.work - pending.row.loading);
}

void Splitter::RefreshBaseline(std::int64_t value) {
  own_ = WindowMedian(own_.value_or(value));
  usual_ = UsualWork(*own_);
}

// The floor-median of the window. It is close to the last one nearly always: one pass then finds
// the few values around that.
std::int64_t Splitter::WindowMedian(std::int64_t guess) {
  constexpr std::size_t kFew = 16;
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(observed_, kWindow));
  const std::int64_t* const values = window_.data();
  if (count % 2 == 0) {
    const std::int64_t high = Select(values, count, count / 2, guess);
    const std::int64_t low = Select(values, count, count / 2 - 1, high);
    return low + (high - low) / 2;
  }
  std::int64_t near[kWindow];
  for (int tries = 0; tries < 2; ++tries) {
    const std::int64_t low = guess - std::min(reach_, guess);
    const auto width = static_cast<std::uint64_t>(reach_) * 2;
    std::size_t found = 0;
    std::size_t below = 0;
    for (std::size_t i = 0; i < count; ++i) {
      near[found] = values[i];
      found += static_cast<std::uint64_t>(values[i]) - static_cast<std::uint64_t>(low) <= width;
      below += values[i] < low;
    }
    if (below <= count / 2 && count / 2 < below + found) {
      if (found > kFew) reach_ -= reach_ / 8;
      const std::size_t k = count / 2 - below;
      return found <= 2 * kFew ? SelectOfFew(near, found, k) : Select(near, found, k, guess);
    }
    reach_ = std::min(2 * reach_ + guess / 1024 + 1, std::int64_t{1} << 60);
  }
  return Select(values, count, count / 2, guess);
}

void Splitter::FormBaseline() {
  // The last three later steps with work time set the baseline and are split by it (again).
  std::vector<PendingRow*> last;
  const std::size_t count = std::min<std::size_t>(unsettled_.size(), kWaiting);
  for (std::size_t i = unsettled_.size() - count; i < unsettled_.size(); ++i) {
    last.push_back(&pending_[unsettled_[i]]);
  }
  std::vector<std::int64_t> works;
  for (const PendingRow* pending : last) works.push_back(pending->measures.work);
  const std::int64_t b = FloorMedian(&works);
  observed_ = window_at_ = 0;
  stall_run_ = excess_run_ = 0;
  for (PendingRow* pending : last) {
    Split(pending, b);
    Observe(*pending);
  }
  SettleAllBut(std::max(stall_run_, excess_run_ - (kShiftExcesses - kShiftStalls)));
}

void Splitter::SettleAllBut(int held) {
  // Later steps before the last `held` ones cannot be split again; each counts for the first
  // steps before it that still look for followers.
  const std::size_t kept = std::min(unsettled_.size(), static_cast<std::size_t>(held));
  const std::size_t end = unsettled_.size() - kept;
  for (std::size_t i = 0; i < end; ++i) {
    const std::size_t at = unsettled_[i];
    PendingRow& pending = pending_[at];
    pending.settled = true;
    const std::int64_t productive = pending.measures.work - pending.row.loading - pending.row.extra;
    std::erase_if(firsts_, [&](std::size_t first_at) {
      if (first_at > at) return false;
      PendingRow& first = pending_[first_at];
      first.followers.push_back(productive);
      if (first.followers.size() < kFollowers) return false;
      ResolveFirst(&first);
      return true;
    });
  }
  unsettled_.erase(unsettled_.begin(), unsettled_.begin() + static_cast<std::ptrdiff_t>(end));
}

void Splitter::ResolveFirst(PendingRow* first) const {
  Row& row = first->row;
  std::vector<std::int64_t> followers = first->followers;
  const std::optional<std::int64_t> b =
      followers.empty() ? first->baseline : std::optional(FloorMedian(&followers));
  first->settled = true;
  first->no_baseline = !b && first->measures.work > 0;
  row.extra_kind = Row::Extra::kStartup;
  const std::int64_t work = first->measures.work;
  const std::int64_t load = first->measures.load_in_work;
  if (b) {
    const std::int64_t excess = Excess(work, *b);
    row.loading = std::min(load, excess);
    row.extra = excess - row.loading;
  } else {
    row.loading = load;
    row.extra = work - load;
  }
  if (row.extra == 0) row.extra_kind = Row::Extra::kNone;
}

void Splitter::SettleWaiting() {
  if (waiting_ == 0) return;
  std::optional<std::int64_t> b = inherited_;
  if (!b) {
    b = weak_ = InForce();
    weak_baselines_ += 1;
  }
  for (const std::size_t at : unsettled_) Split(&pending_[at], b);
  waiting_ = 0;
}

void Splitter::RestartBaseline() {
  SettleWaiting();
  SettleAllBut(0);
  inherited_ = HandedOn();
  own_.reset();
  observed_ = window_at_ = 0;
  stall_run_ = excess_run_ = 0;
}

void Splitter::Finish() {
  SettleWaiting();
  SettleAllBut(0);
  for (const std::size_t at : firsts_) ResolveFirst(&pending_[at]);
  firsts_.clear();
}

void Splitter::AddInFlight(Row row) {
  const RowMeasures measures = Measure(row.slices);
  PendingRow& added = AddPending(row, measures);
  added.settled = true;
  if (row.first) {
    added.baseline = HandedOn();
    ResolveFirst(&added);
  } else {
    Split(&added, HandedOn());
  }
}

}  // namespace headway::ledger
