#pragma once

#include <cstdint>
#include <vector>

/// Net time: wall time with the user's exclusions taken out.
///
/// Excluded time leaves a run before anything else is computed, so the whole ledger works on net
/// time and maps back to wall time only for people. Net(t) = t minus the excluded time before t;
/// it never decreases, so it keeps the order of records. Pure value, no thread rule.

namespace headway::ledger {

struct WallInterval {
  std::int64_t begin = 0;
  std::int64_t end = 0;  // half-open
};

class NetTime {
 public:
  /// Adds [from, to); empty and inverted intervals change nothing. Returns whether anything
  /// changed. O(1) behind all others.
  bool Exclude(std::int64_t from, std::int64_t to);
  bool empty() const { return gaps_.empty(); }

  std::int64_t Net(std::int64_t wall) const { return gaps_.empty() ? wall : NetOf(wall); }
  /// The earliest wall time with that net time (the end of an interval).
  std::int64_t WallEnd(std::int64_t net) const;
  /// The latest wall time with that net time (the begin of an interval).
  std::int64_t WallBegin(std::int64_t net) const;

  /// The wall intervals that make up the net interval [begin, end), in order.
  std::vector<WallInterval> Wall(std::int64_t begin, std::int64_t end) const;

  std::size_t MemoryBytes() const { return gaps_.capacity() * sizeof(Gap); }
  template <typename Ar>
  void Persist(Ar& ar) {
    Gap last;
    bool first = true;
    ar.List(gaps_, [&](Gap& gap) {
      ar(gap.from, gap.to);
      ar.Check(gap.from < gap.to && (first || last.to < gap.from));
      gap.before = last.before + (last.to - last.from);
      last = gap;
      first = false;
    });
  }

 private:
  struct Gap {
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::int64_t before = 0;  // excluded time before `from`
  };
  std::int64_t NetOf(std::int64_t wall) const;

  std::vector<Gap> gaps_;  // disjoint, sorted, not touching
};

}  // namespace headway::ledger
