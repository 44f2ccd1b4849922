#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headway::ledger {

/// A set of an attempt's records, by their ordinals: a bit for each record up to the last one in
/// it.
class RecordSet {
 public:
  bool contains(std::uint64_t record) const {
    const std::uint64_t word = record / 64;
    return word < words_.size() && (words_[word] >> record % 64 & 1) != 0;
  }
  void insert(std::uint64_t record) {
    const std::uint64_t word = record / 64;
    if (word >= words_.size()) words_.resize(word + word / 4 + 1);
    words_[word] |= std::uint64_t{1} << record % 64;
  }
  void clear() { words_.clear(); }
  std::size_t MemoryBytes() const { return words_.capacity() * sizeof(words_[0]); }

  /// All are below `limit`.
  template <typename Ar>
  void Persist(Ar& ar, std::uint64_t limit) {
    std::uint64_t count = 0;
    for (const std::uint64_t word : words_) count += word != 0 ? 1 : 0;
    ar.Amount(count);
    if constexpr (Ar::kReading) words_.clear();
    std::uint64_t at = 0;
    for (std::uint64_t i = 0; i < count && ar.ok(); ++i, ++at) {
      std::uint64_t skipped = 0;
      if constexpr (!Ar::kReading) {
        while (words_[at + skipped] == 0) ++skipped;
      }
      ar(skipped);
      if (!ar.Check(skipped <= limit / 64 && at + skipped <= limit / 64)) return;
      at += skipped;
      if constexpr (Ar::kReading) words_.resize(at + 1);
      ar(words_[at]);
    }
  }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace headway::ledger
