#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/command.h"
#include "monitor/sink.h"

namespace headway::cli {

/// Where a monitor's samples go, as the command line says it.
struct SinkOptions {
  std::string tensorboard;
  std::string tags;
  std::string prometheus_file;
  std::string prometheus_listen;
  std::string otlp;
  bool otlp_json = false;
  bool cloud_monitoring = false;
  bool cloud_if_there = false;
  std::string cloud_project;
  std::string cloud_location;
  std::string cloud_replica;
  std::string cloud_accelerator;
  std::string cloud_cluster;
  std::string cloud_log;
  bool no_badput = false;

  // What does not concern a destination alone.
  std::string run;
  std::string state_directory;  ///< absolute; for what waits to be sent
  bool elastic = false;
  bool step_deviations = false;
  bool whole = true;                    ///< whether it tells the numbers of the whole run
  std::set<std::int64_t> windows = {};  ///< of which latest seconds it tells them
  bool exact = true;
};

void DescribeSinks(Description* description, SinkOptions* options);

/// Opens them. InvalidArgument: there is none, or one can't be meant. Errors of the disk; a port
/// that is in use. No network: what needs it is opened by the sink's own thread.
Result<std::vector<std::unique_ptr<monitor::Sink>>> OpenSinks(const SinkOptions& options);

}  // namespace headway::cli
