#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "cli/output.h"
#include "model/report.h"

namespace headway::cli {

/// What was asked, where it is not simply the whole run now.
struct ReportQuestion {
  std::optional<std::pair<std::int64_t, std::int64_t>> window;
  std::optional<std::int64_t> as_of;
};

/// The report as people read it: the answer, then where the time went, then the evidence, then what
/// to do. Pure; readable from 60 columns on.
std::string RenderReport(const Report& report, const Terminal& terminal,
                         const ReportQuestion& question = {});

/// The category that cost most; null when nothing was lost.
const CategoryTime* CostliestOf(const Report& report);

/// "exit status 1", "SIGKILL", "" when nothing is known.
std::string ShowExit(std::optional<std::int64_t> exit_status, std::optional<std::int64_t> signal,
                     std::optional<std::int64_t> notice = {});

}  // namespace headway::cli
