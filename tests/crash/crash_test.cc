// Journals under violence: SIGKILL at random moments, full disks, failing reservations, forks.
// HEADWAY_FULL=1: the long form.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <headway/recorder.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "journal/directory.h"
#include "journal/liveness.h"
#include "journal/test_files.h"

extern char** environ;

namespace headway {
namespace {

using journal::FindingKind;
using journal::JournalWriter;
using journal::MetaHigh;
using journal::Read;
using journal::ReadResult;
using journal::WriterOptions;

constexpr int kThreads = 4;

bool Full() {
  const char* const full = std::getenv("HEADWAY_FULL");
  return full != nullptr && std::string(full) == "1";
}

// Memory that a writer's process shares with the test: how far each thread's calls have returned.
struct Progress {
  std::array<std::atomic<std::int64_t>, kThreads> returned;
  std::atomic<std::int64_t> payloads;
  std::array<char, 4096> path;
  std::atomic<bool> ready;
};

class SharedProgress {
 public:
  SharedProgress()
      : progress_(new(::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Progress()) {}
  ~SharedProgress() { ::munmap(progress_, sizeof(Progress)); }
  Progress* operator->() { return progress_; }

 private:
  Progress* progress_;
};

// Records on four threads until it is killed. A record's `a` is thread << 40 | number.
[[noreturn]] void RecordForEver(const std::string& dir, WriterOptions::Mode mode,
                                SharedProgress& progress) {
  WriterOptions options;
  options.mode = mode;
  auto writer = JournalWriter::Create(dir, options);
  if (!writer.ok()) ::_exit(1);
  std::strcpy(progress->path.data(), (*writer)->path().c_str());
  progress->ready = true;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      JournalWriter& w = **writer;
      for (std::int64_t i = 1;; ++i) {
        const std::int64_t a = std::int64_t{t} << 40 | i;
        if (t == 3 && i % 64 == 0) {
          const std::string text(static_cast<std::size_t>(i % 3000),
                                 static_cast<char>('a' + i % 26));
          w.AppendPayload(RecordType::kStderrTail, 0, w.Now(), text);
          progress->payloads.fetch_add(1);
        }
        const std::uint32_t name = t == 2 ? w.Intern("name " + std::to_string(i % 500)) : 0;
        w.Append(MetaHigh(RecordType::kSpanBegin, SpanKind::kPhase, Blocking::kDefault,
                          static_cast<std::uint16_t>(t)),
                 w.Now(), a, name);
        progress->returned[static_cast<std::size_t>(t)].store(i, std::memory_order_release);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ::_exit(2);
}

void KillAndRead(WriterOptions::Mode mode, int kills, const std::string& parent) {
  std::mt19937_64 random(20'260'101);
  int tombstones = 0;
  for (int k = 0; k < kills; ++k) {
    const ScratchDir dir(parent);
    SharedProgress progress;
    const pid_t pid = ::fork();
    if (pid == 0) RecordForEver(dir.path(), mode, progress);
    // A moment somewhere between the first record and some hundred thousand, each scale equally
    // likely.
    const std::int64_t moment = std::int64_t{1} << (random() % 18);
    const auto thread = static_cast<std::size_t>(random() % kThreads);
    const std::int64_t extra =
        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(moment));
    while (progress->returned[thread].load(std::memory_order_acquire) < moment + extra) {
      ASSERT_EQ(::waitpid(pid, nullptr, WNOHANG), 0) << "the writer ended by itself";
    }
    ::kill(pid, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;

    const std::string path = progress->path.data();
    const ReadResult read = Read(path);
    ASSERT_TRUE(read.status.ok()) << read.status.ToString();
    std::array<std::int64_t, kThreads> next;
    next.fill(1);
    std::int64_t payloads = 0;
    for (const Record& record : read.records) {
      if (record.type == RecordType::kStderrTail) {
        ++payloads;
        continue;
      }
      const auto t = static_cast<std::size_t>(record.a >> 40);
      const std::int64_t i = record.a & ((std::int64_t{1} << 40) - 1);
      ASSERT_LT(t, std::size_t{kThreads});
      ASSERT_EQ(i, next[t]) << "thread " << t << ": lost, doubled or out of order";
      ++next[t];
      if (t == 2) {
        ASSERT_EQ(read.names.Text(record.name), "name " + std::to_string(i % 500));
      }
    }
    for (std::size_t t = 0; t < kThreads; ++t) {
      const std::int64_t returned = progress->returned[t].load();
      ASSERT_GE(next[t] - 1, returned) << "a call returned and its record is gone";
      ASSERT_LE(next[t] - 1, returned + 1);
    }
    ASSERT_GE(payloads, progress->payloads.load());
    ASSERT_EQ(read.summary.corrupt, 0u);
    ASSERT_EQ(read.summary.dropped, 0u);
    ASSERT_EQ(read.summary.unknown_names, 0u);
    tombstones += static_cast<int>(read.summary.tombstones);
    NameTable names;
    auto reader = journal::JournalReader::Open(path, {.names = &names});
    ASSERT_EQ(reader->liveness(), Liveness::kDead);
    for (const Record& record : read.records) {
      if (record.type != RecordType::kStderrTail) continue;
      ASSERT_TRUE(reader->Payload(record.seq).ok());
    }
  }
  testing::Test::RecordProperty("tombstones", tombstones);
}

TEST(CrashTest, KilledAtAnyMomentNothingReturnedIsLost) {
  KillAndRead(WriterOptions::Mode::kMapped, Full() ? 300 : 50, "/tmp");
}

TEST(CrashTest, KilledOnTmpfs) {
  KillAndRead(WriterOptions::Mode::kMapped, Full() ? 100 : 10, "/dev/shm");
}

TEST(CrashTest, KilledWhileWritingByCalls) {
  KillAndRead(WriterOptions::Mode::kWrite, Full() ? 100 : 10, "/tmp");
}

TEST(CrashTest, EveryNthReservationFailsUnderFourThreads) {
  for (int n = 1; n <= (Full() ? 12 : 4); ++n) {
    const ScratchDir dir;
    std::atomic<int> calls{0};
    WriterOptions options;
    options.retry_ns = 0;
    options.reserve = [&calls, n](int fd, std::uint64_t offset, std::uint64_t size) {
      const int call = ++calls;
      if (call > 1 && (call - 1) % n == 0) return ENOSPC;
      return ::fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(size)) == 0 ? 0
                                                                                           : errno;
    };
    auto writer = JournalWriter::Create(dir.path(), options);
    ASSERT_TRUE(writer.ok());
    std::array<std::vector<std::int64_t>, kThreads> kept;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (std::int64_t i = 0; i < 30'000; ++i) {
          const std::int64_t a = std::int64_t{t} << 40 | i;
          if ((*writer)->Append(MetaHigh(RecordType::kStepStart, static_cast<std::uint16_t>(t)),
                                (*writer)->Now(), a, 0) >= 0) {
            kept[static_cast<std::size_t>(t)].push_back(a);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    (*writer)->Finish();
    const ReadResult read = Read((*writer)->path());
    std::array<std::vector<std::int64_t>, kThreads> found;
    std::int64_t told = 0;
    for (const Record& record : read.records) {
      if (record.type == RecordType::kDropped) {
        told += record.a;
      } else {
        found[static_cast<std::size_t>(record.a >> 40)].push_back(record.a);
      }
    }
    EXPECT_EQ(found, kept) << "n = " << n;
    const std::size_t sum = kept[0].size() + kept[1].size() + kept[2].size() + kept[3].size();
    EXPECT_EQ(read.summary.dropped, 120'000 - sum);
    EXPECT_EQ(told, static_cast<std::int64_t>(120'000 - sum));
    EXPECT_TRUE(read.summary.findings.empty());
  }
}

// In a child, for mounting may need a namespace of its own. Exit codes: 77 can't mount, else a line
// number.
#define CHILD_CHECK(condition) \
  if (!(condition)) ::_exit(__LINE__ % 200 + 1)

[[noreturn]] void FillTmpfs(const std::string& place) {
  if (::mount("none", place.c_str(), "tmpfs", 0, "size=2m,mode=700") != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
        ::mount("none", place.c_str(), "tmpfs", 0, "size=2m,mode=700") != 0) {
      ::_exit(77);
    }
  }
  const std::string ballast = place + "/ballast";
  const int fd = ::open(ballast.c_str(), O_RDWR | O_CREAT, 0600);
  CHILD_CHECK(::fallocate(fd, 0, 0, 1 << 20) == 0);
  for (const auto mode : {WriterOptions::Mode::kMapped, WriterOptions::Mode::kWrite}) {
    WriterOptions options;
    options.mode = mode;
    options.retry_ns = 0;
    auto writer = JournalWriter::Create(place, options);
    CHILD_CHECK(writer.ok());
    JournalWriter& w = **writer;
    const std::uint32_t high = MetaHigh(RecordType::kStepStart, 0);
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < 100'000; ++i) kept += w.Append(high, w.Now(), i, 0) >= 0 ? 1 : 0;
    const auto dropped = static_cast<std::int64_t>(w.dropped());
    CHILD_CHECK(kept > 20'000 && dropped == 100'000 - kept);  // about 1 MiB
    // Full: what must be kept still is, in the mapped journal's reserve.
    if (mode == WriterOptions::Mode::kMapped) {
      CHILD_CHECK(w.AppendEssential(MetaHigh(RecordType::kNotice, 0), w.Now(), 15, 0) >= 0);
    }
    // Space again: recording goes on, and what was lost is told.
    CHILD_CHECK(::ftruncate(fd, 512 << 10) == 0);
    CHILD_CHECK(w.Append(high, w.Now(), 100'000, 0) >= 0);
    w.Finish();
    const ReadResult read = Read(w.path());
    CHILD_CHECK(read.status.ok() && read.summary.findings.empty());
    std::int64_t told = 0;
    std::int64_t steps = 0;
    for (const Record& record : read.records) {
      if (record.type == RecordType::kDropped) told += record.a;
      if (record.type == RecordType::kStepStart) ++steps;
    }
    CHILD_CHECK(told == dropped && steps == kept + 1);
    ::unlink(w.path().c_str());
    writer->reset();  // gives its space back
    CHILD_CHECK(::fallocate(fd, 0, 0, 1 << 20) == 0);
  }
  ::close(fd);
  ::_exit(::umount(place.c_str()) == 0 ? 0 : 1);
}

TEST(CrashTest, AFullFileSystemDropsAndTellsButNeverKills) {
  const ScratchDir dir;
  const pid_t pid = ::fork();
  if (pid == 0) FillTmpfs(dir.path());
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) == 77) {
    ::umount(dir.path().c_str());
    GTEST_SKIP() << "this user can't mount a tmpfs";
  }
  if (WEXITSTATUS(status) != 0) ::umount2(dir.path().c_str(), MNT_DETACH);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "see FillTmpfs";
}

// Exit codes: see FillTmpfs.
[[noreturn]] void WriteBeyondTheFileLimit(const std::string& place, WriterOptions::Mode mode) {
  const auto limit = [](rlim_t bytes) {
    rlimit now;
    CHILD_CHECK(::getrlimit(RLIMIT_FSIZE, &now) == 0);
    now.rlim_cur = bytes;
    CHILD_CHECK(::setrlimit(RLIMIT_FSIZE, &now) == 0);
  };
  WriterOptions options;
  options.mode = mode;
  options.retry_ns = 0;
  limit(1000);
  const auto refused = JournalWriter::Create(place, options);
  CHILD_CHECK(refused.status().code() == Code::kResourceExhausted);
  CHILD_CHECK(ListDirectory(place)->empty());
  limit(500 << 10);
  auto writer = JournalWriter::Create(place, options);
  CHILD_CHECK(writer.ok());
  JournalWriter& w = **writer;
  const std::uint32_t high = MetaHigh(RecordType::kStepStart, 0);
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < 50'000; ++i) kept += w.Append(high, w.Now(), i, 0) >= 0 ? 1 : 0;
  w.Maintain();
  CHILD_CHECK(kept > 10'000 && kept < 16'000);
  CHILD_CHECK(w.dropped() == static_cast<std::uint64_t>(50'000 - kept));
  limit(5000);  // below what is written already
  for (std::int64_t i = 0; i < 100; ++i) {
    CHILD_CHECK(mode == WriterOptions::Mode::kMapped || w.Append(high, w.Now(), i, 0) < 0);
  }
  w.Maintain();
  limit(1 << 20);
  CHILD_CHECK(w.Append(high, w.Now(), 50'000, 0) >= 0);
  limit(5000);
  w.Finish();
  limit(1 << 20);
  const ReadResult read = Read(w.path());
  CHILD_CHECK(read.status.ok() && read.summary.findings.empty());
  CHILD_CHECK(read.summary.dropped == w.dropped());
  ::_exit(0);
}

TEST(CrashTest, ALimitOnTheSizeOfFilesDropsAndTellsButNeverKills) {
  for (const auto mode : {WriterOptions::Mode::kMapped, WriterOptions::Mode::kWrite}) {
    const ScratchDir dir;
    const pid_t pid = ::fork();
    if (pid == 0) WriteBeyondTheFileLimit(dir.path(), mode);
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0) << "see WriteBeyondTheFileLimit";
  }
}

// The one thing that a mapping does not survive (docs/adr/0011), and the way around it.
TEST(CrashTest, AJournalCutByOthersHarmsNobodyWhoWritesByCalls) {
  for (const bool mapped : {true, false}) {
    const ScratchDir dir;
    int go[2];
    int ready[2];
    ASSERT_TRUE(::pipe(go) == 0 && ::pipe(ready) == 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::setenv("HEADWAY_DIR", dir.path().c_str(), 1);
      if (!mapped) ::setenv("HEADWAY_FILE_SYSTEM", "local", 1);
      Recorder run = Recorder::Open({.run = "cut"});
      run.StepStart(0);
      char byte = 0;
      (void)!::write(ready[1], &byte, 1);
      (void)!::read(go[0], &byte, 1);
      run.StepStart(1);
      ::_exit(run.enabled() ? 0 : 1);
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    const auto journals = journal::ListJournals(dir.path(), "default", "cut");
    ASSERT_EQ(journals->size(), 1u);
    EXPECT_EQ(journals->front().header.mapped, mapped);
    ASSERT_EQ(::truncate(journals->front().path.c_str(), 0), 0);
    ASSERT_EQ(::write(go[1], &byte, 1), 1);
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(WIFSIGNALED(status) ? WTERMSIG(status) : 0, mapped ? SIGBUS : 0);
    for (const int fd : {go[0], go[1], ready[0], ready[1]}) ::close(fd);
  }
}

TEST(CrashTest, ForksAndSpawnsInTheMidstOfRecording) {
  const ScratchDir dir;
  ::setenv("HEADWAY_DIR", dir.path().c_str(), 1);
  ::unsetenv("HEADWAY_DISABLED");
  Recorder run = Recorder::Open({.run = "forks", .heartbeat = true});
  ASSERT_TRUE(run.enabled());
  std::atomic<bool> stop{false};
  std::array<std::int64_t, kThreads> done{};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::int64_t i = 0;
      while (!stop.load(std::memory_order_relaxed)) {
        run.StepStart(static_cast<std::int64_t>(t) << 40 | i++);
        if (i % 256 == 0) std::this_thread::yield();
      }
      done[t] = i;
    });
  }
  const int kRounds = Full() ? 200 : 30;
  std::vector<pid_t> children;
  for (int round = 0; round < kRounds; ++round) {
    if (const pid_t pid = ::fork(); pid == 0) {
      for (int i = 0; i < 100; ++i) {
        run.StepStart(-1);
        run.Log("loss", 1, i);
        { const Span span = run.Custom(("c" + std::to_string(i)).c_str()); }
      }
      run.Finish(9);
      std::exit(0);  // exit handlers run in the child too
    } else {
      children.push_back(pid);
    }
    pid_t pid = 0;
    char name[] = "true";
    char* arguments[] = {name, nullptr};
    ASSERT_EQ(::posix_spawnp(&pid, "true", nullptr, nullptr, arguments, ::environ), 0);
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  run.Finish(0);

  const auto journals = journal::ListJournals(dir.path(), "default", "forks");
  ASSERT_EQ(journals->size(), 1u) << "a child has made a journal";
  const ReadResult read = Read((*journals)[0].path);
  ASSERT_TRUE(read.status.ok());
  EXPECT_TRUE(read.summary.findings.empty());
  std::array<std::int64_t, kThreads> next{};
  for (const Record& record : read.records) {
    ASSERT_NE(record.type, RecordType::kMetric);
    ASSERT_NE(record.type, RecordType::kSpanBegin);
    if (record.type != RecordType::kStepStart) continue;
    ASSERT_GE(record.a, 0) << "written by a child";
    const auto t = static_cast<std::size_t>(record.a >> 40);
    ASSERT_EQ(record.a & ((std::int64_t{1} << 40) - 1), next[t]++);
  }
  EXPECT_EQ(next, done);
  EXPECT_EQ(read.records.back().type, RecordType::kJobEnd);
  EXPECT_EQ(read.records.back().a, 0);
}

TEST(CrashTest, SeveralProcessesOfOneAttempt) {
  const ScratchDir dir;
  constexpr int kRanks = 6;
  std::vector<pid_t> children;
  for (int rank = 0; rank < kRanks; ++rank) {
    if (const pid_t pid = ::fork(); pid == 0) {
      ::setenv("HEADWAY_DIR", dir.path().c_str(), 1);
      ::setenv("RANK", std::to_string(rank).c_str(), 1);
      ::setenv("WORLD_SIZE", std::to_string(kRanks).c_str(), 1);
      Recorder run = Recorder::Open({.run = "ranks"});
      if (!run.enabled()) ::_exit(1);
      for (int i = 0; i < 1000; ++i) run.StepStart(i);
      std::exit(0);
    } else {
      children.push_back(pid);
    }
  }
  for (const pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  const auto journals = journal::ListJournals(dir.path(), "default", "ranks");
  ASSERT_EQ(journals->size(), std::size_t{kRanks});
  std::map<std::int64_t, int> ranks;
  for (const journal::JournalFile& file : *journals) {
    ++ranks[file.header.rank];
    // Also a rank that begins when another has ended already.
    EXPECT_EQ(file.header.run_uid, (*journals)[0].header.run_uid);
    EXPECT_EQ(file.header.world_size, kRanks);
    EXPECT_EQ(Read(file.path).records.size(), 1002u);
  }
  EXPECT_EQ(ranks.size(), std::size_t{kRanks});
}

}  // namespace
}  // namespace headway
