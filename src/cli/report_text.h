#pragma once

#include <string>

#include "cli/output.h"
#include "model/report.h"

namespace headway::cli {

/// The report as people read it: the answer, then where the time went, then the evidence, then what
/// to do. Pure; readable from 60 columns on.
std::string RenderReport(const Report& report, const Terminal& terminal);

/// The category that cost most; null when nothing was lost.
const CategoryTime* CostliestOf(const Report& report);

/// "exit status 1", "SIGKILL", "" when nothing is known.
std::string ShowExit(std::optional<std::int64_t> exit_status, std::optional<std::int64_t> signal);

}  // namespace headway::cli
