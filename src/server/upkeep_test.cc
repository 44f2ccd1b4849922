#include "server/upkeep.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/test_scratch_dir.h"
#include "store/directory/blob_store.h"
#include "store/sqlite/record_store.h"

namespace headway::server {
namespace {

class UpkeepTest : public testing::Test {
 protected:
  UpkeepTest() { Restart(); }

  void Restart() {
    upkeep_.reset();
    ledgers_.reset();
    store_.reset();
    blobs_.reset();
    store_ = store::OpenSqliteStore(dir_.path() + "/records.sqlite", {}).value();
    blobs_ = store::OpenDirectoryBlobStore(dir_.path(), &clock_).value();
    ledgers_ = std::make_unique<RunLedgers>(LedgerStores{store_.get(), store_.get(), store_.get()},
                                            &clock_);
    upkeep_.emplace(store_.get(), blobs_.get(), ledgers_.get(), &clock_, nullptr);
  }
  // A run that has blobs and nothing else.
  store::RunRow RunWithBlobs(const std::string& name, int count) {
    store::RunRow run;
    run.uid = DeriveUid<RunUid>(name);
    run.project = "p";
    run.name = name;
    run.created = clock_.Wall().ns;
    EXPECT_TRUE(store_->CreateRun(run, {}).ok());
    for (int i = 0; i < count; ++i) {
      auto writer = *blobs_->Begin(run.uid, "profiles/" + std::to_string(i));
      EXPECT_TRUE(writer->Append(std::string(1000, 'x')).ok());
      EXPECT_TRUE(writer->Finish().ok());
    }
    EXPECT_TRUE(store_->CountBlobs(run.uid, *blobs_->BytesOf(run.uid)).ok());
    return *store_->FindRun(run.uid);
  }
  std::string Remove(const store::RunRow& run) {
    EXPECT_TRUE(store_->DeleteRun(run.uid, clock_.Wall().ns, {}).ok());
    return upkeep_->Purge(run, "admin").value();
  }
  std::string FilesOf(const RunUid& run) { return dir_.path() + "/blobs/" + ToHex(run); }

  ScratchDir dir_;
  FakeClock clock_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<store::BlobStore> blobs_;
  std::unique_ptr<RunLedgers> ledgers_;
  std::optional<Upkeep> upkeep_;
};

TEST_F(UpkeepTest, ARunIsRemovedWithItsBlobs) {
  const store::RunRow gone = RunWithBlobs("gone", 600);
  const store::RunRow stays = RunWithBlobs("stays", 3);
  EXPECT_GT(gone.stored_bytes, 600'000);
  const std::string operation = Remove(gone);
  ASSERT_TRUE(upkeep_->Pass().ok());
  const store::OperationRow done = *store_->FindOperation(operation);
  EXPECT_NE(done.finished, 0);
  EXPECT_EQ(done.error, Code::kOk) << done.message;
  EXPECT_EQ(done.progress, 1);
  EXPECT_FALSE(std::filesystem::exists(FilesOf(gone.uid)));
  EXPECT_TRUE(store_->FindRun(gone.uid)->purged);
  EXPECT_EQ(store_->FindRun(gone.uid)->stored_bytes, 0);
  EXPECT_EQ(store_->ListProjects()->at(0).stored_bytes, stays.stored_bytes);
  EXPECT_EQ(blobs_->List(stays.uid, "", "", 10)->blobs.size(), 3u);
}

TEST_F(UpkeepTest, BlobsThatAreLeftAreRemovedAfterARestart) {
  const store::RunRow gone = RunWithBlobs("gone", 600);
  const std::string operation = Remove(gone);
  // As a server that was killed in the middle has left it.
  EXPECT_EQ(*store_->PurgeRun(gone.uid), 0);
  EXPECT_GT(*blobs_->DeleteRun(gone.uid), 0u);
  Restart();
  EXPECT_EQ(store_->FindOperation(operation)->finished, 0);
  ASSERT_TRUE(upkeep_->Pass().ok());
  EXPECT_EQ(store_->FindOperation(operation)->error, Code::kOk);
  EXPECT_NE(store_->FindOperation(operation)->finished, 0);
  EXPECT_FALSE(std::filesystem::exists(FilesOf(gone.uid)));
  EXPECT_EQ(store_->ListProjects()->at(0).stored_bytes, 0);
}

TEST_F(UpkeepTest, BlobsThatCantBeRemovedAreTriedAgainAndHoldUpNothing) {
  const store::RunRow stuck = RunWithBlobs("stuck", 3);
  const store::RunRow gone = RunWithBlobs("gone", 3);
  std::filesystem::rename(FilesOf(stuck.uid), dir_.path() + "/aside");
  std::filesystem::create_directory_symlink(dir_.path() + "/aside", FilesOf(stuck.uid));
  const std::string first = Remove(stuck);
  clock_.Advance(1);
  const std::string second = Remove(gone);
  const Status status = upkeep_->Pass();
  EXPECT_EQ(status.code(), Code::kPermissionDenied);
  EXPECT_NE(status.message().find(FilesOf(stuck.uid)), std::string::npos) << status.ToString();
  EXPECT_EQ(store_->FindOperation(first)->finished, 0);
  EXPECT_NE(store_->FindOperation(second)->finished, 0);
  EXPECT_EQ(ListDirectory(dir_.path() + "/aside")->size(), 3u);
  EXPECT_EQ(store_->ListProjects()->at(0).stored_bytes, stuck.stored_bytes);
  std::filesystem::remove(FilesOf(stuck.uid));
  std::filesystem::rename(dir_.path() + "/aside", FilesOf(stuck.uid));
  EXPECT_TRUE(upkeep_->Pass().ok());
  EXPECT_EQ(store_->FindOperation(first)->error, Code::kOk);
  EXPECT_NE(store_->FindOperation(first)->finished, 0);
  EXPECT_FALSE(std::filesystem::exists(FilesOf(stuck.uid)));
  EXPECT_EQ(store_->ListProjects()->at(0).stored_bytes, 0);
}

}  // namespace
}  // namespace headway::server
