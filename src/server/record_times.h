#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/uid.h"

namespace headway::server {

/// [first, second) of wall time.
using TimeRange = std::pair<std::int64_t, std::int64_t>;

/// Where in time the records of a journal lie, as far as somebody has read it: who asks for those
/// of an hour need not read all. Slots that are told of here never change: they are all there.
struct RecordTimes {
  struct Block {
    std::uint64_t first = 0;  // slots [first, that of the next one)
    std::int64_t min = 0;     // of their times
    std::int64_t max = 0;
  };
  static constexpr std::uint64_t kBlockSlots = 8'192;
  /// Of a journal with more names nothing is kept.
  static constexpr std::size_t kNames = 65'536;

  std::int64_t moved_by = 0;  // StoredJournal::MovedBy
  std::vector<Block> blocks;
  std::uint64_t behind = 0;        // the slot behind the last block
  std::vector<std::string> names;  // as in ReaderPlace, there

  /// The next record, which is that of slot `seq`.
  void Add(std::uint64_t seq, std::int64_t time) {
    if (blocks.empty() || behind - blocks.back().first >= kBlockSlots) {
      blocks.push_back({behind, time, time});
    }
    blocks.back().min = std::min(blocks.back().min, time);
    blocks.back().max = std::max(blocks.back().max, time);
    behind = seq + 1;
  }

  std::size_t MemoryBytes() const {
    std::size_t bytes = sizeof(RecordTimes) + blocks.size() * sizeof(Block);
    for (const std::string& name : names) bytes += sizeof(std::string) + name.size();
    return bytes;
  }

  static constexpr std::uint64_t kToTheEnd = std::numeric_limits<std::uint64_t>::max();
  /// The next slots at or behind `from` that may have records of `range`, among the first `slots`
  /// ones of the journal: as far as they lie next to each other; up to kToTheEnd from `behind` on.
  /// Both the same: there are none.
  std::pair<std::uint64_t, std::uint64_t> Next(std::uint64_t from, std::uint64_t slots,
                                               const TimeRange& range) const {
    std::uint64_t first = kToTheEnd;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const std::uint64_t end = i + 1 < blocks.size() ? blocks[i + 1].first : behind;
      const bool wanted =
          end > from && blocks[i].min < range.second && blocks[i].max >= range.first;
      if (wanted && first == kToTheEnd) first = blocks[i].first;
      if (!wanted && first != kToTheEnd) return {first, blocks[i].first};
    }
    if (first != kToTheEnd) return {first, behind};
    return behind < slots ? std::pair(behind, kToTheEnd) : std::pair(kToTheEnd, kToTheEnd);
  }
};

/// What is known of the journals that were read last. Any thread.
class KnownTimes {
 public:
  /// Of times that were moved by so much; never null.
  std::shared_ptr<const RecordTimes> Find(const JournalUid& uid, std::int64_t moved_by) {
    const std::lock_guard lock(mutex_);
    const auto found = times_.find(uid);
    if (found != times_.end() && found->second->moved_by == moved_by) return found->second;
    RecordTimes none;
    none.moved_by = moved_by;
    return std::make_shared<const RecordTimes>(std::move(none));
  }

  void Put(const JournalUid& uid, RecordTimes times) {
    const std::size_t bytes = times.MemoryBytes();
    if (bytes > kBytes) return;
    const std::lock_guard lock(mutex_);
    const auto [known, fresh] = times_.try_emplace(uid);
    if (!fresh && known->second->moved_by == times.moved_by &&
        known->second->behind >= times.behind) {
      return;
    }
    if (!fresh) bytes_ -= known->second->MemoryBytes();
    known->second = std::make_shared<const RecordTimes>(std::move(times));
    bytes_ += bytes;
    while (bytes_ > kBytes) {  // any other ones, whose journals are read again
      const auto other = times_.begin() == known ? std::next(known) : times_.begin();
      bytes_ -= other->second->MemoryBytes();
      times_.erase(other);
    }
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{32} << 20;

  std::mutex mutex_;
  std::map<JournalUid, std::shared_ptr<const RecordTimes>> times_;
  std::size_t bytes_ = 0;  // of all of them
};

}  // namespace headway::server
