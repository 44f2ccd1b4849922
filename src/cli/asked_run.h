#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/place.h"
#include "model/report.h"

namespace headway::cli {

/// A run and the time that is asked about: read from journals here, or answered by a server.
class AskedRun {
 public:
  virtual ~AskedRun() = default;

  virtual Result<Report> MakeReport() = 0;
  virtual Result<std::vector<TimelineInterval>> Timeline() = 0;
  /// Of the whole run, whatever time is asked about.
  virtual Result<std::vector<TimelineInterval>> WholeTimeline() = 0;
  virtual Result<std::vector<StepSummary>> Steps() = 0;
};

/// Finds the run where `place` says. NotFound: there is none; Unavailable: the server can't be
/// reached; InvalidArgument: what `times` ask for can't be read.
Result<std::unique_ptr<AskedRun>> Ask(const Context& context, Place* place,
                                      const std::string& label, const TimeOptions& times);

}  // namespace headway::cli
