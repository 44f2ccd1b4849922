#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/uid.h"

/// LedgerStore: what the ledgers of runs had come to when they were saved, so that nobody needs to
/// read all records again. The records stay the truth: whoever finds what is saved unfit reads
/// them. Any thread may call; calls that write take turns.

namespace headway::store {

/// Some bytes of a saved ledger that can be read without the others.
struct LedgerPage {
  std::uint64_t id = 0;
  std::string bytes;
};

class LedgerStore {
 public:
  virtual ~LedgerStore() = default;

  /// Replaces what is saved of a run by `state`, the pages `added`, and those of the pages that
  /// are there whose ids are in `kept`, which ascend; all of it or nothing, and durably.
  /// NotFound: there is no such run. FailedPrecondition: it was purged. ResourceExhausted: the
  /// disk is full.
  virtual Status SaveLedger(const RunUid& run, std::string_view state,
                            std::span<const LedgerPage> added,
                            std::span<const std::uint64_t> kept) = 0;
  /// The state; nullopt: nothing is saved of that run.
  virtual Result<std::optional<std::string>> FindLedger(const RunUid& run) = 0;
  /// NotFound: there is no such page.
  virtual Result<std::string> ReadLedgerPage(const RunUid& run, std::uint64_t page) = 0;
  /// Forgets what is saved of a run, if anything is.
  virtual Status DropLedger(const RunUid& run) = 0;
  /// The same for all runs that are not stale and were summarised before that wall time, some of
  /// them. Returns how many that were; 0: there are none.
  virtual Result<std::size_t> DropOldLedgers(std::int64_t before) = 0;
};

}  // namespace headway::store
