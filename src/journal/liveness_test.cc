#include "journal/liveness.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/files.h"
#include "journal/test_files.h"

namespace headway::journal {
namespace {

constexpr std::uint32_t kStep = MetaHigh(RecordType::kStepStart, 0);

Liveness Probe(const std::string& path) {
  NameTable names;
  Result<JournalReader> reader = JournalReader::Open(path, {.names = &names});
  EXPECT_TRUE(reader.ok()) << reader.status().ToString();
  return reader.ok() ? reader->liveness() : Liveness::kUnknown;
}

// A process that runs `body` and is gone, or stays, as the test wants it.
pid_t Fork(auto body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    body();
    ::_exit(0);
  }
  return pid;
}

void Reap(pid_t pid) { EXPECT_EQ(::waitpid(pid, nullptr, 0), pid); }

// A pipe on which processes wait for each other, without sleeping.
struct Pipe {
  Pipe() { EXPECT_EQ(::pipe(ends), 0); }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  void Say(const std::string& text) {
    EXPECT_EQ(::write(ends[1], text.c_str(), text.size() + 1),
              static_cast<ssize_t>(text.size() + 1));
  }
  std::string Hear() {
    std::string text;
    char c = 1;
    while (::read(ends[0], &c, 1) == 1 && c != 0) text.push_back(c);
    return text;
  }
  int ends[2];
};

TEST(LivenessTest, LivesUntilItIsFinished) {
  const ScratchDir dir;
  auto writer = JournalWriter::Create(dir.path(), {});
  EXPECT_TRUE((*writer)->header().locked);
  EXPECT_EQ(Probe((*writer)->path()), Liveness::kAlive);
  (*writer)->Finish();
  EXPECT_EQ(Probe((*writer)->path()), Liveness::kDead);
}

TEST(LivenessTest, ReadingInTheSameProcessDoesNotDropTheLock) {
  const ScratchDir dir;
  auto writer = JournalWriter::Create(dir.path(), {});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ReadBytes((*writer)->path()).size(), 256u << 10);  // opens and closes the file
    EXPECT_EQ(Probe((*writer)->path()), Liveness::kAlive);
  }
}

TEST(LivenessTest, DiesWithItsProcess) {
  const ScratchDir dir;
  Pipe told;
  const pid_t pid = Fork([&] {
    auto writer = JournalWriter::Create(dir.path(), {});
    (*writer)->Append(kStep, (*writer)->Now(), 1, 0);
    told.Say((*writer)->path());
    ::pause();
  });
  const std::string path = told.Hear();
  EXPECT_EQ(Probe(path), Liveness::kAlive);
  ::kill(pid, SIGKILL);
  siginfo_t info;
  // Dead but not reaped yet: a zombie is no writer.
  EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(Probe(path), Liveness::kDead);
  Reap(pid);
  EXPECT_EQ(Probe(path), Liveness::kDead);
  EXPECT_EQ(Read(path).records.size(), 1u);
}

// A writer whose child outlives it. `make_child` is called in the writer's process and must not
// return in the child before `quit` is readable.
void ChildOutlivesWriter(auto make_child) {
  const ScratchDir dir;
  Pipe told;
  Pipe quit;
  const pid_t pid = Fork([&] {
    auto writer = JournalWriter::Create(dir.path(), {});
    const pid_t child = make_child(&quit);
    told.Say((*writer)->path());
    told.Say(std::to_string(child));
    ::pause();
  });
  const std::string path = told.Hear();
  const pid_t child = std::stoi(told.Hear());
  EXPECT_EQ(Probe(path), Liveness::kAlive);
  ::kill(pid, SIGKILL);
  Reap(pid);
  EXPECT_EQ(::kill(child, 0), 0) << "the child should still live";
  EXPECT_EQ(Probe(path), Liveness::kDead);
  quit.Say("");
}

TEST(LivenessTest, AForkedChildDoesNotKeepItAlive) {
  ChildOutlivesWriter([](Pipe* quit) { return Fork([quit] { quit->Hear(); }); });
}

TEST(LivenessTest, AChildClonedWithoutTheCLibraryDoesNotKeepItAlive) {
  ChildOutlivesWriter([](Pipe* quit) {
    const auto pid = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    if (pid == 0) {
      quit->Hear();
      ::_exit(0);
    }
    return pid;
  });
}

TEST(LivenessTest, AnExecutedChildDoesNotKeepItAlive) {
  ChildOutlivesWriter([](Pipe* quit) {
    return Fork([quit] {
      ::dup2(quit->ends[0], STDIN_FILENO);
      ::execlp("head", "head", "-c1", static_cast<char*>(nullptr));
    });
  });
}

TEST(LivenessTest, ACopyIsJudgedByItsProcess) {
  const ScratchDir dir;
  auto writer = JournalWriter::Create(dir.path(), {});
  const std::string copy = dir.path() + "/copy.hwj";
  WriteBytes(copy, ReadBytes((*writer)->path()));
  EXPECT_EQ(Probe(copy), Liveness::kAlive);
  EXPECT_EQ(Probe((*writer)->path()), Liveness::kAlive);
}

TEST(LivenessTest, HeadersOfElsewhere) {
  const ScratchDir dir;
  auto writer = JournalWriter::Create(dir.path(), {});
  const UniqueFd fd = *OpenForReading((*writer)->path());
  const Header here = (*writer)->header();
  const auto probe = [&fd, &here](auto change) {
    Header h = here;
    change(&h);
    return ProbeLiveness(fd.get(), h);
  };
  const BootId other = DeriveUid<BootId>("other");
  EXPECT_EQ(probe([](Header*) {}), Liveness::kAlive);
  EXPECT_EQ(probe([&](Header* h) { h->boot_id = other; }), Liveness::kDead);  // booted since
  EXPECT_EQ(probe([&](Header* h) {
              h->boot_id = other;
              h->host = "else";
            }),
            Liveness::kUnknown);
  EXPECT_EQ(probe([](Header* h) { h->boot_id = {}; }), Liveness::kUnknown);
  EXPECT_EQ(probe([](Header* h) { h->origin = Origin::kImport; }), Liveness::kUnknown);
  EXPECT_EQ(probe([](Header* h) {
              h->inode = 0;
              h->pid_namespace = 1;
            }),
            Liveness::kUnknown);
  EXPECT_EQ(probe([](Header* h) {
              h->inode = 0;
              h->pid_start = 1;
            }),
            Liveness::kDead);  // recycled
  EXPECT_EQ(probe([](Header* h) { h->locked = false; }), Liveness::kAlive);
  (*writer)->Finish();
  EXPECT_EQ(probe([](Header* h) { h->locked = false; }), Liveness::kAlive);  // the process is
}

TEST(LivenessTest, TheLockComesBackAfterAllDescriptorsWereClosed) {
  const ScratchDir dir;
  auto writer = JournalWriter::Create(dir.path(), {});
  for (int fd = 3; fd < 200; ++fd) ::close(fd);
  (*writer)->Maintain();
  EXPECT_EQ(Probe((*writer)->path()), Liveness::kAlive);
}

TEST(ForkTest, AChildClosesNoFileThatGotTheNumberOfTheLock) {
  const ScratchDir dir;
  auto writer = JournalWriter::Create(dir.path(), {});
  for (int fd = 3; fd < 200; ++fd) ::close(fd);
  std::vector<UniqueFd> mine;
  for (int i = 0; i < 20; ++i) mine.push_back(OpenFile("/dev/null", O_RDONLY));
  const pid_t pid = Fork([&mine] {
    for (const UniqueFd& fd : mine) {
      if (::fcntl(fd.get(), F_GETFD) < 0) ::_exit(1);
    }
  });
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

TEST(ForkTest, AChildWritesNothingAndHarmsNothing) {
  for (const auto mode : {WriterOptions::Mode::kMapped, WriterOptions::Mode::kWrite}) {
    const ScratchDir dir;
    WriterOptions options;
    options.mode = mode;
    auto writer = JournalWriter::Create(dir.path(), options);
    (*writer)->Append(kStep, (*writer)->Now(), 1, 0);
    const pid_t pid = Fork([&] {
      JournalWriter& w = **writer;
      if (w.owned()) ::_exit(1);
      if (w.Append(kStep, w.Now(), 2, 0) != kNotKept) ::_exit(2);
      if (w.AppendEssential(kStep, w.Now(), 2, 0) != kNotKept) ::_exit(3);
      if (w.AppendPayload(RecordType::kConfig, 0, w.Now(), "x") != kNotKept) ::_exit(4);
      if (w.Intern("new") != 0) ::_exit(5);
      w.Maintain();
      w.Finish();
      if (w.dropped() != 0) ::_exit(6);
      writer->reset();
    });
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(Probe((*writer)->path()), Liveness::kAlive);
    (*writer)->Append(kStep, (*writer)->Now(), 3, 0);
    (*writer)->Finish();
    const ReadResult read = Read((*writer)->path());
    ASSERT_EQ(read.records.size(), 2u);
    EXPECT_EQ(read.records[1].a, 3);
  }
}

}  // namespace
}  // namespace headway::journal
