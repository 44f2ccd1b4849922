#include "formats/tensorboard/run.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "formats/tensorboard/test_files.h"

namespace headway::tensorboard {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

NamedFile File(std::string name, const std::string& bytes) {
  return {std::move(name), ReadEventFile(bytes)};
}

std::string WithStart(std::int64_t second, std::int64_t step, const std::string& rest) {
  std::string file = VersionRecord();
  AppendSessionStart(second * kSecond, step, &file);
  return file + rest.substr(VersionRecord().size());
}

TEST(MakeRunTest, EachFileIsAWriter) {
  const RunRecords run = MakeRun({File("logs/x", ScalarFile(1, {5, -5})), File("empty", ""),
                                  File("y", ScalarFile(2, {6}, "acc"))});
  ASSERT_EQ(run.writers.size(), 2U);
  EXPECT_EQ(run.writers[0].name, "x");
  EXPECT_EQ(run.writers[1].name, "y");
  EXPECT_NE(run.writers[0].uid, run.writers[1].uid);
  ASSERT_EQ(run.records.size(), 3U);
  const Record& record = run.records[1];
  EXPECT_EQ(record.type, RecordType::kMetric);
  EXPECT_EQ(run.names.Text(record.name), "loss");
  EXPECT_EQ(record.time_ns, 2 * kSecond);
  EXPECT_EQ(record.a, -5);
  EXPECT_EQ(std::bit_cast<double>(record.b), -5.0);
  EXPECT_EQ(record.seq, 1U);
  EXPECT_EQ(run.records[2].writer, 1U);
}

TEST(FindRestartsTest, Restarts) {
  struct Found {
    std::size_t file;
    std::int64_t step;
    std::uint64_t points;
    bool operator==(const Found&) const = default;
  };
  struct Case {
    const char* what;
    std::vector<NamedFile> files;
    std::vector<Found> found;
  };
  const Case cases[] = {
      {"one file", {File("a", ScalarFile(0, {0, 1, 2, 1}))}, {}},
      {"it goes on", {File("a", ScalarFile(0, {0, 1})), File("b", ScalarFile(9, {2, 3}))}, {}},
      {"it goes back",
       {File("a", ScalarFile(0, {0, 1, 2})), File("b", ScalarFile(9, {1, 2, 3}))},
       {{1, 1, 2}}},
      {"the later file comes first",
       {File("b", ScalarFile(9, {1, 2, 3})), File("a", ScalarFile(0, {0, 1, 2}))},
       {{0, 1, 2}}},
      {"twice",
       {File("a", ScalarFile(0, {0, 1, 2})), File("b", ScalarFile(9, {1, 2})),
        File("c", ScalarFile(19, {0}))},
       {{1, 1, 2}, {2, 0, 3}}},
      {"they alternate",
       {File("a", ScalarFile(0, {1, 3, 5})), File("b", ScalarFile(1, {2, 4, 6}))},
       {}},
      {"other directories",
       {File("train/a", ScalarFile(0, {0, 1})), File("test/b", ScalarFile(9, {0, 1}))},
       {}},
      {"the first start says nothing", {File("a", WithStart(0, 1, ScalarFile(0, {1, 2})))}, {}},
      {"a second one does",
       {File("a", WithStart(0, 0, ScalarFile(0, {0, 1, 2}))),
        File("b", WithStart(1, 1, ScalarFile(1, {5, 6})))},
       {{1, 1, 2}}},
      {"within a file",
       {File("a",
             WithStart(0, 0, ScalarFile(0, {0, 1, 2})) + WithStart(9, 2, ScalarFile(9, {2, 3})))},
       {{0, 2, 1}}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    std::vector<Found> found;
    for (const Restart& restart : FindRestarts(c.files)) {
      EXPECT_EQ(restart.superseded.size(), 1U);
      found.push_back({restart.file, restart.step, restart.superseded.at("loss")});
    }
    EXPECT_EQ(found, c.found);
  }
}

/// A run to write, and what is read back.
struct Written {
  RunRecords run;
  Report report;

  void Writer(std::int64_t rank) {
    headway::Writer writer;
    writer.rank = rank;
    run.writers.push_back(writer);
  }
  void Add(RecordType type, WriterId writer, std::int64_t second, std::string_view name,
           std::int64_t step, double value) {
    Record record;
    record.type = type;
    record.writer = writer;
    record.name = run.names.Intern(name);
    record.seq = run.records.size();
    record.time_ns = second * kSecond;
    record.a = step;
    record.b = std::bit_cast<std::int64_t>(value);
    run.records.push_back(record);
  }
  void Metric(WriterId writer, std::int64_t second, std::string_view name, std::int64_t step,
              double value) {
    Add(RecordType::kMetric, writer, second, name, step, value);
  }
  EventFile Read() const {
    std::string bytes;
    const Status status = WriteRun(run, report, [&bytes](std::string_view chunk) {
      bytes += chunk;
      return OkStatus();
    });
    EXPECT_TRUE(status.ok());
    EventFile file = ReadEventFile(bytes);
    EXPECT_EQ(file.problems_total, 0U);
    return file;
  }
};

// (second, step, value) of a tag.
using Curve = std::vector<std::tuple<std::int64_t, std::int64_t, double>>;

std::map<std::string, Curve> CurvesOf(const EventFile& file) {
  std::map<std::string, Curve> curves;
  for (const Scalar& scalar : file.scalars) {
    curves[file.tags[scalar.tag]].emplace_back(scalar.time_ns / kSecond, scalar.step, scalar.value);
  }
  return curves;
}

TEST(WriteRunTest, MetricsAndTheReport) {
  Written w;
  w.Writer(0);
  w.Writer(1);
  w.Metric(0, 20, "loss", 2, 0.25);
  w.Metric(0, 10, "loss", 1, 0.5);
  w.Metric(1, 10, "loss", 1, 0.75);
  w.Metric(1, 12, "queue", 1, 3);
  w.Metric(0, 5, "early", kNoStep, 1);
  w.Add(RecordType::kStepStart, 0, 30, "", 4, 0);
  w.Metric(0, 31, "late", kNoStep, 1);
  w.report.as_of = 40 * kSecond;
  w.report.elapsed_ns = 40 * kSecond;
  w.report.goodput = 0.5;
  w.report.steps.last_step = 6;
  w.report.steps.max_productive_step = 5;
  w.report.steps.ideal_ns = 1'500'000'000;
  w.report.steps.deviation_ns = -500'000'000;
  w.report.disruptions.resize(2);
  w.report.categories = {{Category::kProductive, "", 20 * kSecond},
                         {Category::kProductive, "phase", kSecond},
                         {Category::kCustom, "eval", 15 * kSecond},
                         {Category::kStepStall, "", 4 * kSecond}};
  const std::map<std::string, Curve> expected = {
      {"early", {{5, 0, 1}}},
      {"late", {{31, 4, 1}}},
      {"loss", {{10, 1, 0.5}, {20, 2, 0.25}}},
      {"loss/rank1", {{10, 1, 0.75}}},
      {"queue", {{12, 1, 3}}},
      {"goodput/goodput", {{40, 6, 0.5}}},
      {"goodput/time", {{40, 6, 21}}},
      {"goodput/elapsed", {{40, 6, 40}}},
      {"goodput/disruptions", {{40, 6, 2}}},
      {"goodput/ideal_step_time", {{40, 6, 1.5}}},
      {"goodput/max_productive_step", {{40, 6, 5}}},
      {"step_deviation", {{40, 6, -0.5}}},
      {"badput/custom/eval", {{40, 6, 15}}},
      {"badput/step_stall", {{40, 6, 4}}},
  };
  const EventFile file = w.Read();
  EXPECT_EQ(CurvesOf(file), expected);
  EXPECT_TRUE(file.starts.empty());
}

TEST(WriteRunTest, ARestartIsToldWhereStepsComeAgain) {
  Written w;
  w.Writer(0);
  for (const std::int64_t step : {0, 1, 2}) w.Metric(0, step, "loss", step, 0);
  for (const std::int64_t step : {2, 3}) w.Metric(0, 10 + step, "loss", step, 0);
  w.Metric(0, 20, "loss", 4, 0);
  w.report.attempts.resize(3);
  w.report.attempts[1].start = 10 * kSecond;
  w.report.attempts[1].first_step = 1;
  w.report.attempts[2].start = 20 * kSecond;
  const EventFile file = w.Read();
  ASSERT_EQ(file.starts.size(), 2U);
  EXPECT_EQ(file.starts[0].before, 0U);
  EXPECT_EQ(file.starts[0].step, 5);
  EXPECT_EQ(file.starts[1].before, 3U);
  EXPECT_EQ(file.starts[1].step, 1);
}

TEST(WriteRunTest, WhateverTheRunThereIsAFile) {
  const EventFile file = Written().Read();
  EXPECT_EQ(CurvesOf(file).at("goodput/elapsed"), (Curve{{0, 0, 0}}));
}

TEST(WriteRunTest, AnErrorOfTheSinkIsHandedBack) {
  const Status status =
      WriteRun({}, {}, [](std::string_view) { return Status(Code::kResourceExhausted, "full"); });
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace headway::tensorboard
