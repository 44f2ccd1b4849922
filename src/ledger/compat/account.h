#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "model/record.h"

namespace headway::compat {

/// Where unproductive time goes, numbered and named as ml-goodput-measurement does.
enum class Badput : std::uint8_t {
  kTpuInitialization = 1,
  kTrainingPrep = 2,
  kProgramStartup = 3,
  kDataLoadingSync = 4,
  kDataLoadingAsync = 5,
  kCheckpointSave = 6,
  kCheckpointRestore = 7,
  kWastedProgress = 8,
  kInfrastructureRecovery = 9,
  kCustom = 10,
  kOther = 11,
  kElasticSliceDown = 12,
  kElasticScaleUp = 13,
  kElasticReinitialization = 14,
};
inline constexpr int kBadputCount = 15;

/// "TPU_INITIALIZATION" etc.
std::string_view BadputName(Badput badput);

/// Seconds of each kind. What is absent was never spoken of: it counts as 0, but the incumbent's
/// dictionaries lack its key.
struct Unproductive {
  std::array<std::optional<double>, kBadputCount> seconds;  ///< by Badput; kCustom stays absent
  std::optional<std::map<NameId, double>> custom;           ///< by type

  double Get(Badput badput) const { return seconds[static_cast<std::size_t>(badput)].value_or(0); }
  void Set(Badput badput, double value) { seconds[static_cast<std::size_t>(badput)] = value; }
  void Add(Badput badput, double value) { Set(badput, Get(badput) + value); }
  void Add(const Unproductive& more);
};

/// A step number that came again, which is what a disruption is there.
struct Restart {
  std::int64_t last_step = 0;  ///< the last step of the segment it ended
  double last_start = 0;       ///< that step's start
  std::int64_t step = 0;       ///< the number that came again
  double wasted_s = 0;
};

/// What a log says of a job's time, before it is held against the total.
struct Account {
  double productive_s = 0;
  Unproductive unproductive;
  std::int64_t max_productive_step = 0;
  std::int64_t last_step = 0;
  std::vector<Restart> restarts;
};

/// An account held against the total time.
struct Answer {
  double goodput_percent = 0;
  double total_s = 0;
  double excluded_s = 0;
  Account account;  ///< absurd amounts set to 0, and `kOther` filled in
};

/// Percent of `total_s` where 0 < seconds < total, else 0.
double Percent(double seconds, double total_s);

/// Sets what is negative or above the total to 0, makes the rest `kOther`, and the goodput.
Answer HoldAgainst(Account account, double total_s);

}  // namespace headway::compat
