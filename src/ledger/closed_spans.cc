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

}  // namespace headway::ledger
