#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "ledger/compat/entry.h"

namespace headway::compat {

/// The custom events of a log: a start and the next end of the same type, where the end is later.
class CustomEvents {
 public:
  struct Event {
    double start = 0;
    double end = 0;
    NameId type = 0;
  };

  /// Takes kCustomStart and kCustomEnd entries in order. Returns the event that the entry
  /// completes, or null.
  const Event* Take(const Entry& entry);

  /// Calls `visit(event)` for all within [from, to], in order of their starts. Fast where the
  /// ranges asked for ascend.
  template <typename Visit>
  void Within(double from, double to, const Visit& visit);
  /// The same for those that overlap [from, to].
  template <typename Visit>
  void Overlapping(double from, double to, const Visit& visit);

  const std::vector<Event>& events() const { return events_; }

 private:
  void Arrange();

  std::unordered_map<NameId, double> open_;  // starts by type
  std::vector<Event> events_;
  std::vector<double> latest_;  // [num_events] the latest end so far
  std::size_t arranged_ = 0;    // events in order, with `latest_`
  std::size_t at_ = 0;          // all before it start before the range last asked for
};

template <typename Visit>
void CustomEvents::Within(double from, double to, const Visit& visit) {
  if (events_.empty()) return;
  Arrange();
  while (at_ > 0 && events_[at_ - 1].start >= from) --at_;
  while (at_ < events_.size() && events_[at_].start < from) ++at_;
  for (std::size_t i = at_; i < events_.size() && events_[i].start <= to; ++i) {
    if (events_[i].end <= to) visit(events_[i]);
  }
}

template <typename Visit>
void CustomEvents::Overlapping(double from, double to, const Visit& visit) {
  if (events_.empty()) return;
  Arrange();
  while (at_ > 0 && latest_[at_ - 1] > from) --at_;
  while (at_ < events_.size() && latest_[at_] <= from) ++at_;
  for (std::size_t i = at_; i < events_.size() && events_[i].start < to; ++i) {
    if (events_[i].end > from) visit(events_[i]);
  }
}

}  // namespace headway::compat
