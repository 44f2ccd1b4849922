// Recording a step against reading the clock, in turns, and beside a program that writes
// checkpoints.
//
// Usage: recorder_bench DISK_DIR MEMORY_DIR SECONDS
//   DISK_DIR    a directory on a disk; checkpoints are written here
//   MEMORY_DIR  one in memory, e.g. below /dev/shm
//   SECONDS     how long each of the two paced runs takes

#include <fcntl.h>
#include <headway/recorder.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "bench/measure.h"

namespace {
// Plain counts: only one thread allocates while they are looked at.
std::atomic<std::uint64_t> allocations{0};
}  // namespace

void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace headway::bench {
namespace {

constexpr int kRounds = 400;
constexpr int kCalls = 1000;  // of each kind in a round
constexpr std::size_t kSamples = 500'000;
constexpr std::int64_t kPeriodNs = 1'000'000;  // 1 kHz
constexpr std::size_t kChunkBytes = 4 << 20;
constexpr int kChunks = 64;  // 256 MiB a checkpoint

std::int64_t ReadClock(clockid_t id) {
  timespec now;
  ::clock_gettime(id, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// The cheapest ordered reading there is: what stands between two single calls.
inline std::uint64_t Tick() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return static_cast<std::uint64_t>(Now());
#endif
}

Recorder OpenIn(const std::string& dir) {
  RecorderOptions options;
  options.project = "bench";
  options.run = "recorder";
  options.dir = dir;
  options.resume = "never";
  options.hook_exit = false;  // one after the other: each ends with its scope
  options.heartbeat = true;  // as `headway run` and Python have it; it faults space in ahead of use
  std::string error;
  Recorder recorder = Recorder::Open(options, &error);
  if (!recorder.enabled()) {
    std::fprintf(stderr, "recorder_bench: %s\n", error.c_str());
    std::exit(1);
  }
  return recorder;
}

// Rounds of calls, in turns.
void ReportCost(const std::string& dir) {
  Recorder recorder = OpenIn(dir);
  Times boottime, monotonic, step, span;
  volatile std::int64_t sink = 0;
  std::int64_t number = 0;
  for (int i = 0; i < 10 * kCalls; ++i) recorder.StepStart(number++);
  std::uint64_t allocated = 0;
  for (int round = 0; round < kRounds; ++round) {
    boottime.Add(TimeOf([&] {
      for (int i = 0; i < kCalls; ++i) sink = ReadClock(CLOCK_BOOTTIME);
    }));
    const std::uint64_t before = allocations.load(std::memory_order_relaxed);
    const std::int64_t steps_ns = TimeOf([&] {
      for (int i = 0; i < kCalls; ++i) recorder.StepStart(number++);
    });
    const std::int64_t spans_ns = TimeOf([&] {
      for (int i = 0; i < kCalls; ++i) {
        Span loading = recorder.DataLoading();
      }
    });
    allocated += allocations.load(std::memory_order_relaxed) - before;
    step.Add(steps_ns);
    span.Add(spans_ns);
    monotonic.Add(TimeOf([&] {
      for (int i = 0; i < kCalls; ++i) sink = ReadClock(CLOCK_MONOTONIC);
    }));
  }
  const auto each = [](std::int64_t ns) { return Ratio(ns, kCalls); };
  Measure("record_step")
      .Value(Ratio(step.Min(), boottime.Min()))
      .Figure("ratio_of_medians", Ratio(step.Median(), boottime.Median()))
      .Figure("record_ns", each(step.Min()))
      .Figure("clock_ns", each(boottime.Min()))
      .Figure("clock_monotonic_ns", each(monotonic.Min()))
      .Figure("span_ns", each(span.Min()))
      .Figure("span_ratio", Ratio(span.Min(), 2 * boottime.Min()))
      .Print();
  Measure("record_allocations")
      .Value(static_cast<double>(allocated))
      .Figure("calls", std::int64_t{3} * kRounds * kCalls)
      .Print();
}

// Single calls, in turns: an empty stretch, a clock reading, a step.
void ReportTail(const std::string& dir) {
  Recorder recorder = OpenIn(dir);
  std::vector<std::uint64_t> empty(kSamples), clock(kSamples), step(kSamples);
  std::int64_t number = 0;
  volatile std::int64_t sink = 0;
  for (int i = 0; i < 10 * kCalls; ++i) recorder.StepStart(number++);
  for (std::size_t i = 0; i < kSamples; ++i) {
    const std::uint64_t t0 = Tick();
    const std::uint64_t t1 = Tick();
    sink = ReadClock(CLOCK_BOOTTIME);
    const std::uint64_t t2 = Tick();
    recorder.StepStart(number++);
    const std::uint64_t t3 = Tick();
    empty[i] = t1 - t0;
    clock[i] = t2 - t1;
    step[i] = t3 - t2;
  }
  (void)sink;
  const auto to_times = [](const std::vector<std::uint64_t>& ticks, std::int64_t less) {
    Times times;
    for (const std::uint64_t t : ticks) times.Add(static_cast<std::int64_t>(t) - less);
    return times;
  };
  const std::int64_t overhead = to_times(empty, 0).Median();
  Times clocks = to_times(clock, overhead);
  Times steps = to_times(step, overhead);
  const std::int64_t unit = clocks.Median();
  Measure("record_tail")
      .Value(Ratio(steps.Quantile(0.999), unit))
      .Figure("p50", Ratio(steps.Median(), unit))
      .Figure("p99", Ratio(steps.Quantile(0.99), unit))
      .Figure("max", Ratio(steps.Max(), unit))
      .Figure("clock_p99", Ratio(clocks.Quantile(0.99), unit))
      .Figure("clock_p999", Ratio(clocks.Quantile(0.999), unit))
      .Figure("clock_max", Ratio(clocks.Max(), unit))
      .Print();
}

// What another process does: each second a checkpoint of 256 MiB, forced to the disk.
[[noreturn]] void WriteCheckpoints(const std::string& path, std::atomic<std::int64_t>* written) {
  const std::vector<char> chunk(kChunkBytes, 'x');
  while (true) {
    const std::int64_t begin = Now();
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) ::_exit(1);
    for (int i = 0; i < kChunks; ++i) {
      if (::write(fd, chunk.data(), chunk.size()) != static_cast<ssize_t>(chunk.size())) ::_exit(1);
    }
    if (::fdatasync(fd) != 0) ::_exit(1);
    ::close(fd);
    written->fetch_add(1);
    const std::int64_t left = 1'000'000'000 - (Now() - begin);
    if (left > 0) ::usleep(static_cast<useconds_t>(left / 1000));
  }
}

// Pauses between calls as a training loop does, and forces the journal to the disk each second as
// the process that ships it does.
class Paced {
 public:
  explicit Paced(const std::string& dir) : recorder_(OpenIn(dir)) {
    syncer_ = std::thread([this] {
      const int fd = ::open(recorder_.journal_path(), O_RDONLY | O_CLOEXEC);
      while (!stop_.load(std::memory_order_relaxed)) {
        ::usleep(100'000);
        if (++ticks_ % 10 == 0) ::fdatasync(fd);
      }
      ::close(fd);
    });
  }
  ~Paced() {
    stop_.store(true, std::memory_order_relaxed);
    syncer_.join();
  }

  void Run(std::int64_t ns) {
    std::int64_t next = Now();
    for (const std::int64_t end = next + ns; next < end; next += kPeriodNs) {
      timespec until{next / 1'000'000'000, next % 1'000'000'000};
      while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
      }
      const std::int64_t begin = Now();
      recorder_.StepStart(number_++);
      const std::int64_t middle = Now();
      Now();
      const std::int64_t end_ns = Now();
      steps_.Add(middle - begin);
      clocks_.Add(end_ns - middle);
      if (end_ns > next + 100 * kPeriodNs) next = end_ns;  // after a long pause don't catch up
    }
  }

  void Report(const char* row, std::int64_t checkpoints) {
    const auto ms = [](std::int64_t ns) { return static_cast<double>(ns) / 1e6; };
    Measure(row)
        .Value(ms(steps_.Max()))
        .Figure("p50_us", ms(steps_.Median()) * 1e3)
        .Figure("p99_us", ms(steps_.Quantile(0.99)) * 1e3)
        .Figure("p999_us", ms(steps_.Quantile(0.999)) * 1e3)
        .Figure("clock_p50_us", ms(clocks_.Median()) * 1e3)
        .Figure("clock_p999_us", ms(clocks_.Quantile(0.999)) * 1e3)
        .Figure("clock_max_ms", ms(clocks_.Max()))
        .Figure("steps", number_)
        .Figure("checkpoints", checkpoints)
        .Print();
  }

 private:
  Recorder recorder_;
  std::atomic<bool> stop_{false};
  int ticks_ = 0;
  std::thread syncer_;
  std::int64_t number_ = 0;
  Times steps_, clocks_;
};

void ReportPaced(const std::string& disk_dir, const std::string& memory_dir, double seconds) {
  const std::string checkpoint = disk_dir + "/checkpoint";
  // How many were written: beside a writer that has failed the figures would say nothing.
  void* const shared = ::mmap(nullptr, sizeof(std::atomic<std::int64_t>), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) std::exit(1);
  auto* const written = new (shared) std::atomic<std::int64_t>(0);
  const pid_t writer = ::fork();
  if (writer == 0) WriteCheckpoints(checkpoint, written);
  if (writer < 0) std::exit(1);
  {
    Paced disk(disk_dir);
    Paced memory(memory_dir);
    constexpr int kTurns = 4;
    const auto turn = static_cast<std::int64_t>(seconds * 1e9 / kTurns);
    for (int i = 0; i < kTurns; ++i) {
      disk.Run(turn);
      memory.Run(turn);
    }
    if (written->load() > 0) {
      disk.Report("paced_disk", written->load());
      memory.Report("paced_memory", written->load());
    } else {
      std::fprintf(stderr, "recorder_bench: no checkpoint could be written to %s\n",
                   disk_dir.c_str());
    }
  }
  ::kill(writer, SIGKILL);
  ::waitpid(writer, nullptr, 0);
  ::unlink(checkpoint.c_str());
}

}  // namespace
}  // namespace headway::bench

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "Usage: recorder_bench DISK_DIR MEMORY_DIR SECONDS\n");
    return 1;
  }
  headway::bench::ReportCost(argv[2]);
  headway::bench::ReportTail(argv[2]);
  headway::bench::ReportPaced(argv[1], argv[2], std::atof(argv[3]));
  return 0;
}
