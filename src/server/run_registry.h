#pragma once

#include <headway/v1/run_service.pb.h>

#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/status.h"
#include "server/connect.h"
#include "server/list_request.h"
#include "store/store.h"

namespace headway::server {

class Upkeep;

/// A run as whoever may read it sees it.
v1::Run RunMessage(const store::RunRow& row);
/// As whoever has a link to it does: what its processes recorded, and how it stands; nothing of
/// what people and programs say of it but the phase.
v1::Run SharedRunMessage(const store::RunRow& row);

/// The part of RunService of proto/ that is about runs as such. Any thread.
class RunRegistry {
 public:
  /// All must outlive it; `upkeep` removes what is deleted by force.
  RunRegistry(store::Store* store, Upkeep* upkeep, const Clock* clock)
      : store_(store), upkeep_(upkeep), clock_(clock) {}

  void AddTo(ConnectRouter* router);

  /// `deleted` is told of each run that was deleted, at the latest before it is shown again.
  void OnDelete(std::function<void(const RunUid&)> deleted) { on_delete_ = std::move(deleted); }

  /// `changed` is told of each run that was made, changed, deleted or shown again.
  void OnChange(std::function<void(const RunUid&)> changed) { on_change_ = std::move(changed); }

  /// A run by its label or uid; a deleted one by its uid only. NotFound names the newest ones;
  /// PermissionDenied: the caller's token or link is for another run only.
  Result<store::RunRow> Find(const Caller& caller, const std::string& project,
                             const std::string& label);

  Result<v1::ListRunsResponse> List(const Caller& caller, const v1::ListRunsRequest& request);
  Result<v1::Run> Get(const Caller& caller, const v1::GetRunRequest& request);
  Result<v1::Fleet> GetFleet(const Caller& caller, const v1::GetFleetRequest& request);
  Result<v1::CreateRunResponse> Create(const Caller& caller, const v1::CreateRunRequest& request);
  Result<v1::Run> Update(const Caller& caller, const v1::UpdateRunRequest& request);
  Result<v1::DeleteRunResponse> Delete(const Caller& caller, const v1::DeleteRunRequest& request);
  Result<v1::Run> Undelete(const Caller& caller, const v1::UndeleteRunRequest& request);

 private:
  void TellOfChange(const RunUid& run) const {
    if (on_change_) on_change_(run);
  }
  store::AuditRow Done(const Caller& caller, Permission permission, const store::RunRow& run) const;

  store::Store* store_;
  Upkeep* upkeep_;
  const Clock* clock_;
  std::mutex update_mutex_;  // updates of whatever there is take turns
  std::function<void(const RunUid&)> on_delete_;
  std::function<void(const RunUid&)> on_change_;
};

}  // namespace headway::server
