#pragma once

#include <headway/v1/server_service.pb.h>

#include "base/clock.h"
#include "base/status.h"
#include "server/connect.h"

namespace headway::server {

/// ServerService of proto/. Any thread.
class ServerService {
 public:
  /// The clock must outlive it.
  explicit ServerService(const Clock* clock) : clock_(clock) {}

  void AddTo(ConnectRouter* router);

  v1::GetServerResponse GetServer(const Caller& caller) const;

 private:
  const Clock* clock_;
};

}  // namespace headway::server
