#include "cli/output.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>

#include "base/files.h"
#include "model/text.h"

namespace headway::cli {
namespace {

constexpr std::size_t kFlushBytes = std::size_t{64} << 10;
constexpr int kWidthMin = 40;
constexpr int kWidthMax = 400;

}  // namespace

void HoldStandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is this one, for those below are open.
    (void)!::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

std::string Env(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Terminal DetectTerminal(int fd) {
  Terminal terminal;
  terminal.interactive = ::isatty(fd) == 1;
  terminal.colour = terminal.interactive && Env("NO_COLOR").empty() && Env("TERM") != "dumb";
  const std::string columns = Env("COLUMNS");
  int width = 0;
  std::from_chars(columns.data(), columns.data() + columns.size(), width);
  winsize size{};
  if (width <= 0 && ::ioctl(fd, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  if (width > 0) terminal.width = std::clamp(width, kWidthMin, kWidthMax);
  return terminal;
}

Output& Output::operator<<(std::string_view text) {
  if (closed_ || !status_.ok()) return *this;
  buffer_ += text;
  if (buffer_.size() >= kFlushBytes) Flush().IgnoreError();  // kept in status_
  return *this;
}

Status Output::Flush() {
  std::string_view rest = buffer_;
  while (!rest.empty() && !closed_ && status_.ok()) {
    const ssize_t wrote = ::write(fd_, rest.data(), rest.size());
    if (wrote >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (errno == EPIPE) {
      closed_ = true;
    } else if (errno == EBADF) {
      status_ = {Code::kUnavailable, "cannot write to standard output: it is closed"};
    } else if (errno != EINTR) {
      status_ = ErrnoStatus(errno, "write to", "standard output");
    }
  }
  buffer_.clear();
  return status_;
}

void Complain(std::string_view text) {
  const std::string line = "headway: " + PrintableLine(text) + "\n";
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t wrote = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (wrote < 0 && errno != EINTR) return;
    if (wrote > 0) rest.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

}  // namespace headway::cli
