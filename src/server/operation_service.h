#pragma once

#include <headway/v1/operation_service.pb.h>

#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "server/connect.h"
#include "server/upkeep.h"
#include "store/store.h"

namespace headway::server {

/// OperationService of proto/. Any thread.
class OperationService {
 public:
  /// All must outlive it.
  OperationService(store::Registry* registry, Upkeep* upkeep, const Clock* clock)
      : registry_(registry), upkeep_(upkeep), clock_(clock) {}

  void AddTo(ConnectRouter* router);

  Result<v1::ListOperationsResponse> List(const Caller& caller,
                                          const v1::ListOperationsRequest& request) const;
  Result<v1::Operation> Get(const Caller& caller, const v1::GetOperationRequest& request) const;
  Result<v1::Operation> Cancel(const Caller& caller, const v1::CancelOperationRequest& request);
  Result<v1::DeleteOperationResponse> Delete(const Caller& caller,
                                             const v1::DeleteOperationRequest& request);

 private:
  Result<store::OperationRow> Find(const Caller& caller, const std::string& project,
                                   const std::string& id) const;
  store::AuditRow Done(const Caller& caller, Permission permission,
                       const store::OperationRow& operation) const;

  store::Registry* registry_;
  Upkeep* upkeep_;
  const Clock* clock_;
};

}  // namespace headway::server
