#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/run_records.h"

/// Reads the neutral event file: one JSON object a line, one record each.
///
/// Pure: text in, values out; no file, no clock, no global state; safe from any thread. Cost:
/// linear in the text, plus a sort where lines are out of order; extra memory is a small multiple
/// of the records, never of what is skipped, and a line above 16 MiB is skipped rather than parsed.
///
/// **Lines.** `\n` or `\r\n` ends a line; a byte order mark and blank lines are passed over. `ts`
/// (seconds, read exactly, below 1 ns rounded to nearest, ties away from zero) or `ts_ns` (counts
/// when both stand, see Import::times_differ), and `type` are required. `null` is the same as
/// absent; a known field of the wrong kind, one that stands twice, or one out of range makes the
/// line a problem; unknown fields are ignored. Integers may be written as `5.0` or `5e3`.
/// `step_start`, `checkpoint_saved` and `rollback` need `step`; `exit` needs `status` or `signal`
/// (0 is none); `exclude` needs `from` or `from_ns`, and must not end before it begins. A `name`
/// above `limits::kNameBytes` is cut at a character boundary.
///
/// **Types** beyond those every producer is expected to know (job, step and span types, `capacity`,
/// `checkpoint_saved`, `heartbeat`, `exit`, `exclude`, `rollback`, `query`), so that a run written
/// by WriteEvents reads back as the same records:
///   `notice` (`signal`: number or name), `step_soft_end` (`step`), `clock` (`wall_ns`),
///   `log` (`name`, `value`, `step`), `note` (`name`, `count`), `config` (`name`), `stderr_tail`,
///   `dropped` (`count`); `one_run`, which has neither time nor writer: the file tells of one run,
///   also where it would be split (Import::runs); and `writer`, which has no time and is no record:
///   what is known about one writer (`host`, `pid`, `world_size`, `monotonic`, `supervisor`;
///   `liveness`: "alive" or "dead"; `journal`: its lines are the records of a journal, of which the
///   ledger makes more).
/// Fields beyond the common ones: `thread` (small ordinal), `begin_seq` (on a span's end: the `seq`
/// of its begin), `wall_ns` (on a heartbeat). `rank` -1 means that the rank is not known.
///
/// **Writers.** A line's writer is (`attempt`, `writer`); the name defaults by rank ("rank0").
/// Lines without `attempt` form a writer of their own with an empty attempt key, unless other lines
/// of the file have one: then they belong to the attempt that opened last before them. A writer's
/// rank is the lowest its lines say, else what lines of the same name say in other attempts, else 0
/// for lines without `writer` and not known for a named one. Writers are listed by (rank, attempt,
/// name), unknown rank last.
///
/// **Order.** A writer whose lines all carry `seq` is ordered by it, any other by time, ties by
/// line. A `query` or `exclude` without one, put there by hand, changes nothing about that and
/// stands where its time belongs. `Record::seq` is the dense ordinal in that order. Two different
/// lines of one (attempt, writer, seq) are both kept and noted as `seq_conflict`.
///
/// **Duplicates.** A line with an `insert_id` already seen, whatever its writer, is dropped: the
/// earlier by (time, text) counts. A line without one is dropped when it repeats an earlier line's
/// text exactly. Neither is a problem.
///
/// **Clocks.** Where lines carry `mono_ns` or `mono`, time advances with that column from the
/// writer's first line; `ts` only anchors it. Each time `ts` has moved by more than 1 s against
/// that, a kClock record with the wall time stands right before the line's own record, at the same
/// time. A `job_start`, and a column that goes back while `ts` moves against it by more than
/// 1 s, is a new process with an anchor of its own. Lines without the column keep
/// their `ts`.
///
/// **Values.** `job_end` is clean for a `status` that is absent, "ok", "success", "completed", 0 or
/// "0"; any other is failed. On `exit` a negative `status` -n is signal n, as Python reports it.
///
/// **Notes.** kNote records say per run what was found: `torn_tail` (a last line without a line end
/// that is not JSON), `bad_line`, `unknown_type`, `seq_conflict`, `run_name_reused`. They stand at
/// the end of a writer at the time of its last record, so that they move nothing.

namespace headway::jsonl {

enum class ProblemKind : std::uint8_t {
  kBadLine,  ///< not JSON, or a field is missing or wrong
  kUnknownType,
  kTornTail,  ///< the last line is cut short
};

/// The note code of a kind of problem, e.g. "bad_line".
std::string_view ProblemCode(ProblemKind kind);

/// A line that was skipped.
struct Problem {
  ProblemKind kind = ProblemKind::kBadLine;
  std::uint64_t line = 0;    ///< from 1
  std::uint64_t offset = 0;  ///< byte offset of the line's first byte
  std::string sentence;      ///< what is wrong, without place and full stop
};

struct Options {
  /// Named in errors.
  std::string source = "events.jsonl";
  /// The first problem, or line whose times differ, becomes a DataLoss error instead.
  bool strict = false;
  /// Problems beyond this many are counted but not listed.
  std::size_t problems_limit = 1000;
  /// Make several runs of a file whose run name was used again; see Import.
  bool split_runs = true;
};

/// Lines that were taken, though not as they stand.
struct Warned {
  std::uint64_t lines = 0;
  std::uint64_t line = 0;  ///< the first of them
  std::uint64_t offset = 0;
};

/// What a file holds.
struct Import {
  /// At least one run, in order of time. More than one only where the run's name was used again:
  /// a clean end of the lead (`job_end`, or `exit` with status 0) is followed, attempts without a
  /// step aside, by an attempt whose first step is <= 1 with no checkpoint_restore before it. The
  /// later run begins with the record that opens the first attempt after the clean end: a
  /// `job_start`, or work of the lead (a step start or span begin). What trails the end before
  /// that (exits, heartbeats) stays with the earlier run. Records of other ranks go by time, from
  /// their own `job_start` after the end on; explicit attempts go as a whole; `exclude` goes by
  /// the start of the time it excludes. Each run of such a file carries the note
  /// `run_name_reused`. A file whose lead records work both with and without `attempt`, or that
  /// says `one_run`, is not split.
  std::vector<RunRecords> runs;
  std::vector<Problem> problems;  ///< in line order, at most Options::problems_limit
  std::uint64_t problems_total = 0;
  /// Lines whose `name` was cut to `limits::kNameBytes`, as a recorder cuts it.
  Warned names_cut;
  /// Lines in which a time stands in seconds and in nanoseconds and the two differ by more than
  /// 1 ms. The nanoseconds count.
  Warned times_differ;
};

/// Reads `text`, the whole of a file. Fails with DataLoss under `strict` (the message names file,
/// line and byte offset: mend or remove that line), and with ResourceExhausted for a file of more
/// than 2^32 - 2 lines or 2^20 writers (split it). A file without a usable line gives one run
/// without records.
Result<Import> ReadEvents(std::string_view text, const Options& options = {});

}  // namespace headway::jsonl
