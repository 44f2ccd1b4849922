#include "cli/run_files.h"

#include <gtest/gtest.h>

namespace headway::cli {
namespace {

RunFacts EndedAt(std::int64_t end, RunState state) {
  RunFacts facts;
  facts.report.state = state;
  facts.report.end = end;
  return facts;
}

TEST(Prunable, OnlyWhatEndedBeforeTheCutoff) {
  for (const RunState state : {RunState::kCompleted, RunState::kFailed, RunState::kInterrupted}) {
    EXPECT_TRUE(Prunable(EndedAt(99, state), 100));
    EXPECT_FALSE(Prunable(EndedAt(100, state), 100));
  }
}

TEST(Prunable, NotWhatMayLive) {
  EXPECT_FALSE(Prunable(EndedAt(99, RunState::kRunning), 100));
  EXPECT_FALSE(Prunable(EndedAt(99, RunState::kRestarting), 100));
  RunFacts live = EndedAt(99, RunState::kInterrupted);
  live.live = true;
  EXPECT_FALSE(Prunable(live, 100));
  EXPECT_NE(WhyKept(live), "");
  EXPECT_EQ(WhyKept(EndedAt(99, RunState::kRunning)), "");
}

TEST(Prunable, ImportedRunsHaveNoProcess) {
  RunFacts imported = EndedAt(99, RunState::kRunning);
  imported.imported = true;
  EXPECT_TRUE(Prunable(imported, 100));
  EXPECT_FALSE(Prunable(imported, 99));
}

TEST(Prunable, WithoutARecordTheStartCounts) {
  RunFacts facts = EndedAt(0, RunState::kInterrupted);
  facts.report.end.reset();
  facts.run.start = 50;
  EXPECT_TRUE(Prunable(facts, 51));
  EXPECT_FALSE(Prunable(facts, 50));
}

}  // namespace
}  // namespace headway::cli
