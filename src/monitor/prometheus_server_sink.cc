#include "monitor/prometheus_server_sink.h"

#include "formats/prometheus/writer.h"

namespace headway::monitor {

Result<PrometheusServerSink> PrometheusServerSink::Start(const std::string& address,
                                                         std::uint16_t port) {
  auto server = MetricsServer::Start(address, port);
  if (!server.ok()) return server.status();
  return PrometheusServerSink(address, *std::move(server));
}

std::string PrometheusServerSink::DestinationOf(const std::string& address, std::uint16_t port) {
  const bool v6 = address.find(':') != std::string::npos;
  return "http://" + (v6 ? "[" + address + "]" : address) + ":" + std::to_string(port) + "/metrics";
}

std::string PrometheusServerSink::Destination() const {
  return DestinationOf(address_, server_->port());
}

Status PrometheusServerSink::Put(const Sample& sample) {
  latest_.Take(sample);
  const metrics::RunMetrics run = latest_.Get();
  server_->Publish(prometheus::WriteText({&run, 1}));
  return OkStatus();
}

}  // namespace headway::monitor
