#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "monitor/outbox.h"
#include "monitor/sink.h"
#include "net/http.h"

namespace headway::monitor {

struct OtlpOptions {
  std::string endpoint;          ///< "http://collector:4318"; without a path /v1/metrics is meant
  bool json = false;             ///< JSON in place of protocol buffers
  net::Headers headers;          ///< more of them, as for credentials
  std::string outbox_directory;  ///< for what waits; of this sink alone
  OutboxLimits limits;
};

/// The endpoint and the headers that OTEL_EXPORTER_OTLP_METRICS_ENDPOINT,
/// OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_METRICS_HEADERS, OTEL_EXPORTER_OTLP_HEADERS and
/// OTEL_EXPORTER_OTLP_(METRICS_)PROTOCOL give, as OpenTelemetry defines them. What is not set is
/// empty.
OtlpOptions OtlpFromEnvironment();

/// Sends samples to an OpenTelemetry collector (OTLP/HTTP). What can't be sent now waits on disk,
/// with its times.
class OtlpSink final : public Sink {
 public:
  /// Makes the outbox. `http` and `clock` must outlive the sink. No network. InvalidArgument: the
  /// endpoint is no http or https URL. Other errors: Outbox::Open.
  static Result<std::unique_ptr<OtlpSink>> Open(const OtlpOptions& options, net::HttpClient* http,
                                                const Clock* clock);

  std::string Destination() const override;
  DestinationKind Kind() const override { return DestinationKind::kOtlp; }
  std::int64_t RejectedPoints() const override { return rejected_points_; }
  Status Put(const Sample& sample) override;
  /// Errors: why something waits (Unavailable), or was refused for good, a whole request or some of
  /// its data points (`partial_success`), which doesn't keep later ones from being sent.
  Status Deliver(MonoNs deadline) override;
  Status Finish(MonoNs deadline) override;

  const OutboxLosses& losses() const { return outbox_.losses(); }
  Outbox* outbox() { return &outbox_; }

 private:
  OtlpSink(const OtlpOptions& options, std::string url, Outbox outbox, net::HttpClient* http,
           const Clock* clock)
      : options_(options),
        url_(std::move(url)),
        outbox_(std::move(outbox)),
        http_(http),
        clock_(clock) {}

  Delivery Send(const OutboxBody& body, MonoNs deadline);
  Delivery TakePartialSuccess(const net::Response& response, std::string_view asked);

  const OtlpOptions options_;
  const std::string url_;
  Outbox outbox_;
  net::HttpClient* http_;
  const Clock* clock_;
  std::int64_t rejected_points_ = 0;
};

}  // namespace headway::monitor
