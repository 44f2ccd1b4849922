#include "cli/supervisor.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/backoff.h"

namespace headway::cli {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(Backoff, DoublesUpToHalfAMinute) {
  Backoff backoff(kSecond);
  std::vector<std::int64_t> seconds;
  for (int i = 0; i < 8; ++i) seconds.push_back(backoff.After(0) / kSecond);
  EXPECT_EQ(seconds, (std::vector<std::int64_t>{1, 2, 4, 8, 16, 30, 30, 30}));
}

TEST(Backoff, BeginsAnewAfterALongLife) {
  Backoff backoff(kSecond);
  backoff.After(0);
  EXPECT_EQ(backoff.After(Backoff::kLongLifeNs - 1), 2 * kSecond);
  EXPECT_EQ(backoff.After(Backoff::kLongLifeNs), kSecond);
  EXPECT_EQ(backoff.After(0), 2 * kSecond);
}

TEST(Backoff, ExtremeFirstPauses) {
  Backoff none(0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(none.After(0), 0);
  Backoff long_one(100 * kSecond);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(long_one.After(0), 100 * kSecond);
  Backoff longest(INT64_MAX);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(longest.After(0), INT64_MAX);
}

TEST(CrashLoopWatch, CountsRestartsWithoutANewStep) {
  CrashLoopWatch watch;
  EXPECT_EQ(watch.AttemptEnded(10, 0), 0);
  EXPECT_EQ(watch.AttemptEnded(10, 0), 1);
  EXPECT_EQ(watch.AttemptEnded(7, 0), 2);
  EXPECT_EQ(watch.AttemptEnded(std::nullopt, 0), 3);
  EXPECT_EQ(watch.highest_step(), 10);
  EXPECT_EQ(watch.AttemptEnded(11, 0), 0);
  EXPECT_EQ(watch.AttemptEnded(11, Backoff::kLongLifeNs), 1);
}

TEST(CrashLoopWatch, AProgramThatRecordsNoStepsGetsOnByLiving) {
  CrashLoopWatch watch;
  EXPECT_EQ(watch.AttemptEnded(std::nullopt, 0), 0);
  EXPECT_EQ(watch.AttemptEnded(std::nullopt, 0), 1);
  EXPECT_EQ(watch.AttemptEnded(std::nullopt, Backoff::kLongLifeNs), 0);
  EXPECT_EQ(watch.AttemptEnded(std::nullopt, Backoff::kLongLifeNs - 1), 1);
}

TEST(ChildEnvironment, MakesRecordsMeet) {
  SupervisedRun run;
  run.dir = "/data";
  run.project = "lm";
  run.run = "r";
  run.uid = DeriveUid<RunUid>("x");
  run.key_base = "slurm:c/1#0+run";
  run.index_base = 3;
  const std::vector<std::string> environment =
      ChildEnvironment({{"PATH", "/bin"}, {"HEADWAY_ATTEMPT_KEY", "old"}}, run, 2);
  for (const std::string& entry :
       {std::string("PATH=/bin"), std::string("HEADWAY_DIR=/data"),
        std::string("HEADWAY_PROJECT=lm"), std::string("HEADWAY_RUN=r"),
        "HEADWAY_RUN_UID=" + ToHex(run.uid), "HEADWAY_ATTEMPT_KEY=" + AttemptKey(run, 2),
        std::string("HEADWAY_ATTEMPT=5")}) {
    EXPECT_EQ(std::count(environment.begin(), environment.end(), entry), 1) << entry;
  }
  EXPECT_EQ(environment.size(), 7u);
  EXPECT_EQ(AttemptKey(run, 2), "slurm:c/1#0+run#2");
}

}  // namespace
}  // namespace headway::cli
