#include "ledger/closed_spans.h"

#include <algorithm>

#include "base/limits.h"

namespace headway::ledger {
namespace {

constexpr std::size_t kRecent = 64;

}  // namespace

void ClosedSpans::Clear() {
  recent_.clear();
  old_.clear();
  old_by_seq_.clear();
  old_by_key_.clear();
}

void ClosedSpans::Add(const ClosedSpan& span) {
  if (recent_.size() == kRecent) MoveToOld();
  recent_.push_back(span);
  if (recent_.size() + old_.size() > limits::kClosedSpans) TakeOld(old_.begin());
}

void ClosedSpans::MoveToOld() {
  const auto end = recent_.begin() + kRecent / 2;
  for (auto span = recent_.begin(); span != end; ++span) {
    const Order order = moved_++;
    old_.emplace_hint(old_.end(), order, *span);
    old_by_seq_[span->seq] = order;
    old_by_key_[{span->kind, span->name}].insert(order);
  }
  recent_.erase(recent_.begin(), end);
}

ClosedSpan ClosedSpans::TakeOld(std::map<Order, ClosedSpan>::iterator at) {
  const ClosedSpan span = at->second;
  const auto by_seq = old_by_seq_.find(span.seq);
  if (by_seq != old_by_seq_.end() && by_seq->second == at->first) old_by_seq_.erase(by_seq);
  const auto by_key = old_by_key_.find({span.kind, span.name});
  by_key->second.erase(at->first);
  if (by_key->second.empty()) old_by_key_.erase(by_key);
  old_.erase(at);
  return span;
}

std::optional<ClosedSpan> ClosedSpans::Take(std::int64_t handle, SpanKind kind, NameId name) {
  const bool by_handle = handle != kNoHandle;
  const auto seq = static_cast<std::uint64_t>(handle);
  for (std::size_t i = recent_.size(); i-- > 0;) {
    const ClosedSpan span = recent_[i];
    if (by_handle ? span.seq != seq : span.kind != kind || span.name != name) continue;
    recent_.erase(recent_.begin() + static_cast<std::ptrdiff_t>(i));
    return span;
  }
  if (old_.empty()) return std::nullopt;
  if (by_handle) {
    const auto found = old_by_seq_.find(seq);
    if (found == old_by_seq_.end()) return std::nullopt;
    return TakeOld(old_.find(found->second));
  }
  const auto found = old_by_key_.find({kind, name});
  if (found == old_by_key_.end()) return std::nullopt;
  return TakeOld(old_.find(*found->second.rbegin()));
}

void ClosedSpans::Drop(SpanKind kind, NameId name) {
  while (Take(kNoHandle, kind, name)) {
  }
}

std::optional<std::int64_t> ClosedSpans::BeginOf(SpanKind kind, NameId name) const {
  for (std::size_t i = recent_.size(); i-- > 0;) {
    if (recent_[i].kind == kind && recent_[i].name == name) return recent_[i].begin;
  }
  const auto found = old_by_key_.find({kind, name});
  if (found == old_by_key_.end()) return std::nullopt;
  return old_.at(*found->second.rbegin()).begin;
}

std::size_t ClosedSpans::MemoryBytes() const {
  constexpr std::size_t kNode = 64;  // what a node of a tree or a table takes, about
  return recent_.capacity() * sizeof(ClosedSpan) + old_.size() * (sizeof(ClosedSpan) + 3 * kNode) +
         old_by_key_.size() * 2 * kNode;
}

template <typename Ar>
void ClosedSpans::Persist(Ar& ar, std::uint64_t records) {
  ar.List(recent_, [&](ClosedSpan& span) { span.Persist(ar, records); });
  ar.Below(moved_, std::uint64_t{1} << 62);
  Order before = 0;
  if constexpr (Ar::kReading) {
    old_by_seq_.clear();
    old_by_key_.clear();
  }
  ar.Map(old_, [&](Order& order, ClosedSpan& span) {
    ar.Near(order, &before);
    span.Persist(ar, records);
    // Of several with one number the latest counts, and after that none.
    bool by_seq = false;
    if constexpr (!Ar::kReading) {
      const auto found = old_by_seq_.find(span.seq);
      by_seq = found != old_by_seq_.end() && found->second == order;
    }
    ar(by_seq);
    if constexpr (Ar::kReading) {
      if (by_seq) old_by_seq_[span.seq] = order;
      old_by_key_[{span.kind, span.name}].insert(order);
    }
  });
  ar.Check(old_.empty() || old_.rbegin()->first < moved_);
  ar.Check(recent_.size() <= kRecent);
}
template void ClosedSpans::Persist(SnapshotWriter& ar, std::uint64_t records);
template void ClosedSpans::Persist(SnapshotReader& ar, std::uint64_t records);

}  // namespace headway::ledger
