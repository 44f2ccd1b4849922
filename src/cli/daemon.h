#pragma once

#include <string>
#include <vector>

#include "base/status.h"

/// `headwayd`, the program with the server in it, which some commands become.

namespace headway::cli {

/// Where a server keeps its data below the data directory `dir`; empty: that of the environment.
Result<std::string> ServerDirectory(const std::string& dir);

/// Becomes headwayd with these arguments; returns only if that can't be. Unimplemented: it is not
/// installed.
Status BecomeDaemon(const std::vector<std::string>& arguments);

}  // namespace headway::cli
