#pragma once

#include <functional>

#include "base/status.h"
#include "server/connect.h"
#include "server/http_server.h"
#include "server/live_hub.h"
#include "server/run_registry.h"

namespace headway::server {

/// LiveService: `GET /live?project=P`, the changes of the runs of a project, and
/// `GET /live?project=P&run=R`, those of one run, as server-sent events (docs/server.md). Any
/// thread.
class LiveService {
 public:
  static constexpr char kPath[] = "/live";

  /// All must outlive it. `use` is told of each stream by a share link before it is opened; an
  /// error of it becomes the answer.
  LiveService(Authenticate authenticate, std::function<Status(const Caller&)> use,
              RunRegistry* registry, LiveHub* hub)
      : authenticate_(std::move(authenticate)),
        use_(std::move(use)),
        registry_(registry),
        hub_(hub) {}

  HttpResponse Answer(const HttpRequest& request) const;

 private:
  Result<std::shared_ptr<HttpStream>> Open(const HttpRequest& request) const;

  Authenticate authenticate_;
  std::function<Status(const Caller&)> use_;
  RunRegistry* registry_;
  LiveHub* hub_;
};

}  // namespace headway::server
