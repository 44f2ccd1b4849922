#include "formats/jsonl/writer.h"

#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "formats/jsonl/reader.h"
#include "formats/jsonl/schema.h"
#include "formats/jsonl/test_runs.h"
#include "ledger/ledger.h"

namespace headway::jsonl {
namespace {

RunRecords ReadOne(std::string_view text) {
  Result<Import> import = ReadEvents(text, {.strict = true, .split_runs = false});
  HEADWAY_CHECK(import.ok());
  return std::move(import->runs.front());
}

/// A line a second, of the given type and rest.
std::string Lines(const std::vector<std::pair<double, std::string>>& items) {
  std::string text;
  for (const auto& [ts, rest] : items) {
    text += "{\"ts\": " + std::to_string(ts) + ", \"type\": " + rest + "}\n";
  }
  return text;
}

std::string Step(int n) { return "\"step_start\", \"step\": " + std::to_string(n); }

std::string Steps(double ts, double pace, int first, int last) {
  std::string text;
  for (int n = first; n <= last; ++n) text += Lines({{ts + pace * (n - first), Step(n)}});
  return text;
}

const std::string kJob = "\"job_start\"";
const std::string kEnd = "\"job_end\"";
const std::string kBeat = "\"heartbeat\"";

// The shapes of the worked examples of the accounting rules, by their letters there.
TEST(WriteEventsTest, ReadsBackTheWorkedExamples) {
  const std::string crash =
      Lines({{0, kJob}, {0, "\"training_prep_start\""}, {10, "\"training_prep_end\""}}) +
      Lines({{10, Step(0)}}) + Steps(30, 10, 1, 4) +
      Lines({{64, kBeat},
             {100, kJob},
             {100, "\"training_prep_start\""},
             {110, "\"training_prep_end\""},
             {110, Step(2)}}) +
      Steps(130, 10, 3, 5);
  std::string loading;
  for (int n = 0; n < 10; ++n) {
    const double ts = n * 10 + (n > 7 ? 6 : 0);
    loading += Lines({{ts, Step(n)},
                      {ts + 1, "\"data_loading_start\""},
                      {ts + (n == 7 ? 10 : 5), "\"data_loading_end\""}});
  }
  const std::string attempts = Lines({{0, kJob + ",\"attempt\":0"},
                                      {0, Step(0) + ",\"attempt\":0"},
                                      {40, Step(4) + ",\"attempt\":0"},
                                      {48, kBeat + ",\"attempt\":0"},
                                      {44, kJob + ",\"attempt\":1"},
                                      {50, Step(4) + ",\"attempt\":1"},
                                      {80, kEnd + ",\"attempt\":1"}});
  const std::pair<std::string, std::string> examples[] = {
      {"A",
       Lines({{0, kJob}, {0, "\"accelerator_init_start\""}, {10, "\"accelerator_init_end\""}}) +
           Steps(20, 10, 0, 4) + Lines({{90, kEnd}})},
      {"B", crash + Lines({{160, kEnd}})},
      {"C", Lines({{0, kJob}}) + Steps(0, 10, 0, 3) +
                Lines({{40, "\"step_end\", \"step\": 3"}, {100, kJob}}) + Steps(100, 10, 4, 6) +
                Lines({{130, kEnd}})},
      {"D", Lines({{0, kJob}}) + Steps(0, 10, 0, 2) +
                Lines({{30, "\"custom_start\", \"name\": \"eval\""},
                       {45, "\"custom_end\", \"name\": \"eval\""},
                       {45, "\"checkpoint_save_start\""},
                       {50, "\"checkpoint_save_end\""}}) +
                Steps(50, 10, 3, 4) + Lines({{70, kEnd}})},
      {"E",
       Lines({{0, kJob}}) + Steps(0, 10, 0, 5) + Steps(1850, 10, 6, 10) + Lines({{1900, kEnd}})},
      {"F", loading + Lines({{106, kEnd}})},
      {"G", Lines({{0, kJob}, {100, "\"query\""}})},
      {"L", Steps(0, 10, 0, 5) +
                Lines({{54, "\"checkpoint_restore_start\""}, {60, "\"checkpoint_restore_end\""}}) +
                Steps(60, 10, 3, 6)},
      {"N", Lines({{0, kJob}, {0, "\"training_prep_start\""}}) + Steps(20, 10, 0, 2) +
                Lines({{42, "\"data_loading_start\""}, {55, "\"checkpoint_restore_end\""}})},
      {"T", Lines({{0, kJob}}) + Steps(0, 10, 0, 3) + Lines({{40, kEnd}, {70, kJob}}) +
                Steps(70, 10, 3, 5) + Lines({{96, "\"job_end\", \"status\": \"error\""}})},
      {"W", Steps(0, 10, 0, 4) +
                Lines({{45, "\"elastic_wait_start\", \"name\": \"slice_down\""},
                       {105, "\"elastic_wait_end\", \"name\": \"slice_down\""},
                       {105, "\"elastic_reinit_start\""},
                       {125, "\"elastic_reinit_end\""}}) +
                Steps(130, 10, 3, 6)},
      {"Z", attempts},
  };
  for (const auto& [letter, text] : examples) {
    const RunRecords run = ReadOne(text);
    ASSERT_FALSE(run.records.empty()) << letter;
    const RunRecords again = ReadOne(WriteToString(run));
    EXPECT_EQ(DescribeAll(again), DescribeAll(run)) << letter;
    EXPECT_EQ(WriteToString(again), WriteToString(run)) << letter;
  }
}

TEST(WriteEventsTest, ReadsBackWhatReadingAdded) {
  const Result<Import> import = ReadEvents(
      "{\"ts\":5,\"mono\":0,\"seq\":9,\"type\":\"job_start\",\"thread\":2}\n"
      "{\"ts\":2,\"mono\":1,\"seq\":9,\"type\":\"custom_start\",\"name\":\"a \\\"b\\\"\\n\"}\n"
      "{\"ts\":3,\"mono\":2,\"seq\":12,\"type\":\"custom_end\",\"begin_seq\":9}\n"
      "{\"ts\":1,\"attempt\":3,\"writer\":\"w\",\"rank\":4,\"type\":\"log\",\"value\":1e-300}\n"
      "{\"ts\":1,\"attempt\":4,\"writer\":\"w\",\"type\":\"log\",\"value\":\"NaN\",\"name\":\"l\"}"
      "\n"
      "{\"ts\":1,\"attempt\":4,\"writer\":\"rank0\",\"rank\":7,\"type\":\"heartbeat\"}\n"
      "{\"type\":\"writer\",\"rank\":-1,\"liveness\":\"alive\",\"host\":\"h\"}\n"
      "{\"ts\":1,\"type\":\"capacity\",\"active\":5,\"attempt\":4}\n"
      "{\"ts\":1,\"type\":\"exclude\",\"from\":5,\"name\":\"n\",\"attempt\":4}\n"
      "{\"ts\":1,\"type\":\"step_end\",\"attempt\":4}\n"
      "{\"ts\":1,\"type\":\"tea\"}\n{\"ts\":1,");
  ASSERT_TRUE(import.ok());
  const RunRecords& run = import->runs.at(0);
  ASSERT_EQ(import->problems_total, 2U);
  EXPECT_EQ(DescribeAll(ReadOne(WriteToString(run))), DescribeAll(run));
}

Writer Journal(std::string name, std::int64_t rank, std::string key, std::int64_t index) {
  Writer writer;
  writer.uid = name + key;
  writer.name = std::move(name);
  writer.rank = rank;
  writer.attempt_key = std::move(key);
  writer.attempt_index = index;
  writer.monotonic = true;
  return writer;
}

/// A run of `writers`, each with a job start at its time.
RunRecords Starts(std::vector<Writer> writers, const std::vector<std::int64_t>& seconds) {
  RunRecords run;
  run.writers = std::move(writers);
  for (std::size_t w = 0; w < run.writers.size(); ++w) {
    Record record;
    record.type = RecordType::kJobStart;
    record.writer = static_cast<WriterId>(w);
    record.time_ns = seconds[w] * 1'000'000'000;
    run.records.push_back(record);
  }
  return run;
}

Strings Uids(const RunRecords& run) {
  Strings uids;
  for (const Writer& writer : run.writers) uids.push_back(writer.uid);
  return uids;
}

TEST(WriteEventsTest, NumbersAttemptsAsTheLedgerDoes) {
  struct Case {
    const char* what;
    RunRecords run;
    Strings uids;  // as read back: by rank, attempt, name
  };
  const Case cases[] = {
      {"by restart count",
       Starts({Journal("h", 0, "j/4", 4), Journal("i", 1, "j/4", 4), Journal("h", 0, "j/2", 2)},
              {9, 9, 1}),
       {"2/h", "4/h", "4/i"}},
      {"by start where two jobs count alike",
       Starts({Journal("h", 0, "k/0", 0), Journal("h", 0, "j/0", 0)}, {9, 1}),
       {"0/h", "1/h"}},
      {"each leading journal without a key is one",
       Starts({Journal("h", -1, "", -1), Journal("h", -1, "", -1), Journal("i", 3, "", -1)},
              {500, 1, 2}),
       {"0/i", "0/h", "1/h"}},
      {"journals of rank 0 follow each other, however close",
       Starts({Journal("h", 0, "", -1), Journal("h", 0, "", -1)}, {30, 1}),
       {"0/h", "1/h"}},
  };
  for (Case c : cases) {
    for (std::size_t w = 0; w < c.run.writers.size(); ++w) {
      c.run.writers[w].uid += std::to_string(w);  // of journals of their own
    }
    EXPECT_EQ(Uids(ReadOne(WriteToString(c.run))), c.uids) << c.what;
  }
}

// Eight processes without a rank are killed within a minute of their start, and started again.
TEST(WriteEventsTest, KeepsRestartsOfUnrankedProcessesApart) {
  RunRecords run;
  for (int w = 0; w < 16; ++w) {
    run.writers.push_back(Journal("host:" + std::to_string(100 + w), -1, "", -1));
    for (int n = 0; n < 4; ++n) {
      Record record;
      record.type = RecordType::kStepStart;
      record.writer = static_cast<WriterId>(w);
      record.seq = static_cast<std::uint64_t>(n);
      record.a = n;
      record.time_ns = ((w < 8 ? 0 : 20) + n) * 1'000'000'000LL + w;
      run.records.push_back(record);
    }
  }
  ledger::Ledger before;
  before.Add(run);
  ledger::Ledger after;
  after.Add(ReadOne(WriteToString(run)));
  const Report report = before.MakeReport();
  EXPECT_EQ(report.attempts.size(), 2U);
  EXPECT_EQ(ToJson(after.MakeReport()), ToJson(report));
}

TEST(WriteEventsTest, OneRunStaysOne) {
  RunRecords run = Starts({Journal("h", 0, "j/0", 0), Journal("h", 0, "j/1", 1)}, {0, 100});
  for (const WriterId w : {0, 1}) {
    Record record;
    record.type = RecordType::kStepStart;
    record.writer = w;
    record.seq = 1;
    record.time_ns = run.records[w].time_ns + 1;
    run.records.push_back(record);
    record.type = RecordType::kJobEnd;
    record.seq = 2;
    record.time_ns += 1;
    run.records.push_back(record);
  }
  const Result<Import> import = ReadEvents(WriteToString(run), {.strict = true});
  ASSERT_TRUE(import.ok());
  ASSERT_EQ(import->runs.size(), 1U);
  EXPECT_EQ(import->runs.front().records.size(), run.records.size());
}

TEST(WriteEventsTest, KeepsWhatIsKnownOfAJournal) {
  RunRecords run = Starts({Journal("node \"7\"", 0, "j/1", 1), Journal("", 2, "j/1", 1)}, {1, 1});
  run.records.pop_back();  // the second has no record
  run.writers[0].host = "node7";
  run.writers[0].pid = 4711;
  run.writers[0].world_size = 16;
  run.liveness = {Liveness::kDead, Liveness::kUnknown};
  const RunRecords again = ReadOne(WriteToString(run));
  ASSERT_EQ(again.writers.size(), 2U);
  EXPECT_EQ(
      DescribeWriter(again, 0),
      "1/node \"7\" name=node \"7\" rank=0 key=attempt:1 index=1 world=16 host=node7 pid=4711 "
      "monotonic live=2");
  EXPECT_EQ(DescribeWriter(again, 1),
            "1/rank2 name=rank2 rank=2 key=attempt:1 index=1 world=-1 host= pid=0 monotonic "
            "live=0");
}

TEST(WriteEventsTest, WritesAbsurdValuesAsWellAsTheFileCan) {
  RunRecords run = Starts({Journal("h", 0, "", 0)}, {1});
  run.records[0].type = RecordType::kStepStart;
  run.records[0].a = -1;  // none that a recorder writes: left out
  run.records[0].time_ns = kNoTime;
  Record metric = run.records[0];
  metric.type = RecordType::kMetric;
  metric.seq = 1;
  metric.a = kNoStep;
  metric.b = std::bit_cast<std::int64_t>(-std::numeric_limits<double>::infinity());
  run.records.push_back(metric);
  Record unknown = metric;
  unknown.type = RecordType::kNone;
  run.records.push_back(unknown);
  Record reversed = metric;  // a recorder keeps what it is told, but a file with it is refused
  reversed.type = RecordType::kExclude;
  reversed.seq = 2;
  reversed.a = 50;
  reversed.b = 10;
  run.records.push_back(reversed);
  Record exit = metric;  // an end of which nobody knows how: not a clean one
  exit.type = RecordType::kExit;
  exit.seq = 3;
  exit.a = -1;
  exit.b = 0;
  run.records.push_back(exit);
  const RunRecords read = ReadOne(WriteToString(run));
  ASSERT_EQ(read.records.size(), 3U);
  EXPECT_EQ(read.records[1].b, 50);
  EXPECT_EQ(read.records[2].a, 1);
}

TEST(WriteEventsTest, HandsOnWholeLinesAndTheSinksError) {
  std::string text;
  for (int n = 0; n < 5000; ++n) text += Lines({{n * 1.0, Step(n)}});
  const RunRecords run = ReadOne(text);
  int chunks = 0;
  EXPECT_TRUE(WriteEvents(run, [&](std::string_view chunk) {
                ++chunks;
                EXPECT_TRUE(chunk.ends_with("}\n"));
                EXPECT_LT(chunk.size(), 70'000U);
                return OkStatus();
              }).ok());
  EXPECT_GT(chunks, 3);
  const Status failed =
      WriteEvents(run, [](std::string_view) { return Status(Code::kUnavailable, "disk is full"); });
  EXPECT_EQ(failed.code(), Code::kUnavailable);
}

TEST(WriteEventsTest, EveryTypeOfLineIsDocumented) {
  std::ifstream file("docs/formats/jsonl.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  const auto told = [&page](std::string_view word) {
    return page.find("`" + std::string(word) + "`") != std::string::npos;
  };
  for (int i = 0; i <= static_cast<int>(kLastRecordType); ++i) {
    Record record;
    record.type = static_cast<RecordType>(i);
    const std::string_view name = EventTypeName(record);
    EXPECT_TRUE(name.empty() || told(name)) << name;
  }
  for (int i = 1; i < kSpanKindCount; ++i) {
    const std::string kind(SpanKindName(static_cast<SpanKind>(i)));
    EXPECT_TRUE(told(kind) || told(kind + "_start")) << kind;
  }
  EXPECT_TRUE(told(kWriterLine) && told(kOneRunLine));
}

TEST(WriteEventsTest, WritesPlainLines) {
  EXPECT_EQ(WriteToString(ReadOne("{\"ts\":1.5,\"type\":\"step_start\",\"step\":3}\n")),
            "{\"ts_ns\":1500000000,\"type\":\"step_start\",\"step\":3,\"seq\":0}\n");
}

}  // namespace
}  // namespace headway::jsonl
