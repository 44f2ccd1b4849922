#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "journal/format.h"
#include "journal/reader.h"
#include "store/record_store.h"

/// Journals as a store keeps them, read like files.

namespace headway::server {

/// Who still counts as alive.
struct Hearing {
  const Clock* clock = nullptr;
  std::int64_t since = 0;  ///< wall time: before it this server heard nobody

  Liveness Of(const store::JournalState& state) const;
  /// The same, but that what was imported says itself what was known of its writer.
  Liveness Of(const store::JournalState& state, const journal::Header& header) const;
  /// Wall time from when on a living writer must have been heard of to count as alive.
  std::int64_t AliveSince() const;
};

struct StoredJournal {
  store::Journal journal;
  journal::Header header;
  std::optional<ClockAnchor> anchor;  ///< to read it with; nullopt: its own

  /// By how much that makes its times later than its own would, in nanoseconds; wraps around.
  std::int64_t MovedBy() const;
};

/// The journals of a run, by start and then uid. As RecordStore; DataLoss: a header is damaged.
Result<std::vector<StoredJournal>> ListStoredJournals(store::RecordStore* store, const RunUid& uid);

/// Reads `journal` from its beginning, as far as it went when it was listed; Refresh looks what
/// came since. `store` and the clock must outlive the reader. `options.anchor` is filled in. `from`
/// (may be null): from there on, as JournalReader::Open.
Result<journal::JournalReader> OpenStoredJournal(store::RecordStore* store, const Hearing& hearing,
                                                 const StoredJournal& journal,
                                                 journal::ReaderOptions options,
                                                 const journal::ReaderPlace* from = nullptr);

}  // namespace headway::server
