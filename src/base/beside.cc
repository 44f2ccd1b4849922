#include "base/beside.h"

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace headway {
namespace {

constexpr int kControl = 3;
constexpr std::size_t kStackBytes = 256 << 10;

struct Launch {
  const char* program;
  char* const* arguments;
  char* const* environment;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  pid_t pid = 0;
  int error = 0;
};

// Runs in a process between the two, which ends at once: so the program is an orphan. It shares
// this process's memory, and that stands still until it is done.
int Between(void* argument) {
  auto* const launch = static_cast<Launch*>(argument);
  launch->error = ::posix_spawn(&launch->pid, launch->program, &launch->actions,
                                &launch->attributes, launch->arguments, launch->environment);
  ::_exit(0);
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Both ends out of the way of the numbers that the program gets.
Status MakeControl(UniqueFd* ours, UniqueFd* theirs) {
  std::array<int, 2> ends;
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return ErrnoStatus(errno, "make", "a socket");
  }
  const UniqueFd first(ends[0]);
  const UniqueFd second(ends[1]);
  *ours = UniqueFd(::fcntl(first.get(), F_DUPFD_CLOEXEC, kControl + 1));
  *theirs = UniqueFd(::fcntl(second.get(), F_DUPFD_CLOEXEC, kControl + 1));
  if (!ours->ok() || !theirs->ok()) return ErrnoStatus(errno, "make", "a socket");
  return OkStatus();
}

}  // namespace

Result<Beside> StartBeside(const std::string& program, const std::vector<std::string>& arguments,
                           const std::vector<std::string>& environment) {
  Beside beside;
  UniqueFd theirs;
  HEADWAY_RETURN_IF_ERROR(MakeControl(&beside.control, &theirs));
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::vector<char*> argv = Pointers(words);
  const std::vector<char*> envp = Pointers(environment);

  Launch launch{program.c_str(), argv.data(), envp.data(), {}, {}, 0, 0};
  ::posix_spawn_file_actions_init(&launch.actions);
  ::posix_spawn_file_actions_adddup2(&launch.actions, theirs.get(), kControl);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&launch.actions, stream, "/dev/null", O_RDWR, 0);
  }
#if __GLIBC_PREREQ(2, 34)
  ::posix_spawn_file_actions_addclosefrom_np(&launch.actions, kControl + 1);
#endif
  ::posix_spawnattr_init(&launch.attributes);
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&launch.attributes, &none);
  ::posix_spawnattr_setsigdefault(&launch.attributes, &all);
  ::posix_spawnattr_setflags(&launch.attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);

  Status status;
  void* const stack = ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) {
    status = ErrnoStatus(errno, "start", program);
  } else {
    // A handler of this process's must not run in the process between.
    sigset_t before;
    ::pthread_sigmask(SIG_BLOCK, &all, &before);
    // No signal at its end: it is invisible to waitpid(-1), too.
    const int between =
        ::clone(Between, static_cast<char*>(stack) + kStackBytes, CLONE_VM | CLONE_VFORK, &launch);
    const int error = errno;
    if (between > 0) {
      while (::waitpid(between, nullptr, __WCLONE) < 0 && errno == EINTR) {
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::munmap(stack, kStackBytes);
    if (between < 0) {
      status = ErrnoStatus(error, "start", program);
    } else if (launch.error != 0) {
      status = ErrnoStatus(launch.error, "start", program);
    }
  }
  ::posix_spawn_file_actions_destroy(&launch.actions);
  ::posix_spawnattr_destroy(&launch.attributes);
  if (!status.ok()) return status;
  beside.pid = launch.pid;
  return beside;
}

}  // namespace headway
