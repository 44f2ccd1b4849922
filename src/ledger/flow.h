#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ledger/attempt.h"

namespace headway::ledger {

/// What a flow remembers of one of its writers.
struct WriterClock {
  bool any = false;
  std::uint64_t last_seq = 0;
  std::int64_t last_time = 0;  // as taken
  std::int64_t first_time = 0;

  template <typename Ar>
  void Persist(Ar& ar) {
    ar(any, last_seq, last_time, first_time);
  }
};

/// The order of writers in one instant, which does not depend on when they were heard of.
bool WriterBefore(const RunContext& context, WriterId a, WriterId b);

/// Puts records of several writers in the ledger's order: within a writer by sequence, between
/// writers by (time, writer, sequence); drops exact duplicates; takes a record stamped earlier than
/// its predecessor at the predecessor's time. `before` orders writers. Counts seq_conflict.
std::vector<TimedRecord> InOrder(const std::vector<TimedRecord>& unordered,
                                 const RunContext& context, std::int64_t* seq_conflicts);

/// The records that share one order: those of one attempt whose identity is known (a keyed flow),
/// or lines of an event file that leave it to us to find the attempts (a stream).
class Flow {
 public:
  Flow(RunContext* context, std::string key, bool stream)
      : context_(context), key_(std::move(key)), stream_(stream) {}

  /// Takes a record in any order. In-order records cost amortised O(1).
  void Add(const Record& record);
  /// Takes records from the front for as long as the last writer simply goes on; returns how many.
  std::size_t AddRun(std::span<const Record> records);
  /// Derives again from the records, whatever came late. Call before reading attempts.
  void Refresh();
  /// The next Refresh starts over (the excluded time or a writer changed).
  void Invalidate() { dirty_ = true; }
  /// An attempt was derived again with what attempts of other flows hand on. Where the flow divides
  /// itself into attempts it goes by its own alone, so the next record makes it start over.
  void NoteNewCarry() {
    if (!stream_) return;
    new_carry_ = true;
    clock_ = nullptr;
  }

  bool empty() const { return attempts_.empty() && staged_.empty(); }
  const std::string& key() const { return key_; }
  const std::vector<std::unique_ptr<Attempt>>& attempts() const { return attempts_; }
  /// An attempt that has begun on other ranks only, as far as is known.
  const Attempt* begun_elsewhere() const { return begun_elsewhere_.get(); }
  const NoteCounts& notes() const { return notes_; }
  const std::map<WriterId, WriterClock>& writers() const { return writers_; }

  /// All records, in order where they are known to be.
  std::vector<TimedRecord> Records() const;
  /// The same: the logs of the attempts, and what is in none of them appended to `loose`.
  void ListLogs(std::vector<const RecordLog*>* logs, RecordLog* loose) const;

  std::size_t MemoryBytes() const;
  void Release();
  /// Of a refreshed flow. `newest`: the attempt that takes most of what comes.
  template <typename Ar>
  void Persist(Ar& ar, const Attempt* newest);

 private:
  WriterId ChooseLead();
  void Route(const TimedRecord& timed);
  void RouteLead(const TimedRecord& timed);
  void RouteOther(const TimedRecord& timed);
  void AppendOther(const TimedRecord& timed);
  std::vector<TimedRecord> TakeUndecided();
  void SortByTime(std::vector<TimedRecord>* records) const;
  void Open(bool implicit);
  void OpenAt(std::uint64_t split);
  bool GoesBackAfterSilence(const Record& record, std::int64_t net, std::uint64_t* split) const;
  void NoteSign(const TimedRecord& timed, std::uint64_t ordinal);
  void NoteSpanEnd(const TimedRecord& timed);
  void Rebuild();

  struct Gap {
    std::int64_t from = 0, to = 0;  // net
    std::uint64_t record = 0;       // ordinal of the record that ends it
  };
  struct OtherRank {
    std::size_t started_in = 0;  // number of the attempt it has started in, counted from 1
    bool ahead = false;          // its records belong to the next attempt
  };

  RunContext* context_;
  std::string key_;
  bool stream_;
  std::vector<std::unique_ptr<Attempt>> attempts_;
  std::unique_ptr<Attempt> begun_elsewhere_;
  std::map<WriterId, WriterClock> writers_;
  std::vector<Record> staged_;  // late records, until the next Refresh
  bool dirty_ = false;
  bool new_carry_ = false;
  WriterId lead_ = 0;
  NoteCounts notes_;

  // The last record taken, in the order of the flow.
  bool any_ = false;
  std::int64_t last_time_ = 0;
  WriterId last_writer_ = 0;
  WriterClock* clock_ = nullptr;  // the last writer's

  // Streams only: what waits for the lead's next attempt, and the silences since its last step.
  std::map<WriterId, OtherRank> others_;
  std::vector<TimedRecord> ahead_;
  // Since the lead's last record: ranks that have started in the open attempt, whether it had ended
  // by then, and the first such record's ordinal. If the lead opens an attempt next, they have
  // started in that one.
  std::map<WriterId, bool> undecided_;
  std::uint64_t undecided_from_ = 0;
  std::vector<Gap> gaps_;
  std::int64_t last_sign_ = 0;  // net
};

}  // namespace headway::ledger
