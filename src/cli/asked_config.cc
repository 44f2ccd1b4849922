#include "cli/asked_config.h"

#include <vector>

#include "cli/remote.h"
#include "formats/config/reader.h"
#include "runs/configs.h"

namespace headway::cli {

Result<RunConfig> AskConfig(const Context& context, Place* place, const std::string& label) {
  HEADWAY_RETURN_IF_ERROR(ResolveServer(place));
  if (!place->server.empty()) return AskServerConfig(*place, label);
  Result<OpenRun> open = Open(context, place, label);
  if (!open.ok()) return open.status();
  std::vector<Status> problems;
  Result<RunConfig> config =
      runs::ReadConfigs(open->run, &open->loaded.ledger, config::ReadConfig, &problems);
  TellProblems(problems);
  return config;
}

}  // namespace headway::cli
