#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "model/run_records.h"

namespace headway::ledger {

/// What a ledger knows, apart from what it derives.
struct SnapshotData {
  RunRecords run;
  bool supervised = false;
};

/// Bytes: magic, version, length-prefixed fields, CRC32C of all that. See DecodeSnapshot.
std::string EncodeSnapshot(const SnapshotData& data);
/// Inverse; every length and index is checked, so any bytes may be given.
Result<SnapshotData> DecodeSnapshot(std::string_view bytes);

}  // namespace headway::ledger
