#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ledger/persist.h"
#include "model/record.h"

namespace headway::ledger {

/// A span that was closed for want of an end, which may yet come.
struct ClosedSpan {
  std::uint64_t record = 0;     ///< ordinal of its begin
  std::uint64_t seq = 0;        ///< of its begin
  std::uint64_t closed_by = 0;  ///< ordinal of the record that closed it
  std::int64_t begin = 0;       ///< net
  NameId name = 0;
  SpanKind kind = SpanKind::kNone;
  bool effective = false;  ///< it matters when it ended

  /// `records`: how many there are.
  template <typename Ar>
  void Persist(Ar& ar, std::uint64_t records) {
    ar.Below(record, records);
    ar(seq);
    ar.Below(closed_by, records);
    ar(begin);
    ar.Name(name);
    ar.Enum(kind, kLastSpanKind);
    ar(effective);
  }
};

/// The closed spans of an attempt, as of the last record that it has seen: the last
/// limits::kClosedSpans of those that have found no end. Finding one is fast for the latest ones,
/// else O(log n).
class ClosedSpans {
 public:
  void Add(const ClosedSpan& span);
  /// Takes out the one that an end is for: the one whose begin has that sequence number, else (for
  /// kNoHandle) the latest of that kind and name.
  std::optional<ClosedSpan> Take(std::int64_t handle, SpanKind kind, NameId name);
  /// Forgets those of a kind and name.
  void Drop(SpanKind kind, NameId name);
  /// When the latest of that kind and name began, net.
  std::optional<std::int64_t> BeginOf(SpanKind kind, NameId name) const;

  bool empty() const { return recent_.empty() && old_.empty(); }
  void Clear();
  std::size_t MemoryBytes() const;
  /// Of an attempt with so many records.
  template <typename Ar>
  void Persist(Ar& ar, std::uint64_t records);

 private:
  using Key = std::pair<SpanKind, NameId>;
  using Order = std::uint64_t;  // in which they were closed

  void MoveToOld();
  ClosedSpan TakeOld(std::map<Order, ClosedSpan>::iterator at);

  std::vector<ClosedSpan> recent_;  // the latest, in order
  std::map<Order, ClosedSpan> old_;
  std::unordered_map<std::uint64_t, Order> old_by_seq_;
  std::map<Key, std::set<Order>> old_by_key_;
  Order moved_ = 0;
};

}  // namespace headway::ledger
