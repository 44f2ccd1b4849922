#include "runs/follower.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <random>
#include <vector>

#include "base/clock.h"
#include "base/json_writer.h"
#include "journal/directory.h"
#include "journal/test_files.h"
#include "journal/writer.h"
#include "ledger/lead_place.h"

namespace headway::runs {
namespace {

constexpr std::int64_t kSecond = kNanosPerSecond;

class FollowerTest : public ::testing::Test {
 protected:
  std::unique_ptr<journal::JournalWriter> Begin(const RunUid& run, int number, int rank = 0) {
    journal::WriterOptions options;
    options.clock = &clock_;
    options.header.run_uid = run;
    options.header.project = "default";
    options.header.run = "r";
    options.header.rank = rank;
    options.header.attempt_key = "job#" + std::to_string(number);
    options.header.attempt_index = number;
    EXPECT_TRUE(journal::MakeRunDirectory(dir_.path(), "default", "r").ok());
    auto writer =
        journal::JournalWriter::Create(journal::RunDirectory(dir_.path(), "default", "r"), options);
    EXPECT_TRUE(writer.ok()) << writer.status().ToString();
    Record(writer->get(), RecordType::kJobStart, 0);
    return std::move(*writer);
  }

  void Record(journal::JournalWriter* writer, RecordType type, std::int64_t a) {
    writer->Append(journal::MetaHigh(type, 0), writer->Now(), a, 0);
  }

  void Steps(journal::JournalWriter* writer, int first, int count) {
    for (int i = 0; i < count; ++i) {
      Record(writer, RecordType::kStepStart, first + i);
      clock_.Advance(kSecond);
    }
    Record(writer, RecordType::kHeartbeat, clock_.Wall().ns);
  }

  /// What is followed is what a reader finds that begins anew.
  void ExpectTheSame() {
    ASSERT_TRUE(follower_.Refresh().ok());
    const auto run = Find({dir_.path()}, "default", "r");
    ASSERT_TRUE(run.ok());
    auto loaded = Load(*run);
    ASSERT_TRUE(loaded.ok());
    ledger::Query query;
    query.now = clock_.Wall().ns;
    EXPECT_EQ(ToJson(follower_.ledger()->MakeReport(query), {}),
              ToJson(loaded->ledger.MakeReport(query), {}));
    EXPECT_EQ(follower_.run().uid, run->uid);
    EXPECT_EQ(follower_.live(), loaded->live);
  }

  ScratchDir dir_;
  FakeClock clock_;
  Follower follower_{{dir_.path()}, "default", "r"};
};

TEST_F(FollowerTest, ReadsOnWhereItWas) {
  EXPECT_EQ(follower_.Refresh().code(), Code::kNotFound);
  const auto uid = RandomUid<RunUid>();
  auto first = Begin(uid, 0);
  ExpectTheSame();
  for (int i = 0; i < 3; ++i) {
    Steps(first.get(), 10 * i, 10);
    ExpectTheSame();
  }
  ExpectTheSame();
  first->Finish();
  first.reset();
  clock_.Advance(5 * kSecond);
  ExpectTheSame();
  auto second = Begin(uid, 1);
  Steps(second.get(), 20, 5000);  // more than a batch
  ExpectTheSame();
  second->Finish();
  second.reset();
  ExpectTheSame();
  EXPECT_EQ(follower_.starts(), 1);
  EXPECT_EQ(follower_.ledger()->MakeReport().attempts.size(), 2U);
}

TEST_F(FollowerTest, AnotherRunThatTakesTheNameIsFollowedInItsPlace) {
  auto first = Begin(RandomUid<RunUid>(), 0);
  Steps(first.get(), 0, 3);
  first->Finish();
  first.reset();
  ExpectTheSame();
  clock_.Advance(60 * kSecond);
  auto second = Begin(RandomUid<RunUid>(), 0);
  Steps(second.get(), 0, 1);
  ExpectTheSame();
  EXPECT_EQ(follower_.starts(), 2);
  EXPECT_EQ(follower_.ledger()->MakeReport().attempts.size(), 1U);
}

TEST_F(FollowerTest, AClockThatIsSteppedChangesWhatWasRead) {
  const auto uid = RandomUid<RunUid>();
  auto first = Begin(uid, 0);
  Steps(first.get(), 0, 3);
  first->Finish();
  first.reset();
  ExpectTheSame();
  clock_.Advance(5 * kSecond);
  clock_.StepWall(-3600 * kSecond);
  auto second = Begin(uid, 1);
  Steps(second.get(), 3, 3);
  ExpectTheSame();
  EXPECT_EQ(follower_.ledger()->MakeReport().Ns(Category::kInfrastructureRecovery), 5 * kSecond);
}

TEST_F(FollowerTest, WhatIsLaterThanAskedForWaits) {
  const auto uid = RandomUid<RunUid>();
  auto first = Begin(uid, 0);
  clock_.Advance(kSecond);
  Steps(first.get(), 0, 7000);  // one a second, several batches
  ASSERT_TRUE(follower_.Refresh().ok());
  const std::int64_t start = follower_.ledger()->MakeReport().start.value();
  Follower bounded({dir_.path()}, "default", "r");
  for (const std::int64_t seconds : {5, 6, 6, 3000, 4500, 6999}) {
    const std::int64_t until = start + seconds * kSecond;
    ASSERT_TRUE(bounded.Refresh(until).ok());
    EXPECT_TRUE(bounded.live());
    ledger::Query query;
    query.as_of = query.now = until;
    EXPECT_EQ(ToJson(bounded.ledger()->MakeReport(query), {}),
              ToJson(follower_.ledger()->MakeReport(query), {}))
        << seconds;
    EXPECT_EQ(bounded.ledger()->MakeReport().steps.last_step, seconds - 1);
  }
  Steps(first.get(), 7000, 10);
  ASSERT_TRUE(bounded.Refresh(start + 7003 * kSecond).ok());
  EXPECT_EQ(bounded.ledger()->MakeReport().steps.last_step, 7002);
  // What the dead have left is all there is.
  first->Finish();
  first.reset();
  ASSERT_TRUE(bounded.Refresh(start + 7004 * kSecond).ok());
  EXPECT_FALSE(bounded.live());
  EXPECT_EQ(bounded.ledger()->MakeReport().steps.last_step, 7009);
  // While one lives, those that wait for it wait with it.
  auto second = Begin(uid, 1);
  clock_.Advance(kSecond);
  Steps(second.get(), 7010, 5);
  ASSERT_TRUE(bounded.Refresh(clock_.Wall().ns - 3 * kSecond).ok());
  EXPECT_EQ(bounded.ledger()->MakeReport().steps.last_step, 7012);
  second->Finish();
  second.reset();
  ASSERT_TRUE(bounded.Refresh(0).ok());
  EXPECT_EQ(bounded.starts(), 1);
  ASSERT_TRUE(follower_.Refresh().ok());
  EXPECT_EQ(ToJson(bounded.ledger()->MakeReport(), {}),
            ToJson(follower_.ledger()->MakeReport(), {}));
}

TEST_F(FollowerTest, ALongerCopyThatTakesAJournalsPlaceIsRead) {
  const ScratchDir other;
  ASSERT_TRUE(journal::MakeRunDirectory(other.path(), "default", "r").ok());
  auto first = Begin(RandomUid<RunUid>(), 0);
  const std::string path = first->path();
  const std::string copy =
      journal::RunDirectory(other.path(), "default", "r") + path.substr(path.rfind('/'));
  Follower follower({other.path()}, "default", "r");
  int steps = 0;
  for (const bool renamed : {false, true, true}) {
    Steps(first.get(), steps, 10);
    steps += 10;
    std::filesystem::copy_file(path, renamed ? copy + ".part" : copy);
    if (renamed) std::filesystem::rename(copy + ".part", copy);
    ASSERT_TRUE(follower.Refresh().ok());
    EXPECT_EQ(follower.ledger()->MakeReport().steps.last_step, steps - 1);
  }
  EXPECT_EQ(follower.starts(), 3);
  ASSERT_TRUE(follower.Refresh().ok());
  EXPECT_EQ(follower.starts(), 3);
}

TEST_F(FollowerTest, ATimeThatCanNotBeHoldsUpNothing) {
  auto first = Begin(RandomUid<RunUid>(), 0);
  Steps(first.get(), 0, 3);
  first->Append(journal::MetaHigh(RecordType::kNotice, 0), first->Now() + 3600 * kSecond, 0, 0);
  Steps(first.get(), 3, 3);
  const std::int64_t now = clock_.Wall().ns;
  ASSERT_TRUE(follower_.Refresh(now - kSecond / 2).ok());
  EXPECT_EQ(follower_.ledger()->MakeReport().steps.last_step, 2);
  ASSERT_TRUE(follower_.Refresh(now - kSecond / 2, now + 60 * kSecond).ok());
  EXPECT_EQ(follower_.ledger()->MakeReport().steps.last_step, 5);
}

TEST_F(FollowerTest, ManyRanksThatRestartLookTheSameAtAnyTime) {
  std::mt19937_64 random(1);
  const auto uid = RandomUid<RunUid>();
  Follower bounded({dir_.path()}, "default", "r");
  std::vector<headway::Record> visited;
  ledger::LeadPlace place;
  std::vector<std::unique_ptr<journal::JournalWriter>> ranks;
  int restarts = 0;
  std::int64_t step = 0;
  std::int64_t until = 0;
  for (int round = 0; round < 200; ++round) {
    if (ranks.empty() || random() % 30 == 0) {
      for (const auto& rank : ranks) rank->Finish();  // lost: it said no end
      ranks.clear();
      clock_.Advance(static_cast<std::int64_t>(random() % 30) * kSecond + 1);
      for (int rank = 0; rank < 3; ++rank) ranks.push_back(Begin(uid, restarts, rank));
      ++restarts;
      step = std::max<std::int64_t>(0, step - 5);
    }
    for (std::uint64_t i = 0, count = random() % 8; i < count; ++i) {
      for (const auto& rank : ranks) {
        clock_.Advance(static_cast<std::int64_t>(random() % 1000));
        this->Record(rank.get(), RecordType::kStepStart, step);
      }
      ++step;
      clock_.Advance(kSecond);
    }
    until = std::max(until, clock_.Wall().ns - static_cast<std::int64_t>(random() % (4 * kSecond)));
    ASSERT_TRUE(bounded.Refresh(until).ok());
    const auto run = Find({dir_.path()}, "default", "r");
    ASSERT_TRUE(run.ok());
    auto loaded = Load(*run);
    ASSERT_TRUE(loaded.ok());
    ledger::Query query;
    query.as_of = query.now = until;
    ASSERT_EQ(ToJson(bounded.ledger()->MakeReport(query), {}),
              ToJson(loaded->ledger.MakeReport(query), {}))
        << round;
    ASSERT_TRUE(bounded.ledger()->VisitLeads(&place, [&](const headway::Record& record) {
      visited.push_back(record);
      return true;
    })) << round;
    std::size_t count = 0;
    bounded.ledger()->VisitLeads([&](const headway::Record& record) {
      ASSERT_LT(count, visited.size());
      ASSERT_EQ(record, visited[count]);
      ++count;
    });
    ASSERT_EQ(count, visited.size());
  }
  EXPECT_GT(restarts, 3);
  EXPECT_EQ(bounded.starts(), 1);
}

}  // namespace
}  // namespace headway::runs
