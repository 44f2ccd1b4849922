#pragma once

#include <headway/v1/series_service.pb.h>

#include <functional>

#include "base/clock.h"
#include "base/status.h"
#include "server/connect.h"
#include "server/run_ledger.h"
#include "server/run_registry.h"
#include "store/store.h"

namespace headway::server {

/// SeriesService of proto/. Any thread.
class SeriesService {
 public:
  /// All must outlive it.
  SeriesService(store::Store* store, RunRegistry* registry, RunLedgers* ledgers, const Clock* clock)
      : store_(store), registry_(registry), ledgers_(ledgers), clock_(clock) {}

  void AddTo(ConnectRouter* router);
  /// `came` is told of each run of which points were kept.
  void OnPoints(std::function<void(const RunUid&)> came) { on_points_ = std::move(came); }

  Result<v1::WritePointsResponse> Write(const Caller& caller,
                                        const v1::WritePointsRequest& request);
  Result<v1::ListSeriesResponse> List(const Caller& caller, const v1::ListSeriesRequest& request);
  Result<v1::QuerySeriesResponse> Query(const Caller& caller,
                                        const v1::QuerySeriesRequest& request);

 private:
  struct Asked;
  Status QueryRun(const Asked& asked, const store::RunRow& run, v1::QuerySeriesResponse* response);

  store::Store* store_;
  RunRegistry* registry_;
  RunLedgers* ledgers_;
  const Clock* clock_;
  std::function<void(const RunUid&)> on_points_;
};

}  // namespace headway::server
