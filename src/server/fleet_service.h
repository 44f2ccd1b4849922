#pragma once

#include <headway/v1/fleet_service.pb.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "server/connect.h"
#include "server/stored_journal.h"
#include "store/store.h"

namespace headway::server {

/// FleetService of proto/. Any thread.
class FleetService {
 public:
  /// Both must outlive it.
  FleetService(store::Store* store, const Clock* clock)
      : store_(store), hearing_{clock, clock->Wall().ns} {}

  void AddTo(ConnectRouter* router);

  Result<v1::ListNodesResponse> ListNodes(const Caller& caller,
                                          const v1::ListNodesRequest& request) const;
  Result<v1::Node> GetNode(const Caller& caller, const v1::GetNodeRequest& request) const;
  Result<v1::ListClustersResponse> ListClusters(const Caller& caller,
                                                const v1::ListClustersRequest& request) const;
  Result<v1::Cluster> GetCluster(const Caller& caller, const v1::GetClusterRequest& request) const;
  Result<v1::ListLocationsResponse> ListLocations(const Caller& caller,
                                                  const v1::ListLocationsRequest& request) const;
  Result<v1::Location> GetLocation(const Caller& caller,
                                   const v1::GetLocationRequest& request) const;

 private:
  Result<std::vector<v1::Node>> NodesOf(const Caller& caller, const std::string& project) const;
  Status Label(v1::Node* node) const;

  store::Store* store_;
  Hearing hearing_;
};

}  // namespace headway::server
