#include "cli/stderr_relay.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/clock.h"
#include "cli/helper.h"

namespace headway::cli {

struct StderrRelay::Shared {
  std::atomic<std::uint64_t> total{0};  // bytes that went through
  std::atomic<std::uint32_t> idle{1};   // 0 from before a read until all of it is written
  char ring[kRingBytes];
};

namespace {

constexpr int kPipe = 3;
constexpr std::size_t kChunkBytes = std::size_t{64} << 10;
constexpr std::int64_t kFarewellNs = kNanosPerSecond / 10;

int Pending(int pipe) {
  int bytes = 0;
  return ::ioctl(pipe, FIONREAD, &bytes) == 0 ? bytes : 0;
}

// False when nobody reads standard error any more.
bool PassOn(const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t wrote = ::write(STDERR_FILENO, data, size);
    if (wrote > 0) {
      data += wrote;
      size -= static_cast<std::size_t>(wrote);
    } else if (errno == EAGAIN) {
      pollfd ready = {STDERR_FILENO, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace

void StderrRelay::RunRelay(int pipe, Shared* shared) {
  ::dup2(pipe, kPipe);
  StepAside("headway-stderr", kPipe);  // what is meant for the job must not end its last words
  static char chunk[kChunkBytes];
  bool passing = true;
  while (true) {
    pollfd ready = {kPipe, POLLIN, 0};
    if (::poll(&ready, 1, -1) < 0 && errno != EINTR) break;
    if (ready.revents == 0) continue;
    shared->idle.store(0, std::memory_order_seq_cst);
    const ssize_t got = ::read(kPipe, chunk, sizeof chunk);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) break;
    if (got > 0) {
      const auto size = static_cast<std::size_t>(got);
      const std::uint64_t total = shared->total.load(std::memory_order_relaxed);
      for (std::size_t done = 0; done < size;) {
        const std::size_t at = (total + done) % kRingBytes;
        const std::size_t part = std::min(size - done, kRingBytes - at);
        std::memcpy(shared->ring + at, chunk + done, part);
        done += part;
      }
      shared->total.store(total + size, std::memory_order_release);
      if (passing) passing = PassOn(chunk, size);
    }
    if (Pending(kPipe) == 0) shared->idle.store(1, std::memory_order_seq_cst);
  }
  ::_exit(0);
}

Result<StderrRelay> StderrRelay::Start() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "make", "a pipe");
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return ErrnoStatus(errno, "share", "memory");
  Shared* const shared = new (memory) Shared();
  const pid_t pid = ::fork();
  if (pid < 0) {
    const int error = errno;
    ::munmap(memory, sizeof(Shared));
    return ErrnoStatus(error, "start", "the relay of standard error");
  }
  if (pid == 0) {
    write_end.Reset();
    RunRelay(read_end.get(), shared);
  }
  return StderrRelay(std::move(write_end), shared, pid);
}

StderrRelay::StderrRelay(StderrRelay&& other) noexcept
    : pipe_(std::move(other.pipe_)),
      shared_(std::exchange(other.shared_, nullptr)),
      pid_(std::exchange(other.pid_, -1)) {}

StderrRelay::~StderrRelay() {
  if (shared_ == nullptr) return;
  ::munmap(shared_, sizeof(Shared));
  // It ends with the last process that could still write; usually that was us.
  pipe_.Reset();
  const MonoNs until = SystemClock::MonoNow() + kFarewellNs;
  while (::waitpid(pid_, nullptr, WNOHANG) == 0 && SystemClock::MonoNow() < until) {
    const timespec pause = {0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

std::uint64_t StderrRelay::Position() const {
  return shared_->total.load(std::memory_order_acquire);
}

void StderrRelay::Drain(std::int64_t patience_ns) const {
  const MonoNs until = SystemClock::MonoNow() + patience_ns;
  while (Pending(pipe_.get()) > 0 || shared_->idle.load(std::memory_order_seq_cst) == 0) {
    if (SystemClock::MonoNow() > until) return;
    const timespec pause = {0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

std::string StderrRelay::Since(std::uint64_t position, bool* cut) const {
  const std::uint64_t total = Position();
  const std::uint64_t begin = std::max(position, total > kRingBytes ? total - kRingBytes : 0);
  *cut = begin > position;
  std::string text;
  for (std::uint64_t at = begin; at < total;) {
    const std::size_t place = at % kRingBytes;
    const std::size_t part =
        std::min<std::size_t>(static_cast<std::size_t>(total - at), kRingBytes - place);
    text.append(shared_->ring + place, part);
    at += part;
  }
  return text;
}

}  // namespace headway::cli
