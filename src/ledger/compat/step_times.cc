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

std::optional<double> StepDeviation(const StepTable& times, double ideal) {
  constexpr std::size_t kRecent = 100;
  constexpr std::size_t kBefore = 1000;
  const std::span<const StepTable::Item> all = times.items();
  std::vector<double> off;
  for (const StepTable::Item& item : all.last(std::min(all.size(), kRecent + kBefore))) {
    off.push_back(std::abs(item.value - ideal));
  }
  if (off.empty()) return std::nullopt;
  if (off.size() < kRecent) {
    double sum = 0;
    for (const double value : off) sum += value;
    return sum / static_cast<double>(off.size());
  }
  std::vector<double> recent(off.end() - kRecent, off.end());
  std::ranges::sort(recent);
  const double place = static_cast<double>(kRecent - 1) * 0.9;
  const auto below = static_cast<std::size_t>(place);
  const double spike =
      recent[below] + (recent[below + 1] - recent[below]) * (place - static_cast<double>(below));
  if (off.size() < kRecent + kBefore) return spike;
  std::vector<double> before(off.end() - (kRecent + kBefore), off.end() - kRecent);
  std::ranges::sort(before);
  return spike - (before[kBefore / 2 - 1] + before[kBefore / 2]) / 2;
}

}  // namespace headway::compat
