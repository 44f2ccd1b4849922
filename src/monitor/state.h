#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "monitor/courier.h"

namespace headway::monitor {

/// How a monitor does, for those who ask later why a number is missing.
struct State {
  std::string project;
  std::string run;
  std::int64_t pid = 0;
  std::int64_t beside = 0;  ///< process it runs beside; 0: none
  WallNs started;
  std::optional<WallNs> ended;
  std::int64_t samples = 0;
  std::string problem;  ///< why there are no numbers; empty: there are
  std::vector<DestinationState> destinations;
};

std::string ToJson(const State& state);

/// Where the states of a run's monitors lie: `<dir>/monitors/<project>/<run>`.
std::string StateDirectory(std::string_view dir, std::string_view project, std::string_view run);

/// A file with a monitor's state, replaced as a whole. Of earlier ones in its directory the newest
/// few stay.
class StateFile {
 public:
  /// `directory`: empty: nothing is written.
  explicit StateFile(std::string directory) : directory_(std::move(directory)) {}

  Status Write(const State& state);

 private:
  Status Begin(const State& state);

  std::string directory_;
  std::string path_;
};

}  // namespace headway::monitor
