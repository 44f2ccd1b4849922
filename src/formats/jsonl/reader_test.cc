#include "formats/jsonl/reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "formats/jsonl/test_runs.h"

namespace headway::jsonl {
namespace {

Import Read(std::string_view text, const Options& options = {}) {
  Result<Import> import = ReadEvents(text, options);
  EXPECT_TRUE(import.ok()) << import.status().ToString();
  return std::move(import).value();
}

bool OnlyNotes(const RunRecords& run) {
  return std::ranges::all_of(run.records,
                             [](const Record& r) { return r.type == RecordType::kNote; });
}

Strings Records(std::string_view text) {
  const Import import = Read(text);
  EXPECT_EQ(import.runs.size(), 1U);
  EXPECT_TRUE(import.problems.empty());
  return Describe(import.runs.front());
}

Record Only(std::string_view line) {
  const Import import = Read(line);
  EXPECT_TRUE(import.problems.empty()) << line;
  EXPECT_EQ(import.runs.front().records.size(), 1U) << line;
  return OnlyNotes(import.runs.front()) ? Record() : import.runs.front().records.front();
}

TEST(ReadEventsTest, ReadsEveryType) {
  struct Case {
    std::string line;
    std::string record;
  };
  const Case cases[] = {
      {R"({"ts":1,"type":"job_start"})", "job_start"},
      {R"({"ts":1,"type":"step_start","step":7})", "step_start a=7"},
      {R"({"ts":1,"type":"step_end","step":7})", "step_end a=7"},
      {R"({"ts":1,"type":"step_end"})", "step_end"},
      {R"({"ts":1,"type":"step_start","step":9000000000000000000})",
       "step_start a=9000000000000000000"},
      {R"({"ts":1,"type":"step_soft_end","step":2})", "step_soft_end a=2"},
      {R"({"ts":1,"type":"accelerator_init_start"})", "accelerator_init_start"},
      {R"({"ts":1,"type":"training_prep_end"})", "training_prep_end"},
      {R"({"ts":1,"type":"data_loading_start","blocking":true,"step":3})",
       "data_loading_start a=3 blocking"},
      {R"({"ts":1,"type":"async_data_loading_end"})", "async_data_loading_end"},
      {R"({"ts":1,"type":"checkpoint_save_start","blocking":false})",
       "checkpoint_save_start overlapped"},
      {R"({"ts":1,"type":"checkpoint_restore_start"})", "checkpoint_restore_start"},
      {R"({"ts":1,"type":"custom_start","name":"Eval Step"})", "custom_start Eval Step"},
      {R"({"ts":1,"type":"phase_start","name":"rollout"})", "phase_start rollout"},
      {R"({"ts":1,"type":"elastic_wait_start","name":"slice_down"})",
       "elastic_wait_start slice_down"},
      {R"({"ts":1,"type":"elastic_reinit_end"})", "elastic_reinit_end"},
      {R"({"ts":1,"type":"checkpoint_saved","step":40})", "checkpoint_saved a=40"},
      {R"({"ts":1,"type":"rollback","step":4})", "rollback a=4"},
      {R"({"ts":1,"type":"query"})", "query"},
      {R"({"ts":1,"type":"heartbeat"})", "heartbeat"},
      {R"({"ts":1,"type":"heartbeat","wall_ns":5})", "heartbeat a=5"},
      {R"({"ts":1,"type":"clock","wall_ns":6})", "clock a=6"},
      {R"({"ts":1,"type":"capacity","available":2,"active":1,"total":4})",
       "capacity a=4294967298 b=4"},
      {R"({"ts":1,"type":"capacity","total":0})", "capacity a=-1"},
      {R"({"ts":1,"type":"exit","status":3})", "exit a=3"},
      {R"({"ts":1,"type":"exit","status":0})", "exit"},
      {R"({"ts":1,"type":"exit","signal":9})", "exit a=-1 b=9"},
      {R"({"ts":1,"type":"exit","signal":"SIGKILL","status":137})", "exit a=137 b=9"},
      {R"({"ts":1,"type":"exit","status":-11})", "exit a=-1 b=11"},
      {R"({"ts":1,"type":"notice"})", "notice"},
      {R"({"ts":1,"type":"notice","signal":"TERM"})", "notice a=15"},
      {R"({"ts":1,"type":"exclude","from":10.5,"to":20,"name":"stopped"})",
       "exclude a=10500000000 b=20000000000 stopped"},
      {R"({"ts":1,"type":"exclude","from_ns":3})", "exclude a=3"},
      {R"({"ts":1,"type":"note","name":"odd","count":2})", "note a=2 odd"},
      {R"({"ts":1,"type":"config","name":"software"})", "config software"},
      {R"({"ts":1,"type":"stderr_tail"})", "stderr_tail"},
      {R"({"ts":1,"type":"dropped","count":12})", "dropped a=12"},
      {R"({"ts":1,"type":"heartbeat","thread":3})", "heartbeat thread=3"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Records(c.line + "\n"), (Strings{"/rank0 0 " + c.record + " @1000000000"}));
  }
}

TEST(ReadEventsTest, ReadsMetricValuesExactly) {
  const Record record = Only(R"({"ts":1,"type":"log","name":"loss","value":0.1,"step":4})");
  EXPECT_EQ(std::bit_cast<double>(record.b), 0.1);
  EXPECT_EQ(record.a, 4);
  const Record infinite = Only(R"({"ts":1,"type":"log","name":"loss","value":"-Infinity"})");
  EXPECT_TRUE(std::bit_cast<double>(infinite.b) < -1e308);
  EXPECT_EQ(infinite.a, kNoStep);
}

TEST(ReadEventsTest, JudgesAJobEndByItsStatus) {
  for (const char* status :
       {"\"ok\"", "\"success\"", "\"completed\"", "0", "\"0\"", "0.0", "null"}) {
    const std::string line = std::string(R"({"ts":1,"type":"job_end","status":)") + status + "}";
    EXPECT_EQ(Only(line).a, 0) << status;
  }
  EXPECT_EQ(Only(R"({"ts":1,"type":"job_end"})").a, 0);
  for (const char* status :
       {"\"OK\"", "\"error\"", "\"\"", "1", "-1", "0.5", "1e400", "true", "false", "[]", "{}"}) {
    const std::string line = std::string(R"({"ts":1,"type":"job_end","status":)") + status + "}";
    EXPECT_NE(Only(line).a, 0) << status;
  }
  // Only a whole number can be how a process ended.
  EXPECT_EQ(Only(R"({"ts":1,"type":"job_end","status":3})").a, 3);
  for (const char* status : {"\"error\"", "\"3\"", "2.5", "true", "[]"}) {
    const std::string line = std::string(R"({"ts":1,"type":"job_end","status":)") + status + "}";
    EXPECT_EQ(Only(line).a, -1) << status;
  }
}

TEST(ReadEventsTest, PrefersExactTime) {
  EXPECT_EQ(Only(R"({"ts":5,"ts_ns":7,"type":"query"})").time_ns, 7);
  EXPECT_EQ(Only(R"({"ts":null,"ts_ns":-7,"type":"query"})").time_ns, -7);
}

// One of the two is wrong, and nobody knows which: a report from it must not look as any other.
TEST(ReadEventsTest, CountsLinesWhoseTimesDiffer) {
  const std::string same = "{\"ts\":1.234,\"ts_ns\":1234567890,\"type\":\"heartbeat\"}\n";
  const std::string other = "{\"ts\":1.2,\"ts_ns\":1234567890,\"type\":\"heartbeat\"}\n";
  const std::string mono = R"({"ts":2,"mono":1,"mono_ns":5,"type":"heartbeat"})"
                           "\n";
  const std::string exclude = R"({"ts":2,"type":"exclude","from_ns":0,"to":3,"to_ns":4000000000})"
                              "\n";
  const std::string far = R"({"ts":-9e9,"ts_ns":9000000000000000000,"type":"heartbeat"})"
                          "\n";
  const Import import = Read(same + other + mono + exclude + far);
  EXPECT_EQ(import.problems_total, 0U);
  EXPECT_EQ(import.times_differ.lines, 4U);
  EXPECT_EQ(import.times_differ.line, 2U);
  EXPECT_EQ(import.times_differ.offset, same.size());
  EXPECT_EQ(import.runs.front().records.size(), 5U);

  const Options strict{.source = "e", .strict = true};
  EXPECT_TRUE(ReadEvents(same, strict).ok());
  EXPECT_EQ(ReadEvents(mono, strict).status().message(),
            "e:1: the fields \"mono\" and \"mono_ns\" differ by more than 1 ms (byte offset 0)");
  for (const std::string& line : {other, mono, exclude, far}) {
    EXPECT_EQ(ReadEvents(same + line, strict).status().code(), Code::kDataLoss) << line;
  }
}

TEST(ReadEventsTest, NamesWhatIsWrongWithALine) {
  struct Case {
    std::string line;
    std::string sentence;
    ProblemKind kind = ProblemKind::kBadLine;
  };
  const Case cases[] = {
      {"nonsense", "not a JSON object"},
      {"[1]", "not a JSON object"},
      {"5", "not a JSON object"},
      {R"({"ts":1,"type":"query"} x)", "not a JSON object"},
      {R"({"ts":1,"type":"query"}})", "goes on behind"},
      {R"({"ts":1,"type":"query",})", "not JSON"},
      {R"({"ts":1 "type":"query"})", "not JSON"},
      {R"({"ts":1,"type":"query","x":tru})", "not JSON"},
      {R"({"ts":1,"type":"query","x":[1,2}})", "not JSON"},
      {R"({"ts":1,"type":"query","x":{"y":1]})", "not JSON"},
      {R"({"ts":1,"type":"query","x":01})", "not JSON"},
      {R"({"ts":1,"type":"query":{"x":1}})", "not JSON"},
      {R"({"ts":1,"x":"query":{"y":nil},true,[]]})", "not JSON"},
      {R"({"ts":1,"x":["query":1]})", "not JSON"},
      {R"({"ts":1,"type":"query","x":"\q"})", "not JSON"},
      {R"({"ts":1,"type":"custom_start","name":"\ud800"})", "not JSON"},
      {R"({"ts":NaN,"type":"query"})", "not JSON"},
      {"{\"ts\":1,\"type\":\"custom_start\",\"name\":\"\xff\"}", "not valid UTF-8"},
      {std::string("{\"ts\":1,") + '\0' + "\"type\":\"query\"}", "not JSON"},
      {std::string("\0\0\0", 3), "not a JSON object"},
      {R"({"ts":1,"type":"query","ts":2})", "\"ts\" stands twice"},
      {R"({"ts":1})", "no \"type\""},
      {R"({"ts":1,"type":null})", "no \"type\""},
      {R"({"ts":1,"type":5})", "\"type\" must be a string, found a number"},
      {R"({"type":"query"})", "neither \"ts\" nor \"ts_ns\""},
      {R"({"ts":"1","type":"query"})", "\"ts\" must be a number, found a string"},
      {R"({"ts":"1","ts_ns":1,"type":"query"})", "\"ts\" must be a number, found a string"},
      {R"({"ts":1e300,"type":"query"})", "\"ts\" is out of range: 1e300"},
      {R"({"ts_ns":1.5,"type":"query"})", "\"ts_ns\" must be an integer, found 1.5"},
      {R"({"ts_ns":-9223372036854775808,"type":"query"})", "\"ts_ns\" is out of range"},
      {R"({"ts":1,"type":"step_start"})", "needs a \"step\""},
      {R"({"ts":1,"type":"step_start","step":"5"})", "\"step\" must be an integer, found a string"},
      {R"({"ts":1,"type":"step_start","step":5.5})", "\"step\" must be an integer, found 5.5"},
      {R"({"ts":1,"type":"step_start","step":[5]})", "\"step\" must be an integer, found an array"},
      {R"({"ts":1,"type":"rollback"})", "needs a \"step\""},
      {R"({"ts":1,"type":"checkpoint_saved"})", "needs a \"step\""},
      {R"({"ts":1,"type":"custom_start","name":{}})", "\"name\" must be a string, found an object"},
      {R"({"ts":1,"type":"custom_start","blocking":1})", "\"blocking\" must be true or false"},
      {R"({"ts":1,"type":"query","rank":-2})", "\"rank\" is out of range: -2"},
      {R"({"ts":1,"type":"query","attempt":-1})", "\"attempt\" is out of range"},
      {R"({"ts":1,"type":"query","writer":3})", "\"writer\" must be a string"},
      {R"({"ts":1,"type":"query","seq":1e30})", "\"seq\" is out of range"},
      {R"({"ts":1,"type":"query","insert_id":true})", "\"insert_id\""},
      {R"({"ts":1,"type":"query","mono":"x"})", "\"mono\" must be a number"},
      {R"({"ts":1,"type":"exclude","to":2})", "needs \"from\""},
      {R"({"ts":1,"type":"exit"})", "needs a \"status\" or a \"signal\""},
      {R"({"ts":1,"type":"exit","status":null,"signal":0})", "needs a \"status\""},
      {R"({"ts":1,"type":"exit","signal":"SIGFOO"})", "names no signal: \"SIGFOO\""},
      {R"({"ts":1,"type":"exit","status":"0"})", "\"status\" must be an integer"},
      {R"({"ts":1,"type":"capacity","total":-1})", "\"total\" is out of range"},
      {R"({"ts":1,"type":"log","name":"x"})", "needs a \"value\""},
      {R"({"ts":1,"type":"log","value":"high"})", "\"value\" must be a number"},
      {R"({"ts":1,"type":"clock"})", "needs \"wall_ns\""},
      {R"({"ts":1,"type":"lunch"})", "unknown type \"lunch\"", ProblemKind::kUnknownType},
      {R"({"type":"_start","ts":1})", "unknown type", ProblemKind::kUnknownType},
      {R"({"ts":1,"type":"query","writer":")" + std::string(257, 'x') + "\"}",
       "longer than 256 bytes"},
      {R"({"ts":1,"type":"exclude","from":50,"to":10})", "ends (\"to\") before it begins"},
      {R"({"ts":1,"type":"exclude","from_ns":2,"to_ns":1})", "ends (\"to\") before it begins"},
      {R"({"ts":1,"type":"query","x":)" + std::string(100, '[') + std::string(100, ']') + "}",
       "nest deeper than 64"},
  };
  for (const Case& c : cases) {
    const Import import = Read(c.line + "\n");
    ASSERT_EQ(import.problems.size(), 1U) << c.line;
    EXPECT_EQ(import.problems[0].kind, c.kind) << c.line;
    EXPECT_TRUE(Holds(import.problems[0].sentence, c.sentence)) << c.line;
    EXPECT_EQ(import.runs.size(), 1U);
    EXPECT_TRUE(OnlyNotes(import.runs.front()));
  }
}

// A span must not vanish because of a long name: its time would land in another category.
TEST(ReadEventsTest, CutsLongNamesAndCountsThem) {
  const std::string kept(255, 'x');
  const std::string name = kept + "\u00e9";  // two bytes, from the 256th on
  const std::string begin = R"({"ts":1,"type":"custom_start","name":")" + name + "\"}\n";
  const std::string end = R"({"ts":2,"type":"custom_end","name":")" + name + "\"}\n";
  const Import import = Read("\n" + begin + end);
  EXPECT_EQ(import.problems_total, 0U);
  EXPECT_EQ(import.names_cut.lines, 2U);
  EXPECT_EQ(import.names_cut.line, 2U);
  EXPECT_EQ(import.names_cut.offset, 1U);
  EXPECT_EQ(Describe(import.runs.front()),
            (Strings{"/rank0 0 custom_start " + kept + " @1000000000",
                     "/rank0 1 custom_end " + kept + " @2000000000"}));
  EXPECT_EQ(Read(R"({"ts":1,"type":"custom_start","name":")" + kept + "y\"}\n").names_cut.lines,
            0U);
}

TEST(ReadEventsTest, IgnoresWhatItDoesNotKnow) {
  EXPECT_EQ(Records(R"({"x":{"y":[1,2.5e99999,{"z":null}],"ts":9},"ts":1,"type":"query","x":3})"),
            (Strings{"/rank0 0 query @1000000000"}));
  EXPECT_EQ(Records(R"({"t\u0073":1,"type":"custom_start","name":"a\u0000\n\"b"})"),
            (Strings{std::string("/rank0 0 custom_start a") + '\0' + "\n\"b @1000000000"}));
}

TEST(ReadEventsTest, TakesAnyLineEndsAndAByteOrderMark) {
  const std::string text =
      "\xef\xbb\xbf{\"ts\":1,\"type\":\"query\"}\r\n\r\n  \t\n\n {\"ts\":2,\"type\":\"query\"} \r\n"
      "{\"ts\":3,\"type\":\"query\"}";
  EXPECT_EQ(Records(text).size(), 3U);
  EXPECT_TRUE(Records("").empty());
  EXPECT_TRUE(Records("\xef\xbb\xbf").empty());
}

TEST(ReadEventsTest, SaysWhereAProblemIs) {
  const std::string good = R"({"ts":1,"type":"job_start"})";
  const Import import = Read(good + "\r\n\n?\n" + good + "\n{\"ts\":2,\"type\":\"tea\"}\n");
  ASSERT_EQ(import.problems.size(), 2U);
  EXPECT_EQ(import.problems[0].line, 3U);
  EXPECT_EQ(import.problems[0].offset, good.size() + 3);
  EXPECT_EQ(import.problems[1].line, 5U);
  EXPECT_EQ(Describe(import.runs[0]),
            (Strings{"/rank0 0 job_start @1000000000", "/rank0 1 note a=1 bad_line @1000000000",
                     "/rank0 2 note a=1 unknown_type @1000000000"}));
}

TEST(ReadEventsTest, StopsAtTheFirstProblemWhenStrict) {
  const Options strict{.source = "dir/my.jsonl", .strict = true};
  const Result<Import> import =
      ReadEvents("{\"ts\":1,\"type\":\"query\"}\n\n{\"ts\":2}\n!\n", strict);
  ASSERT_FALSE(import.ok());
  EXPECT_EQ(import.status().code(), Code::kDataLoss);
  EXPECT_EQ(import.status().message(), "dir/my.jsonl:3: the line has no \"type\" (byte offset 25)");
  EXPECT_FALSE(ReadEvents("{\"ts\":1,\"type\":\"tea\"}\n", strict).ok());
  EXPECT_FALSE(ReadEvents("{\"ts\":1,\"ty", strict).ok());
  EXPECT_TRUE(ReadEvents("{\"ts\":1,\"type\":\"query\"}", strict).ok());
}

TEST(ReadEventsTest, StepsCountFromZeroToTheLast) {
  for (const char* type :
       {"step_start", "step_end", "step_soft_end", "checkpoint_saved", "rollback"}) {
    const auto line = [type](const char* step) {
      return std::string(R"({"ts":1,"type":")") + type + R"(","step":)" + step + "}\n";
    };
    for (const char* step : {"-1", "-9223372036854775808", "9223372036854775807"}) {
      const Result<Import> import = ReadEvents("\n" + line(step), {});
      ASSERT_TRUE(import.ok());
      ASSERT_EQ(import->problems.size(), 1U) << type;
      EXPECT_EQ(import->problems[0].line, 2U);
      EXPECT_EQ(import->problems[0].sentence, std::string("the field \"step\" is out of range: ") +
                                                  step + "; steps count from 0 to 2^63 - 2");
    }
    EXPECT_EQ(Only(line("0")).a, 0) << type;
    EXPECT_EQ(Only(line("9223372036854775806")).a, kLastStep) << type;
  }
  EXPECT_EQ(Only(R"({"ts":1,"type":"log","name":"loss","value":1,"step":-5})").a, -5);
}

TEST(ReadEventsTest, TellsATornTailFromABadLine) {
  const std::string good = "{\"ts\":1,\"type\":\"job_start\"}\n";
  struct Case {
    std::string tail;
    std::string note;
  };
  const Case cases[] = {
      {"{\"ts\": 2, \"ty", "torn_tail"},    {"{\"ts\": 2, \"type\": \"\xe2\x82", "torn_tail"},
      {std::string(64, '\0'), "torn_tail"}, {"{", "torn_tail"},
      {"{\"ts\": 2, \"ty\n", "bad_line"},   {"{\"ts\": 2}", "bad_line"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Describe(Read(good + c.tail).runs[0]),
              (Strings{"/rank0 0 job_start @1000000000",
                       "/rank0 1 note a=1 " + c.note + " @1000000000"}));
  }
}

TEST(ReadEventsTest, CountsMoreProblemsThanItLists) {
  std::string text = "{\"ts\":1,\"type\":\"query\"}\n";
  for (int i = 0; i < 50; ++i) text += "?\n{\"ts\":1,\"type\":\"tea\"}\n";
  const Import import = Read(text, {.problems_limit = 3});
  EXPECT_EQ(import.problems.size(), 3U);
  EXPECT_EQ(import.problems_total, 100U);
  EXPECT_EQ(Describe(import.runs[0]),
            (Strings{"/rank0 0 query @1000000000", "/rank0 1 note a=50 bad_line @1000000000",
                     "/rank0 2 note a=50 unknown_type @1000000000"}));
}

TEST(ReadEventsTest, SkipsEndlessLines) {
  const std::string text = "{\"ts\":1,\"type\":\"query\",\"x\":\"" + std::string(17 << 20, 'x') +
                           "\"}\n{\"ts\":2,\"type\":\"query\"}\n";
  const Import import = Read(text);
  ASSERT_EQ(import.problems.size(), 1U);
  EXPECT_TRUE(Holds(import.problems[0].sentence, "longer than 16 MiB"));
  const std::string shorter =
      "{\"ts\":1,\"type\":\"query\",\"x\":\"" + std::string(1 << 20, 'x') + "\"}";
  EXPECT_EQ(Records(shorter).size(), 1U);
}

TEST(ReadEventsTest, DropsDuplicates) {
  struct Case {
    std::string what;
    std::string text;
    Strings records;
  };
  const Case cases[] = {
      {"an exact repeat, next to it",
       "{\"ts\":1,\"type\":\"step_start\",\"step\":1}\n{\"ts\":1,\"type\":\"step_start\",\"step\":"
       "1}\r\n",
       {"/rank0 0 step_start a=1 @1000000000"}},
      {"an exact repeat, far away and out of order",
       "{\"ts\":1,\"type\":\"job_start\"}\n{\"ts\":2,\"type\":\"heartbeat\"}\n"
       "{\"ts\":1,\"type\":\"job_start\"}\n{\"ts\":2,\"type\":\"heartbeat\"}\n",
       {"/rank0 0 job_start @1000000000", "/rank0 1 heartbeat @2000000000"}},
      {"the same in other words is no repeat",
       "{\"ts\":1,\"type\":\"heartbeat\"}\n{\"ts\":1.0,\"type\":\"heartbeat\"}\n",
       {"/rank0 0 heartbeat @1000000000", "/rank0 1 heartbeat @1000000000"}},
      {"the earlier time of an id counts, wherever it stands",
       "{\"ts\":3,\"type\":\"step_start\",\"step\":1,\"insert_id\":\"x\"}\n"
       "{\"ts\":2,\"type\":\"step_start\",\"step\":1,\"insert_id\":\"x\"}\n"
       "{\"ts\":4,\"type\":\"step_start\",\"step\":1,\"insert_id\":\"\\u0078\"}\n",
       {"/rank0 0 step_start a=1 @2000000000"}},
      {"at one time the text decides",
       "{\"ts\":3,\"type\":\"step_start\",\"step\":2,\"insert_id\":\"x\"}\n"
       "{\"ts\":3,\"type\":\"step_start\",\"step\":1,\"insert_id\":\"x\"}\n",
       {"/rank0 0 step_start a=1 @3000000000"}},
      {"two ids are two records",
       "{\"ts\":3,\"type\":\"heartbeat\",\"insert_id\":\"x\"}\n"
       "{\"ts\":3,\"type\":\"heartbeat\",\"insert_id\":7}\n",
       {"/rank0 0 heartbeat @3000000000", "/rank0 1 heartbeat @3000000000"}},
      {"a repeat behind an earlier line with an id",
       "{\"ts\":5,\"type\":\"heartbeat\"}\n{\"ts\":3,\"type\":\"heartbeat\",\"insert_id\":\"x\"}\n"
       "{\"ts\":5,\"type\":\"heartbeat\"}\n",
       {"/rank0 0 heartbeat @3000000000", "/rank0 1 heartbeat @5000000000"}},
  };
  for (const Case& c : cases) EXPECT_EQ(Records(c.text), c.records) << c.what;
}

TEST(ReadEventsTest, FindsRepeatsAmongManyLinesOfOneTime) {
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    text +=
        "{\"ts\":1,\"type\":\"log\",\"name\":\"n\",\"value\":" + std::to_string(i % 1000) + "}\n";
  }
  EXPECT_EQ(Records(text).size(), 1000U);
}

TEST(ReadEventsTest, OrdersByTimeThenLine) {
  EXPECT_EQ(Records("{\"ts\":2,\"type\":\"step_start\",\"step\":2}\n"
                    "{\"ts\":1,\"type\":\"step_start\",\"step\":1}\n"
                    "{\"ts\":2,\"type\":\"step_start\",\"step\":0}\n"),
            (Strings{"/rank0 0 step_start a=1 @1000000000", "/rank0 1 step_start a=2 @2000000000",
                     "/rank0 2 step_start @2000000000"}));
}

TEST(ReadEventsTest, OrdersBySeqOnlyWhereAllLinesHaveOne) {
  EXPECT_EQ(Records("{\"ts\":1,\"seq\":8,\"type\":\"step_start\",\"step\":2}\n"
                    "{\"ts\":9,\"seq\":-3,\"type\":\"step_start\",\"step\":1}\n"
                    "{\"ts\":5,\"rank\":1,\"type\":\"heartbeat\"}\n"),
            (Strings{"/rank0 0 step_start a=1 @9000000000", "/rank0 1 step_start a=2 @1000000000",
                     "/rank1 0 heartbeat @5000000000"}));
  EXPECT_EQ(Records("{\"ts\":1,\"seq\":8,\"type\":\"step_start\",\"step\":2}\n"
                    "{\"ts\":9,\"seq\":-3,\"type\":\"step_start\",\"step\":1}\n"
                    "{\"ts\":5,\"type\":\"heartbeat\"}\n"),
            (Strings{"/rank0 0 step_start a=2 @1000000000", "/rank0 1 heartbeat @5000000000",
                     "/rank0 2 step_start a=1 @9000000000"}));
}

TEST(ReadEventsTest, PutsAQueryWithoutASeqWhereItsTimeBelongs) {
  EXPECT_EQ(Records("{\"ts\":1,\"seq\":0,\"type\":\"step_start\",\"step\":1}\n"
                    "{\"ts\":9,\"seq\":1,\"type\":\"step_start\",\"step\":2}\n"
                    "{\"ts\":4,\"seq\":2,\"type\":\"step_start\",\"step\":3}\n"
                    "{\"ts\":5,\"type\":\"query\"}\n"
                    "{\"ts\":9,\"type\":\"exclude\",\"from\":2}\n"),
            (Strings{"/rank0 0 step_start a=1 @1000000000", "/rank0 1 query @5000000000",
                     "/rank0 2 step_start a=2 @9000000000", "/rank0 3 step_start a=3 @4000000000",
                     "/rank0 4 exclude a=2000000000 @9000000000"}));
}

TEST(ReadEventsTest, KeepsAndNotesTwoLinesOfOneSeq) {
  EXPECT_EQ(
      Records("{\"ts\":3,\"seq\":1,\"type\":\"step_start\",\"step\":2}\n"
              "{\"ts\":2,\"seq\":1,\"type\":\"step_start\",\"step\":1}\n"
              "{\"ts\":4,\"seq\":5,\"type\":\"heartbeat\"}\n"),
      (Strings{"/rank0 0 step_start a=1 @2000000000", "/rank0 1 step_start a=2 @3000000000",
               "/rank0 2 heartbeat @4000000000", "/rank0 3 note a=1 seq_conflict @4000000000"}));
  // The attempt is a part of what one number names.
  EXPECT_EQ(Records("{\"ts\":2,\"seq\":1,\"attempt\":3,\"type\":\"step_start\",\"step\":1}\n"
                    "{\"ts\":3,\"seq\":1,\"attempt\":4,\"type\":\"heartbeat\"}\n"),
            (Strings{"3/rank0 0 step_start a=1 @2000000000", "4/rank0 0 heartbeat @3000000000"}));
}

TEST(ReadEventsTest, GivesALineWithoutAnAttemptToTheOneThatOpenedLast) {
  EXPECT_EQ(Records("{\"ts\":0,\"type\":\"heartbeat\"}\n"
                    "{\"ts\":1,\"attempt\":7,\"type\":\"job_start\"}\n"
                    "{\"ts\":4,\"type\":\"heartbeat\"}\n"
                    "{\"ts\":5,\"type\":\"heartbeat\"}\n"
                    "{\"ts\":5,\"attempt\":2,\"type\":\"job_start\"}\n"
                    "{\"ts\":6,\"attempt\":7,\"type\":\"heartbeat\"}\n"
                    "{\"ts\":7,\"rank\":1,\"type\":\"heartbeat\"}\n"
                    "{\"ts\":8,\"type\":\"query\"}\n"),
            (Strings{"/rank0 0 query @8000000000", "2/rank0 0 heartbeat @5000000000",
                     "2/rank0 1 job_start @5000000000", "7/rank0 0 heartbeat @0",
                     "7/rank0 1 job_start @1000000000", "7/rank0 2 heartbeat @4000000000",
                     "7/rank0 3 heartbeat @6000000000", "2/rank1 0 heartbeat @7000000000"}));
}

Strings Writers(std::string_view text) {
  const Import import = Read(text);
  EXPECT_TRUE(import.problems.empty());
  EXPECT_EQ(import.runs.size(), 1U);
  const RunRecords& run = import.runs.front();
  Strings writers;
  for (std::size_t w = 0; w < run.writers.size(); ++w) writers.push_back(DescribeWriter(run, w));
  return writers;
}

TEST(ReadEventsTest, TellsWritersApart) {
  const std::string nothing = " world=-1 host= pid=0 file live=0";
  const std::string_view lines =
      "{\"ts\":1,\"type\":\"heartbeat\",\"rank\":2}\n"
      "{\"ts\":1,\"type\":\"heartbeat\"}\n"
      "{\"ts\":1,\"type\":\"heartbeat\",\"rank\":-1}\n"
      "{\"ts\":1,\"type\":\"exit\",\"status\":1,\"writer\":\"supervisor\"}\n";
  EXPECT_EQ(Writers(lines), (Strings{"/rank0 name=rank0 rank=0 key= index=-1" + nothing,
                                     "/rank2 name=rank2 rank=2 key= index=-1" + nothing,
                                     "/supervisor name=supervisor rank=-1 key= index=-1" + nothing,
                                     "/unranked name=unranked rank=-1 key= index=-1" + nothing}));
  EXPECT_EQ(
      Writers("{\"ts\":1,\"type\":\"heartbeat\",\"attempt\":3,\"writer\":\"h\",\"rank\":1}\n"
              "{\"ts\":2,\"type\":\"heartbeat\",\"attempt\":3,\"writer\":\"h\"}\n"
              "{\"ts\":1,\"type\":\"heartbeat\",\"attempt\":4,\"writer\":\"h\"}\n"
              "{\"type\":\"writer\",\"writer\":\"h\",\"attempt\":3,\"host\":\"n1\",\"pid\":7,"
              "\"world_size\":4,\"monotonic\":true,\"liveness\":\"dead\"}\n"),
      (Strings{
          "3/h name=h rank=1 key=attempt:3 index=3 world=4 host=n1 pid=7 monotonic file live=2",
          "4/h name=h rank=1 key=attempt:4 index=4" + nothing}));
}

TEST(ReadEventsTest, ResultDependsOnTheSetOfLines) {
  Strings lines;
  for (int i = 0; i < 40; ++i) {
    lines.push_back("{\"ts\":" + std::to_string(i * 3) + ",\"mono\":" + std::to_string(i * 3) +
                    ".01,\"type\":\"step_start\",\"step\":" + std::to_string(i) +
                    ",\"rank\":" + std::to_string(i % 3) + "}\n");
  }
  const auto read = [&] {
    std::string text;
    for (const std::string& line : lines) text += line;
    return DescribeAll(Read(text).runs.at(0));
  };
  const Strings straight = read();
  std::ranges::reverse(lines);
  EXPECT_EQ(read(), straight);
  std::rotate(lines.begin(), lines.begin() + 13, lines.end());
  EXPECT_EQ(read(), straight);
}

TEST(ReadEventsTest, PairsSpansByTheNumberOfTheirBegin) {
  EXPECT_EQ(
      Records("{\"ts\":1,\"seq\":100,\"type\":\"custom_start\",\"name\":\"x\"}\n"
              "{\"ts\":2,\"seq\":102,\"type\":\"custom_start\",\"name\":\"x\"}\n"
              "{\"ts\":3,\"seq\":105,\"type\":\"custom_end\",\"name\":\"x\",\"begin_seq\":102}\n"
              "{\"ts\":4,\"seq\":106,\"type\":\"custom_end\",\"name\":\"x\",\"begin_seq\":99}\n"
              "{\"ts\":5,\"seq\":107,\"type\":\"custom_end\",\"name\":\"x\"}\n"),
      (Strings{"/rank0 0 custom_start x @1000000000", "/rank0 1 custom_start x @2000000000",
               "/rank0 2 custom_end b=1 x @3000000000", "/rank0 3 custom_end b=3 x @4000000000",
               "/rank0 4 custom_end x @5000000000"}));
}

std::string Tick(const char* ts, const char* mono, const char* rest) {
  return std::string("{\"ts\":") + ts + ",\"mono\":" + mono + "," + rest + "}\n";
}

TEST(ReadEventsTest, AdvancesWithTheMonotonicColumn) {
  struct Case {
    std::string what;
    std::string text;
    Strings records;
  };
  const Case cases[] = {
      {"the wall clock is set back by 3 s and later forward again",
       Tick("100", "7", R"("type":"job_start")") + Tick("98", "8", R"("type":"heartbeat")") +
           Tick("99", "9", R"("type":"heartbeat")") + Tick("103", "10", R"("type":"heartbeat")"),
       {"/rank0 0 job_start @100000000000", "/rank0 1 clock a=98000000000 @101000000000",
        "/rank0 2 heartbeat @101000000000", "/rank0 3 heartbeat @102000000000",
        "/rank0 4 clock a=103000000000 @103000000000", "/rank0 5 heartbeat @103000000000"}},
      {"up to a second is jitter, and it adds up",
       Tick("10", "0", R"("type":"heartbeat")") + Tick("11.6", "1", R"("type":"heartbeat")") +
           Tick("13", "2", R"("type":"heartbeat")") +
           Tick("14.000000001", "3", R"("type":"query")"),
       {"/rank0 0 heartbeat @10000000000", "/rank0 1 heartbeat @11000000000",
        "/rank0 2 heartbeat @12000000000", "/rank0 3 clock a=14000000001 @13000000000",
        "/rank0 4 query @13000000000"}},
      {"a column that starts anew is another process",
       Tick("10", "500", R"("type":"job_start")") + Tick("11", "501", R"("type":"heartbeat")") +
           Tick("100", "0.5", R"("type":"job_start")") + Tick("101", "1.5", R"("type":"query")"),
       {"/rank0 0 job_start @10000000000", "/rank0 1 heartbeat @11000000000",
        "/rank0 2 job_start @100000000000", "/rank0 3 query @101000000000"}},
      {"so is a job start on a machine that has been up for longer",
       Tick("10", "500", R"("type":"job_start")") + Tick("100", "9000", R"("type":"job_start")"),
       {"/rank0 0 job_start @10000000000", "/rank0 1 job_start @100000000000"}},
      {"and so is a clock that nobody can have set: more than a day off",
       Tick("10", "500", R"("type":"step_start","step":0)") +
           Tick("100", "90000", R"("type":"step_start","step":1)") +
           Tick("101", "90001", R"("type":"query")"),
       {"/rank0 0 step_start @10000000000", "/rank0 1 step_start a=1 @100000000000",
        "/rank0 2 query @101000000000"}},
      {"lines without the column keep their time",
       Tick("10", "0", R"("type":"job_start")") + Tick("7", "1", R"("type":"heartbeat")") +
           "{\"ts\":12,\"type\":\"query\"}\n",
       {"/rank0 0 job_start @10000000000", "/rank0 1 clock a=7000000000 @11000000000",
        "/rank0 2 heartbeat @11000000000", "/rank0 3 query @12000000000"}},
      {"times beyond the end of time stay there",
       Tick("9223372030", "0", R"("type":"heartbeat")") +
           Tick("9223372031", "80000", R"("type":"query")"),
       {"/rank0 0 heartbeat @9223372030000000000",
        "/rank0 1 clock a=9223372031000000000 @9223372036854775807",
        "/rank0 2 query @9223372036854775807"}},
  };
  for (const Case& c : cases) EXPECT_EQ(Records(c.text), c.records) << c.what;
}

TEST(ReadEventsTest, CallsAWriterMonotonicWhoseLinesAllAre) {
  const std::string first = Tick("1", "1", R"("type":"job_start")");
  EXPECT_TRUE(Read(first).runs[0].writers[0].monotonic);
  EXPECT_FALSE(Read(first + "{\"ts\":2,\"type\":\"query\"}\n").runs[0].writers[0].monotonic);
}

}  // namespace
}  // namespace headway::jsonl
