#pragma once

#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "net/http.h"

namespace headway::net {

/// Where on Google Cloud a machine is. What isn't known is empty.
struct GoogleMachine {
  std::string project_id;
  std::string zone;          ///< "us-central1-a"
  std::string machine_type;  ///< "ct5lp-hightpu-4t"
  std::string cluster_name;  ///< of GKE
};

/// Asks the metadata server that machines on Google Cloud have. GCE_METADATA_HOST says where it is,
/// as in Google's own libraries; else 169.254.169.254, which needs no name service.
///
/// One thread at a time. `http` and `clock` outlive it.
class GoogleMetadata {
 public:
  GoogleMetadata(HttpClient* http, const Clock* clock) : http_(http), clock_(clock) {}

  /// The answer for `path` below /computeMetadata/v1/, whatever its status. Waits a second at most,
  /// five once the server has answered. NotFound: there is no metadata server; that is not looked
  /// into again for five minutes. Unavailable: there is one, and it doesn't answer.
  Result<Response> Get(const std::string& path, MonoNs deadline);

  /// NotFound, within a second: not on Google Cloud.
  Result<GoogleMachine> Machine(MonoNs deadline);

 private:
  HttpClient* http_;
  const Clock* clock_;
  bool seen_ = false;
  MonoNs absent_until_{};
};

}  // namespace headway::net
