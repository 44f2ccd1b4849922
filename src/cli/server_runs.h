#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/command.h"
#include "cli/place.h"

/// Runs as a server knows them. Unimplemented where headway was built without what speaks to one.

namespace headway::cli {

/// --server alone, for what only a server knows.
void DescribeServerOnly(Description* description, Place* place);
/// Fills in which server. InvalidArgument: none was said; `what` begins the message: "tokens are".
Status ResolveServerOnly(Place* place, const std::string& what);

struct ServerList {
  std::string filter;
  std::string order_by;
  std::optional<std::int64_t> limit;
  bool all_projects = false;
  bool deleted = false;
};
/// Prints the runs of `place`'s server.
Status ListServerRuns(const Context& context, const Place& place, const ServerList& wanted);

/// Prints one run of it.
Status ShowServerRun(const Context& context, const Place& place, const std::string& run);

/// What may be said of a run; what is absent stays as it is.
struct RunChange {
  std::optional<std::string> group, phase, orchestrator, workload, artifacts, error;
  std::vector<std::string> labels;      ///< KEY=VALUE
  std::vector<std::string> not_labels;  ///< KEY
  std::vector<std::string> software, system;
  std::vector<std::string> tools;
  std::optional<std::int64_t> accelerators;
  std::string etag;
  std::string uid;         ///< of a new one
  std::string request_id;  ///< of a new one
};
void DescribeChange(Description* description, RunChange* change);
Status CreateServerRun(const Context& context, const Place& place, const std::string& name,
                       const RunChange& change);
Status UpdateServerRun(const Context& context, const Place& place, const std::string& run,
                       const RunChange& change);
/// `force`: for ever; waits until it is done.
Status DeleteServerRun(const Context& context, const Place& place, const std::string& run,
                       bool force);
Status UndeleteServerRun(const Context& context, const Place& place, const std::string& run);

Status ListServerProjects(const Context& context, const Place& place);
Status PutServerProject(const Context& context, const Place& place, const std::string& project,
                        std::optional<std::int64_t> retention_ns, std::optional<double> price,
                        const std::string& currency, std::optional<std::int64_t> quota_bytes);

Status ListServerOperations(const Context& context, const Place& place);
/// "Get", "Cancel" or "Delete".
Status DoServerOperation(const Context& context, const Place& place, const std::string& verb,
                         const std::string& id);

}  // namespace headway::cli
