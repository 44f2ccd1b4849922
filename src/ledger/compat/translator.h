#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ledger/compat/entry.h"
#include "model/name_table.h"
#include "model/record.h"

namespace headway::compat {

/// Turns what the leads of a run recorded (Ledger::VisitLeads) into what ml-goodput-measurement
/// would have written down.
class Translator {
 public:
  /// Both must outlive it.
  Translator(const NameTable* names, EntryLog* log) : names_(names), log_(log) {}

  /// Appends the entry that `record` makes, if it makes one.
  void Take(const Record& record);

 private:
  struct Checkpoint {
    std::uint64_t seq = 0;
    std::int64_t begin_ns = 0;
    std::int64_t step = kNoStep;
  };
  using OpenCheckpoints = std::array<std::vector<Checkpoint>, 2>;  // where others see it; local

  void TakeSpan(const Record& record, bool end, double time);
  void TakeCheckpoint(const Record& record, bool end, EntryKind kind, OpenCheckpoints* all);
  void TakeCapacity(const Record& record, double time);

  const NameTable* names_;
  EntryLog* log_;
  OpenCheckpoints saves_, restores_;
  std::int64_t unnamed_ = 0;
};

}  // namespace headway::compat
