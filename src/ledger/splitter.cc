#include "ledger/splitter.h"

#include <algorithm>
#include <limits>

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

std::optional<std::int64_t> Splitter::HandedOn() const {
  if (own_) return own_;
  return inherited_ ? inherited_ : weak_;
}

std::optional<std::int64_t> Splitter::InForce() const {
  if (const auto known = HandedOn()) return known;
  // Too few steps of one's own and nothing before: the smaller one, as it would settle now.
  std::optional<std::int64_t> smallest;
  for (const PendingRow& pending : pending_) {
    const bool waits = pending.row.is_step && !pending.row.first && !pending.settled;
    if (waits && (!smallest || pending.measures.work < *smallest)) {
      smallest = pending.measures.work;
    }
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

void Splitter::AddSlow(const Row& row, const RowMeasures& measures) {
  PendingRow& added = pending_.emplace_back();
  added.row = row;
  added.slices.assign(row.slices.begin(), row.slices.end());
  added.row.slices = {};
  added.measures = measures;
  if (!row.is_step) {
    added.settled = true;
    return;
  }
  if (row.first) {
    added.baseline = HandedOn();
    return;
  }
  if (measures.work == 0) {
    stall_run_ = excess_run_ = 0;
    added.settled = true;
    SettleAllBut(own_ ? 0 : waiting_);
    return;
  }
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
  for (std::size_t i = pending_.size(); i-- > 0 && last.size() < kWaiting;) {
    PendingRow& pending = pending_[i];
    if (pending.row.is_step && !pending.row.first && pending.measures.work > 0) {
      last.push_back(&pending);
    }
  }
  std::reverse(last.begin(), last.end());
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
  std::size_t end = pending_.size();
  for (int left = held; end > 0 && left > 0;) {
    --end;
    const PendingRow& pending = pending_[end];
    if (pending.row.is_step && !pending.row.first && pending.measures.work > 0) --left;
  }
  std::vector<PendingRow*> seeking;
  for (std::size_t i = 0; i < end; ++i) {
    PendingRow& pending = pending_[i];
    if (!pending.row.is_step) continue;
    if (pending.row.first) {
      if (!pending.settled) seeking.push_back(&pending);
      continue;
    }
    if (pending.settled) continue;
    pending.settled = true;
    if (pending.measures.work == 0) continue;
    const std::int64_t productive = pending.measures.work - pending.row.loading - pending.row.extra;
    for (PendingRow* first : seeking) {
      if (first->settled) continue;
      first->followers.push_back(productive);
      if (first->followers.size() == kFollowers) ResolveFirst(first);
    }
  }
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
  for (PendingRow& pending : pending_) {
    if (pending.row.is_step && !pending.row.first && !pending.settled) Split(&pending, b);
  }
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
  for (PendingRow& pending : pending_) {
    if (!pending.settled) ResolveFirst(&pending);
  }
}

void Splitter::AddInFlight(Row row) {
  const RowMeasures measures = Measure(row.slices);
  PendingRow& added = pending_.emplace_back();
  added.row = row;
  added.slices.assign(row.slices.begin(), row.slices.end());
  added.row.slices = {};
  added.measures = measures;
  added.settled = true;
  if (row.first) {
    added.baseline = HandedOn();
    ResolveFirst(&added);
  } else {
    Split(&added, HandedOn());
  }
}

}  // namespace headway::ledger
