#include "model/run_details.h"

#include <algorithm>
#include <iterator>

namespace headway {
namespace {

constexpr std::string_view kPhaseNames[] = {"",          "queued", "suspended",   "active",
                                            "completed", "failed", "interrupted", "stopped"};

constexpr bool HasEnded(RunPhase phase) { return phase >= RunPhase::kCompleted; }

}  // namespace

std::string_view RunPhaseName(RunPhase phase) {
  return kPhaseNames[static_cast<std::size_t>(phase)];
}

std::optional<RunPhase> FindRunPhase(std::string_view name) {
  const auto* const found = std::ranges::find(kPhaseNames, name);
  if (name.empty() || found == std::end(kPhaseNames)) return std::nullopt;
  return static_cast<RunPhase>(found - std::begin(kPhaseNames));
}

RunPhase PhaseOf(RunState state) {
  switch (state) {
    case RunState::kNotStarted: return RunPhase::kUnspecified;
    case RunState::kRunning:
    case RunState::kRestarting: return RunPhase::kActive;
    case RunState::kCompleted: return RunPhase::kCompleted;
    case RunState::kFailed: return RunPhase::kFailed;
    case RunState::kInterrupted: return RunPhase::kInterrupted;
  }
  return RunPhase::kUnspecified;
}

bool MayFollow(RunPhase from, RunPhase to) {
  if (from == to || from == RunPhase::kUnspecified) return true;
  if (from == RunPhase::kCompleted || to == RunPhase::kUnspecified) return false;
  // What runs was taken out of its queue; what has ended may be queued again.
  if (to == RunPhase::kQueued) return from == RunPhase::kSuspended || HasEnded(from);
  return true;
}

std::string Workload::Text() const {
  if (kind.empty() && name_space.empty() && name.empty()) return {};
  return kind + "/" + name_space + "/" + name;
}

RunSummary SummaryOf(const Report& report) {
  RunSummary summary;
  summary.state = report.state;
  const bool ended = report.state == RunState::kCompleted || report.state == RunState::kFailed ||
                     report.state == RunState::kInterrupted;
  summary.start = report.start;
  if (ended) summary.end = report.end;
  summary.elapsed_ns = report.elapsed_ns;
  summary.goodput = report.goodput;
  summary.attempts = static_cast<std::int64_t>(report.attempts.size());
  summary.last_step = report.steps.last_step;
  summary.as_of = report.as_of;
  return summary;
}

}  // namespace headway
