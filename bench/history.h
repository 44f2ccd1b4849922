#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

/// Made-up training runs for the benchmarks, as journals that look like a recorder's.
///
/// A run is the same on every machine: times come from a fixed start and a fixed seed.

namespace headway::bench {

inline constexpr char kProject[] = "bench";

struct History {
  std::string run;               ///< its name
  std::int64_t steps = 0;        ///< step starts, those done again after a restart included
  std::int64_t evaluations = 0;  ///< custom spans "eval" of 5 s, spread evenly
  std::int64_t restarts = 0;     ///< crashes, spread evenly; each loses 50 steps and a minute
};

/// What was written.
struct Written {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;     ///< of all journals
  std::int64_t last_time = 0;  ///< of the last record, nanoseconds since the Unix epoch
  std::int64_t last_step = 0;
};

/// Writes `history` below `data_dir`: a journal for each attempt, with one loading span in each
/// step of about a second. The last attempt has no end, like that of a job that is still running.
Result<Written> WriteHistory(const std::string& data_dir, const History& history);

}  // namespace headway::bench
