#pragma once

#include <string>

namespace headway::cli {

/// headway(1) in troff, from the table of commands.
std::string ManualPage();

}  // namespace headway::cli
