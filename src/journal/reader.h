#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "journal/bytes.h"
#include "journal/format.h"
#include "model/name_table.h"
#include "model/record.h"

/// JournalReader: yields the records of one journal, also while it is being written.
///
/// It only reads: never writes, truncates, locks or maps the file, so a reader can harm nobody and
/// a file that shrinks under it is an error, not a signal. One thread at a time. Cost: about 5 ns a
/// record; memory is one buffer of 64 KiB plus the names.

namespace headway::journal {

enum class FindingKind : std::uint8_t {
  kInProgress,  ///< claimed by a living writer, not written yet: look again later
  kTombstone,   ///< claimed by a writer that died before it wrote: the record never existed
  kTornTail,    ///< the last record of a dead writer is incomplete: ignored
  kCorrupt,     ///< bytes were changed after they had been written: the records there are lost
};

/// Something about a stretch of the file that is not a valid record.
struct Finding {
  FindingKind kind = FindingKind::kInProgress;
  std::uint64_t offset = 0;  ///< in bytes from the file's start
  std::uint64_t slots = 0;   ///< how many slots from there
};

/// The code of a finding, as notes have it: "torn_tail", "journal_hole", "journal_damage"; or
/// "in_progress".
std::string_view FindingCode(FindingKind kind);
/// A sentence without a full stop that names the byte: "the last record, at byte 4128, ...".
std::string FindingText(const Finding& finding);

/// What a reader has seen so far. Findings follow the file's order, at most
/// `limits::kJournalFindings`.
struct ReadSummary {
  std::uint64_t records = 0;             ///< handed out
  std::uint64_t end_seq = 0;             ///< one more than the last valid slot's index
  std::uint64_t dropped = 0;             ///< records that the writer could not keep
  std::int64_t first_drop_ns = kNoTime;  ///< wall time
  std::int64_t last_drop_ns = kNoTime;
  std::uint64_t unknown_types = 0;  ///< valid records of a kind this reader does not know: skipped
  std::uint64_t unknown_names = 0;  ///< uses of a name whose definition is lost
  std::uint64_t tombstones = 0;     ///< slots
  std::uint64_t corrupt = 0;        ///< slots
  bool torn_tail = false;
  bool damaged_counter = false;  ///< `dropped` could not be read: what stands there can't be true
  std::vector<Finding> findings;

  /// OK, or DataLoss naming file, offset and size of the first corrupt stretch, or the offset of
  /// the counter. A torn tail and holes are no damage: a killed writer leaves them.
  Status Check(std::string_view path) const;
};

/// Where a reader stands and what it has seen, so that another one can go on from there.
struct ReaderPlace {
  std::uint64_t next = 0;  ///< the slot behind the last valid one
  std::uint64_t records = 0;
  std::uint64_t unknown_types = 0;
  std::uint64_t unknown_names = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> gaps;  ///< [first, second): not valid so far
  std::vector<std::string> names;  ///< by the journal's own id; empty: not defined so far
};

struct ReaderOptions {
  /// Where names go; required, must outlive the reader. May be shared by readers used in turn.
  NameTable* names = nullptr;
  /// Copied into every record.
  WriterId writer = 0;
  /// Stop before a hole of a living writer instead of going on behind it: the records handed out
  /// are then contiguous, as shipping needs. Without it the hole's record is handed out once it is
  /// there.
  bool stop_at_holes = false;
  /// Where monotonic and wall time meet, in place of the header's own word.
  std::optional<ClockAnchor> anchor = {};
};

class JournalReader {
 public:
  /// Opens a journal. As DecodeHeader, OpenForReading.
  static Result<JournalReader> Open(const std::string& path, const ReaderOptions& options);
  /// The same for bytes that lie elsewhere; `path` is what messages call them. `from` (may be
  /// null): the place of a reader of the same journal. OutOfRange: the journal does not reach
  /// there.
  static Result<JournalReader> Open(std::unique_ptr<JournalBytes> bytes, const std::string& path,
                                    const ReaderOptions& options,
                                    const ReaderPlace* from = nullptr);
  JournalReader(JournalReader&&) noexcept;
  JournalReader& operator=(JournalReader&&) noexcept;
  ~JournalReader();

  const Header& header() const;
  const std::string& path() const;
  /// As found by Open or the last Refresh.
  Liveness liveness() const;

  /// Fills `out` with the next records in file order and returns how many. 0: the end as of Open or
  /// the last Refresh. Errors of the file system only; damage is skipped and told by `summary()`.
  Result<std::size_t> Next(std::span<Record> out);

  /// Where it stands, once Next has returned 0.
  ReaderPlace place() const;

  /// Looks at the file again: what was appended since, whether the writer still lives, and whether
  /// holes have been filled. Next then goes on.
  Status Refresh();

  /// Closes the file until it is read again, for those who read more journals than they may have
  /// open. Reading again fails with Unavailable when it has been replaced meanwhile.
  void Release();

  /// The payload of the record `seq` (kConfig, kStderrTail). NotFound: no such record or no
  /// payload; DataLoss: damaged, with its offset.
  Result<std::string> Payload(std::uint64_t seq);

  /// Complete once Next has returned 0.
  ReadSummary summary() const;

 private:
  struct Impl;
  explicit JournalReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Everything in one journal, appended to `*records`.
Result<ReadSummary> ReadAll(const std::string& path, const ReaderOptions& options,
                            std::vector<Record>* records);

/// Whether the journal's job ended cleanly: its last job end or exit says so, and no notice
/// (SIGTERM, a preemption) came shortly before. False without an end. Reads the last part of the
/// file only.
Result<bool> EndedCleanly(const std::string& path);

}  // namespace headway::journal
