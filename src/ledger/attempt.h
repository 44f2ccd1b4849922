#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "ledger/closed_spans.h"
#include "ledger/histogram.h"
#include "ledger/net_time.h"
#include "ledger/note.h"
#include "ledger/persist.h"
#include "ledger/record_log.h"
#include "ledger/record_set.h"
#include "ledger/row_store.h"
#include "ledger/splitter.h"
#include "ledger/varint.h"
#include "model/name_table.h"
#include "model/report.h"

namespace headway::ledger {

/// Times beyond this are clamped, so that the difference of two times fits: years 1824 to 2115.
inline constexpr std::int64_t kTimeLimit = std::numeric_limits<std::int64_t>::max() / 2;

inline constexpr std::int64_t TakenTime(std::int64_t stamped) {
  return std::clamp(stamped, -kTimeLimit, kTimeLimit);
}

/// No writer: an attempt led by it has no timeline of its own.
inline constexpr WriterId kNoWriter = ~WriterId{0};

class Attempt;

/// What all attempts of a run share.
struct RunContext {
  RunContext() {
    pages.names = &names;
    pages.buckets = &buckets;
    pages.writers = &writers;
  }
  RunContext(const RunContext&) = delete;
  RunContext& operator=(const RunContext&) = delete;

  NameTable names;
  BucketTable buckets;
  std::vector<Writer> writers;
  NetTime net;
  Pages pages;
  Histogram step_work;         // work times of all complete steps in the row stores
  std::uint64_t versions = 0;  // given out so far, see Attempt::version
  Attempt* newest = nullptr;   // the attempt that was opened last

  /// The bucket of a custom span, upper-cased as the field writes such names.
  BucketId CustomBucket(NameId name);
  BucketId SpanBucket(SpanKind kind, NameId name);

  std::size_t MemoryBytes() const;
  /// All but `newest`.
  template <typename Ar>
  void Persist(Ar& ar);

 private:
  std::vector<BucketId> custom_buckets_;  // by NameId; 0: not yet interned
};

/// What an attempt takes over from the ones before it.
struct Carry {
  std::optional<std::int64_t> baseline;
  std::int64_t offset = 0;         // added to recorded step numbers, see step_reset
  std::int64_t highest = kNoStep;  // highest step index of the run so far

  /// The index of a recorded step number; beyond the ends of the range it is the end.
  std::int64_t IndexOf(std::int64_t number) const {
    std::int64_t index = 0;
    if (__builtin_add_overflow(number, offset, &index)) [[unlikely]] {
      return number < 0 ? kNoStep + 1 : kLastStep;
    }
    return std::clamp(index, kNoStep + 1, kLastStep);
  }
  /// Whether there is room for a counter that begins again at `number`.
  bool MayRestart(std::int64_t number) const {
    return highest < kLastStep / 2 && number > -kLastStep / 2;
  }
  /// The counter begins again at `number`, which gets the index after the highest.
  void Restart(std::int64_t number) { offset = highest + 1 - number; }
  template <typename Ar>
  void Persist(Ar& ar) {
    ar(baseline, offset, highest);
  }
  friend bool operator==(const Carry&, const Carry&) = default;
};

using EndKind = AttemptEnd;

/// A stretch of steps with increasing indices: from the attempt's first step or a rollback to the
/// next rollback.
struct Segment {
  std::uint64_t first_row = 0;
  std::int64_t first_index = 0;
  std::int64_t from_index = 0;  // last step started before it (rollbacks)
  std::int64_t begin_net = 0;
  std::int64_t begin_wall = 0;

  template <typename Ar>
  void Persist(Ar& ar) {
    ar(first_row, first_index, from_index, begin_net, begin_wall);
  }
};

/// One attempt: its records, and what they say so far. Records are appended in order (by time;
/// within a writer by sequence); the timeline follows the lead's. Amortised O(1) a record. What
/// changes it, and reading its log or rows, may throw PageLost.
class Attempt {
 public:
  /// What has been derived so far; a plain value that can be put aside and taken up again.
  struct State {
    // Extent. `life_wall` is the last sign of life of any writer.
    bool begun = false;  // the lead has recorded
    bool has_job_start = false;
    std::int64_t lead_first_wall = 0;
    std::int64_t any_first_wall = kNoTime;
    std::int64_t supervisor_first_wall = kNoTime;

    /// Where the attempt begins: at the lead's first record, or where its supervisor started it;
    /// without a job start at the first record of anyone.
    std::int64_t BeginWall() const {
      if (!begun || !has_job_start) return any_first_wall;
      if (supervisor_first_wall == kNoTime) return lead_first_wall;
      return std::min(lead_first_wall, supervisor_first_wall);
    }

    std::int64_t life_wall = kNoTime;
    /// When a supervisor saw the lead's process end; kNoTime: it lives, or nobody knows.
    std::int64_t gone_wall = kNoTime;

    // The end, when it was recorded.
    bool ended = false;
    bool end_clean = false;
    bool end_by_exit = false;
    bool interrupted = false;  // SIGTERM or a preemption notice
    std::int64_t end_wall = 0;
    bool exited = false;
    std::optional<std::int64_t> exit_status;
    std::optional<std::int64_t> exit_signal;
    std::optional<std::int64_t> job_status;  // of a failed job end that said one
    std::optional<std::int64_t> notice;      // signal of the first notice, 0: it came without one

    /// What is known of the process's status: an exit record's word, else that of the job end.
    std::optional<std::int64_t> Status() const { return exited ? exit_status : job_status; }

    /// How and when the attempt ended if nothing more is heard of it.
    EndKind End() const {
      if (!ended) return EndKind::kLost;
      if (end_clean) return EndKind::kClean;
      return end_by_exit ? EndKind::kExit : EndKind::kFailed;
    }
    std::int64_t EndWall() const {
      if (ended) return end_wall;
      return gone_wall != kNoTime ? gone_wall : life_wall;
    }

    // Where the timeline stands.
    std::int64_t at = 0;         // net
    std::int64_t row_begin = 0;  // net
    std::uint32_t code = 0;      // of the slice that is running
    std::uint64_t rows = 0;      // made so far, waiting ones included
    std::vector<Slice> slices;   // of the row that is running
    bool plain_code = false;     // `code` is unnamed work, with or without loading
    bool plain_row = true;       // so are all slices
    std::int64_t row_load = 0;   // loading in them

    std::int64_t told = kNoTime;  // net, of the lead's last step or span record

    // The running step and the last one started.
    bool in_step = false;
    bool step_first = false;
    bool any_step = false;
    bool restore_seen = false;  // a record that explains a step number going back
    bool reinit_seen = false;
    std::uint16_t step_thread = 0;
    int repeats = 0;                  // the last number came so many times in a row
    std::uint64_t repeat_record = 0;  // the record of its second time
    std::int64_t last_raw = 0;
    std::int64_t last_index = 0;
    std::int64_t first_index = 0;
    std::int64_t first_step_net = 0;
    std::int64_t first_step_wall = 0;
    std::int64_t steps_started = 0;

    struct Span {
      std::uint64_t record = 0;  // ordinal of its begin
      std::uint64_t seq = 0;
      SpanKind kind = SpanKind::kNone;
      enum class Effect : std::uint8_t { kBlocks, kLoad, kPassiveLoad, kPhase, kNone };
      Effect effect = Effect::kNone;
      NameId name = 0;
      BucketId bucket = 0;
      std::int64_t begin = 0;  // net

      template <typename Ar>
      void Persist(Ar& ar, std::uint64_t records);
    };
    std::vector<Span> active;  // in order of their begins

    Splitter splitter;
    Carry carry;  // offset and highest as they stand now

    std::optional<std::int64_t> saved_index;  // of the last checkpoint_saved
    std::int64_t saves = 0;
    std::int64_t blocking_saves = 0;
    std::int64_t save_intervals = 0;
    std::int64_t save_interval_ns = 0;
    std::int64_t last_save_begin = kNoTime;
    std::int64_t max_work = 0;
    std::vector<WriterId> rivals;  // others that claim to lead, as several_leads counts them
    std::int64_t heartbeats = 0;
    std::int64_t clock_drift = 0;
    NoteCounts notes;

    std::size_t MemoryBytes() const;
    /// Of an attempt with so many records.
    template <typename Ar>
    void Persist(Ar& ar, std::uint64_t records);
  };

  /// The attempt as if it ended (or was looked at) at some instant.
  struct Closed {
    State state;
    std::vector<PendingRow> tail;  // the rows after those in the store
    bool in_flight = false;        // the tail's last row is a step that did not complete
    EndKind kind = EndKind::kOpen;
    std::int64_t end_wall = 0;
    std::int64_t end_net = 0;
    Carry carry;

    std::size_t MemoryBytes() const;
  };

  explicit Attempt(RunContext* context)
      : context_(context), log_(&context->pages), rows_(&context->pages) {}
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  /// Takes its steps out of what all attempts share. Before an attempt goes away while the others
  /// stay; not when the whole run goes.
  void ForgetRows();
  /// Begins anew with what is in the log, led by `lead`.
  void Rederive(WriterId lead, const Carry& carry);
  /// Appends one record; it must not come before the last one.
  void Append(const Record& record, std::int64_t time);
  void Append(const TimedRecord& timed) { Append(timed.record, timed.time); }
  /// Appends records of one writer from the front of `run` for as long as they follow `*last_seq`
  /// and `*last_time` in order and are of a kind that belongs to attempts; moves both on and
  /// returns how many it took. What is left has to be looked at with care.
  std::size_t AppendRun(std::span<const Record> run, std::uint64_t* last_seq,
                        std::int64_t* last_time);
  /// Derives again what late ends of spans have changed, which waits so that many of them cost one
  /// rewind. What says nothing of steps, of how the attempt began or of its end is out of date
  /// until then. Call it before rows, spans, notes, HandOver and Close.
  void Settle();
  /// Forgets the records from ordinal `ordinal` on and returns them.
  std::vector<TimedRecord> TakeFrom(std::uint64_t ordinal);

  const State& state() const { return state_; }
  const RowStore& rows() const { return rows_; }
  const std::vector<Segment>& segments() const { return segments_; }
  const RecordLog& log() const { return log_; }
  WriterId lead() const { return lead_; }
  const Carry& carry_in() const { return carry_in_; }
  /// Changes whenever anything that was derived changes.
  std::uint64_t version() const { return version_; }
  /// Whether nothing has been added since it was last written to a snapshot, or read from one.
  bool idle() const { return saved_version_ == version_; }

  /// What an attempt that opens after everything that is known now takes over from this one.
  Carry HandOver() const;

  /// `end_wall` must not lie before the last record of the lead.
  Closed Close(EndKind kind, std::int64_t end_wall) const;

  /// Spans closed for want of an end that may yet come.
  const ClosedSpans& closed_spans() {
    NeedMemory();
    return closed_;
  }

  std::size_t MemoryBytes() const;
  /// Forgets the bytes of pages, see Slabs.
  void Release();
  /// Of a settled attempt. `idle`: little will be added; its end may become pages, too.
  template <typename Ar>
  void Persist(Ar& ar, bool idle);

 private:
  struct Checkpoint {
    RecordLog::Cursor cursor;  // before the record that it was taken at
    State state;
    std::uint64_t rows = 0;
    std::size_t segments = 0;
  };
  /// What only records to come need, as a page.
  struct MemoryPage {
    PageId page = 0;
    std::uint32_t crc = 0;
    std::uint32_t size = 0;
    std::uint64_t version = 0;  // it was put at
    bool elsewhere = false;     // and nowhere else

    template <typename Ar>
    void Persist(Ar& ar);
  };

  void Process(const Record& record, std::int64_t time);
  void ProcessRun(std::span<const Record> run);
  void ProcessLead(const Record& record, std::int64_t time);
  void ProcessOther(const Record& record, std::int64_t time);
  void Dropped(const Record& record, std::int64_t net);
  void Recode();
  void StepStart(const Record& record, std::int64_t net, std::int64_t wall);
  void EnterStep(const Record& record, std::int64_t index);
  void StepEnd(const Record& record, std::int64_t net);
  void SpanBegin(const Record& record, std::int64_t net);
  void CloseSame(const Record& record, std::int64_t net);
  void SpanEnd(const Record& record, std::int64_t net);
  void End(std::int64_t wall, bool clean, bool by_exit);
  void NoteExit(const Record& record);
  void NoteNotice(const Record& record);
  void CheckClock(std::int64_t host_wall, std::int64_t time);
  void CloseRow();
  void CloseProvisionally(std::size_t active_index);
  bool IsEffective(const State::Span& span) const;
  void StartOver();
  void SaveCheckpoint();
  std::uint64_t CheckpointSpacing() const;
  void RewindTo(std::uint64_t record);
  RecordLog::Cursor Restore(std::uint64_t record);
  void Replay(RecordLog::Cursor cursor);
  void Commit(const Row& row, const RowMeasures& measures);
  void NeedMemory() {
    if (memory_page_.elsewhere) [[unlikely]]
      LoadMemory();
  }
  void LoadMemory();
  template <typename Ar>
  void PersistMemory(Ar& ar);

  RunContext* context_;
  WriterId lead_ = 0;
  bool pairs_by_name_ = false;  // event files: spans are paired by kind and name, else by handle
  Carry carry_in_;
  RecordLog log_;
  State state_;
  RowStore rows_;
  std::vector<Segment> segments_;
  std::vector<Checkpoint> checkpoints_;  // dense lately, sparse long ago
  // What later records have told about earlier ones.
  RecordSet has_end_;
  RecordSet is_counter_;
  RecordSet is_late_end_;  // of a span that was closed before, and to which it made no difference
  // Kept once a record, however often it is derived from.
  ClosedSpans closed_;
  std::uint64_t seen_ = 0;  // ordinals below have been processed once
  // The record from which on to derive again: at once; and when Settle is called.
  std::optional<std::uint64_t> rewind_to_;
  std::optional<std::uint64_t> outdated_from_;
  // The record that is being processed, and a place in the log at or before it.
  std::uint64_t ordinal_ = 0;
  RecordLog::Cursor cursor_;
  std::uint64_t version_ = 0;
  MemoryPage memory_page_;           // checkpoints, record sets and closed spans
  std::uint64_t saved_version_ = 0;  // when it was last written
};

}  // namespace headway::ledger
