#pragma once

#include <headway/v1/view_service.pb.h>

#include "base/clock.h"
#include "base/status.h"
#include "server/connect.h"
#include "server/run_ledger.h"
#include "server/run_registry.h"

namespace headway::server {

/// ViewService of proto/: where the time of a run went, as charts and timelines. Any thread.
///
/// Whatever is asked, answers have a bound (base/view_limits.h), and cost O(attempts + columns *
/// log n); as of an earlier time, what that costs a report.
class ViewService {
 public:
  /// All must outlive it.
  ViewService(RunRegistry* registry, RunLedgers* ledgers, const Clock* clock)
      : registry_(registry), ledgers_(ledgers), clock_(clock) {}

  void AddTo(ConnectRouter* router);

  Result<v1::History> GetHistory(const Caller& caller, const v1::GetHistoryRequest& request);
  Result<v1::RunTimeline> GetTimeline(const Caller& caller, const v1::GetTimelineRequest& request);
  /// O(attempts + steps), some 50 ms for a million of them.
  Result<v1::StepHistory> GetStepHistory(const Caller& caller,
                                         const v1::GetStepHistoryRequest& request);

 private:
  RunRegistry* registry_;
  RunLedgers* ledgers_;
  const Clock* clock_;
};

}  // namespace headway::server
