#include "journal/liveness.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "base/files.h"

namespace headway::journal {
namespace {

// Reads a small file of /proc. Empty when there is none.
std::string ReadProc(const std::string& path) {
  const UniqueFd fd = OpenFile(path, O_RDONLY);
  if (!fd.ok()) return {};
  char buffer[2048];
  const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
  return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : std::string();
}

struct ProcessState {
  bool found = false;
  char state = '?';
  std::int64_t threads = 0;
  std::uint64_t start = 0;
};

// `pid` <= 0: this process.
ProcessState ReadProcessState(std::int64_t pid) {
  const std::string text =
      ReadProc("/proc/" + (pid > 0 ? std::to_string(pid) : std::string("self")) + "/stat");
  // The command name, field 2, may contain anything but ends at the last parenthesis.
  const std::size_t paren = text.rfind(')');
  if (paren == std::string::npos || paren + 2 >= text.size()) return {};
  ProcessState result;
  result.found = true;
  result.state = text[paren + 2];
  int field = 3;
  for (std::size_t at = paren + 2; at != std::string::npos && field <= 22; ++field) {
    if (field == 20) result.threads = std::strtoll(text.c_str() + at, nullptr, 10);
    if (field == 22) result.start = std::strtoull(text.c_str() + at, nullptr, 10);
    at = text.find(' ', at);
    if (at != std::string::npos) ++at;
  }
  return result;
}

std::uint64_t ReadPidNamespace() {
  struct stat info;
  return ::stat("/proc/self/ns/pid", &info) == 0 ? static_cast<std::uint64_t>(info.st_ino) : 0;
}

BootId ReadBootId() {
  std::string text = ReadProc("/proc/sys/kernel/random/boot_id");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const Result<BootId> id = ParseUid<BootId>(text);
  return id.ok() ? *id : BootId{};
}

std::string ReadHostName() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return {};
  return name;
}

// Whether the process that wrote `header` still exists, seen from this process.
Liveness ProbeProcess(const Header& header) {
  if (header.pid <= 0 || header.pid_namespace == 0 || header.pid_namespace != ReadPidNamespace()) {
    return Liveness::kUnknown;
  }
  const ProcessState now = ReadProcessState(header.pid);
  if (!now.found) {
    return ReadProcessState(0).found ? Liveness::kDead : Liveness::kUnknown;  // without /proc: ?
  }
  if (header.pid_start != 0 && now.start != header.pid_start) return Liveness::kDead;  // recycled
  // A zombie whose first thread alone has ended is alive as long as others run.
  if (now.state == 'X' || (now.state == 'Z' && now.threads <= 1)) return Liveness::kDead;
  return Liveness::kAlive;
}

enum class LockState : std::uint8_t { kFree, kHeld, kUnknown };

LockState ProbeLock(int fd) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;  // what a lock of either kind would be in the way of
  lock.l_whence = SEEK_SET;
  lock.l_start = 0;
  lock.l_len = 1;
  if (::fcntl(fd, F_OFD_GETLK, &lock) != 0) return LockState::kUnknown;
  return lock.l_type == F_UNLCK ? LockState::kFree : LockState::kHeld;
}

}  // namespace

ProcessFacts ReadProcessFacts() {
  ProcessFacts facts;
  facts.host = ReadHostName();
  facts.boot_id = ReadBootId();
  facts.pid = ::getpid();
  facts.tid = ::syscall(SYS_gettid);
  facts.pid_start = ReadProcessState(0).start;
  facts.pid_namespace = ReadPidNamespace();
  return facts;
}

UniqueFd OpenWriterProcess(const Header& header) {
  if (header.boot_id.IsNil() || header.boot_id != ReadBootId()) return {};
  if (ProbeProcess(header) != Liveness::kAlive) return {};
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(header.pid), 0)));
  // Its number may have gone to another one in between.
  return ProbeProcess(header) == Liveness::kAlive ? std::move(fd) : UniqueFd();
}

Liveness ProbeLiveness(int fd, const Header& header) {
  if (header.origin == Origin::kImport) {
    return header.import_dead ? Liveness::kDead : Liveness::kUnknown;
  }
  if (header.boot_id.IsNil()) return Liveness::kUnknown;
  const BootId boot_id = ReadBootId();
  if (boot_id.IsNil()) return Liveness::kUnknown;
  if (boot_id != header.boot_id) {
    const std::string host = ReadHostName();
    const bool same_machine = !host.empty() && host == header.host && host != "localhost";
    return same_machine ? Liveness::kDead : Liveness::kUnknown;
  }
  struct stat info;
  const bool original = ::fstat(fd, &info) == 0 &&
                        static_cast<std::uint64_t>(info.st_dev) == header.device &&
                        static_cast<std::uint64_t>(info.st_ino) == header.inode;
  const Liveness process = ProbeProcess(header);
  if (!original || !header.locked) return process;
  switch (ProbeLock(fd)) {
    case LockState::kFree: return Liveness::kDead;
    // A child that was cloned behind the C library's back can hold the lock of a dead parent.
    case LockState::kHeld: return process == Liveness::kDead ? process : Liveness::kAlive;
    case LockState::kUnknown: return process;
  }
  return Liveness::kUnknown;
}

std::optional<bool> IsLocked(int fd) {
  const LockState state = ProbeLock(fd);
  if (state == LockState::kUnknown) return std::nullopt;
  return state == LockState::kHeld;
}

bool LockJournal(int fd) {
  struct flock lock = {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = 0;
  lock.l_len = 1;
  return ::fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

}  // namespace headway::journal
