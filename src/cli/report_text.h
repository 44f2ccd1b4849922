#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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

/// Its beginning: the answer, and where the time went.
std::string RenderReportHead(const Report& report, const Terminal& terminal);

/// "LABEL    text", with the text wrapped beside the label, as one or more whole lines.
std::string FactLine(std::string_view label, std::string_view text, const Terminal& terminal);

/// "3 (1 lost, 2 open); ...": how many attempts there were, and how they ended.
std::string AttemptsText(const Report& report);

/// Why an attempt ended: "killed by SIGKILL".
std::string CauseText(const Disruption& disruption);

/// The category that cost most; null when nothing was lost.
const CategoryTime* CostliestOf(const Report& report);

/// "exit status 1", "SIGKILL", "" when nothing is known.
std::string ShowExit(std::optional<std::int64_t> exit_status, std::optional<std::int64_t> signal,
                     std::optional<std::int64_t> notice = {});

}  // namespace headway::cli
