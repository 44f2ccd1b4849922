#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/doctor.h"
#include "model/report.h"
#include "monitor/state.h"
#include "recorder/environment.h"
#include "runs/runs.h"

/// Why numbers of a run are missing or strange: the questions that its users ask, each answered
/// from journals and from what the run's monitors have written.

namespace headway::cli {

/// What was found about a run.
struct RunEvidence {
  std::string label;  ///< as it was asked for
  std::string project;
  std::vector<std::string> dirs;
  Status found;         ///< why the run can't be had; OK: there it is
  Status read;          ///< why its journals can't be read; OK: they were
  std::string nearest;  ///< without the run: one with nearly that name; empty: none
  /// Other places that have a run of that name.
  struct Place {
    std::string dir;
    std::string project;
  };
  std::vector<Place> elsewhere;
  runs::Run run;
  std::vector<std::string> namesakes;  ///< labels of all runs of the name, the newest first
  bool live = false;
  std::uint64_t records = 0;
  Report report;
  std::int64_t saves = 0, restores = 0;  ///< that the leads recorded
  std::vector<monitor::FoundState> monitors;
  std::vector<Status> unread_states;  ///< files of monitors that can't be read
};

/// Looks for evidence. Only reads. `variables` say where else journals could lie.
RunEvidence GatherEvidence(const std::string& label, const std::string& project,
                           const std::vector<std::string>& dirs, const recorder::EnvMap& variables);

/// The answers. Names of the checks: "records", "values", "checkpoints", "metrics",
/// "cloud_metrics". Pure.
std::vector<Check> JudgeRun(const RunEvidence& evidence, const recorder::EnvMap& variables);

}  // namespace headway::cli
