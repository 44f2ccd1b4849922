#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

/// Record: one thing a training process said, and Writer: who said it.
///
/// Every producer (journals, event files, servers) hands the ledger these, and nothing else.
/// Plain values without I/O; names are interned by whoever owns the records (see NameTable).

namespace headway {

/// Values are part of the journal format: never renumber, never reuse.
enum class RecordType : std::uint8_t {
  kNone = 0,
  kJobStart = 1,
  kJobEnd = 2,       ///< a: 0 = clean, else failed: the status, below 0 where it isn't known
  kStepStart = 3,    ///< a: step number
  kStepEnd = 4,      ///< a: step number; a hard end: the device has finished
  kStepSoftEnd = 5,  ///< a: step number; the host left step(), the device may still work
  kSpanBegin = 6,    ///< span kind, blocking, name; a: step or kNoStep
  kSpanEnd = 7,      ///< like kSpanBegin; b: seq of the begin, or kNoHandle: pair by kind and name
  kCapacity = 8,     ///< a: available | active << 32 (0xffffffff = unknown), b: total or -1
  kCheckpointSaved = 9,  ///< a: step, durable now
  kHeartbeat = 10,       ///< a: wall clock of the host in ns, or kNoTime
  kExit = 11,            ///< a: exit status or -1, b: signal or 0; said by a supervisor
  kExclude = 12,         ///< a: from, b: to (kNoTime: until as-of); name: the reason
  kRollback = 13,        ///< a: step it returns to
  kQuery = 14,           ///< sets the as-of time
  kClock = 15,           ///< a: wall clock of the host in ns beside the record's own time
  kNotice = 16,          ///< SIGTERM or a preemption notice; a: signal or 0
  kNote = 17,            ///< something found while importing; name: note code, a: count
  kMetric = 18,          ///< name, a: step or kNoStep, b: bits of an IEEE 754 double
  kConfig = 19,          ///< payload: JSON object; name: class ("software", "system", "user")
  kStderrTail = 20,      ///< payload: text
  kDropped = 21,         ///< a: how many records could not be kept before this one; b: time of the
                         ///< first of them, or kNoTime
  kProcessEnd = 22,      ///< a: pid; said by a supervisor: that process of its host has ended; 0,
                         ///< said by a process of itself: it records no more
};
inline constexpr auto kLastRecordType = RecordType::kProcessEnd;

/// Values are part of the journal format: never renumber, never reuse.
enum class SpanKind : std::uint8_t {
  kNone = 0,
  kAcceleratorInit = 1,
  kTrainingPrep = 2,
  kDataLoading = 3,
  kAsyncDataLoading = 4,
  kCheckpointSave = 5,
  kCheckpointRestore = 6,
  kCustom = 7,
  kPhase = 8,        ///< productive, by name
  kElasticWait = 9,  ///< name: "slice_down" or "scale_up"
  kElasticReinit = 10,
};
inline constexpr int kSpanKindCount = 11;

/// `snake_case` name as in event files, e.g. "training_prep".
std::string_view SpanKindName(SpanKind kind);
/// Event-file name of a record type that has one without a span kind ("job_start"), else "".
std::string_view RecordTypeName(RecordType type);

/// What the recording call said about taking time away from training.
enum class Blocking : std::uint8_t {
  kDefault = 0,  ///< data loading inside a step overlaps, everything else blocks
  kYes = 1,
  kNo = 2,
};

inline constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kNoStep = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kNoHandle = -1;

/// Steps are numbered from 0 to kLastStep; the number after it stays free for "beyond all".
inline constexpr std::int64_t kLastStep = std::numeric_limits<std::int64_t>::max() - 1;
constexpr bool IsStep(std::int64_t number) { return number >= 0 && number <= kLastStep; }

/// Signals are numbered from 1; 0 is none.
inline constexpr int kLastSignal = 64;

/// Index into a NameTable; 0 is the empty name.
using NameId = std::uint32_t;
/// Index into the writers of a run, as the ledger was told them.
using WriterId = std::uint32_t;

struct Record {
  RecordType type = RecordType::kNone;
  SpanKind span = SpanKind::kNone;
  Blocking blocking = Blocking::kDefault;
  std::uint8_t unused = 0;   ///< no byte of a record is padding: compared and copied as words
  std::uint16_t thread = 0;  ///< small ordinal of the recording thread within its process
  std::uint16_t unused_too = 0;
  WriterId writer = 0;
  NameId name = 0;
  std::uint64_t seq = 0;     ///< order within the writer
  std::int64_t time_ns = 0;  ///< nanoseconds since the Unix epoch, as stamped by the writer
  std::int64_t a = 0;        ///< by type, see RecordType
  std::int64_t b = 0;

  friend bool operator==(const Record&, const Record&) = default;
};

/// One process that records: one journal, or one writer of an event file.
struct Writer {
  std::string uid;         ///< unique: journal uid in hex, or "<attempt>/<name>" in an event file
  std::string name;        ///< shown to people
  std::int64_t rank = -1;  ///< -1: not known
  std::int64_t world_size = -1;
  std::string attempt_key;          ///< equal keys are one attempt; empty: not known
  std::int64_t attempt_index = -1;  ///< restart count behind the key, when known
  bool event_file = false;          ///< records come from an event file: attempts may be implicit
  bool monotonic = false;           ///< times come from one monotonic clock (journals)
  bool supervisor = false;          ///< starts and watches training processes; never the lead
  std::string host;
  std::int64_t pid = 0;
};

/// The order of two writers where time decides nothing: by rank, name, restart count, host and
/// process id, then other facts about them. The uid of a journal is random: it comes last, for
/// writers that nothing else tells apart.
bool WriterBefore(const Writer& a, const Writer& b);

/// Whether the process behind a writer still lives, as far as can be told from here.
enum class Liveness : std::uint8_t {
  kUnknown = 0,  ///< decide from the records (event files)
  kAlive = 1,    ///< it holds its journal's lock, or was heard of within the receipt bound
  kDead = 2,     ///< its journal's lock is free on its own host, or it went silent too long
};

}  // namespace headway
