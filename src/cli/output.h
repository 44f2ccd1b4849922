#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

/// Where a command writes, and what is known of the terminal there. One thread.

namespace headway::cli {

/// What can be assumed of whoever reads a stream.
struct Terminal {
  int width = 80;            ///< columns
  bool colour = false;       ///< a terminal, and NO_COLOR is not set
  bool interactive = false;  ///< a terminal
};

/// Looks at descriptor `fd`, COLUMNS, NO_COLOR and TERM.
Terminal DetectTerminal(int fd);

/// Keeps the numbers of standard streams that are closed from going to files that are opened later,
/// which would then get what is meant for a reader. Reading and writing there still fails (EBADF).
void HoldStandardStreams();

/// The value of an environment variable, empty when it is not set.
std::string Env(const char* name);

/// Standard output, buffered. After an error everything further is swallowed.
class Output {
 public:
  explicit Output(int fd) : fd_(fd) {}

  Output& operator<<(std::string_view text);
  /// Writes out what is held back. Returns the first error there was; a reader that went away
  /// (EPIPE) is none, see closed().
  Status Flush();
  /// The reader went away: nothing further is wanted.
  bool closed() const { return closed_; }

 private:
  int fd_;
  bool closed_ = false;
  std::string buffer_;
  Status status_;
};

/// Writes "headway: TEXT" as one line to standard error: control characters in it, line feeds too,
/// are made visible.
void Complain(std::string_view text);

}  // namespace headway::cli
