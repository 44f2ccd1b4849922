#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/attempt_journal.h"
#include "cli/helper.h"

namespace headway::cli {

/// Upkeep: what a supervisor has done for the journals of its run, by helpers. The disk is asked
/// each second to keep them; where they lie on this machine because their directory is on a
/// network, they are copied there each second, and so is what earlier runs have left; and they are
/// sent to the run's server, if it has one.
///
/// Trouble is told on standard error, and changes nothing for the job.
class Upkeep {
 public:
  /// Starts the helpers. `sync_ns` 0: the disk is not asked. Call it while this process has one
  /// thread.
  void Start(const SupervisedRun& run, std::int64_t sync_ns);
  /// Tells what is amiss, now and then.
  void Look();
  /// After the last record: one more round, for which it waits `settle_ns` at most.
  void Settle(std::int64_t settle_ns);

 private:
  struct Duty {
    Helper helper;
    TroubleWatch watch;
    std::string what;       // is being done: begins each message
    std::string remains;    // when it is not
    std::string unsettled;  // is said when it is not done at the end; nothing: it may wait
  };

  void Begin(const Helper::Work& work, const std::string& what, const std::string& remains,
             const std::string& unsettled);

  std::vector<Duty> duties_;
};

}  // namespace headway::cli
