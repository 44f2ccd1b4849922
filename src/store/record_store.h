#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/uid.h"
#include "model/record.h"
#include "packing/slots.h"

/// RecordStore: keeps journals that came from elsewhere, byte for byte, and durably.
///
/// It knows what belongs to which run, and nothing of what a record means: a journal is a header
/// and then slots of 32 bytes, which carry their own checksums. Every implementation passes
/// store/record_store_conformance.h. Any thread may call; calls that write take turns.

namespace headway::store {

inline constexpr std::size_t kSlotBytes = 32;

/// Whose a journal is; told once, with its first batch.
struct JournalIdentity {
  JournalUid uid;
  RunUid run_uid;
  std::string project;  ///< names, not paths
  std::string run;
  std::int64_t start = 0;  ///< wall time at which it was opened
  std::string header;      ///< as in the file
};

/// What is known of a journal beyond its slots.
struct JournalState {
  std::uint64_t slots = 0;  ///< [0, slots) are kept; what was a hole there is zeros
  std::string counters;     ///< the part of the header that changes, as it came last
  Liveness writer = Liveness::kUnknown;
  std::int64_t heard = 0;  ///< wall time of the last batch

  friend bool operator==(const JournalState&, const JournalState&) = default;
};

struct Journal {
  JournalIdentity identity;
  JournalState state;
};

/// One piece of one journal. `first_slot` may not lie behind the slots that are there. Slots that
/// are there already are written over: that is how a hole is filled.
struct Batch {
  JournalIdentity identity;
  std::uint64_t first_slot = 0;
  std::string_view slots;  ///< [n * kSlotBytes]; may be empty: a sign of life
  /// Instead of `slots`: the same, packed, one piece behind the other. Whoever passes them has
  /// looked that they can be unpacked.
  std::vector<packing::PackedSlots> packed = {};
  std::string counters;
  Liveness writer = Liveness::kUnknown;
  std::int64_t heard = 0;
};

class RecordStore {
 public:
  virtual ~RecordStore() = default;

  /// Writes all of it or nothing, and returns once it is durable. OutOfRange: a batch begins behind
  /// what is there (a gap). AlreadyExists: a journal of that uid is there with another header or in
  /// another run, or a run of that uid in another project or under another name.
  /// InvalidArgument: slots that are no whole ones, or both kinds. ResourceExhausted: the disk is
  /// full. FailedPrecondition: the run was purged, or its project may keep no more. After an error
  /// nothing was written. DataLoss: the store is damaged.
  virtual Status Append(std::span<const Batch> batches) = 0;

  /// NotFound: no such journal. FailedPrecondition: its run was purged.
  virtual Result<Journal> FindJournal(const JournalUid& uid) = 0;
  /// Slots [first_slot, first_slot + count), cut where the journal ends. NotFound; DataLoss.
  virtual Result<std::string> ReadSlots(const JournalUid& uid, std::uint64_t first_slot,
                                        std::uint64_t count) = 0;

  /// The journals of a run, by start and then uid. Empty where there is none.
  virtual Result<std::vector<Journal>> ListJournals(const RunUid& uid) = 0;

  /// Whether there was a run of that uid which was removed for good (Registry::PurgeRun).
  virtual Result<bool> WasPurged(const RunUid& uid) = 0;

  /// Gives some of the room back to the file system that was taken by what was removed; whether
  /// there is more to give. Some stays, for what comes next.
  virtual Result<bool> GiveBackRoom() = 0;

  /// Bytes on disk that the slots of a run take (compressed). 0 where there is none.
  virtual Result<std::uint64_t> StoredBytes(const RunUid& uid) = 0;
};

}  // namespace headway::store
