#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/place.h"
#include "model/report.h"

namespace headway::cli {

/// How a run that is watched stands.
struct WatchNews {
  Report report;
  std::vector<StepSummary> steps;  ///< the newest ones, in order
  bool away = false;               ///< the server is
  std::string trouble;             ///< why there is nothing newer; empty: there is

  /// What has arrived of it; of a server only.
  struct Arrived {
    std::int64_t journals = 0;
    std::int64_t open = 0;
    std::int64_t slots = 0;
    std::int64_t heard = 0;  ///< wall time
  };
  std::optional<Arrived> arrived;
};

/// Where the news of one run come from. One thread.
class WatchFeed {
 public:
  virtual ~WatchFeed() = default;

  /// Looks once more. False: nothing is known yet. An error: nothing ever will be; NotFound: there
  /// is no such run.
  virtual Result<bool> Look(WatchNews* news) = 0;
  /// A descriptor that can be read when it is worth a look, or -1: it always is.
  virtual int fd() const { return -1; }
};

/// Journals of this machine, read on as they grow.
std::unique_ptr<WatchFeed> WatchJournals(const Place& place, const std::string& run);
/// The server of `place`, which tells what changes, each `every_ns` at most; when it is away it is
/// asked again. Unimplemented where headway was built without that.
Result<std::unique_ptr<WatchFeed>> WatchServer(const Place& place, const std::string& run,
                                               std::int64_t every_ns);

}  // namespace headway::cli
