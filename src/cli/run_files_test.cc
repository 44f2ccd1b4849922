#include "cli/run_files.h"

#include <gtest/gtest.h>

namespace headway::cli {
namespace {

constexpr std::int64_t kHourNs = 3600 * kNanosPerSecond;
constexpr WallNs kNow{1'000 * kHourNs};

RunFacts EndedAgo(std::int64_t hours, RunState state) {
  RunFacts facts;
  facts.report.state = state;
  facts.report.end = kNow.ns - hours * kHourNs;
  facts.written = *facts.report.end;
  return facts;
}

bool Goes(const RunFacts& facts, std::int64_t older_than_hours) {
  return Prunable(facts, kNow, older_than_hours * kHourNs);
}

TEST(Prunable, OnlyWhatEndedLongEnoughAgo) {
  for (const RunState state : {RunState::kCompleted, RunState::kFailed, RunState::kInterrupted}) {
    EXPECT_TRUE(Goes(EndedAgo(3, state), 2));
    EXPECT_FALSE(Goes(EndedAgo(2, state), 2));
  }
}

TEST(Prunable, NotWhatLives) {
  RunFacts live = EndedAgo(500, RunState::kInterrupted);
  live.live = true;
  EXPECT_FALSE(Goes(live, 0));
  EXPECT_NE(WhyKept(live), "");
  EXPECT_EQ(WhyKept(EndedAgo(1, RunState::kRunning)), "");
}

TEST(Prunable, WhatMayLiveElsewhereGoesAfterADayOfSilence) {
  for (const RunState state : {RunState::kRunning, RunState::kRestarting}) {
    EXPECT_FALSE(Goes(EndedAgo(23, state), 1));
    EXPECT_TRUE(Goes(EndedAgo(25, state), 1));
    EXPECT_FALSE(Goes(EndedAgo(25, state), 30));
  }
}

TEST(Prunable, ImportedRunsAgeFromTheirImport) {
  RunFacts imported = EndedAgo(500, RunState::kRunning);
  imported.imported = true;
  imported.written = kNow.ns - 3 * kHourNs;
  EXPECT_TRUE(Goes(imported, 2));
  EXPECT_FALSE(Goes(imported, 4));
  imported.report.end = kNow.ns + 9'000 * kHourNs;  // of a clock that is ahead
  EXPECT_TRUE(Goes(imported, 2));
}

TEST(Prunable, CopiedJournalsAgeFromTheCopy) {
  RunFacts copied = EndedAgo(500, RunState::kCompleted);
  copied.written = kNow.ns - 3 * kHourNs;
  EXPECT_FALSE(Goes(copied, 4));
  EXPECT_TRUE(Goes(copied, 2));
}

TEST(Prunable, WithoutARecordTheStartCounts) {
  RunFacts facts;
  facts.report.state = RunState::kInterrupted;
  facts.run.start = kNow.ns - 3 * kHourNs;
  EXPECT_TRUE(Goes(facts, 2));
  EXPECT_FALSE(Goes(facts, 3));
}

}  // namespace
}  // namespace headway::cli
