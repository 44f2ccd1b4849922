#include "monitor/sampler.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "journal/directory.h"
#include "journal/test_files.h"
#include "journal/writer.h"
#include "runs/follower.h"

namespace headway::monitor {
namespace {

constexpr std::int64_t kSecond = kNanosPerSecond;

class SamplerTest : public testing::Test {
 protected:
  SamplerTest() {
    journal::WriterOptions options;
    options.clock = &clock;
    options.header.project = "default";
    options.header.run = "r";
    options.header.run_uid = RandomUid<RunUid>();
    options.header.rank = 0;
    EXPECT_TRUE(journal::MakeRunDirectory(dir.path(), "default", "r").ok());
    auto made =
        journal::JournalWriter::Create(journal::RunDirectory(dir.path(), "default", "r"), options);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    writer = *std::move(made);
    Append(RecordType::kJobStart, 0);
  }

  void Append(RecordType type, std::int64_t a) {
    writer->Append(journal::MetaHigh(type, 0), writer->Now(), a, 0);
  }
  void Steps(int first, int count) {
    for (int i = 0; i < count; ++i) {
      Append(RecordType::kStepStart, first + i);
      clock.Advance(2 * kSecond);
    }
  }
  // As of `ago_ns` before now.
  Sample TakeAgo(Sampler* sampler, std::int64_t ago_ns, const Wanted& wanted) {
    const WallNs at = clock.Wall() - ago_ns;
    EXPECT_TRUE(sampler->Refresh(at, clock.Wall()).ok());
    Status problem;
    Sample sample = sampler->Take(at, clock.Wall(), wanted, &problem);
    EXPECT_TRUE(problem.ok()) << problem.ToString();
    return sample;
  }
  Sampler Follow(bool exact = false) {
    Accounting accounting;
    accounting.exact = exact;
    return Follow("r", accounting);
  }
  Sampler Follow(const std::string& run, const Accounting& accounting) {
    readers.push_back(
        std::make_unique<runs::Follower>(std::vector<std::string>{dir.path()}, "default", run));
    return {readers.back().get(), "default", run, accounting};
  }

  ScratchDir dir;
  FakeClock clock;
  std::unique_ptr<journal::JournalWriter> writer;
  std::vector<std::unique_ptr<runs::GrowingRun>> readers;
};

TEST_F(SamplerTest, EachStepsDeviationIsToldOnce) {
  Sampler sampler = Follow();
  Wanted wanted;
  wanted.step_deviations = true;
  Steps(0, 5);
  EXPECT_EQ(TakeAgo(&sampler, 0, wanted).step_deviations.size(), 4U);
  EXPECT_EQ(TakeAgo(&sampler, 0, wanted).step_deviations.size(), 0U);
  Steps(5, 3);
  const Sample sample = TakeAgo(&sampler, 0, wanted);
  ASSERT_EQ(sample.step_deviations.size(), 3U);
  EXPECT_EQ(sample.step_deviations.front().first, 4);
}

TEST_F(SamplerTest, NothingCountsThatWasRecordedLater) {
  Steps(0, 10);
  for (const bool exact : {false, true}) {
    Sampler sampler = Follow(exact);
    Wanted wanted;
    wanted.whole = true;
    // Back and forth, as samples that are made up for may go.
    for (const std::int64_t ago : {15, 9, 3, 15, 3}) {
      const Sample sample = TakeAgo(&sampler, ago * kSecond, wanted);
      ASSERT_TRUE(sample.figures && sample.report);
      EXPECT_EQ(sample.report->steps.last_step, 9 - (ago - 1) / 2);
      EXPECT_EQ(sample.figures->total_s, static_cast<double>(clock.Wall().ns / kSecond - ago) -
                                             static_cast<double>(*sample.report->start / kSecond));
    }
  }
}

TEST_F(SamplerTest, WhatIsMadeUpForAfterTheEndIsAsItWas) {
  Sampler sampler = Follow();
  Wanted wanted;
  wanted.whole = true;
  Steps(0, 10);
  Append(RecordType::kJobEnd, 0);
  writer->Finish();
  writer.reset();
  clock.Advance(30 * kSecond);
  EXPECT_EQ(TakeAgo(&sampler, 45 * kSecond, wanted).report->steps.last_step, 2);
  EXPECT_EQ(TakeAgo(&sampler, 0, wanted).report->steps.last_step, 9);
}

TEST_F(SamplerTest, WhatIsMadeUpForWhileTheRunIsDownIsOfItsOwnTime) {
  Wanted wanted;
  wanted.whole = true;
  wanted.windows = {20};
  Steps(0, 10);
  writer.reset();  // the process has died: nothing more is heard of the job
  clock.Advance(30 * kSecond);
  for (const bool exact : {false, true}) {
    Sampler sampler = Follow(exact);
    for (const std::int64_t ago : {25, 20, 0, 20}) {
      const Sample sample = TakeAgo(&sampler, ago * kSecond, wanted);
      ASSERT_TRUE(sample.figures);
      if (!exact) {
        EXPECT_EQ(sample.figures->total_s, static_cast<double>(50 - ago));
      }
      const std::int64_t to = clock.Wall().ns - ago * kSecond;
      ASSERT_EQ(sample.windows.size(), 1U);
      ASSERT_TRUE(sample.windows[0].report || ago == 0);
      if (ago == 0) continue;  // its last 20 s have nothing of the run
      EXPECT_EQ(sample.windows[0].report->window,
                (std::pair<std::int64_t, std::int64_t>(to - 20 * kSecond, to)));
    }
  }
}

TEST_F(SamplerTest, ATimeThatCanNotBeHoldsUpNothing) {
  Sampler sampler = Follow();
  Wanted wanted;
  wanted.whole = true;
  Steps(0, 3);
  writer->Append(
      journal::MetaHigh(RecordType::kSpanBegin, SpanKind::kDataLoading, Blocking::kDefault, 0),
      writer->Now() + 3600 * kSecond, kNoStep, 0);
  Steps(3, 3);
  const Sample sample = TakeAgo(&sampler, kSecond, wanted);
  EXPECT_EQ(sample.figures->max_productive_step, 4);
}

TEST_F(SamplerTest, TheLogOfAnotherProcessWaitsForThatOfTheLead) {
  // A supervisor, which leads for want of anyone else.
  journal::WriterOptions options;
  options.clock = &clock;
  options.header = writer->header();
  options.header.uid = RandomUid<JournalUid>();
  options.header.rank = -1;
  options.header.run = "s";
  options.header.origin = journal::Origin::kSupervisor;
  EXPECT_TRUE(journal::MakeRunDirectory(dir.path(), "default", "s").ok());
  const auto other =
      journal::JournalWriter::Create(journal::RunDirectory(dir.path(), "default", "s"), options);
  ASSERT_TRUE(other.ok()) << other.status().ToString();
  (*other)->Append(journal::MetaHigh(RecordType::kJobStart, 0), (*other)->Now(), 0, 0);
  Sampler sampler = Follow("s", {});
  Wanted wanted;
  wanted.log = true;
  clock.Advance(kSecond);
  const Sample sample = TakeAgo(&sampler, 0, wanted);
  ASSERT_NE(sample.log, nullptr);
  EXPECT_EQ(sample.log->entries().size(), 0U);
  (*other)->Finish();

  Sampler lead = Follow();
  Steps(0, 3);
  const Sample first = TakeAgo(&lead, 0, wanted);
  EXPECT_EQ(first.log->entries().size(), 4U);
  EXPECT_EQ(TakeAgo(&lead, 0, wanted).log, first.log);  // nothing is new
}

}  // namespace
}  // namespace headway::monitor
