#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "journal/directory.h"
#include "journal/test_files.h"
#include "transfer/carrier.h"
#include "transfer/journal_copy.h"
#include "transfer/syncer.h"

namespace headway::transfer {
namespace {

using journal::FindingKind;
using journal::JournalWriter;
using journal::MetaHigh;
using journal::Read;
using journal::ReadBytes;
using journal::ReadResult;
using journal::SlotOffset;
using journal::WriterOptions;

constexpr std::uint32_t kStep = MetaHigh(RecordType::kStepStart, 0);

// A node's directory and one that stands for a file server's; only that it is one is pretended.
class TransferTest : public testing::Test {
 protected:
  TransferTest() { MakePrivateDirectory(node_).ok(); }

  WriterOptions Options(const std::string& destination) {
    WriterOptions options;
    options.header.project = "p";
    options.header.run = "r";
    options.header.run_uid = uid_;
    options.header.rank = 0;
    options.header.destination = destination;
    return options;
  }
  std::unique_ptr<JournalWriter> Write(WriterOptions options) {
    EXPECT_TRUE(journal::MakeRunDirectory(node_, "p", "r").ok());
    auto writer = JournalWriter::Create(journal::RunDirectory(node_, "p", "r"), options);
    EXPECT_TRUE(writer.ok()) << writer.status().ToString();
    return *std::move(writer);
  }
  std::unique_ptr<JournalWriter> Write() { return Write(Options(server_)); }
  void Steps(JournalWriter* writer, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      ASSERT_GE(writer->Append(kStep, writer->Now(), ++last_, 0), 0);
    }
  }
  // Damages or fills a slot behind the writer's back.
  void Poke(const std::string& path, std::uint64_t slot, const std::string& bytes) {
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(::pwrite(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(SlotOffset(slot))),
              static_cast<ssize_t>(bytes.size()));
  }
  Scope Own() { return {.rules = rules_, .dir = node_, .project = "p", .run = "r", .uid = uid_}; }
  Scope Everything() { return {.rules = rules_, .dir = node_}; }
  std::string CopyOf(const JournalWriter& writer) {
    return journal::RunDirectory(server_, "p", "r") +
           writer.path().substr(writer.path().rfind('/'));
  }
  static std::vector<std::int64_t> StepsIn(const std::string& path) {
    std::vector<std::int64_t> steps;
    for (const Record& record : Read(path).records) {
      if (record.type == RecordType::kStepStart) steps.push_back(record.a);
    }
    return steps;
  }

  const ScratchDir scratch_;
  const std::string node_ = scratch_.path() + "/node";
  const std::string server_ = scratch_.path() + "/server";
  const journal::PlaceRules rules_ = {.file_system = "network", .node_local = node_};
  const RunUid uid_ = DeriveUid<RunUid>("run");
  std::int64_t last_ = -1;
};

TEST_F(TransferTest, ALivingJournalIsFollowedAndThenDelivered) {
  auto writer = Write();
  Carrier carrier(Own());
  for (int round = 0; round < 5; ++round) {
    Steps(writer.get(), 5000);
    const Result<bool> done = carrier.Round();
    ASSERT_TRUE(done.ok()) << done.status().ToString();
    EXPECT_FALSE(*done);
    const ReadResult copy = Read(CopyOf(*writer));
    ASSERT_TRUE(copy.status.ok());
    EXPECT_EQ(copy.records.size(), 5000u * static_cast<std::size_t>(round + 1));
    EXPECT_TRUE(copy.summary.findings.empty());
  }
  struct stat info;
  ASSERT_EQ(::stat(CopyOf(*writer).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_LE(static_cast<std::uint64_t>(info.st_size), SlotOffset(25'000)) << "no reserved space";
  writer->Finish();
  EXPECT_TRUE(*carrier.Round());
  EXPECT_EQ(ReadBytes(CopyOf(*writer)), ReadBytes(writer->path()));
  EXPECT_TRUE(std::filesystem::exists(node_ + "/delivered/" + ToHex(writer->header().uid)));
  // A run that was deleted there does not come back.
  std::filesystem::remove_all(server_);
  EXPECT_TRUE(*Carrier(Own()).Round());
  EXPECT_TRUE(*Carrier(Everything()).Round());
  EXPECT_FALSE(std::filesystem::exists(server_));
  // The note goes with the journal.
  std::filesystem::remove(writer->path());
  EXPECT_TRUE(*Carrier(Everything()).Round());
  EXPECT_TRUE(std::filesystem::is_empty(node_ + "/delivered"));
}

TEST_F(TransferTest, HolesAreFilledLater) {
  auto writer = Write();
  Steps(writer.get(), 100);
  const std::string path = writer->path();
  const std::string slots = ReadBytes(path).substr(SlotOffset(0), 100 * 32);
  const auto slot = [&slots](std::size_t i) { return slots.substr(i * 32, 32); };
  const std::string zeros(32, '\0');
  // Claimed and not written; written in part: every field but the first eight bytes, and garbage.
  Poke(path, 10, zeros);
  Poke(path, 11, std::string(8, '\0') + slot(11).substr(8));
  Poke(path, 50, "garbage, garbage, garbage, garba");
  Carrier carrier(Own());
  ASSERT_TRUE(carrier.Round().ok());
  const std::string copy = CopyOf(*writer);
  EXPECT_EQ(StepsIn(copy).size(), 97u);
  const std::string bytes = ReadBytes(copy);
  EXPECT_EQ(bytes.substr(SlotOffset(10), 64), std::string(64, '\0'));
  EXPECT_EQ(bytes.substr(SlotOffset(50), 32), zeros) << "nothing unfinished is in a copy";
  Poke(path, 11, slot(11));
  ASSERT_TRUE(carrier.Round().ok());
  EXPECT_EQ(StepsIn(copy).size(), 98u);
  Poke(path, 10, slot(10));
  Poke(path, 50, slot(50));
  Steps(writer.get(), 1);
  ASSERT_TRUE(carrier.Round().ok());
  EXPECT_EQ(StepsIn(copy).size(), 101u);
  EXPECT_EQ(ReadBytes(copy).substr(SlotOffset(0), 3200), slots);
}

TEST_F(TransferTest, TheDamageOfADeadJournalIsTheSameInItsCopy) {
  auto writer = Write();
  Steps(writer.get(), 100);
  Poke(writer->path(), 20, "garbage, garbage, garbage, garba");
  Poke(writer->path(), 30, std::string(32, '\0'));
  Carrier carrier(Own());
  ASSERT_TRUE(carrier.Round().ok());
  writer->Finish();
  const UniqueFd fd(::open(writer->path().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  ASSERT_EQ(::write(fd.get(), "torn", 4), 4);
  EXPECT_TRUE(*carrier.Round());
  EXPECT_EQ(ReadBytes(CopyOf(*writer)), ReadBytes(writer->path()));
}

TEST_F(TransferTest, WhatLiesFarBehindAHoleComesAtTheEnd) {
  auto writer = Write();
  Steps(writer.get(), 10);
  const std::string path = writer->path();
  // A thread that claimed three MiB of payload and died with its process.
  const std::string last = ReadBytes(path).substr(SlotOffset(9), 32);
  Steps(writer.get(), 100'000);
  const std::string end = ReadBytes(path).substr(SlotOffset(100'009), 32);
  writer->Finish();
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(::ftruncate(fd.get(), static_cast<off_t>(SlotOffset(10))), 0);
  Poke(path, 100'009, end);
  EXPECT_TRUE(*Carrier(Own()).Round());
  EXPECT_EQ(ReadBytes(CopyOf(*writer)), ReadBytes(path));
}

TEST_F(TransferTest, CountersOfDroppedRecordsFollow) {
  WriterOptions options = Options(server_);
  options.max_bytes = 256 << 10;
  auto writer = Write(options);
  Carrier carrier(Own());
  ASSERT_TRUE(carrier.Round().ok());
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 10'000; ++i) writer->Append(kStep, writer->Now(), i, 0);
    ASSERT_TRUE(carrier.Round().ok());
    const ReadResult original = Read(writer->path());
    const ReadResult copy = Read(CopyOf(*writer));
    EXPECT_GT(copy.summary.dropped, 0u);
    EXPECT_EQ(copy.summary.dropped, original.summary.dropped);
    EXPECT_EQ(copy.summary.first_drop_ns, original.summary.first_drop_ns);
    EXPECT_EQ(copy.summary.last_drop_ns, original.summary.last_drop_ns);
  }
}

TEST_F(TransferTest, GoesOnWhereAnotherWasKilled) {
  auto writer = Write();
  Steps(writer.get(), 30'000);
  std::mt19937_64 random(7);
  ASSERT_TRUE(Carrier(Own()).Round().ok());
  const std::string copy = CopyOf(*writer);
  const std::string whole = ReadBytes(copy);
  for (int i = 0; i < 20; ++i) {
    // As far as it came: some blocks are there, the last one in part, others are holes.
    std::string part = whole.substr(0, 4096 + random() % (whole.size() - 4096));
    const std::uint64_t hole = SlotOffset(random() % 20'000);
    if (hole + 3200 < part.size()) part.replace(hole, 3200, std::string(3200, '\0'));
    journal::WriteBytes(copy, part);
    ASSERT_TRUE(Carrier(Own()).Round().ok());
    ASSERT_EQ(ReadBytes(copy), whole);
  }
  // Killed before the copy had its name.
  std::filesystem::rename(
      copy, copy.substr(0, copy.rfind('/')) + "/." + ToHex(writer->header().uid) + ".tmp");
  ASSERT_TRUE(Carrier(Own()).Round().ok());
  EXPECT_EQ(ReadBytes(copy), whole);
  EXPECT_EQ(std::distance(
                std::filesystem::directory_iterator(std::filesystem::path(copy).parent_path()), {}),
            1);
}

TEST_F(TransferTest, SeveralMayCopyTheSame) {
  auto writer = Write();
  Carrier a(Own());
  Carrier b(Own());
  for (int round = 0; round < 20; ++round) {
    Steps(writer.get(), 777);
    ASSERT_TRUE((round % 3 == 0 ? a : b).Round().ok());
    ASSERT_TRUE((round % 5 == 0 ? b : a).Round().ok());
    ASSERT_EQ(StepsIn(CopyOf(*writer)).size(), 777u * static_cast<std::size_t>(round + 1));
  }
  writer->Finish();
  EXPECT_TRUE(*a.Round());
  EXPECT_TRUE(*b.Round());
  EXPECT_EQ(ReadBytes(CopyOf(*writer)), ReadBytes(writer->path()));
}

TEST_F(TransferTest, MachinesOfOneRunCopyIntoOneDirectory) {
  auto first = Write();
  Steps(first.get(), 10);
  const std::string other_node = scratch_.path() + "/other";
  ASSERT_TRUE(MakePrivateDirectory(other_node).ok());
  ASSERT_TRUE(journal::MakeRunDirectory(other_node, "p", "r").ok());
  const auto second =
      JournalWriter::Create(journal::RunDirectory(other_node, "p", "r"), Options(server_));
  ASSERT_TRUE(second.ok());
  Steps(second->get(), 20);
  Scope other = Own();
  other.dir = other_node;
  ASSERT_TRUE(Carrier(Own()).Round().ok());
  ASSERT_TRUE(Carrier(other).Round().ok());
  EXPECT_EQ(StepsIn(CopyOf(*first)).size(), 10u);
  EXPECT_EQ(StepsIn(CopyOf(**second)).size(), 20u);
  EXPECT_EQ(journal::ListJournals(server_, "p", "r")->size(), 2u);
}

TEST_F(TransferTest, AVanishedCopyIsMadeAnew) {
  auto writer = Write();
  Carrier carrier(Own());
  Steps(writer.get(), 10);
  ASSERT_TRUE(carrier.Round().ok());
  std::filesystem::remove(CopyOf(*writer));
  ASSERT_TRUE(carrier.Round().ok());
  EXPECT_EQ(StepsIn(CopyOf(*writer)).size(), 10u);
  std::filesystem::remove_all(server_);
  Steps(writer.get(), 10);
  ASSERT_TRUE(carrier.Round().ok());
  EXPECT_EQ(StepsIn(CopyOf(*writer)).size(), 20u);
}

TEST_F(TransferTest, WithoutTheFileServerNothingIsWrittenInItsPlace) {
  auto writer = Write();
  Steps(writer.get(), 10);
  Scope scope = Own();
  scope.rules.file_system.clear();  // statfs: an ordinary disk
  const Result<bool> round = Carrier(scope).Round();
  EXPECT_EQ(round.status().code(), Code::kFailedPrecondition);
  EXPECT_NE(round.status().message().find("is it mounted?"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(server_));
}

TEST_F(TransferTest, LinksAndForeignFilesAreLeftAlone) {
  auto writer = Write();
  Steps(writer.get(), 10);
  const std::string victim = scratch_.path() + "/victim";
  journal::WriteBytes(victim, "precious");
  ASSERT_TRUE(journal::MakeRunDirectory(server_, "p", "r").ok());
  const std::string copy = CopyOf(*writer);
  const std::string aside =
      copy.substr(0, copy.rfind('/')) + "/." + ToHex(writer->header().uid) + ".tmp";
  std::filesystem::create_symlink(victim, copy);
  EXPECT_FALSE(Carrier(Own()).Round().ok());
  std::filesystem::remove(copy);
  std::filesystem::create_symlink(victim, aside);
  EXPECT_TRUE(Carrier(Own()).Round().ok());
  EXPECT_EQ(StepsIn(copy).size(), 10u);
  journal::WriteBytes(copy, "someone else's");
  EXPECT_EQ(Carrier(Own()).Round().status().code(), Code::kAlreadyExists);
  EXPECT_EQ(ReadBytes(copy), "someone else's");
  std::filesystem::remove_all(server_ + "/journals/p");
  std::filesystem::create_directory_symlink(scratch_.path(), server_ + "/journals/p");
  EXPECT_FALSE(Carrier(Own()).Round().ok());
  EXPECT_EQ(ReadBytes(victim), "precious");
  EXPECT_FALSE(std::filesystem::exists(scratch_.path() + "/r"));
}

TEST_F(TransferTest, TheRunCountsAndTheDestination) {
  auto elsewhere = Write(Options(""));
  auto other = Options(server_);
  other.header.run_uid = DeriveUid<RunUid>("other");
  auto other_run = Write(other);
  EXPECT_TRUE(*Carrier(Own()).Round()) << "neither is for it to copy";
  // Of other runs only what was left by the dead.
  EXPECT_TRUE(*Carrier(Everything()).Round());
  EXPECT_FALSE(std::filesystem::exists(server_));
  Steps(other_run.get(), 3);
  other_run->Finish();
  EXPECT_TRUE(*Carrier(Everything()).Round());
  EXPECT_EQ(StepsIn(CopyOf(*other_run)).size(), 3u);
  // Nor what was copied here: its destination is some other machine's.
  std::filesystem::remove_all(server_);
  std::filesystem::remove_all(node_ + "/delivered");
  const std::string bytes = ReadBytes(other_run->path());
  std::filesystem::rename(other_run->path(), scratch_.path() + "/kept");
  journal::WriteBytes(other_run->path(), bytes);
  EXPECT_TRUE(*Carrier(Everything()).Round());
  EXPECT_FALSE(std::filesystem::exists(server_));
}

TEST_F(TransferTest, AnEndDoesNotArriveBeforeTheWork) {
  WriterOptions options = Options(server_);
  options.header.origin = journal::Origin::kSupervisor;
  options.header.rank = -1;
  auto supervisor = Write(options);  // first, as supervisors are
  auto writer = Write();
  Steps(supervisor.get(), 1);
  Steps(writer.get(), 10);
  ASSERT_TRUE(journal::MakeRunDirectory(server_, "p", "r").ok());
  ASSERT_EQ(::mkdir(CopyOf(*writer).c_str(), 0700), 0);  // in its way
  Carrier carrier(Own());
  EXPECT_FALSE(carrier.Round().ok());
  supervisor->Finish();
  EXPECT_FALSE(carrier.Round().ok());
  EXPECT_FALSE(std::filesystem::exists(CopyOf(*supervisor)));
  EXPECT_FALSE(Carrier(Own()).Round().ok()) << "whoever begins anew does the same";
  EXPECT_FALSE(std::filesystem::exists(CopyOf(*supervisor)));
  std::filesystem::remove(CopyOf(*writer));
  writer->Finish();
  EXPECT_TRUE(*carrier.Round());
  EXPECT_EQ(StepsIn(CopyOf(*supervisor)).size(), 1u);
  EXPECT_EQ(StepsIn(CopyOf(*writer)).size(), 10u);
}

TEST_F(TransferTest, ACopyGoesNoFurtherThanNoted) {
  auto writer = Write();
  JournalCopy copy(*OpenSource(writer->path()), rules_);
  std::int64_t before = 0;
  for (const std::int64_t count : {3, 5000, 0, 7}) {
    Steps(writer.get(), count);
    ASSERT_TRUE(copy.NoteEnd().ok());
    Steps(writer.get(), 4);
    ASSERT_FALSE(*copy.Update());
    before += count;
    EXPECT_EQ(StepsIn(CopyOf(*writer)).size(), static_cast<std::size_t>(before));
    before += 4;
  }
  ASSERT_TRUE(copy.NoteEnd().ok());
  writer->Finish();
  EXPECT_FALSE(*copy.Update()) << "it was not dead then";
  ASSERT_TRUE(copy.NoteEnd().ok());
  EXPECT_TRUE(*copy.Update());
  EXPECT_EQ(StepsIn(CopyOf(*writer)).size(), static_cast<std::size_t>(before));
}

// In a child, for mounting may need a namespace of its own. Exit code 77: can't mount.
TEST_F(TransferTest, AFullDestinationIsToldAndTriedAgain) {
  auto writer = Write();
  Steps(writer.get(), 60'000);  // 1.9 MB
  ASSERT_EQ(::mkdir(server_.c_str(), 0700), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::mount("none", server_.c_str(), "tmpfs", 0, "size=1m,mode=700") != 0 &&
        (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
         ::mount("none", server_.c_str(), "tmpfs", 0, "size=1m,mode=700") != 0)) {
      ::_exit(77);
    }
    int failed = 0;
    Carrier carrier(Own());
    const Result<bool> full = carrier.Round();
    failed |= full.status().code() == Code::kResourceExhausted ? 0 : 1;
    const ReadResult part = Read(CopyOf(*writer));
    failed |= part.status.ok() && part.summary.findings.empty() ? 0 : 2;
    failed |= !part.records.empty() && part.records.size() < 60'000 ? 0 : 4;
    failed |= ::mount("none", server_.c_str(), "tmpfs", MS_REMOUNT, "size=8m") == 0 ? 0 : 8;
    failed |= carrier.Round().ok() ? 0 : 16;
    failed |= StepsIn(CopyOf(*writer)).size() == 60'000 ? 0 : 32;
    ::umount2(server_.c_str(), MNT_DETACH);
    ::_exit(failed);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this user can't mount a tmpfs";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(TransferTest, ACopyLivesAsLongAsItsProcessCanBeSeenToLive) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    auto writer = Write();
    Steps(writer.get(), 3);
    (void)!::write(ends[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);
  ASSERT_TRUE(Carrier(Own()).Round().ok());
  const auto copies = journal::ListJournals(server_, "p", "r");
  ASSERT_EQ(copies->size(), 1u);
  const std::string copy = copies->front().path;
  const auto liveness = [&copy] {
    NameTable names;
    return journal::JournalReader::Open(copy, {.names = &names})->liveness();
  };
  EXPECT_EQ(liveness(), Liveness::kAlive);
  ::kill(pid, SIGKILL);
  ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
  EXPECT_EQ(liveness(), Liveness::kDead);
  // On another machine it can't be told.
  journal::Header header = copies->front().header;
  header.boot_id = DeriveUid<BootId>("another machine");
  header.host = "another";
  std::string bytes = ReadBytes(copy);
  const auto encoded = journal::EncodeHeader(header);
  bytes.replace(0, encoded.size(), reinterpret_cast<const char*>(encoded.data()), encoded.size());
  journal::WriteBytes(copy, bytes);
  EXPECT_EQ(liveness(), Liveness::kUnknown);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(TransferTest, SyncingEndsWithTheWriters) {
  Syncer syncer(Own());
  EXPECT_TRUE(*syncer.Round()) << "there is nothing yet";
  auto writer = Write();
  Steps(writer.get(), 10);
  EXPECT_FALSE(*syncer.Round());
  writer->Finish();
  EXPECT_TRUE(*syncer.Round());
  EXPECT_TRUE(*syncer.Round());
}

}  // namespace
}  // namespace headway::transfer
