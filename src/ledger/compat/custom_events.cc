#include "ledger/compat/custom_events.h"

#include <algorithm>

namespace headway::compat {

const CustomEvents::Event* CustomEvents::Take(const Entry& entry) {
  if (entry.kind == EntryKind::kCustomStart) {
    open_[entry.name] = entry.time;
    return nullptr;
  }
  const auto found = open_.find(entry.name);
  if (found == open_.end()) return nullptr;
  const double start = found->second;
  open_.erase(found);
  if (!(start < entry.time)) return nullptr;
  events_.push_back({start, entry.time, entry.name});
  return &events_.back();
}

void CustomEvents::Arrange() {
  if (arranged_ == events_.size()) return;
  auto by_start = [](const Event& a, const Event& b) { return a.start < b.start; };
  const auto middle = events_.begin() + static_cast<std::ptrdiff_t>(arranged_);
  std::stable_sort(middle, events_.end(), by_start);
  if (arranged_ > 0 && by_start(*middle, *(middle - 1))) {
    std::inplace_merge(events_.begin(), middle, events_.end(), by_start);
    arranged_ = 0;
  }
  latest_.resize(events_.size());
  for (std::size_t i = arranged_; i < events_.size(); ++i) {
    latest_[i] = i == 0 ? events_[i].end : std::max(latest_[i - 1], events_[i].end);
  }
  arranged_ = events_.size();
  at_ = 0;
}

}  // namespace headway::compat
