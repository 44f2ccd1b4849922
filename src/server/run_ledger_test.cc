#include "server/run_ledger.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/test_scratch_dir.h"
#include "journal/directory.h"
#include "journal/writer.h"
#include "store/sqlite/record_store.h"

namespace headway::server {
namespace {

class RunLedgerTest : public testing::Test {
 protected:
  RunLedgerTest() {
    auto opened = store::OpenSqliteStore(dir_.path() + "/records.sqlite", {});
    HEADWAY_CHECK(opened.ok());
    store_ = *std::move(opened);
    journal::WriterOptions options;
    options.clock = &clock_;
    options.header.project = "p";
    options.header.run = "r";
    options.header.run_uid = RandomUid<RunUid>();
    options.header.rank = 0;
    auto writer = journal::JournalWriter::Create(dir_.path(), options);
    HEADWAY_CHECK(writer.ok());
    writer_ = *std::move(writer);
    run_uid_ = options.header.run_uid;
  }

  void Record(RecordType type, std::int64_t a = 0) {
    clock_.Advance(kNanosPerSecond);
    writer_->Append(journal::MetaHigh(type, 0), writer_->Now(), a, 0);
  }

  // Sends what has been recorded.
  void Send(Liveness writer = Liveness::kAlive) {
    const Result<UniqueFd> fd = OpenForReading(writer_->path());
    std::string bytes(journal::SlotOffset(writer_->next_seq()), '\0');
    ASSERT_TRUE(ReadAt(fd->get(), bytes.data(), bytes.size(), 0, "").ok());
    const Result<journal::Header> header = journal::ReadHeader(writer_->path());
    ASSERT_TRUE(header.ok());
    const store::Batch batch = {.identity = {.uid = header->uid,
                                             .run_uid = run_uid_,
                                             .project = "p",
                                             .run = "r",
                                             .start = 0,
                                             .header = bytes.substr(0, journal::kHeaderBytes)},
                                .first_slot = sent_,
                                .slots = std::string_view(bytes).substr(journal::SlotOffset(sent_)),
                                .counters = bytes.substr(journal::kLiveOffset, 24),
                                .writer = writer,
                                .heard = clock_.Wall().ns};
    const Status status = store_->Append(std::span(&batch, 1));
    ASSERT_TRUE(status.ok()) << status.ToString();
    sent_ = writer_->next_seq();
  }

  Report Ask(RunLedger* run) {
    const Status status = run->Refresh();
    EXPECT_TRUE(status.ok()) << status.ToString();
    return run->ledger()->MakeReport({.as_of = {}, .window = {}, .now = clock_.Wall().ns});
  }

  ScratchDir dir_;
  FakeClock clock_;
  std::unique_ptr<store::RecordStore> store_;
  std::unique_ptr<journal::JournalWriter> writer_;
  RunUid run_uid_;
  std::uint64_t sent_ = 0;
};

TEST_F(RunLedgerTest, GrowsWithWhatComesIn) {
  RunLedger run(store_.get(), nullptr, {.clock = &clock_}, run_uid_);
  EXPECT_EQ(Ask(&run).state, RunState::kNotStarted);
  Record(RecordType::kJobStart);
  for (int step = 0; step < 5; ++step) Record(RecordType::kStepStart, step);
  Send();
  Report report = Ask(&run);
  EXPECT_EQ(report.state, RunState::kRunning);
  EXPECT_EQ(report.steps.last_step, 4);
  for (int step = 5; step < 9; ++step) Record(RecordType::kStepStart, step);
  EXPECT_EQ(Ask(&run).steps.last_step, 4) << "not sent yet";
  Send();
  EXPECT_EQ(Ask(&run).steps.last_step, 8);
  Record(RecordType::kJobEnd);
  Send(Liveness::kDead);
  report = Ask(&run);
  EXPECT_EQ(report.state, RunState::kCompleted);
  EXPECT_EQ(run.journals(), 1u);
}

TEST_F(RunLedgerTest, WhoIsSilentForLongHasGone) {
  RunLedger run(store_.get(), nullptr, {.clock = &clock_}, run_uid_);
  Record(RecordType::kJobStart);
  for (int step = 0; step < 5; ++step) Record(RecordType::kStepStart, step);
  Send();
  clock_.Advance(60 * kNanosPerSecond);
  EXPECT_EQ(Ask(&run).state, RunState::kRunning);
  clock_.Advance(kNanosPerSecond);
  EXPECT_EQ(Ask(&run).state, RunState::kInterrupted);
  // It was the network.
  Record(RecordType::kStepStart, 5);
  Send();
  const Report report = Ask(&run);
  EXPECT_EQ(report.state, RunState::kRunning);
  EXPECT_EQ(report.steps.last_step, 5);
  EXPECT_EQ(report.attempts.size(), 1u);
}

TEST_F(RunLedgerTest, AServerThatWasDownWaitsBeforeItJudges) {
  Record(RecordType::kJobStart);
  Record(RecordType::kStepStart, 0);
  Send();
  clock_.Advance(3600 * kNanosPerSecond);
  RunLedger run(store_.get(), nullptr, {.clock = &clock_, .since = clock_.Wall().ns}, run_uid_);
  EXPECT_EQ(Ask(&run).state, RunState::kRunning);
  clock_.Advance(61 * kNanosPerSecond);
  EXPECT_EQ(Ask(&run).state, RunState::kInterrupted);
}

TEST_F(RunLedgerTest, TheLastOnesAskedForAreKept) {
  RunLedgers ledgers(store_.get(), nullptr, &clock_);
  Record(RecordType::kJobStart);
  Send();
  for (int i = 0; i < 200; ++i) {
    const Result<RunLedgers::Use> use = ledgers.Take(RandomUid<RunUid>());
    ASSERT_TRUE(use.ok());
    EXPECT_EQ((*use)->journals(), 0u);
  }
  const Result<RunLedgers::Use> use = ledgers.Take(run_uid_);
  ASSERT_TRUE(use.ok());
  EXPECT_EQ((*use)->journals(), 1u);
}

}  // namespace
}  // namespace headway::server
