#include "formats/mllog/reader.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "ledger/ledger.h"
#include "model/report.h"

namespace headway::mllog {
namespace {

std::string Line(std::int64_t seconds, const std::string& key, const std::string& value = "null",
                 const std::string& metadata = "{}") {
  return ":::MLLOG {\"namespace\": \"\", \"time_ms\": " + std::to_string(seconds * 1000) +
         ", \"event_type\": \"X\", \"key\": \"" + key + "\", \"value\": " + value +
         ", \"metadata\": " + metadata + "}\n";
}

Report ReportOf(const std::string& text) {
  const Translation log = Translate(text);
  EXPECT_EQ(log.problems_total, 0U);
  auto import = jsonl::ReadEvents(log.events, {});
  EXPECT_TRUE(import.ok());
  EXPECT_EQ(import->problems_total, 0U) << log.events;
  ledger::Ledger ledger;
  ledger.Add(import->runs.back());
  return ledger.MakeReport();
}

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(TranslateMllogTest, BlocksAreStepsAndEvaluationsAreCustom) {
  const Report report = ReportOf(
      Line(100, "init_start") + Line(160, "init_stop") + Line(160, "run_start") +
      Line(160, "block_start") + Line(180, "block_stop") + Line(180, "eval_start") +
      Line(185, "eval_accuracy", "0.5", "{\"samples_count\": 7}") + Line(190, "eval_stop") +
      Line(190, "block_start") + Line(200, "block_stop") + Line(200, "block_start") +
      Line(210, "block_stop") + Line(210, "run_stop", "null", "{\"status\": \"success\"}"));
  EXPECT_EQ(report.state, RunState::kCompleted);
  EXPECT_EQ(report.elapsed_ns, 110 * kSecond);
  EXPECT_EQ(report.Ns(Category::kTrainingPrep), 60 * kSecond);
  EXPECT_EQ(report.Ns(Category::kCustom), 10 * kSecond);
  EXPECT_EQ(report.Ns(Category::kProgramStartup), 10 * kSecond);  // the first block is 10 s longer
  EXPECT_EQ(report.Ns(Category::kProductive), 30 * kSecond);
  EXPECT_EQ(report.steps.count, 3);
}

TEST(TranslateMllogTest, AFirstBlockThatOnlyEndsBeganWithTheRun) {
  const Report report =
      ReportOf(Line(0, "run_start") + Line(30, "block_stop") + Line(30, "block_start") +
               Line(60, "block_stop") + Line(60, "run_stop", "null", "{\"status\": \"success\"}"));
  EXPECT_EQ(report.Ns(Category::kProductive), 60 * kSecond);
  EXPECT_EQ(report.steps.count, 2);
}

TEST(TranslateMllogTest, BlocksOfUnlikeWorkAreAPhase) {
  const auto block = [](std::int64_t from, std::int64_t to, const char* done) {
    return Line(from, "block_start", "null", std::string("{\"samples_count\": ") + done + "}") +
           Line(to, "block_stop");
  };
  const Report report =
      ReportOf(Line(0, "run_start") + block(0, 40, "0") + block(40, 50, "40") +
               block(50, 60, "50") + Line(60, "run_stop", "null", "{\"status\": \"success\"}"));
  EXPECT_EQ(report.Ns(Category::kProductive), 60 * kSecond);
  EXPECT_EQ(report.categories[0].name, "train");
  EXPECT_EQ(report.steps.count, 0);
}

TEST(TranslateMllogTest, EpochsOrTheRunAreTheStepsWhereThereAreNoBlocks) {
  EXPECT_EQ(ReportOf(Line(0, "run_start") + Line(0, "epoch_start") + Line(10, "epoch_stop") +
                     Line(10, "epoch_start") + Line(20, "epoch_stop") +
                     Line(20, "run_stop", "null", "{\"status\": \"success\"}"))
                .steps.count,
            2);
  const Report report =
      ReportOf(Line(0, "run_start") + Line(20, "run_stop", "null", "{\"status\": \"aborted\"}"));
  EXPECT_EQ(report.steps.last_step, 0);
  EXPECT_EQ(report.state, RunState::kFailed);
}

TEST(TranslateMllogTest, WhatSeveralProcessesSayAlikeCountsOnce) {
  std::string text;
  for (int rank = 0; rank < 8; ++rank) {
    text += std::to_string(rank) + ": " + Line(100, "init_start");
  }
  const Translation log = Translate(text + Line(130, "run_start"));
  EXPECT_EQ(log.entries, 2U);
  const Report report = ReportOf(text + Line(130, "run_start"));
  EXPECT_EQ(report.attempts.size(), 1U);
  EXPECT_EQ(report.Ns(Category::kTrainingPrep), 30 * kSecond);
}

TEST(TranslateMllogTest, SaysWhatIsLeftOut) {
  const Translation log = Translate(
      "noise\n" + Line(1, "run_start") + ":::MLLOG {\"key\": \"x\"}\n" +
      ":::MLLOG {\"time_ms\": 1e30, \"key\": \"x\"}\n" + ":::MLLOG {\"time_ms\": 5, \"ke");
  EXPECT_EQ(log.entries, 4U);
  ASSERT_EQ(log.problems_total, 3U);
  EXPECT_EQ(log.problems[0].line, 3U);
  EXPECT_EQ(log.problems[2].kind, jsonl::ProblemKind::kTornTail);
  EXPECT_EQ(Translate("").entries, 0U);
}

TEST(TranslateMllogTest, ATimeFarFromTheOthersIsLeftOut) {
  constexpr std::int64_t kStart = 1'700'000'000;
  for (const std::int64_t wrong : {std::int64_t{0}, std::int64_t{-5}, std::int64_t{9'223'372'036},
                                   std::int64_t{-9'223'372'036}}) {
    const std::string text = Line(kStart, "run_start") + Line(kStart, "block_start") +
                             Line(wrong, "eval_start") + Line(kStart + 30, "block_stop") +
                             Line(kStart + 30, "run_stop", "null", "{\"status\": \"success\"}");
    const Translation log = Translate(text);
    ASSERT_EQ(log.problems_total, 1U) << wrong;
    EXPECT_EQ(log.problems[0].line, 3U);
    EXPECT_NE(log.problems[0].sentence.find("time_ms lies "), std::string::npos);
    auto import = jsonl::ReadEvents(log.events, {});
    ASSERT_TRUE(import.ok());
    ledger::Ledger ledger;
    ledger.Add(import->runs.back());
    EXPECT_EQ(ledger.MakeReport().elapsed_ns, 30 * kSecond) << wrong;
  }
}

TEST(TranslateMllogTest, SaysWhatIsWrongWithAnEntry) {
  for (const auto& [entry, words] : {
           std::pair<const char*, const char*>(R"({"time_ms": 1.5, "key": "x"})", "time_ms is no"),
           {R"({"time_ms": "5", "key": "x"})", "time_ms is no"},
           {R"({"time_ms": null, "key": "x"})", "time_ms is no"},
           {R"({"key": "x"})", "time_ms is no"},
           {R"({"time_ms": 9007199254740992, "key": "x"})", "time_ms is no"},
           {R"({"time_ms": 5})", "key is no text"},
       }) {
    const Translation log = Translate(std::string(":::MLLOG ") + entry + "\n");
    ASSERT_EQ(log.problems_total, 1U) << entry;
    EXPECT_NE(log.problems[0].sentence.find(words), std::string::npos) << log.problems[0].sentence;
  }
}

TEST(TranslateMllogTest, MetricsKeepTheirStep) {
  const Translation log = Translate(
      Line(5, "tracked_stats", "{\"throughput\": 1.5, \"note\": \"x\"}", "{\"step\": 9}"));
  EXPECT_EQ(log.events,
            "{\"ts_ns\":5000000000,\"type\":\"log\",\"name\":\"throughput\",\"value\":1.5,"
            "\"step\":9}\n");
}

}  // namespace
}  // namespace headway::mllog
