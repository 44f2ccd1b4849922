#pragma once

#include <headway/v1/run_service.pb.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "server/connect.h"
#include "server/run_ledger.h"
#include "server/run_registry.h"

namespace headway::server {

/// The part of RunService of proto/ that is about where the time of a run went. Any thread.
class RunService {
 public:
  /// All must outlive it.
  RunService(RunRegistry* registry, RunLedgers* ledgers, const Clock* clock)
      : registry_(registry), ledgers_(ledgers), clock_(clock) {}

  void AddTo(ConnectRouter* router);

  Result<v1::Report> GetReport(const Caller& caller, const v1::GetReportRequest& request);
  Result<v1::GetAdviceResponse> GetAdvice(const Caller& caller,
                                          const v1::GetReportRequest& request);
  Result<v1::ListIntervalsResponse> ListIntervals(const Caller& caller,
                                                  const v1::ListIntervalsRequest& request);
  Result<v1::ListStepsResponse> ListSteps(const Caller& caller,
                                          const v1::ListStepsRequest& request);

 private:
  Result<Report> MakeReport(const Caller& caller, const v1::GetReportRequest& request);

  // The list that pages were made of last: whoever asks for one will ask for the next.
  template <typename Row>
  struct LastList {
    std::mutex mutex;
    std::string key;
    std::shared_ptr<const std::vector<Row>> rows;
  };
  // Adds a page to `*out` and returns the next token.
  template <typename Request, typename Row, typename Rows>
  Result<std::string> Page(const Caller& caller, const Request& request, LastList<Row>* last,
                           std::vector<Row> (ledger::Ledger::*list)(const ledger::Query&),
                           Rows* out);

  RunRegistry* registry_;
  RunLedgers* ledgers_;
  const Clock* clock_;
  LastList<TimelineInterval> intervals_;
  LastList<StepSummary> steps_;
};

}  // namespace headway::server
