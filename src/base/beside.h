#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/files.h"
#include "base/status.h"

namespace headway {

/// A program that runs beside this process.
struct Beside {
  UniqueFd control;  ///< a stream socket; the program has its other end as descriptor 3
  pid_t pid = 0;
};

/// Starts `program` so that it can do no harm to the process that starts it, which may be anyone's:
/// it is no child of it (waitpid(-1) never sees one, no SIGCHLD comes), shares no descriptor but
/// the socket, has /dev/null as its standard streams, a session of its own, no blocked or ignored
/// signals, and no environment but `environment` ("NAME=value"). Where this process is the first
/// one of its pid namespace, or a subreaper, it inherits the program all the same.
///
/// Does not copy this process (vfork(2)): its size does not matter. Any thread. NotFound,
/// PermissionDenied etc. when the program can't be started.
Result<Beside> StartBeside(const std::string& program, const std::vector<std::string>& arguments,
                           const std::vector<std::string>& environment);

}  // namespace headway
