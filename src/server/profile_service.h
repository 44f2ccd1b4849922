#pragma once

#include <headway/v1/profile_service.pb.h>

#include "base/clock.h"
#include "base/status.h"
#include "server/connect.h"
#include "server/run_items.h"
#include "server/run_registry.h"
#include "store/store.h"

namespace headway::server {

/// ProfileService of proto/. Any thread.
class ProfileService {
 public:
  /// All must outlive it.
  ProfileService(store::Store* store, RunRegistry* registry, const Clock* clock);

  void AddTo(ConnectRouter* router);

  Result<v1::CreateProfilerTargetResponse> CreateTarget(
      const Caller& caller, const v1::CreateProfilerTargetRequest& request);
  Result<v1::ProfilerTarget> GetTarget(const Caller& caller,
                                       const v1::GetProfilerTargetRequest& request) const;
  Result<v1::ListProfilerTargetsResponse> ListTargets(
      const Caller& caller, const v1::ListProfilerTargetsRequest& request) const;
  Result<v1::DeleteProfilerTargetResponse> DeleteTarget(
      const Caller& caller, const v1::DeleteProfilerTargetRequest& request);

  Result<v1::CreateProfileSessionResponse> CreateSession(
      const Caller& caller, const v1::CreateProfileSessionRequest& request);
  Result<v1::ProfileSession> UpdateSession(const Caller& caller,
                                           const v1::UpdateProfileSessionRequest& request);
  Result<v1::ProfileSession> GetSession(const Caller& caller,
                                        const v1::GetProfileSessionRequest& request) const;
  Result<v1::ListProfileSessionsResponse> ListSessions(
      const Caller& caller, const v1::ListProfileSessionsRequest& request) const;
  Result<v1::DeleteProfileSessionResponse> DeleteSession(
      const Caller& caller, const v1::DeleteProfileSessionRequest& request);

 private:
  /// A target of a run, and the label of that.
  struct FoundTarget {
    store::ItemRow item;
    std::string label;
  };
  template <typename Request>
  Result<FoundTarget> FindTarget(const Caller& caller, const Request& request) const;
  Result<v1::ProfileSession> ShowSession(const Result<store::ItemRow>& item) const;

  RunItems targets_;
  RunItems sessions_;
};

}  // namespace headway::server
