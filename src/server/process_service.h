#pragma once

#include <headway/v1/process_service.pb.h>

#include "base/clock.h"
#include "base/status.h"
#include "server/connect.h"
#include "server/run_ledger.h"
#include "server/run_registry.h"
#include "server/stored_journal.h"
#include "store/record_store.h"

namespace headway::server {

/// ProcessService of proto/. Any thread.
class ProcessService {
 public:
  /// All must outlive it.
  ProcessService(RunRegistry* registry, RunLedgers* ledgers, store::RecordStore* store,
                 const Clock* clock)
      : registry_(registry), ledgers_(ledgers), store_(store), hearing_{clock, clock->Wall().ns} {}

  void AddTo(ConnectRouter* router);

  Result<v1::ListProcessesResponse> ListProcesses(const Caller& caller,
                                                  const v1::ListProcessesRequest& request);

 private:
  RunRegistry* registry_;
  RunLedgers* ledgers_;
  store::RecordStore* store_;
  Hearing hearing_;
};

}  // namespace headway::server
