#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "model/category.h"
#include "model/record.h"

namespace headway::ledger {

/// A category with its name, interned: the columns of every sum. The first kCategoryCount ids are
/// the unnamed categories in their order.
using BucketId = std::uint32_t;

inline constexpr BucketId BucketOf(Category category) { return static_cast<BucketId>(category); }

class BucketTable {
 public:
  BucketTable() {
    for (int i = 0; i < kCategoryCount; ++i) Intern(static_cast<Category>(i), 0);
  }

  BucketId Intern(Category category, NameId name) {
    const auto [it, added] =
        ids_.try_emplace({category, name}, static_cast<BucketId>(entries_.size()));
    if (added) entries_.push_back({category, name});
    return it->second;
  }
  Category category(BucketId id) const { return entries_[id].first; }
  NameId name(BucketId id) const { return entries_[id].second; }
  std::size_t size() const { return entries_.size(); }
  template <typename Ar>
  void Persist(Ar& ar) {
    std::uint64_t count = entries_.size();
    ar.Amount(count);
    for (std::uint64_t i = kCategoryCount; i < count && ar.ok(); ++i) {
      auto [category, name] = i < entries_.size() ? entries_[i] : Entry();
      ar.Enum(category, static_cast<Category>(kCategoryCount - 1));
      ar.Name(name);
      ar.Check(Intern(category, name) == i);
    }
  }

 private:
  using Entry = std::pair<Category, NameId>;
  std::vector<Entry> entries_;
  std::map<std::pair<Category, NameId>, BucketId> ids_;
};

/// Nanoseconds by bucket, plus the figures that travel with them.
struct Sums {
  std::vector<std::int64_t> ns;  // [num_buckets seen so far]
  std::int64_t slow = 0;         // excess of productive steps beyond twice the baseline
  std::int64_t overlapped = 0;   // loading that took no time away
  std::int64_t steps = 0;        // complete steps
  std::int64_t outside = 0;      // productive phases outside of steps

  template <typename Ar>
  void Persist(Ar& ar) {
    ar.List(ns);
    ar.Check(ns.size() <= ar.scope().buckets->size());
    ar(slow, overlapped, steps, outside);
  }
  void Add(BucketId bucket, std::int64_t amount) {
    if (bucket >= ns.size()) ns.resize(bucket + 1);
    ns[bucket] += amount;
  }
  void Add(const Sums& other, std::int64_t sign = 1) {
    if (other.ns.size() > ns.size()) ns.resize(other.ns.size());
    for (std::size_t i = 0; i < other.ns.size(); ++i) ns[i] += sign * other.ns[i];
    slow += sign * other.slow;
    overlapped += sign * other.overlapped;
    steps += sign * other.steps;
    outside += sign * other.outside;
  }
};

}  // namespace headway::ledger
