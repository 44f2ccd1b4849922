#pragma once

#include <headway/v1/config_service.pb.h>

#include "base/clock.h"
#include "base/status.h"
#include "server/connect.h"
#include "server/run_ledger.h"
#include "server/run_registry.h"
#include "store/record_store.h"

namespace headway::server {

/// ConfigService of proto/. Any thread.
class ConfigService {
 public:
  /// All must outlive it.
  ConfigService(RunRegistry* registry, RunLedgers* ledgers, store::RecordStore* store,
                const Clock* clock)
      : registry_(registry), ledgers_(ledgers), store_(store), hearing_{clock, clock->Wall().ns} {}

  void AddTo(ConnectRouter* router);

  Result<v1::GetConfigResponse> GetConfig(const Caller& caller,
                                          const v1::GetConfigRequest& request);

 private:
  RunRegistry* registry_;
  RunLedgers* ledgers_;
  store::RecordStore* store_;
  Hearing hearing_;
};

}  // namespace headway::server
