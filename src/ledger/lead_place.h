#pragma once

#include <cstdint>
#include <vector>

#include "ledger/record_log.h"

namespace headway::ledger {

/// How far Ledger::VisitLeads has come. To others it is only a value; a fresh one is the beginning.
struct LeadPlace {
  struct Part {
    std::uint64_t edition = 0;  // of the attempt's log
    WriterId lead = 0;
    RecordLog::Cursor cursor{};
  };
  std::vector<Part> parts;  // [num_attempts]
};

}  // namespace headway::ledger
