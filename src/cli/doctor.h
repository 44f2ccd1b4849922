#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "journal/placement.h"
#include "recorder/environment.h"

/// Checks of what recording needs on this machine, each with how to mend what is wrong.

namespace headway::cli {

enum class Verdict : std::uint8_t { kGood, kNote, kWarning, kProblem };
/// "good", "note", "warning", "problem".
std::string_view VerdictName(Verdict verdict);

struct Check {
  std::string name;  ///< stable, for scripts: "free_space"
  Verdict verdict = Verdict::kGood;
  std::string message;  ///< what was found
  std::string remedy;   ///< what to do, empty when nothing is to be done
};

/// The data directory, and the one that `rules` (of the environment) put journals in instead:
/// owner, mode, file system, space, whether journals can be written there. Makes the directories
/// when they are not there, as recording would.
std::vector<Check> CheckDirectory(const std::string& dir, const journal::PlaceRules& rules);

/// Whether both clocks run at one speed and the wall clock is plausible. Takes a tenth of a second.
std::vector<Check> CheckClocks();

/// What the environment says about this process, and what in it can't be right. Pure.
std::vector<Check> CheckEnvironment(const recorder::EnvMap& variables);

/// Whether `python` (empty: python3) can import the package, and its version is `version`.
Check CheckPython(const std::string& python, std::string_view version);

/// Judges free space. Pure.
Check JudgeSpace(std::uint64_t free_bytes, std::uint64_t total_bytes, const std::string& dir);
/// Judges how much the wall clock ran away from the monotonic one. Pure.
Check JudgeDrift(std::int64_t wall_ns, std::int64_t mono_ns);

}  // namespace headway::cli
