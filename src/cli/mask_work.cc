#include "cli/mask_work.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "cli/helper.h"

namespace headway::cli {
namespace {

constexpr int kAnswer = 3;

void Send(const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t wrote = ::write(kAnswer, at, size);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) ::_exit(1);
    at += wrote;
    size -= static_cast<std::size_t>(wrote);
  }
}

[[noreturn]] void Serve(int answer, pid_t parent, const Masker& masker, std::string_view raw,
                        bool cut, std::size_t limit) {
  ::dup2(answer, kAnswer);
  StepAside("headway-mask", kAnswer);
  ::dup2(STDOUT_FILENO, STDERR_FILENO);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  const Result<std::string> text = MaskedTail(masker, raw, cut, limit);
  if (!text.ok()) ::_exit(1);
  const std::uint64_t size = text->size();
  Send(&size, sizeof size);
  Send(text->data(), text->size());
  ::_exit(0);
}

}  // namespace

Result<MaskWork> MaskWork::Start(const Masker& masker, std::string_view raw, bool cut,
                                 std::size_t limit) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "make", "a pipe");
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  if (::fcntl(read_end.get(), F_SETFL, O_NONBLOCK) != 0) {
    return ErrnoStatus(errno, "set up", "a pipe");
  }
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return ErrnoStatus(errno, "start", "headway-mask");
  if (pid == 0) Serve(write_end.get(), parent, masker, raw, cut, limit);
  return MaskWork(std::move(read_end), pid);
}

MaskWork::MaskWork(MaskWork&& other) noexcept
    : pipe_(std::move(other.pipe_)),
      pid_(std::exchange(other.pid_, -1)),
      heard_(std::move(other.heard_)) {}

MaskWork::~MaskWork() {
  if (pid_ < 0) return;
  // Once the pipe has been seen to close, it has ended, and its number may be another's.
  if (pipe_.ok()) ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool MaskWork::Read() {
  char buffer[8192];
  while (pipe_.ok()) {
    const ssize_t got = ::read(pipe_.get(), buffer, sizeof buffer);
    if (got > 0) {
      heard_.append(buffer, static_cast<std::size_t>(got));
    } else if (got == 0) {
      pipe_.Reset();
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool MaskWork::Take(std::string* text) const {
  std::uint64_t size = 0;
  if (pipe_.ok() || heard_.size() < sizeof size) return false;
  std::memcpy(&size, heard_.data(), sizeof size);
  if (heard_.size() - sizeof size != size) return false;
  *text = heard_.substr(sizeof size);
  return true;
}

}  // namespace headway::cli
