#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ledger/pages.h"
#include "ledger/step_history.h"
#include "ledger/time_split.h"
#include "model/record.h"
#include "model/report.h"
#include "model/run_records.h"

/// Ledger: splits every nanosecond of a run's elapsed time into disjoint categories.
///
/// Feed it records, in any order and as often as you like; ask it for reports at any time. The
/// answer is a function of the set of records: arrival order, batches, duplicates and
/// snapshot/restore change nothing. Pure: no clock, no file, no thread. Not thread-safe.
///
/// A ledger may keep most of its bytes elsewhere, see TakeSnapshot. Whatever adds records or asks
/// may then read pages, and throws PageLost where that fails.
///
/// Cost: a record in order amortised O(1), about 25 ns; a late record re-derives from its attempt
/// on; a report O(attempts + log n); a window O(attempts * log n). Memory: about 35 bytes a step
/// with one loading span.

namespace headway::ledger {

struct LeadPlace;

struct Query {
  /// The instant to look from; later records are unknown. nullopt: the latest `query` record, else
  /// `now` for an open live run, else the last record or the run's end.
  std::optional<std::int64_t> as_of;
  /// Report on [first, second) only.
  std::optional<std::pair<std::int64_t, std::int64_t>> window;
  /// The current wall time; only used for runs whose processes are known to live.
  std::optional<std::int64_t> now;
};

class Ledger {
 public:
  Ledger();
  ~Ledger();
  Ledger(Ledger&&) noexcept;
  Ledger& operator=(Ledger&&) noexcept;

  /// Makes a writer known and returns the id its records carry; an equal `uid` gives the same id.
  WriterId AddWriter(const Writer& writer, Liveness liveness = Liveness::kUnknown);
  void SetLiveness(WriterId writer, Liveness liveness);
  /// A supervisor or orchestrator says that the run will be restarted if it ends.
  void SetSupervised(bool supervised);
  NameId InternName(std::string_view text);
  /// The table behind InternName, for readers that intern as they read. Lives as long as the
  /// ledger.
  NameTable* names();

  /// Adds records whose writers and names are this ledger's ids.
  void Add(const Record& record);
  void Add(std::span<const Record> records);
  /// The time of the last record, not of what is said about the run (exclusions, queries, notes).
  std::optional<std::int64_t> LastTime() const;

  /// Adds everything a reader found; ids are translated.
  void Add(const RunRecords& run);

  /// The report without `run` and `project`, which the ledger does not know.
  Report MakeReport(const Query& query = {});
  /// Where the time of each of `spans` went: of any, in any order, what MakeReport says with it as
  /// its window; `query.window` has no effect. Where more than `names_most` categories have a name,
  /// those with most time between the first and the last instant of all spans are told apart, and
  /// the others of a category are taken together. O(attempts + spans * log n): 1 to 5 µs a span.
  TimeSplit Split(const Query& query, std::span<const WallSpan> spans,
                  std::size_t names_most = kAllNames);
  /// The partition as intervals, in order; touching equals are joined.
  std::vector<TimelineInterval> Timeline(const Query& query = {});
  /// The same, if there are at most `most`. O(attempts + most + log n).
  std::optional<std::vector<TimelineInterval>> TimelineUpTo(const Query& query, std::size_t most);
  /// Every step interval, in order.
  std::vector<StepSummary> Steps(const Query& query = {});
  /// What there is to say about the steps of each part of an axis, for charts: of those that
  /// `query.window` has, where it has one. O(attempts + steps): some 50 ms for a million.
  StepHistory MakeStepHistory(const Query& query, const StepQuestion& question);

  /// Calls `visit` for what the lead of each attempt recorded, attempt after attempt, each in its
  /// order, as it was stamped.
  void VisitLeads(const std::function<void(const Record&)>& visit);
  /// The same, from `*place` on, which moves with it. `visit` returns whether to go on; what it
  /// did not want is the first of the next call. False: what was visited before is not the
  /// beginning any more, for late records have changed it; then nothing was visited, and a fresh
  /// place begins anew. O(what is new).
  bool VisitLeads(LeadPlace* place, const std::function<bool(const Record&)>& visit);
  /// Where time is excluded, as far as was said at `as_of`, in wall time; in order, disjoint. One
  /// without an end lasts to `as_of`.
  std::vector<std::pair<std::int64_t, std::int64_t>> Exclusions(std::int64_t as_of) const;

  /// [num_writers] The attempt of a report to which all records of a writer belong; -1: none, or
  /// the lines of an event file, in which the ledger finds the attempts itself.
  std::vector<std::int64_t> AttemptsOfWriters();

  /// Everything known and everything that was derived from it. Calls `put` for each page that is
  /// not kept elsewhere yet; it is once that returned OK, whatever becomes of the snapshot. A page
  /// never changes: of what changes, the next snapshot refers to others, and whoever keeps them may
  /// drop those that no snapshot in use refers to. A page has up to 64 KiB, seldom more; what has
  /// fewer than `least_page` bytes goes into the head. The status of `put` where it failed. May
  /// throw PageLost. O(attempts + what is new).
  Result<Snapshot> TakeSnapshot(const std::function<Status(PageId, std::string_view)>& put,
                                std::size_t least_page = 1024);
  /// The ledger of a snapshot, in O(size of its head); no page is read before it is needed. `read`
  /// is kept. DataLoss when the bytes are damaged, Unimplemented when they come from a newer
  /// version.
  static Result<Ledger> Restore(std::string_view head, ReadPage read = nullptr);
  /// Where pages are read from, for a ledger that was not restored: from then on it can release
  /// them.
  void SetReadPage(ReadPage read);
  /// Gives back the memory of pages that are kept elsewhere; they are read again when needed. Does
  /// nothing without anything to read them with.
  void ReleasePages();

  /// A snapshot in one piece, a head without pages. May throw PageLost.
  std::string Pack() const;

  /// Bytes held in memory, to a few per cent.
  std::size_t MemoryBytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace headway::ledger
