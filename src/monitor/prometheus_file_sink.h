#pragma once

#include <string>
#include <utility>

#include "monitor/sample_metrics.h"
#include "monitor/sink.h"

namespace headway::monitor {

/// Keeps a file on one run that the textfile collector of node_exporter reads. Each sample takes
/// the place of the one before by a rename, so that nobody sees half a file; everyone may read it
/// (0644), since node_exporter runs as another user. The last sample stays when the sink is gone.
class PrometheusFileSink final : public Sink {
 public:
  /// `path` is to end in ".prom", or node_exporter passes over it (InvalidArgument), in a directory
  /// that is there already (NotFound).
  static Result<PrometheusFileSink> Open(std::string path);

  static std::string DestinationOf(const std::string& path) {
    return "Prometheus textfile " + path;
  }
  std::string Destination() const override { return DestinationOf(path_); }
  DestinationKind Kind() const override { return DestinationKind::kFile; }
  /// Fails when the file can't be written or replaced: the one before it stays.
  Status Put(const Sample& sample) override;

 private:
  explicit PrometheusFileSink(std::string path) : path_(std::move(path)) {}

  std::string path_;
  LatestMetrics latest_;
};

}  // namespace headway::monitor
