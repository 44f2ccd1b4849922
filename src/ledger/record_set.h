#pragma once

#include <cstdint>
#include <vector>

namespace headway::ledger {

/// A set of an attempt's records, by their ordinals: a bit for each record up to the last one in
/// it.
class RecordSet {
 public:
  bool contains(std::uint64_t record) const { return record < bits_.size() && bits_[record]; }
  void insert(std::uint64_t record) {
    if (record >= bits_.size()) bits_.resize(record + record / 4 + 64);
    bits_[record] = true;
  }
  void clear() { bits_.clear(); }
  std::size_t MemoryBytes() const { return bits_.capacity() / 8; }

 private:
  std::vector<bool> bits_;
};

}  // namespace headway::ledger
