#include "store/sqlite/record_store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>

#include "base/files.h"
#include "base/test_scratch_dir.h"
#include "store/record_store_conformance.h"

namespace headway::store {

class SqlitePlace {
 public:
  std::unique_ptr<Store> Open() {
    Result<std::unique_ptr<Store>> store =
        OpenSqliteStore(JoinPath(directory_.path(), "store.db"), {});
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    return store.ok() ? *std::move(store) : nullptr;
  }

 private:
  ScratchDir directory_;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, RecordStoreConformance, SqlitePlace);

namespace {

std::string Content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void Replace(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

// The way of any other program to the file. The first value of the last row, or nothing.
class OtherProgram {
 public:
  explicit OtherProgram(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &db_), SQLITE_OK);
  }
  OtherProgram(const OtherProgram&) = delete;
  OtherProgram& operator=(const OtherProgram&) = delete;
  ~OtherProgram() { sqlite3_close(db_); }

  std::string Do(const std::string& sql) {
    std::string answer;
    const auto keep = [](void* to, int, char** values, char**) {
      *static_cast<std::string*>(to) = values[0] == nullptr ? "" : values[0];
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(db_, sql.c_str(), keep, &answer, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db_);
    return answer;
  }

 private:
  sqlite3* db_ = nullptr;
};

std::string Do(const std::string& path, const std::string& sql) {
  return OtherProgram(path).Do(sql);
}

class SqliteStoreTest : public testing::Test {
 protected:
  std::unique_ptr<Store> Open(const SqliteOptions& options = {}) {
    Result<std::unique_ptr<Store>> store = OpenSqliteStore(path_, options);
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    return store.ok() ? *std::move(store) : nullptr;
  }
  Status OpenFault() { return OpenSqliteStore(path_, {}).status(); }
  // A store with one journal of `count` slots, closed.
  void Fill(std::uint64_t count) {
    const auto store = Open();
    ASSERT_TRUE(AppendOne(store.get(), TestBatch(identity_, 0, TestSlots(0, count))).ok());
  }
  static void ExpectFault(const Status& status, Code code, const std::string& part) {
    EXPECT_EQ(status.code(), code) << status.ToString();
    EXPECT_NE(status.message().find(part), std::string::npos) << status.ToString();
  }

  ScratchDir directory_;
  std::string path_ = JoinPath(directory_.path(), "store.db");
  JournalIdentity identity_ = TestIdentity("p", "r");
};

mode_t ModeOf(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

TEST_F(SqliteStoreTest, RoomIsGivenBackToTheFileSystem) {
  constexpr int kJournals = 20;
  constexpr std::uint64_t kSlots = 100'000;
  const auto store = Open();
  std::mt19937_64 random(5);
  std::string noise(kSlots * kSlotBytes, '\0');  // which takes as much room as it is long
  for (std::size_t i = 0; i + 8 <= noise.size(); i += 8) {
    const std::uint64_t word = random();
    std::memcpy(noise.data() + i, &word, sizeof word);
  }
  for (int i = 0; i < kJournals; ++i) {
    ASSERT_TRUE(AppendOne(store.get(), TestBatch(TestIdentity("p", "r", i), 0, noise)).ok());
  }
  ASSERT_TRUE(AppendOne(store.get(), TestBatch(TestIdentity("p", "s"), 0, noise)).ok());
  EXPECT_FALSE(*store->GiveBackRoom());
  const auto bytes = [this] {
    return std::stoll(Do(path_, "PRAGMA page_count")) * std::stoll(Do(path_, "PRAGMA page_size"));
  };
  const std::int64_t full = bytes();
  const RunUid uid = TestIdentity("p", "r").run_uid;
  ASSERT_TRUE(store->DeleteRun(uid, 1, {}).ok());
  while (*store->PurgeRun(uid) > 0) {
  }
  EXPECT_EQ(bytes(), full);
  int calls = 1;
  while (*store->GiveBackRoom()) ++calls;
  EXPECT_GT(calls, 1);
  EXPECT_LT(bytes(), full - (std::int64_t{20} << 20));
  EXPECT_GT(bytes(), std::int64_t{32} << 20);  // for what comes next
  EXPECT_EQ(*store->ReadSlots(TestIdentity("p", "s").uid, 0, kSlots), noise);
  const Status sound = CheckSqliteStore(path_);
  EXPECT_TRUE(sound.ok()) << sound.ToString();
}

// --- Opening

TEST_F(SqliteStoreTest, TheFilesAreTheOwnersAlone) {
  const mode_t mask = ::umask(0);
  {
    const auto store = Open();
    ASSERT_TRUE(AppendOne(store.get(), TestBatch(identity_, 0, TestSlots(0, 10))).ok());
    for (const char* suffix : {"", "-wal", "-shm", ".lock"})
      EXPECT_EQ(ModeOf(path_ + suffix), 0600u);
  }
  ::umask(mask);
}

TEST_F(SqliteStoreTest, KeepsNothingInAFileThatIsNotThereAnyMore) {
  const auto store = Open();
  const std::string slots = TestSlots(0, 10);
  const Batch batch = TestBatch(identity_, 0, slots);
  const std::string aside = path_ + ".aside";
  ASSERT_EQ(::rename(path_.c_str(), aside.c_str()), 0);
  ExpectFault(AppendOne(store.get(), batch), Code::kUnavailable, "was removed or replaced");
  ASSERT_EQ(::rename(aside.c_str(), path_.c_str()), 0);
  EXPECT_TRUE(AppendOne(store.get(), batch).ok());
}

TEST_F(SqliteStoreTest, IsDurableAndMarkedAsOurs) {
  const auto store = Open();
  OtherProgram other(path_);
  EXPECT_EQ(other.Do("PRAGMA journal_mode"), "wal");
  EXPECT_EQ(other.Do("PRAGMA application_id"), std::to_string(0x68647779));
  EXPECT_EQ(other.Do("PRAGMA user_version"), "13");
}

TEST_F(SqliteStoreTest, OnlyOneServerHasIt) {
  auto store = Open();
  ExpectFault(OpenFault(), Code::kFailedPrecondition, path_ + ".lock");
  ASSERT_TRUE(AppendOne(store.get(), TestBatch(identity_, 0, TestSlots(0, 1))).ok());
  store.reset();
  EXPECT_NE(Open(), nullptr);
}

TEST_F(SqliteStoreTest, ANewerOneIsRefused) {
  Fill(1);
  const std::string known = Do(path_, "PRAGMA user_version");
  Do(path_, "PRAGMA user_version = 1000");
  ExpectFault(OpenFault(), Code::kFailedPrecondition, path_ + " is of a newer headway");
  ExpectFault(CheckSqliteStore(path_), Code::kFailedPrecondition, "newer");
  Do(path_, "PRAGMA user_version = " + known);
  EXPECT_NE(Open(), nullptr);
}

TEST_F(SqliteStoreTest, AnOlderOneIsBroughtUpToDate) {
  Replace(path_, Content("tests/golden/store_v2.db"));
  EXPECT_EQ(Do(path_, "PRAGMA user_version"), "2");
  const Status sound = CheckSqliteStore(path_);
  EXPECT_TRUE(sound.ok()) << sound.ToString();
  const auto store = Open();
  ASSERT_NE(store, nullptr);
  EXPECT_NE(Do(path_, "PRAGMA user_version"), "2");
  EXPECT_EQ(store->ListTokens()->size(), 1u);
  const Result<RunPage> page = store->ListRuns({.project = "old"});
  ASSERT_EQ(page->runs.size(), 1u);
  const RunRow run = page->runs[0];
  EXPECT_EQ(run.label, "a run");
  EXPECT_GT(run.stored_bytes, 0);
  EXPECT_EQ(store->ListProjects()->at(0).stored_bytes, run.stored_bytes);
  const std::vector<Journal> journals = *store->ListJournals(run.uid);
  ASSERT_EQ(journals.size(), 1u);
  EXPECT_EQ(store->ReadSlots(journals[0].identity.uid, 0, 100)->size(), 22 * kSlotBytes);
  // Nobody has looked yet where it was, and how it stands.
  EXPECT_EQ(store->ListUnplaced(10)->size(), 1u);
  EXPECT_EQ(store->ListStaleRuns(10)->size(), 1u);
  RunDetails details;
  details.labels["a"] = "b";
  EXPECT_TRUE(store->UpdateRun(run.uid, run.version, details, 1, {}).ok());
}

TEST_F(SqliteStoreTest, AVersionThatNeverWasIsDataLoss) {
  Fill(1);
  for (const char* version : {"0", "-1"}) {
    Do(path_, std::string("PRAGMA user_version = ") + version);
    ExpectFault(OpenFault(), Code::kDataLoss, path_ + " is damaged");
  }
}

TEST_F(SqliteStoreTest, AnothersDatabaseIsRefusedAndLeftAsItIs) {
  for (const char* sql : {"CREATE TABLE t (a)", "PRAGMA application_id = 7; CREATE TABLE t (a)",
                          "PRAGMA user_version = 1; CREATE TABLE t (a)"}) {
    std::filesystem::remove(path_);
    Do(path_, sql);
    const std::string before = Content(path_);
    ExpectFault(OpenFault(), Code::kInvalidArgument, path_ + " is a database of another program");
    EXPECT_EQ(Content(path_), before);
  }
}

TEST_F(SqliteStoreTest, WhatIsNoDatabaseIsRefusedAndLeftAsItIs) {
  const std::string text(5000, 'x');
  Replace(path_, text);
  ExpectFault(OpenFault(), Code::kDataLoss, path_);
  EXPECT_EQ(Content(path_), text);
}

TEST_F(SqliteStoreTest, NoLinkIsFollowedToTheFile) {
  const std::string target = JoinPath(directory_.path(), "target");
  for (const char* suffix : {".lock", ""}) {
    ASSERT_EQ(::symlink(target.c_str(), (path_ + suffix).c_str()), 0);
    ExpectFault(OpenFault(), Code::kPermissionDenied, path_);
    EXPECT_FALSE(std::filesystem::exists(target));
    std::filesystem::remove(path_ + suffix);
  }
  Fill(1);
  std::filesystem::rename(path_, target);
  ASSERT_EQ(::symlink(target.c_str(), path_.c_str()), 0);
  ExpectFault(OpenFault(), Code::kPermissionDenied, "symbolic link");
  ExpectFault(CheckSqliteStore(path_), Code::kPermissionDenied, "symbolic link");
}

TEST_F(SqliteStoreTest, ItsDirectoryMayBeALink) {
  const std::string link = JoinPath(directory_.path(), "link");
  ASSERT_EQ(::symlink(directory_.path().c_str(), link.c_str()), 0);
  {
    auto store = OpenSqliteStore(JoinPath(link, "store.db"), {});
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    ExpectFault(OpenFault(), Code::kFailedPrecondition, ".lock");  // the same one
  }
  EXPECT_NE(Open(), nullptr);
}

TEST_F(SqliteStoreTest, APlaceThatCannotBeIsRefused) {
  EXPECT_EQ(OpenSqliteStore(directory_.path() + "/none/store.db", {}).status().code(),
            Code::kNotFound);
  EXPECT_EQ(OpenSqliteStore(directory_.path() + "/", {}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(OpenSqliteStore("", {}).status().code(), Code::kInvalidArgument);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  ExpectFault(OpenFault(), Code::kInvalidArgument, "not a regular file");
  EXPECT_EQ(CheckSqliteStore(JoinPath(directory_.path(), "none")).code(), Code::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(JoinPath(directory_.path(), "none")));
}

// --- Beside others

TEST_F(SqliteStoreTest, ReadingDoesNotWaitForAnyoneWhoWrites) {
  Fill(10);
  const auto store = Open({.busy_timeout_ms = 0});
  OtherProgram other(path_);
  other.Do("BEGIN IMMEDIATE; UPDATE state SET slots = 5");
  EXPECT_EQ(*store->ReadSlots(identity_.uid, 0, 100), TestSlots(0, 10));
  EXPECT_EQ(store->FindJournal(identity_.uid)->state.slots, 10u);
  ExpectFault(AppendOne(store.get(), TestBatch(identity_, 10, TestSlots(10, 1))),
              Code::kUnavailable, path_);
  other.Do("ROLLBACK");
  EXPECT_TRUE(AppendOne(store.get(), TestBatch(identity_, 10, TestSlots(10, 1))).ok());
  EXPECT_TRUE(CheckSqliteStore(path_).ok());
  EXPECT_TRUE(AppendOne(store.get(), TestBatch(identity_, 11, TestSlots(11, 1))).ok());
  EXPECT_EQ(*store->ReadSlots(identity_.uid, 0, 100), TestSlots(0, 12));
}

// --- Backup

TEST_F(SqliteStoreTest, ABackupIsTheStoreAtOneInstant) {
  const auto store = Open();
  const std::string slots = TestSlots(0, 30'000);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (std::uint64_t i = 0; i < 3000; ++i) {
      const std::string_view piece = std::string_view(slots).substr(i * 10 * 32, 10 * 32);
      EXPECT_TRUE(AppendOne(store.get(), TestBatch(identity_, i * 10, piece)).ok());
    }
    done = true;
  });
  int copies = 0;
  std::uint64_t last = 0;
  while (!done || copies < 3) {
    const std::string copy = JoinPath(directory_.path(), "copy" + std::to_string(copies++));
    double share = 0;
    const auto bytes = BackUpSqliteStore(path_, copy, [&share](double now) { share = now; });
    if (bytes.status().code() == Code::kDataLoss) continue;  // before the first schema
    ASSERT_TRUE(bytes.ok()) << bytes.status().ToString();
    EXPECT_EQ(share, 1.0);
    EXPECT_EQ(*bytes, Content(copy).size());
    ASSERT_TRUE(CheckSqliteStore(copy).ok());
    auto opened = OpenSqliteStore(copy, {});
    ASSERT_TRUE(opened.ok());
    const Result<Journal> journal = (*opened)->FindJournal(identity_.uid);
    const std::uint64_t kept = journal.ok() ? journal->state.slots : 0;
    EXPECT_EQ(kept % 10, 0u);
    EXPECT_GE(kept, last);
    last = kept;
    if (kept > 0) {
      EXPECT_TRUE(*(*opened)->ReadSlots(identity_.uid, 0, 30'000) == slots.substr(0, kept * 32));
    }
  }
  writer.join();
  EXPECT_GT(copies, 2);
}

TEST_F(SqliteStoreTest, ABackupReplacesNothingAndLeavesNothing) {
  Fill(100);
  const std::string copy = JoinPath(directory_.path(), "copy");
  Replace(copy, "someone's");
  ExpectFault(BackUpSqliteStore(path_, copy).status(), Code::kAlreadyExists, copy);
  EXPECT_EQ(Content(copy), "someone's");
  const std::string nowhere = JoinPath(directory_.path(), "none/copy");
  ExpectFault(BackUpSqliteStore(path_, nowhere).status(), Code::kNotFound, "none");
  const std::string other = JoinPath(directory_.path(), "other");
  const std::size_t before = ListDirectory(directory_.path())->size();
  EXPECT_TRUE(BackUpSqliteStore(path_, other).ok());
  EXPECT_TRUE(CheckSqliteStore(other).ok());
  EXPECT_EQ(ListDirectory(directory_.path())->size(), before + 1);
  // What is damaged is no backup.
  std::string damaged = Content(path_);
  const std::size_t frame = damaged.find("\x28\xb5\x2f\xfd");
  ASSERT_NE(frame, std::string::npos);
  damaged[frame + 20] = static_cast<char>(damaged[frame + 20] ^ 0x40);
  Replace(path_, damaged);
  ExpectFault(BackUpSqliteStore(path_, copy + "3").status(), Code::kDataLoss, path_);
  EXPECT_EQ(ListDirectory(directory_.path())->size(), before + 1);
  ExpectFault(BackUpSqliteStore(JoinPath(directory_.path(), "missing"), copy + "2").status(),
              Code::kNotFound, "missing");
  EXPECT_FALSE(std::filesystem::exists(copy + "2"));
}

// --- Damage

TEST_F(SqliteStoreTest, AChangedByteInAChunkIsDataLoss) {
  Fill(1000);
  const std::string sound = Content(path_);
  const std::string magic = "\x28\xb5\x2f\xfd";  // of a zstd frame
  const std::size_t chunk = sound.find(magic);
  ASSERT_NE(chunk, std::string::npos);
  for (const std::size_t offset : {0u, 5u, 20u, 400u, 2000u}) {
    std::string damaged = sound;
    damaged[chunk + offset] = static_cast<char>(damaged[chunk + offset] ^ 0x40);
    Replace(path_, damaged);
    ExpectFault(CheckSqliteStore(path_), Code::kDataLoss, ToHex(identity_.uid));
    const auto store = Open();
    const Status status = store->ReadSlots(identity_.uid, 990, 5).status();
    ExpectFault(status, Code::kDataLoss, path_);
    ExpectFault(status, Code::kDataLoss, ToHex(identity_.uid));
    EXPECT_EQ(store->FindJournal(identity_.uid)->state.slots, 1000u);  // what is sound can be read
  }
}

TEST_F(SqliteStoreTest, AMissingChunkIsDataLoss) {
  {
    const auto store = Open();
    for (std::uint64_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(AppendOne(store.get(), TestBatch(identity_, i, TestSlots(i, 1))).ok());
    }
  }
  Do(path_, "DELETE FROM chunk WHERE first_slot = 1");
  auto store = Open();
  ExpectFault(store->ReadSlots(identity_.uid, 0, 3).status(), Code::kDataLoss, "slot 1 ");
  ExpectFault(CheckSqliteStore(path_), Code::kDataLoss, "only slots up to 1 are there");
  EXPECT_EQ(*store->ReadSlots(identity_.uid, 2, 1), TestSlots(2, 1));
  store.reset();
  Do(path_, "DELETE FROM chunk WHERE first_slot = 2");
  ExpectFault(Open()->ReadSlots(identity_.uid, 2, 1).status(), Code::kDataLoss, "slot 2 ");
}

TEST_F(SqliteStoreTest, DamagedPagesAreDataLoss) {
  ASSERT_NE(Open(), nullptr);
  const std::size_t schema = Content(path_).size();
  Fill(20'000);
  const std::string sound = Content(path_);
  ASSERT_TRUE(CheckSqliteStore(path_).ok());
  {
    std::string damaged = sound;
    for (std::size_t i = 4096; i < damaged.size(); ++i) damaged[i] = '\xa5';
    Replace(path_, damaged);
    ExpectFault(CheckSqliteStore(path_), Code::kDataLoss, path_);
    ExpectFault(OpenFault(), Code::kDataLoss, path_);
  }
  {
    // The schema can still be read.
    std::string damaged = sound;
    for (std::size_t i = schema; i < damaged.size(); ++i) damaged[i] = '\xa5';
    Replace(path_, damaged);
    ExpectFault(CheckSqliteStore(path_), Code::kDataLoss, path_);
    const auto store = Open();
    ExpectFault(store->ReadSlots(identity_.uid, 0, 20'000).status(), Code::kDataLoss, path_);
    ExpectFault(AppendOne(store.get(), TestBatch(identity_, 0, TestSlots(0, 1))), Code::kDataLoss,
                path_);
  }
  Replace(path_, sound.substr(0, sound.size() / 2));
  ExpectFault(CheckSqliteStore(path_), Code::kDataLoss, path_);
}

// Whatever page is overwritten: an answer is right, or there is none.
TEST_F(SqliteStoreTest, DamageIsNeverTakenForRecords) {
  Fill(3000);
  const std::string sound = Content(path_);
  const std::string slots = TestSlots(0, 3000);
  std::mt19937_64 random(1);
  int lost = 0;
  for (std::size_t page = 0; page < sound.size() / 4096; ++page) {
    std::string damaged = sound;
    for (std::size_t i = 0; i < 2048; ++i) {
      damaged[page * 4096 + 2048 + i] = static_cast<char>(random());
    }
    Replace(path_, damaged);
    const Result<std::unique_ptr<Store>> store = OpenSqliteStore(path_, {});
    if (!store.ok()) {
      ++lost;
      continue;
    }
    const Result<std::string> read = (*store)->ReadSlots(identity_.uid, 0, 3000);
    if (!read.ok()) {
      ++lost;
      continue;
    }
    EXPECT_TRUE(slots.starts_with(*read)) << page;
  }
  EXPECT_GT(lost, 5);
}

// --- No room

// The n-th batch of a journal: writes over the last slots of the one before and goes on.
constexpr std::uint64_t kNew = 20;
constexpr std::uint64_t kOver = 3;

std::vector<Batch> Round(std::uint64_t n, std::string* data) {
  const std::uint64_t first = n * kNew - (n == 0 ? 0 : kOver);
  *data = TestSlots(first, (n + 1) * kNew - first, n);
  std::vector<Batch> batches;
  for (int i = 0; i < 3; ++i) {
    batches.push_back(TestBatch(TestIdentity("p", "r", i), first, *data));
    batches.back().heard = static_cast<std::int64_t>(n);
  }
  return batches;
}

// The number of rounds that the store has; -1 unless it has them wholly, and all journals alike.
std::int64_t RoundsIn(RecordStore* store) {
  std::optional<std::uint64_t> rounds;
  for (int i = 0; i < 3; ++i) {
    const JournalUid uid = TestIdentity("p", "r", i).uid;
    const Result<Journal> journal = store->FindJournal(uid);
    if (!journal.ok() && journal.status().code() != Code::kNotFound) return -1;
    const JournalState state = journal.ok() ? journal->state : JournalState();
    if (rounds.has_value() && *rounds * kNew != state.slots) return -1;
    rounds = state.slots / kNew;
    if (*rounds == 0) continue;
    if (state.heard != static_cast<std::int64_t>(*rounds) - 1) return -1;
    std::string wanted;
    for (std::uint64_t n = 0; n < *rounds; ++n) {
      std::string data;
      const std::uint64_t first = Round(n, &data)[0].first_slot;
      wanted.resize(first * kSlotBytes);
      wanted += data;
    }
    const Result<std::string> read = store->ReadSlots(uid, 0, ~std::uint64_t{0});
    if (!read.ok() || *read != wanted) return -1;
  }
  return static_cast<std::int64_t>(*rounds);
}

TEST_F(SqliteStoreTest, WhereThereIsNoRoomNothingIsHalfWritten) {
  std::int64_t rounds = 0;
  std::string data;
  ASSERT_NE(Open(), nullptr);
  const std::uint64_t empty = std::filesystem::file_size(path_);
  for (const std::uint64_t limit : {empty + 10'000, empty + 20'000, empty + 80'000}) {
    auto store = Open({.size_limit_bytes = limit});
    Status status;
    while (status.ok()) {
      status = store->Append(Round(static_cast<std::uint64_t>(rounds), &data));
      if (status.ok()) ++rounds;
      ASSERT_LT(rounds, 1000);
    }
    ExpectFault(status, Code::kResourceExhausted, path_);
    EXPECT_EQ(RoundsIn(store.get()), rounds);
    EXPECT_FALSE(store->Append(Round(static_cast<std::uint64_t>(rounds), &data)).ok());
    store.reset();
    EXPECT_LE(std::filesystem::file_size(path_), limit);
    EXPECT_EQ(RoundsIn(Open().get()), rounds);
  }
  const auto store = Open();
  EXPECT_TRUE(store->Append(Round(static_cast<std::uint64_t>(rounds), &data)).ok());
  EXPECT_EQ(RoundsIn(store.get()), rounds + 1);
  EXPECT_TRUE(CheckSqliteStore(path_).ok());
}

// In a child: limits of a process and ignored signals stay with it.
int WriteAgainstALimit(const std::string& path) {
  ::signal(SIGXFSZ, SIG_IGN);
  auto opened = OpenSqliteStore(path, {});
  if (!opened.ok()) return 1;
  RecordStore* const store = opened->get();
  std::uint64_t rounds = 0;
  std::string data;
  int refused = 0;
  for (rlim_t more = 0; more < 40'000; more += 509) {
    struct stat wal;
    if (::stat((path + "-wal").c_str(), &wal) != 0) return 2;
    rlimit limit;
    ::getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = static_cast<rlim_t>(wal.st_size) + more;
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 3;
    const Status status = store->Append(Round(rounds, &data));
    if (status.ok()) {
      ++rounds;
    } else {
      ++refused;
      if (status.code() != Code::kResourceExhausted) {
        std::fprintf(stderr, "%s\n", status.ToString().c_str());
        return 4;
      }
    }
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 5;
    if (RoundsIn(store) != static_cast<std::int64_t>(rounds)) return 6;
    if (!status.ok() && more % 2 == 0) {
      if (!store->Append(Round(rounds++, &data)).ok()) return 7;
    }
  }
  return refused > 10 && rounds > 10 ? 0 : 8;
}

TEST_F(SqliteStoreTest, AWriteThatFailsAtAnyPlaceLeavesNothing) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(WriteAgainstALimit(path_));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << WEXITSTATUS(status);
  EXPECT_GT(RoundsIn(Open().get()), 10);
  EXPECT_TRUE(CheckSqliteStore(path_).ok());
}

// --- Killed

// Says how many rounds are there after each one.
void AppendForEver(const std::string& path, int pipe) {
  auto store = OpenSqliteStore(path, {});
  if (!store.ok()) ::_exit(1);
  std::string data;
  const Result<Journal> journal = (*store)->FindJournal(TestIdentity("p", "r", 0).uid);
  for (std::uint64_t n = journal.ok() ? journal->state.slots / kNew : 0;; ++n) {
    if (!(*store)->Append(Round(n, &data)).ok()) ::_exit(2);
    const std::uint64_t done = n + 1;
    if (::write(pipe, &done, sizeof done) != sizeof done) ::_exit(3);
  }
}

TEST_F(SqliteStoreTest, WhatWasAcknowledgedSurvivesAKill) {
  std::uint64_t acknowledged = 0;
  for (const std::uint64_t rounds : {1u, 2u, 40u, 3u, 7u, 60u, 1u, 150u}) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(pipe[0]);
      AppendForEver(path_, pipe[1]);
    }
    ::close(pipe[1]);
    std::uint64_t heard = 0;
    const std::uint64_t before = acknowledged;
    while (::read(pipe[0], &heard, sizeof heard) == sizeof heard) {
      acknowledged = heard;
      if (acknowledged == before + rounds) ::kill(child, SIGKILL);
    }
    ::close(pipe[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    const std::int64_t there = RoundsIn(Open().get());
    ASSERT_GE(there, static_cast<std::int64_t>(acknowledged));
    ASSERT_LE(there, static_cast<std::int64_t>(acknowledged) + 1);  // done, but not yet said
    acknowledged = static_cast<std::uint64_t>(there);
  }
  EXPECT_TRUE(CheckSqliteStore(path_).ok());
}

}  // namespace
}  // namespace headway::store
