#include "ledger/compat/step_times.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headway::compat {
namespace {

double Median(std::vector<double>* values) {
  const auto middle = values->begin() + static_cast<std::ptrdiff_t>(values->size() / 2);
  std::ranges::nth_element(*values, middle);
  if (values->size() % 2 == 1) return *middle;
  return (*std::max_element(values->begin(), middle) + *middle) / 2;
}

}  // namespace

void StepTimes::TakeUpTo(std::size_t end) {
  for (; taken_ < end; ++taken_) {
    const Entry& entry = log_->entries()[taken_];
    if (entry.kind != EntryKind::kStep) continue;
    if (previous_ && previous_->step != std::numeric_limits<std::int64_t>::max() &&
        entry.value == previous_->step + 1) {
      seconds_.Set(previous_->step, entry.time - previous_->value);
    }
    previous_ = {entry.value, entry.time};
  }
}

std::optional<double> IdealStepTime(std::span<const double> seconds) {
  std::vector<double> times;
  times.reserve(seconds.size());
  for (const double time : seconds) {
    if (time >= 1.0) times.push_back(time);
  }
  if (times.empty()) return std::nullopt;
  std::vector<double> scratch = times;
  const double median = Median(&scratch);
  for (double& value : scratch) value = std::abs(value - median);
  const double limit = median + Median(&scratch) * 3;
  long double sum = 0;
  std::size_t count = 0;
  for (const double time : times) {
    if (time > limit) continue;
    sum += time;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return static_cast<double>(sum / static_cast<long double>(count));
}

std::optional<double> IdealStepTime(const StepTable& seconds) {
  std::vector<double> times;
  times.reserve(seconds.items().size());
  for (const StepTable::Item& item : seconds.items()) times.push_back(item.value);
  return IdealStepTime(times);
}

}  // namespace headway::compat
