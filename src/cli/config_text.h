#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/output.h"
#include "model/config.h"

/// Configurations as people and programs read them. Pure.

namespace headway::cli {

/// `shown`: what of one of the attempts of `run` is wanted (Select, DifferBetweenHosts).
std::string RenderConfig(const RunConfig& run, const AttemptConfig& shown,
                         const Terminal& terminal);
/// What was said on a server (RunConfig::Registered, Select); follows RenderConfig.
std::string RenderRegistered(const AttemptConfig& registered, const Terminal& terminal);
/// Both as JSON, ended by a line feed; `shown` null: nothing was recorded.
std::string ConfigToJson(const RunConfig& run, const AttemptConfig* shown,
                         const AttemptConfig& registered = {});

/// One side of a comparison.
struct ComparedConfig {
  const RunConfig* run = nullptr;
  const AttemptConfig* attempt = nullptr;
};

/// `all`: also what is the same.
std::string RenderComparison(const ComparedConfig& left, const ComparedConfig& right,
                             const std::vector<ConfigDifference>& differences, bool all,
                             const Terminal& terminal);
std::string ComparisonToJson(const ComparedConfig& left, const ComparedConfig& right,
                             const std::vector<ConfigDifference>& differences, bool all);

/// "ranks 0-3, 7", "host-a, host-b and 6 more hosts": `some` of the attempt's processes; `among`:
/// those that said something of the class.
std::string ShowProcesses(const AttemptConfig& attempt, const std::vector<std::size_t>& some,
                          const std::vector<std::size_t>& among);

}  // namespace headway::cli
