#include "cli/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace headway::cli {
namespace {

constexpr int kLife = 3;
constexpr int kNews = 4;
constexpr int kFarewellMs = 2000;

bool file_size_signal_was_default = false;

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

void IgnoreFileSizeSignal() {
  if (::signal(SIGXFSZ, SIG_IGN) == SIG_DFL) file_size_signal_was_default = true;
}

bool FileSizeSignalWasDefault() { return file_size_signal_was_default; }

bool InForeground() {
  return ::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

void GiveTerminalTo(pid_t group) { ::tcsetpgrp(STDIN_FILENO, group); }

void KeyWatch::Watch(int life, int news) {
  // Above both numbers first, so that neither is overwritten.
  const int high_life = ::fcntl(life, F_DUPFD, kNews + 1);
  const int high_news = ::fcntl(news, F_DUPFD, kNews + 1);
  ::dup2(high_life, kLife);
  ::dup2(high_news, kNews);
  ::close_range(kNews + 1, ~0u, 0);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, fd);
  ::prctl(PR_SET_NAME, "headway-keys");
  for (const int number : {SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU}) {
    ::signal(number, SIG_IGN);
  }
  sigset_t keys;
  ::sigemptyset(&keys);
  for (const int number : {SIGINT, SIGQUIT, SIGHUP}) ::sigaddset(&keys, number);
  ::sigprocmask(SIG_SETMASK, &keys, nullptr);
  const int signals = ::signalfd(-1, &keys, SFD_NONBLOCK);
  bool ended = false;
  while (!ended) {
    pollfd ready[] = {{kLife, POLLIN, 0}, {signals, POLLIN, 0}};
    if (::poll(ready, 2, -1) < 0 && errno != EINTR) break;
    ended = ready[0].revents != 0;  // before the signals are read: none that came is missed
    signalfd_siginfo info;
    while (::read(signals, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_code == SI_KERNEL) (void)!::write(kNews, "!", 1);
    }
  }
  ::_exit(0);
}

KeyWatch KeyWatch::Start(pid_t group) {
  KeyWatch watch;
  int life[2];
  int news[2];
  if (::pipe2(life, O_CLOEXEC) != 0) return watch;
  UniqueFd life_read(life[0]);
  UniqueFd life_write(life[1]);
  if (::pipe2(news, O_CLOEXEC | O_NONBLOCK) != 0) return watch;
  UniqueFd news_read(news[0]);
  UniqueFd news_write(news[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return watch;
  if (pid == 0) {
    life_write.Reset();
    news_read.Reset();
    Watch(life_read.get(), news_write.get());
  }
  ::setpgid(pid, group);
  watch.life_ = std::move(life_write);
  watch.news_ = std::move(news_read);
  watch.pid_ = pid;
  return watch;
}

bool KeyWatch::End() {
  if (pid_ < 0) return false;
  life_.Reset();
  bool pressed = false;
  while (true) {
    pollfd ready = {news_.get(), POLLIN, 0};
    const int answer = ::poll(&ready, 1, kFarewellMs);
    if (answer < 0 && errno == EINTR) continue;
    char byte = 0;
    const ssize_t got = answer > 0 ? ::read(news_.get(), &byte, 1) : -1;
    if (got == 1) pressed = true;
    if (got == 1 || (got < 0 && answer > 0 && (errno == EINTR || errno == EAGAIN))) continue;
    if (got < 0) ::kill(pid_, SIGKILL);  // someone stopped it
    break;
  }
  news_.Reset();
  // It must not be taken for a process that the child has left.
  ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  return pressed;
}

Result<pid_t> StartChild(const ChildOptions& options, KeyWatch* keys) {
  std::vector<char*> arguments = Pointers(options.command);
  std::vector<char*> environment = Pointers(options.environment);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "make", "a pipe");
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  int gate[2];
  if (::pipe2(gate, O_CLOEXEC) != 0) return ErrnoStatus(errno, "make", "a pipe");
  UniqueFd wait_end(gate[0]);
  UniqueFd go_end(gate[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return ErrnoStatus(errno, "start", options.command.front());
  if (pid == 0) {
    ::setpgid(0, 0);
    go_end.Reset();
    char none = 0;
    while (::read(wait_end.get(), &none, 1) < 0 && errno == EINTR) {
    }
    if (options.stderr_fd >= 0) ::dup2(options.stderr_fd, STDERR_FILENO);
    if (FileSizeSignalWasDefault()) ::signal(SIGXFSZ, SIG_DFL);
    ::sigprocmask(SIG_SETMASK, &options.signal_mask, nullptr);
    ::execvpe(arguments[0], arguments.data(), environment.data());
    const int error = errno;
    (void)!::write(write_end.get(), &error, sizeof error);
    ::_exit(127);
  }
  ::setpgid(pid, pid);  // both do it: neither must be too late
  if (options.foreground) {
    *keys = KeyWatch::Start(pid);
    GiveTerminalTo(pid);
  }
  go_end.Reset();
  write_end.Reset();
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(read_end.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(sizeof error)) {
    keys->End();
    return ErrnoStatus(error, "run", options.command.front());
  }
  return pid;
}

}  // namespace headway::cli
