#pragma once

#include <headway/v1/project_service.pb.h>

#include "base/clock.h"
#include "base/status.h"
#include "server/connect.h"
#include "store/store.h"

namespace headway::server {

/// ProjectService of proto/. Any thread.
class ProjectService {
 public:
  /// Both must outlive it.
  ProjectService(store::Registry* registry, const Clock* clock)
      : registry_(registry), clock_(clock) {}

  void AddTo(ConnectRouter* router);

  Result<v1::ListProjectsResponse> List(const Caller& caller) const;
  Result<v1::Project> Get(const Caller& caller, const v1::GetProjectRequest& request) const;
  Result<v1::Project> Put(const Caller& caller, const v1::PutProjectRequest& request);

 private:
  Result<std::optional<store::ProjectRow>> Find(const std::string& name) const;

  store::Registry* registry_;
  const Clock* clock_;
};

}  // namespace headway::server
