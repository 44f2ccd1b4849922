#include "ledger/step_history.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "ledger/attempt.h"
#include "ledger/histogram.h"
#include "ledger/run_view.h"

namespace headway::ledger {
namespace {

constexpr std::size_t kExactMost = 65'536;

/// The work of the steps of one column: as it is as long as it is little, else as a histogram.
class Works {
 public:
  void Add(std::int64_t ns) {
    max_ = std::max(max_, ns);
    min_ = count_ == 0 ? ns : std::min(min_, ns);
    ++count_;
    if (many_ != nullptr) {
      many_->Add(ns);
    } else {
      few_.push_back(ns);
      if (few_.size() > kExactMost) Spread();
    }
  }

  /// Puts what there is to say into `column`, and begins anew.
  void PutInto(StepHistory::Column* column) {
    column->count = count_;
    column->min_ns = min_;
    column->max_ns = max_;
    column->p10_ns = Quantile(10);
    column->p50_ns = Quantile(50);
    column->p90_ns = Quantile(90);
    few_.clear();
    many_.reset();
    count_ = min_ = max_ = 0;
  }

 private:
  void Spread() {
    many_ = std::make_unique<Histogram>();
    for (const std::int64_t ns : few_) many_->Add(ns);
    few_.clear();
  }

  std::int64_t Quantile(std::int64_t percent) {
    if (many_ != nullptr) {
      return std::clamp(many_->Quantile(static_cast<double>(percent) / 100), min_, max_);
    }
    if (few_.empty()) return 0;
    const auto rank = (static_cast<std::int64_t>(few_.size()) * percent + 99) / 100;
    const auto at = few_.begin() + std::max<std::int64_t>(rank, 1) - 1;
    std::ranges::nth_element(few_, at);
    return *at;
  }

  std::vector<std::int64_t> few_;
  std::unique_ptr<Histogram> many_;
  std::int64_t count_ = 0, min_ = 0, max_ = 0;
};

struct Slow {
  std::int64_t work = 0;
  StepSummary step;
};

bool Slower(const Slow& a, const Slow& b) { return a.work > b.work; }

std::int64_t WorkOf(const Row& row) {
  std::int64_t work = 0;
  for (const Slice& slice : row.slices) {
    if (IsWork(slice.code)) work += slice.ns;
  }
  return work;
}

}  // namespace

StepHistory MakeStepHistory(const RunView& view, const RunContext& context, std::int64_t from,
                            std::int64_t to, const StepQuestion& question) {
  const bool by_step = question.axis == StepQuestion::Axis::kStep;
  StepHistory history;
  if (question.ends.size() < 2) return history;
  history.columns.resize(question.ends.size() - 1);
  std::vector<std::int64_t> ends = question.ends;
  if (!by_step) {
    for (std::int64_t& end : ends) end = context.net.Net(end);
  }

  Works works;
  std::vector<Slow> slow;  // a heap, the least slow one on top
  std::size_t column = 0;
  std::optional<std::int64_t> last_step, productive_step;
  const auto close = [&] {
    StepHistory::Column& closed = history.columns[column++];
    works.PutInto(&closed);
    if (by_step) return;
    closed.last_step = last_step;
    closed.productive_step = productive_step;
  };
  view.VisitSteps(from, to, [&](std::int64_t attempt, const Row& row, bool wasted) {
    const std::int64_t at = by_step ? row.index : row.begin;
    if (by_step && (wasted || !row.complete)) return true;
    if (at < ends.front() || at >= ends.back()) return true;
    while (at >= ends[column + 1]) close();
    last_step = row.index;
    if (!row.complete) return true;
    if (wasted) {
      ++history.columns[column].wasted;
    } else {
      productive_step = std::max(row.index, productive_step.value_or(row.index));
    }
    const std::int64_t work = WorkOf(row);
    works.Add(work);
    if (row.first || question.slowest == 0) return true;
    const bool full = slow.size() == question.slowest;
    if (full && work <= slow.front().work) return true;
    if (full) {
      std::ranges::pop_heap(slow, Slower);
      slow.pop_back();
    }
    slow.push_back({work, view.Summarize(attempt, row, wasted)});
    std::ranges::push_heap(slow, Slower);
    return true;
  });
  while (column < history.columns.size()) close();
  std::ranges::sort(slow, [](const Slow& a, const Slow& b) {
    return std::pair(-a.work, a.step.start) < std::pair(-b.work, b.step.start);
  });
  for (Slow& one : slow) history.slowest.push_back(std::move(one.step));
  return history;
}

}  // namespace headway::ledger
