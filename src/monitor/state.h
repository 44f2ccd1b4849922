#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "journal/liveness.h"
#include "monitor/courier.h"

namespace headway::monitor {

/// How a monitor does, for those who ask later why a number is missing.
struct State {
  std::string project;
  std::string run;
  journal::ProcessFacts process;
  std::int64_t beside = 0;  ///< process it runs beside; 0: none
  /// What it tells: "goodput", "windows", "step_deviations".
  std::vector<std::string> tells;
  /// What whoever started it leaves out, in words of theirs ("gcp_goodput_metrics").
  std::vector<std::string> left_out;
  WallNs started;
  std::optional<WallNs> ended;
  std::int64_t samples = 0;
  std::string problem;  ///< why there are no numbers; empty: there are
  std::vector<DestinationState> destinations;
};

std::string ToJson(const State& state);
/// The inverse; what is missing keeps its default. DataLoss: `text` is no such state.
Result<State> ParseState(std::string_view text);

/// Where the states of a run's monitors lie: `<dir>/monitors/<project>/<run>`.
std::string StateDirectory(std::string_view dir, std::string_view project, std::string_view run);

/// A state as it lies on disk.
struct FoundState {
  State state;
  /// Whether that monitor lives, as far as can be told from here. kDead without `state.ended`: it
  /// was killed.
  Liveness liveness = Liveness::kUnknown;
};

/// The states in `directory`, the newest first; none if there is no such directory. What can't be
/// read is told in `*problems` and left out.
std::vector<FoundState> ReadStates(const std::string& directory, std::vector<Status>* problems);

/// A file with a monitor's state, replaced as a whole. Of earlier ones in its directory the newest
/// few stay.
class StateFile {
 public:
  /// `directory`: empty: nothing is written.
  explicit StateFile(std::string directory) : directory_(std::move(directory)) {}

  /// Makes the directory again where someone has removed it.
  Status Write(const State& state);

 private:
  Status WriteOnce(const State& state) const;
  Status Begin(const State& state);

  std::string directory_;
  std::string path_;
};

}  // namespace headway::monitor
