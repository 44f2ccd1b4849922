#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "base/status.h"
#include "ledger/ledger.h"
#include "runs/read_ahead.h"

namespace headway::runs {

/// Everything there is.
inline constexpr std::int64_t kNoBound = std::numeric_limits<std::int64_t>::max();

/// A record later than `until`, but not than `future`, waits in its source, with what follows it
/// there.
struct Bound {
  std::int64_t until = kNoBound;
  std::int64_t future = kNoBound;
};

/// Feeds what is left of the sources to the ledger, in order of time as far as each journal is in
/// order. Returns how many records that were. `bytes`: about how much there is to read; `progress`
/// (may be empty) gets the share done now and then.
Result<std::uint64_t> Merge(std::vector<Source>* sources, const Bound& bound, std::uint64_t bytes,
                            ledger::Ledger* ledger, const std::function<void(double)>& progress);

}  // namespace headway::runs
