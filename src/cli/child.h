#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"

namespace headway::cli {

/// How a child is started: in a process group of its own, with our standard input and output.
struct ChildOptions {
  std::vector<std::string> command;
  std::vector<std::string> environment;  ///< "NAME=value"
  int stderr_fd = -1;                    ///< its standard error; -1: ours
  sigset_t signal_mask;                  ///< as it was before we blocked signals
  bool foreground = false;               ///< it gets the terminal
};

/// Starts it. An error says why the command can't be run: NotFound (no such command) or
/// PermissionDenied (not executable), else as fork(2) says.
Result<pid_t> StartChild(const ChildOptions& options);

/// Makes `group` the one that the terminal on standard input listens to, if we may decide that.
void GiveTerminalTo(pid_t group);

/// Whether we are the job in the foreground of a terminal on standard input.
bool InForeground();

}  // namespace headway::cli
