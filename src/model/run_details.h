#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/report.h"

/// What is known of a run beside its records: plain values.

namespace headway {

/// What people, programs and orchestrators say a run is doing; what it does is its RunState.
enum class RunPhase : std::uint8_t {
  kUnspecified,  ///< nobody said anything
  kQueued,
  kSuspended,
  kActive,
  kCompleted,
  kFailed,
  kInterrupted,
  kStopped,
};
/// "queued"; empty for kUnspecified.
std::string_view RunPhaseName(RunPhase phase);
/// Nothing for what names none.
std::optional<RunPhase> FindRunPhase(std::string_view name);
/// What a run comes to when it gets into this state.
RunPhase PhaseOf(RunState state);
/// Whether somebody may say that a run which was in phase `from` is in `to`. One that has failed,
/// was interrupted or stopped may go on; one that is completed stays so.
bool MayFollow(RunPhase from, RunPhase to);

/// The thing that an orchestrator runs.
struct Workload {
  std::string kind;        ///< "JobSet", "slurm", ...
  std::string name_space;  ///< of Kubernetes; a cluster elsewhere
  std::string name;        ///< or its number

  /// "KIND/NAMESPACE/NAME"; empty for none.
  std::string Text() const;
  friend bool operator==(const Workload&, const Workload&) = default;
};

/// What people and programs say of a run.
struct RunDetails {
  std::string group;
  std::map<std::string, std::string> labels;
  RunPhase phase = RunPhase::kUnspecified;
  std::string orchestrator;
  Workload workload;
  std::string artifacts;  ///< where its files lie: a URI
  std::string error;      ///< why it failed, for people
  std::vector<std::string> tools;
  std::map<std::string, std::string> software;  ///< configs
  std::map<std::string, std::string> system;
  std::int64_t accelerators = 0;  ///< that it holds while it runs; 0: not known

  friend bool operator==(const RunDetails&, const RunDetails&) = default;
};

/// How a run stood when somebody looked last: what lists show of its report.
struct RunSummary {
  RunState state = RunState::kNotStarted;
  std::optional<std::int64_t> start;  ///< wall time
  std::optional<std::int64_t> end;    ///< wall time; of a run that has ended
  std::int64_t elapsed_ns = 0;
  std::optional<double> goodput;
  std::int64_t attempts = 0;
  std::optional<std::int64_t> last_step;
  std::int64_t as_of = 0;  ///< wall time; 0: nobody has looked yet

  friend bool operator==(const RunSummary&, const RunSummary&) = default;
};
RunSummary SummaryOf(const Report& report);

}  // namespace headway
