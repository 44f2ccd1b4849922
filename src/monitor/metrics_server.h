#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"

namespace headway::monitor {

/// What `GET /metrics` answers, over HTTP/1.1, for a Prometheus to scrape; `GET /healthz` answers
/// "ok". Serves from a thread of its own until it is destroyed. No encryption and no passwords: for
/// loopback and networks whose members may all read the metrics.
///
/// Bounded, whoever calls: limits::kMetricsConnections connections at a time (further ones wait),
/// limits::kMetricsRequestBytes of a request's head, no body, and limits::kMetricsSeconds for each
/// request to arrive and for each answer to be taken.
class MetricsServer {
 public:
  /// Listens on `address`, an IP address in figures or "localhost", and `port`; 0 stands for any
  /// free port. InvalidArgument: no such address on this machine. FailedPrecondition: the port is
  /// in use. PermissionDenied: ports below 1024 are for the administrator.
  static Result<std::unique_ptr<MetricsServer>> Start(const std::string& address,
                                                      std::uint16_t port);

  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;
  /// Ends all connections, also in the middle of an answer, and does not wait for anybody.
  ~MetricsServer();

  /// The port that it listens on.
  std::uint16_t port() const;

  /// `text` is the answer from now on, in the text format of Prometheus; empty before the first
  /// call. Any thread; answers under way keep the text that they began with.
  void Publish(std::string text);

 private:
  class Impl;
  explicit MetricsServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace headway::monitor
