#include "server/run_ledger.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/test_scratch_dir.h"
#include "journal/directory.h"
#include "journal/writer.h"
#include "server/stored_series.h"
#include "store/sqlite/record_store.h"
#include "wire/report.h"

namespace headway::server {
namespace {

class RunLedgerTest : public testing::Test {
 protected:
  RunLedgerTest() {
    auto opened = store::OpenSqliteStore(dir_.path() + "/records.sqlite", {});
    HEADWAY_CHECK(opened.ok());
    store_ = *std::move(opened);
    run_uid_ = RandomUid<RunUid>();
    StartProcess();
  }

  // What is recorded from now on is another journal's.
  void StartProcess() {
    journal::WriterOptions options;
    options.clock = &clock_;
    options.header.project = "p";
    options.header.run = "r";
    options.header.run_uid = run_uid_;
    options.header.boot_id.bytes[0] = 1;
    options.header.rank = 0;
    auto writer = journal::JournalWriter::Create(dir_.path(), options);
    HEADWAY_CHECK(writer.ok());
    writer_ = *std::move(writer);
    sent_ = 0;
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

  static std::string Text(const Report& report) { return wire::ToProto(report).DebugString(); }

  ScratchDir dir_;
  FakeClock clock_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<journal::JournalWriter> writer_;
  RunUid run_uid_;
  std::uint64_t sent_ = 0;
};

TEST_F(RunLedgerTest, GrowsWithWhatComesIn) {
  RunLedger run({store_.get()}, {.clock = &clock_}, run_uid_);
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
  RunLedger run({store_.get()}, {.clock = &clock_}, run_uid_);
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
  RunLedger run({store_.get()}, {.clock = &clock_, .since = clock_.Wall().ns}, run_uid_);
  EXPECT_EQ(Ask(&run).state, RunState::kRunning);
  clock_.Advance(61 * kNanosPerSecond);
  EXPECT_EQ(Ask(&run).state, RunState::kInterrupted);
}

TEST_F(RunLedgerTest, GoesOnFromWhatWasSaved) {
  const LedgerStores stores = {store_.get(), nullptr, store_.get()};
  Record(RecordType::kJobStart);
  for (int step = 0; step < 1'000; ++step) Record(RecordType::kStepStart, step);
  Send();
  {
    RunLedger run(stores, {.clock = &clock_}, run_uid_);
    Ask(&run);
    EXPECT_TRUE(run.Save(2'000).ok());
    EXPECT_EQ(*store_->FindLedger(run_uid_), std::nullopt) << "not enough";
    ASSERT_TRUE(run.Save(1'000).ok());
    EXPECT_NE(*store_->FindLedger(run_uid_), std::nullopt);
  }
  for (int step = 900; step < 1'100; ++step) Record(RecordType::kStepStart, step);
  Send();
  RunLedger fresh({store_.get()}, {.clock = &clock_}, run_uid_);
  RunLedger run(stores, {.clock = &clock_}, run_uid_);
  EXPECT_EQ(Text(Ask(&run)), Text(Ask(&fresh)));
  EXPECT_EQ(run.records_read(), 200u);
  EXPECT_EQ(run.Attempts(), fresh.Attempts());
  // Also once more, when its process has ended, and again.
  Record(RecordType::kJobEnd);
  Send(Liveness::kDead);
  EXPECT_EQ(Text(Ask(&run)), Text(Ask(&fresh)));
  ASSERT_TRUE(run.Save(1).ok());
  run.Release();
  EXPECT_EQ(Text(Ask(&run)), Text(Ask(&fresh)));
  RunLedger again(stores, {.clock = &clock_}, run_uid_);
  EXPECT_EQ(Text(Ask(&again)), Text(Ask(&fresh)));
  EXPECT_EQ(again.records_read(), 0u);
  EXPECT_EQ(Ask(&again).state, RunState::kCompleted);
}

TEST_F(RunLedgerTest, WhatIsSavedAndIsNoGoodIsReadFromTheJournals) {
  const LedgerStores stores = {store_.get(), nullptr, store_.get()};
  Record(RecordType::kJobStart);
  for (int step = 0; step < 50'000; ++step) Record(RecordType::kStepStart, step);
  Send();
  RunLedger fresh({store_.get()}, {.clock = &clock_}, run_uid_);
  const Report report = Ask(&fresh);
  const auto save = [&] {
    store_->DropLedger(run_uid_).IgnoreError();
    RunLedger run({store_.get(), nullptr, store_.get()}, {.clock = &clock_}, run_uid_);
    Ask(&run);
    ASSERT_TRUE(run.Save(1).ok());
  };
  save();
  const std::string state = **store_->FindLedger(run_uid_);
  // Bytes that are changed, cut off, or of something else.
  std::mt19937_64 random(7);
  for (int i = 0; i < 200; ++i) {
    std::string bad = state;
    if (i % 2 == 0) bad[random() % bad.size()] ^= static_cast<char>(1 + random() % 255);
    if (i % 2 == 1) bad.resize(random() % bad.size());
    ASSERT_TRUE(store_->SaveLedger(run_uid_, bad, {}, {}).ok());
    RunLedger run(stores, {.clock = &clock_}, run_uid_);
    EXPECT_EQ(Text(Ask(&run)), Text(report));
  }
  // Pages that have gone, found when they are needed: the ledger is made anew.
  save();
  ASSERT_TRUE(store_->SaveLedger(run_uid_, **store_->FindLedger(run_uid_), {}, {}).ok());
  RunLedgers ledgers(stores, &clock_);
  int asked = 0;
  const auto steps = ledgers.Look(run_uid_, [&](RunLedger& run) -> Result<std::size_t> {
    ++asked;
    return run.ledger()->Steps().size();
  });
  ASSERT_TRUE(steps.ok()) << steps.status().ToString();
  EXPECT_EQ(*steps, 50'000u);
  EXPECT_EQ(asked, 2);
}

TEST_F(RunLedgerTest, SavingWithoutThePagesThatItNeedsIsAnError) {
  Record(RecordType::kJobStart);
  for (int step = 0; step < 50'000; ++step) Record(RecordType::kStepStart, step);
  Send();
  RunLedger run({store_.get(), nullptr, store_.get()}, {.clock = &clock_}, run_uid_);
  const Report report = Ask(&run);
  ASSERT_TRUE(run.Save(1).ok());
  run.Release();
  ASSERT_TRUE(store_->DropLedger(run_uid_).ok());
  // One that comes late needs the log.
  headway::Record late;
  late.type = RecordType::kStepStart;
  late.seq = 7;
  late.time_ns = *report.start;
  run.ledger()->Add(late);
  EXPECT_EQ(run.Save(0).code(), Code::kNotFound);
  // The ledger is made anew.
  EXPECT_EQ(Text(Ask(&run)), Text(report));
}

// A store whose disk is full for points.
class FullForPoints : public store::SeriesStore {
 public:
  explicit FullForPoints(store::SeriesStore* store) : store_(store) {}
  Result<std::uint64_t> PointPosition(const RunUid& run, std::string_view source) override {
    return store_->PointPosition(run, source);
  }
  Status AppendPoints(std::span<const store::PointBatch> batches) override {
    if (full) return {Code::kResourceExhausted, "the disk is full"};
    return store_->AppendPoints(batches);
  }
  std::vector<Result<store::LooseOutcome>> MergePoints(
      std::span<const store::LoosePoints> all) override {
    return store_->MergePoints(all);
  }
  Result<std::vector<store::SeriesRow>> ListSeries(const RunUid& run) override {
    return store_->ListSeries(run);
  }
  Result<store::SeriesPieces> ReadSeries(std::int64_t id) override {
    return store_->ReadSeries(id);
  }
  Result<store::Points> ReadPiece(std::int64_t id) override { return store_->ReadPiece(id); }

  bool full = true;

 private:
  store::SeriesStore* store_;
};

TEST_F(RunLedgerTest, MetricsThatTheStoreHadNoRoomForAreReadAgain) {
  FullForPoints points(store_.get());
  RunLedger run({store_.get(), &points, store_.get()}, {.clock = &clock_}, run_uid_);
  Record(RecordType::kJobStart);
  const std::uint32_t loss = writer_->Intern("loss");
  const auto log = [&](std::int64_t step) {
    writer_->Append(journal::NamedMetaHigh(static_cast<std::uint8_t>(RecordType::kMetric), loss),
                    writer_->Now(), step, std::bit_cast<std::int64_t>(0.5));
  };
  const auto kept = [&] {
    Ask(&run);
    const std::vector<store::SeriesRow> rows = *store_->ListSeries(run_uid_);
    return rows.empty() ? 0 : rows[0].summary.count;
  };
  log(1);
  Send();
  EXPECT_EQ(kept(), 0u);
  EXPECT_TRUE(run.Save(1).ok());
  EXPECT_EQ(*store_->FindLedger(run_uid_), std::nullopt) << "others would not read them again";
  points.full = false;
  log(2);
  Send();
  EXPECT_EQ(kept(), 0u) << "in their order";
  clock_.Advance(61 * kNanosPerSecond);
  EXPECT_EQ(kept(), 2u);
}

// A journal that began after the clock was stepped says what the time was before.
TEST_F(RunLedgerTest, PointsAreWhereTheirStepsAre) {
  const auto log = [&](std::int64_t step) {
    Record(RecordType::kStepStart, step);
    const std::uint32_t loss = writer_->Intern("loss");
    writer_->Append(journal::NamedMetaHigh(static_cast<std::uint8_t>(RecordType::kMetric), loss),
                    writer_->Now(), step, std::bit_cast<std::int64_t>(0.5));
  };
  const auto keep = [&] {
    return RunLedger({store_.get(), store_.get()}, {.clock = &clock_}, run_uid_);
  };
  RunLedger first = keep();
  Record(RecordType::kJobStart);
  for (int step = 0; step < 5'000; ++step) log(step);
  Send();
  const std::int64_t start = *Ask(&first).start;
  log(5'000);
  Send();
  Ask(&first);
  Record(RecordType::kJobEnd);
  Send(Liveness::kDead);
  clock_.StepWall(-3600 * kNanosPerSecond);
  StartProcess();
  Record(RecordType::kJobStart);
  for (int step = 5'001; step < 5'003; ++step) log(step);
  Send();
  RunLedger second = keep();  // another server
  for (RunLedger* const run : {&first, &second}) {
    ASSERT_EQ(*Ask(run).start, start - 3600 * kNanosPerSecond);
    const Result<StoredSeries> stored = StoredSeries::Of(store_.get(), run_uid_);
    ASSERT_TRUE(stored.ok());
    ASSERT_EQ(stored->rows().size(), 2u);
    std::map<std::int64_t, std::int64_t> times;  // by step
    for (const store::SeriesRow& row : stored->rows()) {
      const auto add = [&](const store::Points& points) {
        for (std::size_t i = 0; i < points.times_ns.size(); ++i) {
          EXPECT_GE(points.times_ns[i], row.summary.min_time_ns);
          EXPECT_LE(points.times_ns[i], row.summary.max_time_ns);
          EXPECT_TRUE(times.emplace(points.steps[i], points.times_ns[i]).second);
        }
      };
      const store::SeriesPieces pieces = *stored->Read(store_.get(), row);
      for (std::size_t i = 0; i < pieces.ids.size(); ++i) {
        const store::Points points = *stored->ReadPiece(store_.get(), row, pieces.ids[i]);
        EXPECT_EQ(pieces.summaries[i].min_time_ns, points.times_ns.front());
        add(points);
      }
      add(pieces.tail);
    }
    ASSERT_EQ(times.size(), 5'003u);
    for (const StepSummary& step : run->ledger()->Steps()) {
      EXPECT_EQ(times.at(step.step), step.start) << step.step;
    }
  }
}

TEST_F(RunLedgerTest, MemoryHasABound) {
  Record(RecordType::kJobStart);
  for (int step = 0; step < 60'000; ++step) Record(RecordType::kStepStart, step);
  Send();
  RunLedgers ledgers({store_.get(), nullptr, store_.get()}, &clock_, 400'000);
  const auto last_step = [&] {
    return ledgers.Look(run_uid_, [&](RunLedger& run) -> Result<std::int64_t> {
      return run.ledger()->MakeReport().steps.last_step.value_or(-1);
    });
  };
  EXPECT_EQ(*last_step(), 59'999);
  const std::size_t all = ledgers.bytes();
  EXPECT_GT(all, 600'000u);
  ledgers.Trim();
  EXPECT_LT(ledgers.bytes(), 400'000u);
  EXPECT_EQ(*last_step(), 59'999);
  EXPECT_LT(ledgers.bytes(), all / 2) << "a report needs few of the pages";
  // What does not fit at all goes.
  RunLedgers none({store_.get(), nullptr, store_.get()}, &clock_, 1);
  EXPECT_TRUE(none.Look(run_uid_, [](RunLedger&) -> Result<int> { return 1; }).ok());
  EXPECT_EQ(none.held(), 1u);
  none.Trim();
  EXPECT_EQ(none.held(), 0u);
  EXPECT_EQ(none.bytes(), 0u);
}

}  // namespace
}  // namespace headway::server
