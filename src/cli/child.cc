#include "cli/child.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"

namespace headway::cli {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

bool InForeground() {
  return ::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

void GiveTerminalTo(pid_t group) { ::tcsetpgrp(STDIN_FILENO, group); }

Result<pid_t> StartChild(const ChildOptions& options) {
  std::vector<char*> arguments = Pointers(options.command);
  std::vector<char*> environment = Pointers(options.environment);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "make", "a pipe");
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return ErrnoStatus(errno, "start", options.command.front());
  if (pid == 0) {
    ::setpgid(0, 0);
    if (options.foreground) ::tcsetpgrp(STDIN_FILENO, ::getpid());
    if (options.stderr_fd >= 0) ::dup2(options.stderr_fd, STDERR_FILENO);
    ::sigprocmask(SIG_SETMASK, &options.signal_mask, nullptr);
    ::execvpe(arguments[0], arguments.data(), environment.data());
    const int error = errno;
    (void)!::write(write_end.get(), &error, sizeof error);
    ::_exit(127);
  }
  ::setpgid(pid, pid);  // both do it: neither must be too late
  write_end.Reset();
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(read_end.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof error)) return pid;
  return ErrnoStatus(error, "run", options.command.front());
}

}  // namespace headway::cli
