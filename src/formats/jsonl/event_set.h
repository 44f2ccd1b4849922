#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/jsonl/reader.h"
#include "model/run_records.h"

/// What the lines of an event file say, on the way from text to runs. Internal to this folder.

namespace headway::jsonl {

using RecordIndex = std::uint32_t;

inline constexpr std::int64_t kNoSeq = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kNoRank = std::numeric_limits<std::int64_t>::min();

/// A writer of the file, found so far.
struct Stream {
  Writer writer;                // uid and attempt_key still empty
  std::int64_t rank = kNoRank;  // lowest rank its lines said
  Liveness liveness = Liveness::kUnknown;
  bool told = false;  // a `writer` line speaks of it
};

/// Lines in a row, between two records, with one kind of problem.
struct ProblemRun {
  std::size_t records_before = 0;  // how many records had been read
  ProblemKind kind = ProblemKind::kBadLine;
  std::int64_t count = 0;
};

/// `records` in file order with Record::writer an index into `streams`; a record of type kNone was
/// dropped as a duplicate. On a span's end `b` is the `begin_seq` of the file, or kNoHandle.
struct EventSet {
  NameTable names;
  std::vector<Stream> streams;
  std::vector<Record> records;      // [num_records]
  std::vector<std::int64_t> seqs;   // [num_records] or empty: none has one; kNoSeq: has none
  std::vector<std::int64_t> monos;  // [num_records] or empty: none has one; kNoTime: has none
  std::vector<ProblemRun> problem_runs;
  bool one_run = false;  // the file says that it tells of one

  std::int64_t seq(RecordIndex i) const { return seqs.empty() ? kNoSeq : seqs[i]; }
  std::int64_t mono(RecordIndex i) const { return monos.empty() ? kNoTime : monos[i]; }
};

/// The records of each stream in order.
struct StreamOrder {
  std::vector<RecordIndex> order;       // all streams, one after the other
  std::vector<std::size_t> first;       // [num_streams + 1]: stream s is [first[s], first[s + 1])
  std::vector<std::int64_t> conflicts;  // [num_streams]: lines beyond the first of their seq
  /// Wall time where it had moved against the monotonic column, by the record it stands before.
  std::unordered_map<RecordIndex, std::int64_t> clocks;
};

/// Orders each stream, turns times into monotonic ones and marks streams that are all monotonic.
StreamOrder OrderStreams(EventSet* events);

/// Where a later run begins.
struct RunCut {
  std::int64_t time_ns = 0;
  std::vector<std::size_t> first;  // [num_streams]: place in StreamOrder::order of its first record
};

/// The cuts between runs of one name, in order of time; none for an ordinary file.
std::vector<RunCut> FindRunCuts(const EventSet& events, const StreamOrder& order);

/// Makes the runs: dense sequence numbers, writers in their final order, notes.
std::vector<RunRecords> BuildRuns(EventSet events, const StreamOrder& order,
                                  const std::vector<RunCut>& cuts);

}  // namespace headway::jsonl
