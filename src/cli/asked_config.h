#pragma once

#include <string>

#include "base/status.h"
#include "cli/place.h"
#include "model/config.h"

namespace headway::cli {

/// The configurations of a run, from the journals where `place` says, or as its server knows them.
/// What can't be read is told on standard error. As Open, or Ask of a server.
Result<RunConfig> AskConfig(const Context& context, Place* place, const std::string& label);

}  // namespace headway::cli
