#pragma once

#include <cstdint>
#include <span>

#include "ledger/slabs.h"
#include "model/record.h"

namespace headway::ledger {

/// A record together with the time the ledger takes it at: its own, or its predecessor's when it
/// was stamped earlier than that.
struct TimedRecord {
  Record record;
  std::int64_t time = 0;
  bool clamped() const { return time != record.time_ns; }
};

/// Append-only list of records in a few bytes each (5 for a step).
///
/// The one truth the ledger re-derives from when a late record arrives. Cost: Append and Next
/// about 3 ns. Not thread-safe.
class RecordLog {
 public:
  /// No record takes more, the bytes that are read or written beyond its end included.
  static constexpr std::uint32_t kRecordBytesMax = 96;

  static constexpr std::uint32_t kRecordBytesMin = 3;

  /// A place between two records; also what the next record's bytes are relative to there.
  struct Cursor {
    std::uint32_t slab = 0;
    std::uint32_t offset = 0;
    std::uint64_t ordinal = 0;  // records before this place
    std::uint64_t seq = 0;      // of the record before, like all that follow
    std::int64_t time = 0;
    std::int64_t step = 0;  // the last step number
    // As in the first two words of a record: thread and writer of the record before; kind, blocking
    // and name of the last span begin, whose end probably comes next.
    std::uint64_t thread = 0, writer = 0;
    std::uint64_t span = 0, name = 0;
    std::uint64_t begin_seq = 0;

    template <typename Ar>
    void Persist(Ar& ar, const RecordLog& log);
  };

  /// `pages` is needed by those that persist, and must outlive this.
  explicit RecordLog(const Pages* pages = nullptr) : slabs_(pages) {}
  RecordLog(const RecordLog&) = delete;
  RecordLog& operator=(const RecordLog&) = delete;
  RecordLog(RecordLog&&) = default;
  RecordLog& operator=(RecordLog&&) = default;

  void Append(const Record& record, std::int64_t time);
  /// Appends records that are taken at the times they were stamped with.
  void Append(std::span<const Record> records);
  std::uint64_t size() const { return end_.ordinal; }
  const Cursor& end() const { return end_; }

  /// Reads the record at `cursor` and moves it on. Returns false at the end. May throw PageLost.
  bool Next(Cursor* cursor, TimedRecord* timed) const;

  /// Forgets every record at and after `cursor`. May throw PageLost.
  void Truncate(const Cursor& cursor);

  /// As long as it stays the same, records are only appended; no other log ever has it.
  std::uint64_t edition() const { return edition_; }
  void Clear() { Truncate(Cursor{}); }

  std::size_t MemoryBytes() const { return slabs_.MemoryBytes(); }
  /// Forgets the bytes of pages, see Slabs.
  void Release() { slabs_.Release(); }
  /// What is read has another edition. `idle`: see Slabs.
  template <typename Ar>
  void Persist(Ar& ar, bool idle);

 private:
  Slabs::Slab& Room();

  static std::uint64_t NextEdition();

  Slabs slabs_;
  const Pages* suspect_ = nullptr;  // records came from elsewhere: look whether they can be
  Cursor end_;
  std::uint64_t edition_ = NextEdition();
};

}  // namespace headway::ledger
