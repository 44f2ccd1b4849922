#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cli/command.h"

namespace headway::cli {

/// Reads `arguments` (what follows the command's name) as `description` says and sets its targets.
/// InvalidArgument says what is wrong with the call.
Status ParseArguments(std::string_view command, const Description& description,
                      const std::vector<std::string>& arguments);

}  // namespace headway::cli
