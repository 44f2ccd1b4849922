#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "cli/output.h"
#include "cli/watch_feed.h"

namespace headway::cli {

/// Steps of a run in their newest past. Pure, as all here.
struct StepRate {
  std::optional<std::int64_t> current;  ///< the step that runs, or ran last
  std::optional<std::int64_t> last_ns;  ///< how long the last complete one took
  std::optional<double> per_second;     ///< complete steps, over those that are known
};
StepRate RateOf(const WatchNews& news);

/// Whether nothing more will come: it is completed or failed, or has been down for `patience_ns`
/// and nobody restarts it.
bool HasEnded(const Report& report, std::int64_t patience_ns, WallNs now);

/// The page of `headway watch`: how much was progress, and where the rest went; then what goes on
/// now. Readable from 60 columns on.
std::string RenderWatch(const WatchNews& news, const Terminal& terminal, WallNs now);

/// The same on one line.
std::string WatchLine(const WatchNews& news, WallNs now);

}  // namespace headway::cli
