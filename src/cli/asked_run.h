#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/place.h"
#include "model/report.h"
#include "model/run_records.h"

namespace headway::cli {

/// A run and the time that is asked about: read from journals here, or answered by a server.
class AskedRun {
 public:
  virtual ~AskedRun() = default;

  virtual Result<Report> MakeReport() = 0;
  /// With the numbers of compat accounting; errors also those of compat::MakeReport.
  virtual Result<Report> MakeCompatReport() = 0;
  virtual Result<std::vector<TimelineInterval>> Timeline() = 0;
  /// Of the whole run, whatever time is asked about.
  virtual Result<std::vector<TimelineInterval>> WholeTimeline() = 0;
  virtual Result<std::vector<StepSummary>> Steps() = 0;
  /// All records, whatever time is asked about. What can't be read is left out, and was told.
  virtual Result<RunRecords> Records() = 0;
};

/// Finds the run where `place` says. NotFound: there is none; Unavailable: the server can't be
/// reached; InvalidArgument: what `times` ask for can't be read.
Result<std::unique_ptr<AskedRun>> Ask(const Context& context, Place* place,
                                      const std::string& label, const TimeOptions& times);

/// The records alone: nothing is accounted for. What can't be read is told on standard error.
/// Errors as Ask.
Result<RunRecords> AskRecords(const Context& context, Place* place, const std::string& label);

}  // namespace headway::cli
