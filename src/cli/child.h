#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/files.h"
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

/// KeyWatch: notes what the keys of a terminal (Ctrl-C, Ctrl-\) and its end say to the process
/// group in the foreground, whatever its processes make of that.
///
/// It is a small process in that group, for the terminal tells no other. What anybody else sends to
/// the group doesn't count, nor do signals that this process ignores. Ends with us.
class KeyWatch {
 public:
  KeyWatch() = default;
  KeyWatch(KeyWatch&&) noexcept = default;
  KeyWatch& operator=(KeyWatch&&) noexcept = default;

  /// Forks. The signals must be blocked in this process already, so that none is missed. What can't
  /// be started says nothing.
  static KeyWatch Start(pid_t group);
  /// Ends it. True: SIGINT, SIGQUIT or SIGHUP came from the terminal since it started.
  bool End();

 private:
  [[noreturn]] static void Watch(int life, int news);

  UniqueFd life_;  // the process sees it close
  UniqueFd news_;
  pid_t pid_ = -1;
};

/// Starts it; when it gets the terminal, `keys` watches that from before its first instruction. An
/// error says why the command can't be run: NotFound (no such command) or PermissionDenied (not
/// executable), else as fork(2) says.
Result<pid_t> StartChild(const ChildOptions& options, KeyWatch* keys);

/// From now on a write beyond the limit on the size of files (RLIMIT_FSIZE) is an error, EFBIG, and
/// not the end of this process by SIGXFSZ. Programs that are started get the signal as it was.
void IgnoreFileSizeSignal();
/// Whether SIGXFSZ had its usual course before; to be restored for a program that is started.
bool FileSizeSignalWasDefault();

/// Makes `group` the one that the terminal on standard input listens to, if we may decide that.
void GiveTerminalTo(pid_t group);

/// Whether we are the job in the foreground of a terminal on standard input.
bool InForeground();

}  // namespace headway::cli
