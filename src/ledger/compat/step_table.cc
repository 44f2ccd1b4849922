#include "ledger/compat/step_table.h"

#include <algorithm>

namespace headway::compat {

std::size_t StepTable::Find(std::int64_t step) const {
  if (items_.empty() || step > items_[highest_].step || step < lowest_) return kNowhere;
  if (ascending_) {
    const auto found = std::ranges::lower_bound(items_, step, {}, &Item::step);
    return found->step == step ? static_cast<std::size_t>(found - items_.begin()) : kNowhere;
  }
  const auto found = index_.find(step);
  return found == index_.end() ? kNowhere : found->second;
}

void StepTable::Append(std::int64_t step, double value) {
  const std::size_t at = items_.size();
  if (ascending_ && at > 0 && step < items_.back().step) {
    ascending_ = false;
    for (std::size_t i = 0; i < at; ++i) index_.emplace(items_[i].step, i);
  }
  items_.push_back({step, value});
  if (!ascending_) index_.emplace(step, at);
  if (at == 0 || step < lowest_) lowest_ = step;
  if (at == 0 || step > items_[highest_].step) highest_ = at;
}

void StepTable::Set(std::int64_t step, double value) {
  const std::size_t at = Find(step);
  if (at == kNowhere) {
    Append(step, value);
  } else {
    items_[at].value = value;
  }
}

void StepTable::Clear() {
  items_.clear();
  index_.clear();
  ascending_ = true;
  highest_ = 0;
}

}  // namespace headway::compat
