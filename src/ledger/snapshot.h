#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ledger/record_log.h"
#include "model/name_table.h"
#include "model/record.h"

namespace headway::ledger {

/// What a ledger knows beside its records.
struct SnapshotHead {
  NameTable names;
  std::vector<Writer> writers;
  std::vector<Liveness> liveness;  // [num_writers]
  bool supervised = false;
};

/// Bytes: magic, version, length-prefixed fields, the logs as they are in memory, CRC32C of all
/// that. See SnapshotReader.
std::string EncodeSnapshot(const SnapshotHead& head, std::span<const RecordLog* const> logs);

/// Reads what EncodeSnapshot wrote; every length and index is checked, so any bytes may be given.
class SnapshotReader {
 public:
  /// DataLoss: damaged, or no snapshot; Unimplemented: of a newer version. `bytes` must outlive the
  /// reader.
  static Result<SnapshotReader> Open(std::string_view bytes);

  const SnapshotHead& head() const { return head_; }
  /// Fills `out` with the next records and returns how many; 0 at the end.
  Result<std::size_t> Next(std::span<Record> out);

 private:
  bool NextLog();

  SnapshotHead head_;
  std::string_view rest_;
  std::uint64_t logs_ = 0;  // still to come
  PackedRecords log_;
};

}  // namespace headway::ledger
