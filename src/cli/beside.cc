#include "cli/beside.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>

#include "base/background.h"

namespace headway::cli {
namespace {

constexpr int kControl = 3;

// Who sees to the job, in front of a terminal or beside a program, may want to end it.
UniqueFd CatchEndings() {
  sigset_t endings;
  ::sigemptyset(&endings);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&endings, number);
  ::sigprocmask(SIG_BLOCK, &endings, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return UniqueFd(::signalfd(-1, &endings, SFD_CLOEXEC | SFD_NONBLOCK));
}

Result<std::int64_t> ParsePid(const std::string& text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || number <= 0 || number > INT32_MAX) {
    return Status(Code::kInvalidArgument, "--beside: \"" + text + "\" is no positive number");
  }
  return number;
}

}  // namespace

void Beside::Describe(Description* description) {
  description->Option("--beside", "PID", &pid_, "the process it runs beside");
  description->Flag("--control", &control_,
                    "it was started by a program, which talks to it on descriptor 3");
}

Status Beside::Begin() {
  if (control_) {
    ::close_range(kControl + 1, ~0U, 0);
    ::setsid();
    StayInBackground();
    company_.control = kControl;
  }
  signals_ = CatchEndings();
  if (!signals_.ok()) return ErrnoStatus(errno, "watch", "signals");
  company_.signals = signals_.get();
  if (pid_.empty()) return OkStatus();
  const Result<std::int64_t> pid = ParsePid(pid_);
  if (!pid.ok()) return pid.status();
  process_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
  // Without it (Linux below 5.3) the end of the socket has to do.
  const bool blind = !process_.ok() && errno == ENOSYS && control_;
  if (!process_.ok() && errno != ESRCH && !blind) {
    return ErrnoStatus(errno, "watch", "process " + pid_);
  }
  if (!process_.ok() && !blind) ::raise(SIGTERM);  // it has gone: only the end is left
  company_.process = process_.get();
  company_.beside = *pid;
  return OkStatus();
}

void Beside::LeaveDirectory() const {
  if (control_) (void)!::chdir("/");
}

bool Beside::lives() const {
  pollfd process = {company_.process, POLLIN, 0};
  return company_.process >= 0 && ::poll(&process, 1, 0) == 0;
}

void Beside::TellReady() const {
  if (control_) monitor::TellReady(kControl);
}

void Beside::Tell(const std::string& trouble) const {
  if (control_) monitor::Tell(kControl, trouble);
}

}  // namespace headway::cli
