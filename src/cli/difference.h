#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/output.h"
#include "model/report.h"

namespace headway::cli {

/// One reason for which compat accounting answers otherwise than exact accounting.
struct DifferenceReason {
  std::string code;     ///< stable, for scripts: "outage_as_step"
  std::string message;  ///< a sentence, with the numbers it rests on
  std::int64_t ns = 0;  ///< how much time it is about; 0: not known
};

/// What the two reports of one run give evidence of, the weightiest first. docs/compat.md has the
/// whole list. Pure.
std::vector<DifferenceReason> ExplainDifference(const Report& exact, const Report& compat);

/// Category by category, and then the reasons.
std::string RenderDifference(const Report& exact, const Report& compat, const Terminal& terminal);
std::string DifferenceToJson(const Report& exact, const Report& compat, const JsonOptions& options);

}  // namespace headway::cli
