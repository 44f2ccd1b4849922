#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ledger/compat/account.h"
#include "ledger/compat/entry.h"
#include "ledger/compat/step_table.h"

namespace headway::compat {

/// A stretch that the user excluded, in seconds.
struct Exclusion {
  double from = 0;
  double to = 0;
};

/// An account without the excluded time.
struct ExcludingAccount {
  Account account;
  double excluded_s = 0;
  StepTable step_times;  ///< what is left of each step, the first one of a segment cut to the usual
};

/// The second accounting of ml-goodput-measurement 0.2.3, the one its exclusions go through. It
/// differs from Accountant in more than the exclusions: custom events count where they overlap a
/// step, checkpoints not at all, and a restart from step 0 wastes what was done.
///
/// `exclusions`: in order, disjoint. O(n log n).
ExcludingAccount AccountWithout(const EntryLog& log, std::size_t end,
                                std::span<const Exclusion> exclusions);

}  // namespace headway::compat
