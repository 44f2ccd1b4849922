#pragma once

#include <string>

#include "cli/commands.h"

namespace headway::cli {

/// `headway help`: what there is.
std::string HelpText(const Terminal& terminal);

/// `headway CMD --help`.
std::string HelpText(const Entry& entry, const Terminal& terminal);

/// "headway goodput [OPTIONS] RUN".
std::string UsageLine(const Entry& entry, const Description& description);

/// The exit codes and what each means, one a line.
struct ExitMeaning {
  int code;
  std::string_view meaning;
};
std::span<const ExitMeaning> ExitCodes();

}  // namespace headway::cli
