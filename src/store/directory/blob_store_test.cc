#include "store/directory/blob_store.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>

#include "base/files.h"
#include "base/test_scratch_dir.h"
#include "store/blob_store_conformance.h"
#include "store/directory/blob_file.h"

namespace headway::store {

class DirectoryPlace {
 public:
  std::unique_ptr<BlobStore> Open(const Clock* clock) {
    Result<std::unique_ptr<BlobStore>> store = OpenDirectoryBlobStore(directory_.path(), clock);
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    return store.ok() ? *std::move(store) : nullptr;
  }

 private:
  ScratchDir directory_;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Directory, BlobStoreConformance, DirectoryPlace);

namespace {

namespace fs = std::filesystem;

std::string Content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void Replace(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

mode_t ModeOf(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

class DirectoryBlobsTest : public testing::Test {
 protected:
  std::unique_ptr<BlobStore> Open() {
    Result<std::unique_ptr<BlobStore>> store = OpenDirectoryBlobStore(directory_.path(), &clock_);
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    return store.ok() ? *std::move(store) : nullptr;
  }
  Status OpenFault() { return OpenDirectoryBlobStore(directory_.path(), &clock_).status(); }
  std::string In(const std::string& name) { return JoinPath(directory_.path(), name); }
  std::string FileOf(const RunUid& run, const std::string& name) {
    return In("blobs/" + ToHex(run) + "/" + MakePathComponent(name));
  }
  static void ExpectFault(const Status& status, Code code, const std::string& part) {
    EXPECT_EQ(status.code(), code) << status.ToString();
    EXPECT_NE(status.message().find(part), std::string::npos) << status.ToString();
  }

  FakeClock clock_;
  ScratchDir directory_;
  RunUid run_ = TestRun(0);
};

// --- Files

TEST_F(DirectoryBlobsTest, TheFilesAreTheOwnersAlone) {
  const mode_t mask = ::umask(0);
  const auto store = Open();
  ASSERT_TRUE(PutBlob(store.get(), run_, "a/b", "text").ok());
  const auto writer = *store->Begin(run_, "c");
  ASSERT_TRUE(writer->Append(TestBytes(1 << 20)).ok());
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(In("blobs"))) {
    EXPECT_EQ(ModeOf(entry.path()), entry.is_directory() ? 0700u : 0600u) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 5);  // the lock, two directories and a file in each
  EXPECT_EQ(ModeOf(In("blobs")), 0700u);
  ::umask(mask);
}

TEST_F(DirectoryBlobsTest, OnlyOneServerHasIt) {
  auto store = Open();
  ExpectFault(OpenFault(), Code::kFailedPrecondition, "blobs/.lock");
  EXPECT_TRUE(CheckDirectoryBlobs(directory_.path()).ok());
  store.reset();
  EXPECT_NE(Open(), nullptr);
}

TEST_F(DirectoryBlobsTest, WhatAKilledServerHadNotFinishedIsRemovedAndNothingElse) {
  Open();
  const std::string unfinished = In("blobs/unfinished/");
  const std::string hex = "0123456789abcdef0123456789abcdef";
  const std::vector<std::string> others = {"x.part", hex, hex + "0.part", hex + ".Part",
                                           "0123456789ABCDEF0123456789abcdef.part"};
  for (const std::string& name : others) Replace(unfinished + name, "someone's");
  Replace(unfinished + hex + ".part", "half a blob");
  const std::string target = In("target");
  Replace(target, "precious");
  fs::create_symlink(target, unfinished + "1" + hex.substr(1) + ".part");
  fs::create_directory(unfinished + "2" + hex.substr(1) + ".part");
  Open();
  std::vector<std::string> left = *ListDirectory(unfinished);
  std::vector<std::string> expected = others;
  expected.push_back("2" + hex.substr(1) + ".part");
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(left, expected);
  EXPECT_EQ(Content(target), "precious");
}

TEST_F(DirectoryBlobsTest, NoLinkIsFollowed) {
  const std::string target = In("target");
  fs::create_directory(target);
  fs::create_directory_symlink(target, In("blobs"));
  ExpectFault(OpenFault(), Code::kPermissionDenied, In("blobs"));
  fs::remove(In("blobs"));
  fs::create_directory(In("blobs"));
  for (const char* const name : {".lock", "unfinished"}) {
    fs::create_symlink(target, In("blobs/") + name);
    ExpectFault(OpenFault(), Code::kPermissionDenied, name);
    fs::remove(In("blobs/") + name);
  }
  const auto store = Open();
  // In the place of a run.
  fs::create_directory_symlink(target, In("blobs/" + ToHex(run_)));
  ExpectFault(PutBlob(store.get(), run_, "a", "b").status(), Code::kPermissionDenied, ToHex(run_));
  ExpectFault(store->Stat(run_, "a").status(), Code::kPermissionDenied, ToHex(run_));
  ExpectFault(store->Delete(run_, "a"), Code::kPermissionDenied, ToHex(run_));
  ExpectFault(store->DeleteRun(run_).status(), Code::kPermissionDenied, ToHex(run_));
  ExpectFault(store->List(run_, "", "", 1).status(), Code::kPermissionDenied, ToHex(run_));
  ExpectFault(store->Check().status(), Code::kPermissionDenied, ToHex(run_));
  fs::remove(In("blobs/" + ToHex(run_)));
  // In that of a blob.
  ASSERT_TRUE(PutBlob(store.get(), run_, "a", "text").ok());
  const std::string elsewhere = JoinPath(target, "elsewhere");
  fs::rename(FileOf(run_, "a"), elsewhere);
  fs::create_symlink(elsewhere, FileOf(run_, "a"));
  ExpectFault(store->Open(run_, "a").status(), Code::kDataLoss, FileOf(run_, "a"));
  EXPECT_EQ(store->Check()->damaged, 1u);
  EXPECT_EQ(store->List(run_, "", "", 5)->damaged.size(), 1u);
  const std::string before = Content(elsewhere);
  ASSERT_TRUE(PutBlob(store.get(), run_, "a", "new").ok());
  EXPECT_EQ(*store->Read(run_, "a", 0, 9), "new");
  EXPECT_EQ(Content(elsewhere), before);
  fs::remove(FileOf(run_, "a"));
  fs::create_symlink(elsewhere, FileOf(run_, "a"));
  EXPECT_EQ(*store->DeleteRun(run_), 0u);
  EXPECT_EQ(Content(elsewhere), before);
  // Nor does anything that is no file hang it.
  ASSERT_TRUE(PutBlob(store.get(), run_, "a", "text").ok());
  fs::remove(FileOf(run_, "a"));
  ASSERT_EQ(::mkfifo(FileOf(run_, "a").c_str(), 0600), 0);
  ExpectFault(store->Open(run_, "a").status(), Code::kDataLoss, "not a regular file");
  EXPECT_TRUE(store->Delete(run_, "a").ok());
}

TEST_F(DirectoryBlobsTest, KeepsNothingInADirectoryThatIsNotThereAnyMore) {
  const auto store = Open();
  fs::rename(In("blobs"), In("aside"));
  ExpectFault(PutBlob(store.get(), run_, "a", "b").status(), Code::kUnavailable,
              "was removed or replaced");
  fs::rename(In("aside"), In("blobs"));
  EXPECT_TRUE(PutBlob(store.get(), run_, "a", "b").ok());
}

TEST_F(DirectoryBlobsTest, WhatSomeoneElsePutThereStays) {
  const auto store = Open();
  ASSERT_TRUE(PutBlob(store.get(), run_, "a", "b").ok());
  fs::create_directory(FileOf(run_, "notes"));
  Replace(In("blobs/" + ToHex(run_) + "/.hidden"), "x");
  Replace(In("blobs/README"), "x");
  EXPECT_EQ(*store->DeleteRun(run_), 0u);
  EXPECT_EQ(*ListDirectory(In("blobs/" + ToHex(run_))),
            (std::vector<std::string>{".hidden", "notes"}));
  EXPECT_EQ(store->Check()->damaged, 0u);
}

// --- The format

TEST_F(DirectoryBlobsTest, ReadsWhatTheFirstVersionWrote) {
  const RunUid run = *ParseUid<RunUid>("00112233445566778899aabbccddeeff");
  const std::string golden = Content("tests/golden/blob_v1");
  ASSERT_FALSE(golden.empty());
  const auto store = Open();
  fs::create_directory(In("blobs/" + ToHex(run)));
  Replace(FileOf(run, "profiles/host 0.xplane.pb"), golden);
  const Result<BlobInfo> info = store->Stat(run, "profiles/host 0.xplane.pb");
  ASSERT_TRUE(info.ok()) << info.status().ToString();
  EXPECT_EQ(info->bytes, 9u);
  EXPECT_EQ(info->crc32c, 0xe3069283u);
  EXPECT_EQ(info->time, 1'700'000'000'000'000'000);
  EXPECT_EQ(*store->Read(run, info->name, 0, 100), "123456789");
  // And writes the same.
  ASSERT_TRUE(PutBlob(store.get(), run, info->name, "123456789").ok());
  EXPECT_TRUE(Content(FileOf(run, info->name)) == golden);
}

// --- Damage

TEST_F(DirectoryBlobsTest, EveryChangedBitAndEveryCutIsFound) {
  const auto store = Open();
  const std::string bytes = "some bytes of a blob";
  ASSERT_TRUE(PutBlob(store.get(), run_, "sound", "x").ok());
  ASSERT_TRUE(PutBlob(store.get(), run_, "b", bytes).ok());
  const std::string path = FileOf(run_, "b");
  const std::string sound = Content(path);
  const auto expect_found = [&](const std::string& what) {
    const Result<std::string> read = store->Read(run_, "b", 0, 1);
    EXPECT_EQ(read.status().code(), Code::kDataLoss) << what;
    EXPECT_NE(read.status().message().find(path + " is damaged"), std::string::npos)
        << read.status().ToString();
    const BlobCheck check = *store->Check();
    EXPECT_EQ(check.damaged, 1u) << what;
    EXPECT_EQ(check.problems.at(0).code(), Code::kDataLoss);
    EXPECT_EQ(check.blobs, 1u);
  };
  for (std::size_t bit = 0; bit < sound.size() * 8; ++bit) {
    std::string damaged = sound;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    Replace(path, damaged);
    expect_found("bit " + std::to_string(bit));
  }
  for (std::size_t size = 0; size < sound.size(); ++size) {
    Replace(path, sound.substr(0, size));
    expect_found("cut at " + std::to_string(size));
  }
  Replace(path, sound + "x");
  expect_found("longer");
  Replace(path, std::string(sound.size(), '\0'));
  expect_found("zeros");
  Replace(path, sound);
  EXPECT_EQ(*store->Read(run_, "b", 0, 100), bytes);
}

TEST_F(DirectoryBlobsTest, DamageIsNamedWithItsPlace) {
  const auto store = Open();
  const std::string bytes = TestBytes(1'000'000);
  ASSERT_TRUE(PutBlob(store.get(), run_, "b", bytes).ok());
  const std::string path = FileOf(run_, "b");
  std::string damaged = Content(path);
  damaged[600'000] = static_cast<char>(damaged[600'000] ^ 1);
  Replace(path, damaged);
  ExpectFault(store->Read(run_, "b", 0, ~0ull).status(), Code::kDataLoss,
              path + " is damaged: bytes 524288 to 786432");
  ExpectFault(store->Check()->problems.at(0), Code::kDataLoss, "bytes 524288 to 786432");
  // The rest of it is still read.
  EXPECT_TRUE(*store->Read(run_, "b", 0, 524'288) == bytes.substr(0, 524'288));
  EXPECT_TRUE(*store->Read(run_, "b", 800'000, 9) == bytes.substr(800'000, 9));
  EXPECT_TRUE(store->Stat(run_, "b").ok());
  // One that is damaged hides no other.
  ASSERT_TRUE(PutBlob(store.get(), run_, "a", "1").ok());
  ASSERT_TRUE(PutBlob(store.get(), run_, "c", "2").ok());
  Replace(path, "x");
  const BlobPage page = *store->List(run_, "", "", 10);
  EXPECT_EQ(page.blobs.size(), 2u);
  ExpectFault(page.damaged.at(0), Code::kDataLoss, path);
  EXPECT_EQ(store->List(run_, "", "", 2)->next, "b");
  // A file of another name or run is not what it is called.
  fs::copy_file(FileOf(run_, "a"), FileOf(run_, "d"));
  ExpectFault(store->Stat(run_, "d").status(), Code::kDataLoss, "holds the blob \"a\"");
  EXPECT_TRUE(store->Delete(run_, "d").ok());
  ASSERT_TRUE(PutBlob(store.get(), TestRun(1), "x", "").ok());
  fs::copy_file(FileOf(run_, "a"), FileOf(TestRun(1), "a"));
  ExpectFault(store->Stat(TestRun(1), "a").status(), Code::kDataLoss, ToHex(run_));
  EXPECT_EQ(store->Check()->damaged, 2u);
  EXPECT_EQ(CheckDirectoryBlobs(directory_.path())->damaged, 2u);
  // It goes, and can be written anew.
  EXPECT_TRUE(store->Delete(run_, "b").ok());
  EXPECT_TRUE(store->Delete(TestRun(1), "a").ok());
  EXPECT_EQ(store->Check()->damaged, 0u);
}

// --- Backup

TEST_F(DirectoryBlobsTest, ABackupHasEveryBlobWhileOthersComeAndGo) {
  const auto store = Open();
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(PutBlob(store.get(), TestRun(i % 3), "kept/" + std::to_string(i),
                        TestBytes(static_cast<std::uint64_t>(i) * 10'000))
                    .ok());
  }
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (std::uint64_t i = 0; !done; ++i) {
      const RunUid run = TestRun(static_cast<int>(i % 5));
      EXPECT_TRUE(PutBlob(store.get(), run, "changes", TestBytes(300'000, i)).ok());
      if (i % 3 == 0) {
        EXPECT_TRUE(store->Delete(run, "changes").ok());
      }
      if (i % 7 == 0) {
        EXPECT_TRUE(store->DeleteRun(TestRun(4)).ok());
      }
    }
  });
  for (int copy = 0; copy < 5; ++copy) {
    const ScratchDir place(copy % 2 == 0 || !fs::exists("/dev/shm") ? "" : "/dev/shm");
    const std::string target = JoinPath(place.path(), "blobs");
    double share = 0;
    const Result<BlobCopy> copied =
        BackUpDirectoryBlobs(directory_.path(), target, [&share](double now) { share = now; });
    ASSERT_TRUE(copied.ok()) << copied.status().ToString();
    EXPECT_EQ(share, 1.0);
    EXPECT_GE(copied->blobs, 40u);
    EXPECT_EQ(ListDirectory(place.path())->size(), 1u);
    const Result<BlobCheck> check = CheckDirectoryBlobs(place.path());
    ASSERT_TRUE(check.ok()) << check.status().ToString();
    EXPECT_EQ(check->blobs, copied->blobs);
    EXPECT_EQ(check->bytes, copied->bytes);
    EXPECT_EQ(check->damaged, 0u);
    // It can be opened in the place of the other.
    const auto opened = OpenDirectoryBlobStore(place.path(), &clock_);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    for (int i = 0; i < 40; ++i) {
      EXPECT_TRUE(*(*opened)->Read(TestRun(i % 3), "kept/" + std::to_string(i), 0, ~0ull) ==
                  TestBytes(static_cast<std::uint64_t>(i) * 10'000));
    }
    // What becomes of either is nothing to the other.
    ASSERT_TRUE(PutBlob(opened->get(), TestRun(0), "kept/0", "of the copy").ok());
    EXPECT_EQ(*store->Read(TestRun(0), "kept/0", 0, 100), "");
  }
  done = true;
  writer.join();
  EXPECT_EQ(store->Check()->damaged, 0u);
}

TEST_F(DirectoryBlobsTest, ABackupReplacesNothingAndLeavesNothing) {
  const ScratchDir place;
  const std::string target = JoinPath(place.path(), "copy");
  EXPECT_EQ(BackUpDirectoryBlobs(directory_.path(), target)->blobs, 0u);  // nothing is there yet
  const auto store = Open();
  EXPECT_EQ(BackUpDirectoryBlobs(directory_.path(), target)->blobs, 0u);
  EXPECT_FALSE(fs::exists(target));
  ASSERT_TRUE(PutBlob(store.get(), run_, "a", "1").ok());
  ASSERT_TRUE(PutBlob(store.get(), run_, "b", TestBytes(700'000)).ok());
  Replace(target, "someone's");
  ExpectFault(BackUpDirectoryBlobs(directory_.path(), target).status(), Code::kAlreadyExists,
              target);
  EXPECT_EQ(Content(target), "someone's");
  fs::remove(target);
  ExpectFault(BackUpDirectoryBlobs(directory_.path(), JoinPath(place.path(), "none/x")).status(),
              Code::kNotFound, "none");
  std::string damaged = Content(FileOf(run_, "b"));
  damaged[100'000] = static_cast<char>(damaged[100'000] ^ 1);
  Replace(FileOf(run_, "b"), damaged);
  ExpectFault(BackUpDirectoryBlobs(directory_.path(), target).status(), Code::kDataLoss,
              FileOf(run_, "b"));
  EXPECT_TRUE(ListDirectory(place.path())->empty());
  ASSERT_TRUE(store->Delete(run_, "b").ok());
  EXPECT_EQ(BackUpDirectoryBlobs(directory_.path(), target)->blobs, 1u);
  ExpectFault(BackUpDirectoryBlobs(directory_.path(), target).status(), Code::kAlreadyExists,
              target);
}

// --- A full disk

// In a child, for mounting may need a namespace of its own. Exit code 77: can't mount.
int WriteToAFullDisk(const std::string& place, const Clock* clock) {
  if (::mount("none", place.c_str(), "tmpfs", 0, "size=2m,mode=700") != 0 &&
      (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
       ::mount("none", place.c_str(), "tmpfs", 0, "size=2m,mode=700") != 0)) {
    return 77;
  }
  auto opened = OpenDirectoryBlobStore(place, clock);
  if (!opened.ok()) return 1;
  BlobStore* const store = opened->get();
  const std::string bytes = TestBytes(700'000);
  if (!PutBlob(store, TestRun(0), "b", bytes).ok()) return 2;
  // It fails at once where it is told how much will come, else when there is no more room.
  if (store->Begin(TestRun(0), "c", 3'000'000).status().code() != Code::kResourceExhausted) {
    return 3;
  }
  const std::string many = TestBytes(3'000'000);
  for (const char* const name : {"b", "c"}) {
    const Status status = PutBlob(store, TestRun(0), name, many, 100'000).status();
    if (status.code() != Code::kResourceExhausted) {
      std::fprintf(stderr, "%s\n", status.ToString().c_str());
      return 4;
    }
  }
  // The last page for the trailer, too.
  std::uint64_t size = 1'300'000;
  for (int i = 0; i < 600; ++i, size += 64) {
    const Status status = PutBlob(store, TestRun(0), "d", TestBytes(size)).status();
    if (!status.ok() && status.code() != Code::kResourceExhausted) return 5;
    if (status.ok() && !store->Delete(TestRun(0), "d").ok()) return 6;
  }
  const auto page = store->List(TestRun(0), "", "", 10);
  if (!page.ok() || page->blobs.size() != 1 || page->next != "") return 7;
  const auto read = store->Read(TestRun(0), "b", 0, ~0ull);
  if (!read.ok() || *read != bytes) return 8;
  if (!ListDirectory(JoinPath(place, "blobs/unfinished"))->empty()) return 9;
  const Result<BlobCopy> copy = BackUpDirectoryBlobs(place, JoinPath(place, "copy"));
  if (!copy.ok() || copy->linked != 1) return 10;  // which takes no room
  if (!PutBlob(store, TestRun(0), "e", TestBytes(500'000)).ok()) return 11;
  if (store->Check()->damaged != 0 || store->Check()->blobs != 2) return 12;
  opened->reset();
  ::umount2(place.c_str(), MNT_DETACH);
  return 0;
}

TEST_F(DirectoryBlobsTest, AFullDiskLeavesNothingHalf) {
  const std::string place = In("place");
  fs::create_directory(place);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(WriteToAFullDisk(place, &clock_));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this user can't mount a tmpfs";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// --- Killed

// The n-th round puts blob n % 4; its content tells which round it was.
std::string RoundBytes(std::uint64_t round) {
  return std::to_string(round) + ":" + TestBytes(round * 7'919 % 900'000, round);
}

void PutForEver(const std::string& directory, std::uint64_t round, int pipe) {
  const SystemClock clock;
  const auto store = OpenDirectoryBlobStore(directory, &clock);
  if (!store.ok()) ::_exit(1);
  for (;; ++round) {
    const std::string name = "b" + std::to_string(round % 4);
    if (!PutBlob(store->get(), TestRun(0), name, RoundBytes(round), 50'000).ok()) ::_exit(2);
    if (::write(pipe, &round, sizeof round) != sizeof round) ::_exit(3);
  }
}

TEST_F(DirectoryBlobsTest, AKillLeavesNoHalfAndLosesNothingThatWasAcknowledged) {
  std::mt19937_64 random(5);
  std::uint64_t next = 0;  // nothing from here on was put
  for (int kill = 0; kill < 30; ++kill) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(pipe[0]);
      PutForEver(directory_.path(), next, pipe[1]);
    }
    ::close(pipe[1]);
    std::uint64_t heard = 0;
    // Once some are there, at any moment.
    for (std::uint64_t i = 1 + random() % 5; i > 0; --i) {
      ASSERT_EQ(::read(pipe[0], &heard, sizeof heard), static_cast<ssize_t>(sizeof heard));
      next = heard + 1;
    }
    const timespec pause = {0, static_cast<long>(random() % 5'000'000)};
    ::nanosleep(&pause, nullptr);
    ::kill(child, SIGKILL);
    while (::read(pipe[0], &heard, sizeof heard) == sizeof heard) next = heard + 1;
    ::close(pipe[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    const auto store = Open();
    EXPECT_TRUE(ListDirectory(In("blobs/unfinished"))->empty());
    bool one_more = false;
    for (std::uint64_t i = 0; i < 4; ++i) {
      const std::string name = "b" + std::to_string(i);
      const Result<std::string> bytes = store->Read(TestRun(0), name, 0, ~0ull);
      if (!bytes.ok() && bytes.status().code() == Code::kNotFound) {
        // None of its rounds was acknowledged.
        EXPECT_LE(next, i) << name;
        continue;
      }
      ASSERT_TRUE(bytes.ok()) << bytes.status().ToString();
      const std::uint64_t round = std::stoull(*bytes);
      EXPECT_TRUE(*bytes == RoundBytes(round));
      EXPECT_EQ(round % 4, i);
      EXPECT_LE(round, next);
      EXPECT_GT(round + 4, next - 1);
      one_more = one_more || round == next;
    }
    if (one_more) ++next;  // it was done, but not yet said
    const BlobCheck check = *store->Check();
    EXPECT_EQ(check.damaged, 0u);
    EXPECT_EQ(check.blobs, std::min<std::uint64_t>(next, 4));
  }
  EXPECT_GT(next, 30u);
}

}  // namespace
}  // namespace headway::store
