#pragma once

#include <cstdint>

#include "base/status.h"
#include "ledger/compat/entry.h"
#include "ledger/ledger.h"
#include "model/report.h"

namespace headway::compat {

/// Appends what ml-goodput-measurement would have written down of the run: what its lead recorded
/// up to `as_of`, and nothing of other ranks, for there process 0 alone records.
void AppendEntries(ledger::Ledger* ledger, std::int64_t as_of, EntryLog* log);

/// The ledger's report with the numbers of compat accounting in place of the exact ones. What
/// compat accounting knows nothing of (rollbacks, MTBF, stalls, …) is absent; categories need not
/// add up to the elapsed time. Where records exclude time, its accounting with exclusions counts.
/// FailedPrecondition, NotFound: as Calculator says.
Result<Report> MakeReport(ledger::Ledger* ledger, const ledger::Query& query);

}  // namespace headway::compat
