#include "cli/monitor_sinks.h"

#include <charconv>
#include <filesystem>
#include <functional>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "cli/output.h"
#include "formats/gcp/accelerator.h"
#include "monitor/cloud_logging_sink.h"
#include "monitor/cloud_monitoring_sink.h"
#include "monitor/deferred_sink.h"
#include "monitor/interruption.h"
#include "monitor/otlp_sink.h"
#include "monitor/parts_sink.h"
#include "monitor/prometheus_file_sink.h"
#include "monitor/prometheus_server_sink.h"
#include "monitor/remote_tensorboard_sink.h"
#include "monitor/tensorboard_sink.h"
#include "net/google_auth.h"
#include "net/http.h"
#include "net/object_store.h"

namespace headway::cli {
namespace {

using monitor::DestinationKind;
using monitor::Sink;
using SinkResult = Result<std::unique_ptr<Sink>>;

const Clock* TheClock() { return &SystemClock::Get(); }

/// A sink with a connection of its own: each is used by its thread.
class NetworkSink final : public Sink {
 public:
  NetworkSink()
      : http_(net::MakeHttpClient(TheClock(), {.interrupted = interruption_.flag()})),
        google_(http_.get(), TheClock(), net::GoogleAuthFromEnvironment()) {}

  net::HttpClient* http() { return http_.get(); }
  net::GoogleAuth* google() { return &google_; }
  /// What waits in its sink.
  std::function<bool(std::int64_t)> wait() {
    return [this](std::int64_t ns) { return interruption_.WaitFor(ns); };
  }
  void set(std::unique_ptr<Sink> sink) { sink_ = std::move(sink); }

  std::string Destination() const override { return sink_->Destination(); }
  DestinationKind Kind() const override { return sink_->Kind(); }
  std::int64_t RejectedPoints() const override { return sink_->RejectedPoints(); }
  Status Put(const monitor::Sample& sample) override { return sink_->Put(sample); }
  Status Deliver(MonoNs deadline) override { return sink_->Deliver(deadline); }
  void Hurry() override { interruption_.Set(); }
  Status Finish(MonoNs deadline) override {
    interruption_.Clear();
    return sink_->Finish(deadline);
  }

 private:
  monitor::Interruption interruption_;
  std::unique_ptr<net::HttpClient> http_;
  net::GoogleAuth google_;
  std::unique_ptr<Sink> sink_;
};

// Opens a sink on a network sink.
template <typename Open>
SinkResult OnNetwork(const Open& open) {
  auto network = std::make_unique<NetworkSink>();
  auto sink = open(network.get());
  HEADWAY_RETURN_IF_ERROR(sink.status());
  network->set(*std::move(sink));
  return std::unique_ptr<Sink>(std::move(network));
}

// Several monitors of one run may send to the same place side by side where that is no harm; what
// one has left behind is for the next to send. So each takes the first outbox that nobody has.
template <typename Open>
auto WithOutbox(const std::string& directory, NetworkSink* network, const Open& open) {
  constexpr int kMost = 64;
  for (int number = 0;; ++number) {
    auto sink = open(directory + "-" + std::to_string(number));
    if (sink.ok()) (*sink)->outbox()->set_wait(network->wait());
    if (sink.ok() || sink.status().code() != Code::kFailedPrecondition || number == kMost) {
      return sink;
    }
  }
}

// A directory below the one of the monitor's state, for what waits for `destination`.
std::string Waiting(const SinkOptions& options, const std::string& destination) {
  return JoinPath(JoinPath(options.state_directory, "waiting"), MakePathComponent(destination));
}

SinkResult OpenTensorBoard(const SinkOptions& options) {
  monitor::TensorBoardSink::Options to;
  to.directory = options.tensorboard;
  to.incumbent = options.tags == "incumbent";
  to.badput = !options.no_badput;
  to.elastic = options.elastic;
  to.steps = options.step_deviations;
  to.all_of_it = options.exact;
  if (!net::IsObjectUrl(options.tensorboard)) {
    if (options.tensorboard.find("://") != std::string::npos) {
      return Status(Code::kInvalidArgument,
                    "--tensorboard: \"" + options.tensorboard +
                        "\" is neither a directory nor an object of gs:// or s3://");
    }
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(to.directory, error);
    if (!error) to.directory = absolute.lexically_normal().string();
    return std::unique_ptr<Sink>(std::make_unique<monitor::TensorBoardSink>(std::move(to)));
  }
  to.directory = Waiting(options, options.tensorboard);
  return OnNetwork([&](NetworkSink* network) {
    auto sink = monitor::RemoteTensorBoardSink::Open(
        options.tensorboard, std::move(to), network->google(), network->http(), TheClock());
    if (sink.ok()) (*sink)->set_wait(network->wait());
    return sink;
  });
}

// Opens the sink; where the answer is `not_yet`, one that tries again with each sample.
SinkResult OpenOrDefer(std::string destination, DestinationKind kind, Code not_yet,
                       monitor::DeferredSink::Open open) {
  SinkResult sink = open(MonoNs());
  if (sink.ok() || sink.status().code() != not_yet) return sink;
  Complain("not yet: " + sink.status().message());
  return std::unique_ptr<Sink>(
      std::make_unique<monitor::DeferredSink>(std::move(destination), kind, std::move(open)));
}

// Its directory may come up later, or be mistyped.
SinkResult OpenPrometheusFile(const SinkOptions& options) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(options.prometheus_file, error);
  const std::string path = error ? options.prometheus_file : absolute.string();
  const auto open = [path](MonoNs) -> SinkResult {
    auto sink = monitor::PrometheusFileSink::Open(path);
    HEADWAY_RETURN_IF_ERROR(sink.status());
    return std::unique_ptr<Sink>(std::make_unique<monitor::PrometheusFileSink>(*std::move(sink)));
  };
  return OpenOrDefer(monitor::PrometheusFileSink::DestinationOf(path), DestinationKind::kFile,
                     Code::kNotFound, open);
}

// The port of another monitor is free again once that one ends.
SinkResult OpenPrometheusServer(const SinkOptions& options) {
  const std::string& listen = options.prometheus_listen;
  const std::size_t colon = listen.rfind(':');
  std::string address = colon == std::string::npos ? "127.0.0.1" : listen.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']')) {
    address = address.substr(1, address.size() - 2);
  }
  if (address.empty()) address = "0.0.0.0";
  const std::string port = colon == std::string::npos ? listen : listen.substr(colon + 1);
  std::uint16_t number = 0;
  const auto [rest, bad] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (bad != std::errc() || rest != port.data() + port.size()) {
    return Status(Code::kInvalidArgument,
                  "--prometheus-listen: \"" + listen + "\" is no port and no ADDRESS:PORT");
  }
  const auto start = [address, number](MonoNs) -> SinkResult {
    auto sink = monitor::PrometheusServerSink::Start(address, number);
    HEADWAY_RETURN_IF_ERROR(sink.status());
    return std::unique_ptr<Sink>(std::make_unique<monitor::PrometheusServerSink>(*std::move(sink)));
  };
  return OpenOrDefer(monitor::PrometheusServerSink::DestinationOf(address, number),
                     DestinationKind::kPrometheus, Code::kFailedPrecondition, start);
}

SinkResult OpenOtlp(const SinkOptions& options) {
  monitor::OtlpOptions to = monitor::OtlpFromEnvironment();
  if (options.otlp != "env") to.endpoint = options.otlp;
  to.json |= options.otlp_json;
  if (to.endpoint.empty()) {
    return Status(Code::kInvalidArgument,
                  "--otlp env: OTEL_EXPORTER_OTLP_ENDPOINT is not set in the environment");
  }
  return OnNetwork([&](NetworkSink* network) {
    return WithOutbox(Waiting(options, to.endpoint), network, [&](const std::string& directory) {
      to.outbox_directory = directory;
      return monitor::OtlpSink::Open(to, network->http(), TheClock());
    });
  });
}

SinkResult OpenCloudMonitoring(const SinkOptions& options, MonoNs deadline) {
  monitor::CloudMonitoringOptions to;
  to.project_id = options.cloud_project;
  to.workload.workload_id = options.run;
  to.workload.location = options.cloud_location;
  if (!options.cloud_replica.empty()) to.workload.replica_id = options.cloud_replica;
  to.workload.accelerator_type = options.cloud_accelerator;
  to.workload.cluster_name = options.cloud_cluster;
  auto network = std::make_unique<NetworkSink>();
  NetworkSink* const on = network.get();
  monitor::Complete(on->google()->LookUpMachine(deadline), &to);
  const bool known = !to.project_id.empty() && !to.workload.location.empty();
  if (!known && options.cloud_if_there) return std::unique_ptr<Sink>();
  // One outbox for what is one writer's to the service: it is taken by one monitor at a time.
  const std::string name = "cloud-monitoring " + to.project_id + " " + to.workload.location + " " +
                           to.workload.replica_id;
  std::vector<monitor::PartsSink::Part> parts;
  auto add = [&](std::int64_t only, const std::string& which, std::string what) {
    to.only = only;
    to.outbox_directory = Waiting(options, name + " " + which);
    parts.push_back({std::move(what), [to, on]() -> SinkResult {
                       auto sink = monitor::CloudMonitoringSink::Open(to, on->google(), TheClock());
                       HEADWAY_RETURN_IF_ERROR(sink.status());
                       (*sink)->outbox()->set_wait(on->wait());
                       return std::unique_ptr<Sink>(*std::move(sink));
                     }});
  };
  if (options.whole) add(0, "whole", "the numbers of the whole run");
  for (const std::int64_t seconds : options.windows) {
    const std::string window = std::to_string(seconds) + "s";
    add(seconds, window, "the numbers of the last " + window);
  }
  auto sink = monitor::PartsSink::Open(monitor::DestinationOf(to),
                                       DestinationKind::kCloudMonitoring, std::move(parts));
  HEADWAY_RETURN_IF_ERROR(sink.status());
  network->set(*std::move(sink));
  return std::unique_ptr<Sink>(std::move(network));
}

SinkResult OpenCloudLogging(const SinkOptions& options, MonoNs deadline) {
  monitor::CloudLoggingOptions to;
  auto network = std::make_unique<NetworkSink>();
  to.log.project_id = options.cloud_project.empty()
                          ? network->google()->LookUpMachine(deadline).project_id
                          : options.cloud_project;
  to.log.log_name = options.cloud_log;
  to.log.job_name = options.run;
  const std::string name = "cloud-logging " + to.log.project_id + " " + to.log.log_name;
  auto sink = WithOutbox(Waiting(options, name), network.get(), [&](const std::string& directory) {
    to.outbox_directory = directory;
    return monitor::CloudLoggingSink::Open(to, network->google(), TheClock());
  });
  HEADWAY_RETURN_IF_ERROR(sink.status());
  network->set(*std::move(sink));
  return std::unique_ptr<Sink>(std::move(network));
}

SinkResult Defer(std::string destination, DestinationKind kind, const SinkOptions& options,
                 SinkResult (*open)(const SinkOptions&, MonoNs)) {
  return std::unique_ptr<Sink>(std::make_unique<monitor::DeferredSink>(
      std::move(destination), kind,
      [options, open](MonoNs deadline) { return open(options, deadline); }));
}

}  // namespace

void DescribeSinks(Description* description, SinkOptions* options) {
  description
      ->Option("--tensorboard", "DIR", &options->tensorboard,
               "write TensorBoard event files there: a directory, gs://… or s3://…")
      .completion = Completion::kDirectory;
  description->Choice("--tags", "WHOSE", {"headway", "incumbent"}, &options->tags,
                      "TensorBoard tags: headway's own (the default), or those of "
                      "ml-goodput-measurement");
  description
      ->Option("--prometheus-file", "FILE", &options->prometheus_file,
               "keep a file (*.prom) for node_exporter's textfile collector")
      .completion = Completion::kFile;
  description->Option("--prometheus-listen", "[ADDRESS:]PORT", &options->prometheus_listen,
                      "serve /metrics there (127.0.0.1)");
  description->Option("--otlp", "URL", &options->otlp,
                      "send OTLP/HTTP metrics there; env: where OTEL_EXPORTER_OTLP_ENDPOINT says");
  description->Flag("--otlp-json", &options->otlp_json, "there: JSON in place of protobuf");
  description->Flag("--cloud-monitoring", &options->cloud_monitoring,
                    "send the metrics of ml-goodput-measurement to Google Cloud Monitoring");
  description->Flag("--cloud-if-there", &options->cloud_if_there,
                    "there: not where no project or location is known");
  description->Option("--cloud-project", "ID", &options->cloud_project,
                      "project there (that of this machine or of the credentials)");
  description->Option("--cloud-location", "ZONE", &options->cloud_location,
                      "location of the workload (this machine's zone)");
  description->Option("--replica", "ID", &options->cloud_replica, "replica of the workload (0)");
  description->Option("--accelerator", "TYPE", &options->cloud_accelerator,
                      "label of the metrics there (by this machine's type)");
  description->Option("--cluster", "NAME", &options->cloud_cluster, "label of the metrics there");
  description->Option("--cloud-log", "LOG", &options->cloud_log,
                      "write the entries of ml-goodput-measurement to that log in Cloud Logging");
  description->Flag("--no-badput", &options->no_badput,
                    "TensorBoard: not where the rest of the time went");
}

Result<std::vector<std::unique_ptr<Sink>>> OpenSinks(const SinkOptions& options) {
  std::vector<std::unique_ptr<Sink>> sinks;
  auto add = [&sinks](SinkResult sink) {
    if (!sink.ok()) return sink.status();
    sinks.push_back(*std::move(sink));
    return OkStatus();
  };
  if (!options.tensorboard.empty()) HEADWAY_RETURN_IF_ERROR(add(OpenTensorBoard(options)));
  if (!options.prometheus_file.empty()) HEADWAY_RETURN_IF_ERROR(add(OpenPrometheusFile(options)));
  if (!options.prometheus_listen.empty()) {
    HEADWAY_RETURN_IF_ERROR(add(OpenPrometheusServer(options)));
  }
  if (!options.otlp.empty()) HEADWAY_RETURN_IF_ERROR(add(OpenOtlp(options)));
  if (options.cloud_monitoring) {
    HEADWAY_RETURN_IF_ERROR(add(Defer("Google Cloud Monitoring", DestinationKind::kCloudMonitoring,
                                      options, OpenCloudMonitoring)));
  }
  if (!options.cloud_log.empty()) {
    HEADWAY_RETURN_IF_ERROR(add(
        Defer("Google Cloud Logging", DestinationKind::kCloudLogging, options, OpenCloudLogging)));
  }
  if (sinks.empty()) {
    return Status(Code::kInvalidArgument,
                  "a monitor needs somewhere to tell its numbers: --tensorboard, "
                  "--prometheus-file, --prometheus-listen, --otlp, --cloud-monitoring, "
                  "--cloud-log");
  }
  return sinks;
}

}  // namespace headway::cli
