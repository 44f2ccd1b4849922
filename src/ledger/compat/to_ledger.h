#pragma once

#include <cstdint>
#include <span>

#include "ledger/compat/account.h"
#include "ledger/compat/entry.h"
#include "ledger/compat/exclusions.h"
#include "ledger/ledger.h"
#include "model/report.h"

namespace headway::compat {

/// Nanoseconds since the epoch of a time of the incumbent's. Such times come from datetimes, so
/// they count microseconds; beyond what the ledger takes they become the nearest that it does.
std::int64_t DatetimeNs(double seconds);

/// The entries as records, for exact accounting: one process's event file, in order of its times.
ledger::Ledger ToLedger(const EntryLog& log);

/// Makes the ledger leave time out.
void Exclude(std::span<const Exclusion> exclusions, ledger::Ledger* ledger);

/// An exact report in the words of ml-goodput-measurement: stalls are `kOther`, loading that
/// overlaps is `kDataLoadingAsync`. Names of custom events are interned in `names`.
Answer ToAnswer(const Report& report, NameTable* names);

}  // namespace headway::compat
