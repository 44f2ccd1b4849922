#include "diagnose/advice.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace headway::diagnose {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kElapsed = 100'000 * kSecond;

Report ReportWith(Category category, std::int64_t ns, std::string name = {}) {
  Report report;
  report.run = "r";
  report.elapsed_ns = kElapsed;
  report.categories = {{Category::kProductive, "", kElapsed - ns}, {category, std::move(name), ns}};
  return report;
}

std::vector<std::string> CodesOf(const Report& report) {
  std::vector<std::string> codes;
  for (const Advice& advice : Advise(report)) codes.push_back(advice.code);
  return codes;
}

std::int64_t Part(double share) {
  return static_cast<std::int64_t>(share * static_cast<double>(kElapsed));
}

TEST(Advice, SpeaksUpFromEachThresholdOn) {
  const struct {
    Category category;
    double threshold;
    const char* code;
  } cases[] = {
      {Category::kInfrastructureRecovery, kAdvice.recovery, "restart_faster"},
      {Category::kProgramStartup, kAdvice.startup, "cache_compilation"},
      {Category::kAcceleratorInit, kAdvice.init, "init_faster"},
      {Category::kTrainingPrep, kAdvice.prep, "prepare_faster"},
      {Category::kDataLoading, kAdvice.data, "load_ahead"},
      {Category::kCheckpointSave, kAdvice.save, "checkpoint_async"},
      {Category::kCheckpointRestore, kAdvice.restore, "restore_faster"},
      {Category::kElasticScaleUp, kAdvice.elastic, "elastic_wait"},
      {Category::kElasticSliceDown, kAdvice.elastic, "elastic_wait"},
      {Category::kElasticReinit, kAdvice.elastic, "elastic_reinit"},
      {Category::kStepStall, kAdvice.stall, "find_stalls"},
      {Category::kCustom, kAdvice.custom, "custom"},
      {Category::kOther, kAdvice.other, "name_time"},
      {Category::kWastedProgress, kAdvice.wasted, "checkpoint"},
  };
  for (const auto& c : cases) {
    const std::string name = c.category == Category::kCustom ? "EVAL" : "";
    EXPECT_EQ(CodesOf(ReportWith(c.category, Part(c.threshold) + kSecond, name)),
              std::vector<std::string>{c.code})
        << CategoryName(c.category);
    EXPECT_EQ(CodesOf(ReportWith(c.category, Part(c.threshold) - kSecond, name)),
              std::vector<std::string>())
        << CategoryName(c.category);
  }
}

TEST(Advice, KeepsQuietAboutSeconds) {
  Report report = ReportWith(Category::kStepStall, kAdvice.least_ns - 1);
  report.elapsed_ns = 20 * kSecond;
  EXPECT_TRUE(Advise(report).empty());
  report.categories[1].ns = kAdvice.least_ns;
  EXPECT_EQ(CodesOf(report), std::vector<std::string>{"find_stalls"});
}

TEST(Advice, ComparesTheCheckpointIntervalWithTheAdvisedOne) {
  Report report = ReportWith(Category::kWastedProgress, Part(0.1));
  report.checkpointing = {10, kSecond, 201 * kSecond, 100 * kSecond};
  EXPECT_EQ(CodesOf(report), std::vector<std::string>{"checkpoint_more_often"});
  report.checkpointing.interval_ns = 200 * kSecond;
  EXPECT_EQ(CodesOf(report), std::vector<std::string>{"lose_less"});
  report.checkpointing.advised_interval_ns.reset();
  EXPECT_EQ(CodesOf(report), std::vector<std::string>{"lose_less"});

  report = ReportWith(Category::kCheckpointSave, Part(0.1));
  report.checkpointing = {10, kSecond, 49 * kSecond, 100 * kSecond};
  EXPECT_EQ(CodesOf(report), std::vector<std::string>{"checkpoint_less_often"});
  report.checkpointing.interval_ns = 50 * kSecond;
  EXPECT_EQ(CodesOf(report), std::vector<std::string>{"checkpoint_async"});
}

TEST(Advice, NamesUnevenSteps) {
  Report report = ReportWith(Category::kOther, 0);
  report.slow_steps_ns = kAdvice.least_ns;
  report.steps.ideal_ns = kSecond;
  report.steps.deviation_ns = kSecond / 4;
  EXPECT_EQ(CodesOf(report), std::vector<std::string>{"uneven_steps"});
  report.steps.deviation_ns = kSecond / 4 - 1;
  EXPECT_TRUE(Advise(report).empty());
  report.steps.deviation_ns = kSecond;
  report.slow_steps_ns = kAdvice.least_ns - 1;
  EXPECT_TRUE(Advise(report).empty());
}

TEST(Advice, KnowsThatNothingIsKnownWhereRecordsWereDropped) {
  Report report = ReportWith(Category::kOther, Part(kAdvice.other) + kSecond);
  report.notes.push_back({"dropped_records", 7, ""});
  EXPECT_EQ(CodesOf(report), std::vector<std::string>{"make_room"});
}

TEST(Advice, PassesOnInputBound) {
  Report report = ReportWith(Category::kOther, 0);
  EXPECT_TRUE(Advise(report).empty());
  report.notes.push_back({"input_bound", 1, ""});
  EXPECT_EQ(CodesOf(report), std::vector<std::string>{"input_bound"});
}

TEST(Advice, CostliestFirstAndNotTooMuch) {
  Report report;
  report.elapsed_ns = kElapsed;
  report.categories = {{Category::kProductive, "", Part(0.2)},
                       {Category::kOther, "", Part(0.4)},
                       {Category::kStepStall, "", Part(0.2)},
                       {Category::kDataLoading, "", Part(0.15)},
                       {Category::kTrainingPrep, "", Part(0.05) + kSecond}};
  EXPECT_EQ(CodesOf(report), (std::vector<std::string>{"name_time", "find_stalls", "load_ahead"}));
  EXPECT_TRUE(Advise(Report()).empty());
}

AttemptSummary AttemptTo(std::optional<std::int64_t> step, AttemptEnd end = AttemptEnd::kExit) {
  AttemptSummary attempt;
  attempt.end_kind = end;
  attempt.last_step = step;
  return attempt;
}

TEST(CrashLoop, CountsRestartsInVainAtTheEnd) {
  Report report;
  report.run = "r";
  report.elapsed_ns = kElapsed;
  report.attempts = {AttemptTo(10), AttemptTo(10), AttemptTo(8), AttemptTo(std::nullopt)};
  EXPECT_EQ(CrashLoopLength(report), 3);
  EXPECT_EQ(CodesOf(report), std::vector<std::string>{"crash_loop"});
  report.attempts.pop_back();
  EXPECT_EQ(CrashLoopLength(report), 2);
  EXPECT_TRUE(Advise(report).empty());
  report.attempts.push_back(AttemptTo(11));
  EXPECT_EQ(CrashLoopLength(report), 0);
  report.attempts = {AttemptTo(10), AttemptTo(10), AttemptTo(10), AttemptTo(9),
                     AttemptTo(10, AttemptEnd::kClean)};
  EXPECT_EQ(CrashLoopLength(report), 0);
  report.attempts.back() = AttemptTo(9, AttemptEnd::kOpen);
  EXPECT_EQ(CrashLoopLength(report), 3);  // the open one has not failed yet
  report.attempts.clear();
  EXPECT_EQ(CrashLoopLength(report), 0);
}

}  // namespace
}  // namespace headway::diagnose
