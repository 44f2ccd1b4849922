#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "monitor/metrics_server.h"
#include "monitor/sample_metrics.h"
#include "monitor/sink.h"

namespace headway::monitor {

/// Shows the samples of one run at `/metrics` of a server of its own, as long as it lives.
class PrometheusServerSink final : public Sink {
 public:
  /// As MetricsServer::Start.
  static Result<PrometheusServerSink> Start(const std::string& address, std::uint16_t port);

  /// "http://127.0.0.1:9464/metrics"
  static std::string DestinationOf(const std::string& address, std::uint16_t port);
  /// That, with the port that it listens on.
  std::string Destination() const override;
  DestinationKind Kind() const override { return DestinationKind::kPrometheus; }
  Status Put(const Sample& sample) override;

 private:
  PrometheusServerSink(std::string address, std::unique_ptr<MetricsServer> server)
      : address_(std::move(address)), server_(std::move(server)) {}

  std::string address_;
  std::unique_ptr<MetricsServer> server_;
  LatestMetrics latest_;
};

}  // namespace headway::monitor
