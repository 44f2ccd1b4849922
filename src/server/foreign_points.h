#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "server/connect.h"
#include "server/http_server.h"
#include "server/run_registry.h"
#include "store/series_store.h"

namespace headway::server {

/// What came so far, for statistics. Any thread may read.
struct ForeignPointCounts {
  using Number = std::atomic<std::uint64_t>;
  Number kept = 0;
  Number repeated = 0;  ///< were kept already
  Number refused = 0;
  Number stale = 0;  ///< marks of Prometheus that a series has ended
};

/// Points in the protocols of others, for the runs that they say they are of: Prometheus remote
/// write 1.0 at /api/v1/write, OTLP/HTTP at /v1/metrics (docs/metrics.md#from-other-programs). Any
/// thread.
class ForeignPoints {
 public:
  static constexpr std::string_view kRemoteWrite = "/api/v1/write";
  static constexpr std::string_view kOtlp = "/v1/metrics";

  /// All must outlive it, `large` may be null; `log` is told what the operator should know: errors
  /// of the server itself.
  ForeignPoints(store::SeriesStore* store, RunRegistry* registry, Authenticate authenticate,
                std::function<void(const Status&)> log, LargeRequests* large)
      : store_(store),
        registry_(registry),
        authenticate_(std::move(authenticate)),
        log_(std::move(log)),
        large_(large) {}

  static bool Has(std::string_view path) { return path == kRemoteWrite || path == kOtlp; }

  /// Answers a request that is refused whatever its body says, before that is read; nothing
  /// otherwise.
  std::optional<HttpResponse> Refuse(const HttpRequest& head) const;
  HttpResponse Answer(const HttpRequest& request);

  /// `came` is told of each run of which points were kept.
  void OnPoints(std::function<void(const RunUid&)> came) { on_points_ = std::move(came); }
  const ForeignPointCounts& counts() const { return counts_; }

 private:
  class Request;

  store::SeriesStore* store_;
  RunRegistry* registry_;
  Authenticate authenticate_;
  std::function<void(const Status&)> log_;
  LargeRequests* large_;
  ForeignPointCounts counts_;
  std::function<void(const RunUid&)> on_points_;
};

}  // namespace headway::server
