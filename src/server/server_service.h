#pragma once

#include <headway/v1/server_service.pb.h>

#include <string>
#include <utility>

#include "base/clock.h"
#include "base/status.h"
#include "server/connect.h"

namespace headway::server {

/// ServerService of proto/. Any thread.
class ServerService {
 public:
  /// The clock must outlive it. `dir`: where the store lies.
  ServerService(std::string dir, const Clock* clock) : dir_(std::move(dir)), clock_(clock) {}

  void AddTo(ConnectRouter* router);

  v1::GetServerResponse GetServer(const Caller& caller) const;

 private:
  std::string dir_;
  const Clock* clock_;
};

}  // namespace headway::server
