#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "formats/jsonl/reader.h"
#include "formats/jsonl/test_runs.h"

namespace headway::jsonl {
namespace {

/// An event file from words: "10 step_start 3; 20 job_end". Whatever follows the number of a step,
/// or a type without one, is taken into the line as it stands.
std::string File(std::string_view script) {
  std::string text;
  while (!script.empty()) {
    const std::size_t end = std::min(script.find(';'), script.size());
    std::string_view item = script.substr(0, end);
    script.remove_prefix(std::min(end + 1, script.size()));
    while (item.starts_with(' ')) item.remove_prefix(1);
    Strings words;
    for (std::size_t at = 0; at < item.size();) {
      const std::size_t space = std::min(item.find(' ', at), item.size());
      words.emplace_back(item.substr(at, space - at));
      at = space + 1;
    }
    text += "{\"ts\":" + words.at(0) + ",\"type\":\"" + words.at(1) + "\"";
    for (std::size_t i = 2; i < words.size(); ++i) {
      const bool step = words[i].find(':') == std::string::npos;
      text += std::string(",") + (step ? "\"step\":" : "") + words[i];
    }
    text += "}\n";
  }
  return text;
}

/// Each run as "time type; time type", in seconds, run_name_reused notes checked and left out.
Strings Runs(std::string_view script) {
  const Result<Import> import = ReadEvents(File(script));
  EXPECT_TRUE(import.ok());
  EXPECT_EQ(import->problems_total, 0U) << File(script);
  Strings runs;
  for (const RunRecords& run : import->runs) {
    std::vector<Record> records = run.records;
    std::ranges::sort(records, {},
                      [](const Record& r) { return std::tuple(r.time_ns, r.writer, r.seq); });
    std::string text;
    int notes = 0;
    for (const Record& r : records) {
      if (r.type == RecordType::kNote) {
        EXPECT_EQ(run.names.Text(r.name), "run_name_reused");
        ++notes;
        continue;
      }
      text += std::to_string(r.time_ns / 1'000'000'000) + " ";
      text.append(EventTypeName(r)).append("; ");
    }
    EXPECT_EQ(notes, import->runs.size() > 1 ? 1 : 0);
    runs.push_back(text);
  }
  return runs;
}

std::size_t Count(std::string_view script) { return Runs(script).size(); }

TEST(RunCutsTest, SplitsWhereARunNameWasUsedAgain) {
  EXPECT_EQ(
      Runs("0 job_start; 10 step_start 0; 20 step_start 1; 30 job_end;"
           "31 exit \"status\":0; 32 heartbeat; 1000 job_start; 1010 step_start 0;"
           "1020 job_end"),
      (Strings{"0 job_start; 10 step_start; 20 step_start; 30 job_end; 31 exit; 32 heartbeat; ",
               "1000 job_start; 1010 step_start; 1020 job_end; "}));
}

TEST(RunCutsTest, DecidesWhetherARunIsNew) {
  struct Case {
    const char* what;
    const char* script;
    std::size_t runs;
  };
  const Case cases[] = {
      {"an ordinary run", "0 job_start; 1 step_start 0; 2 job_end", 1},
      {"from step 1", "0 job_start; 1 step_start 0; 2 job_end; 5 job_start; 6 step_start 1", 2},
      {"from step 2", "0 job_start; 1 step_start 0; 2 job_end; 5 job_start; 6 step_start 2", 1},
      {"from a checkpoint",
       "0 job_start; 1 step_start 0; 2 job_end; 5 job_start; 5 checkpoint_restore_start;"
       "6 checkpoint_restore_end; 7 step_start 0",
       1},
      {"a checkpoint only later",
       "0 job_start; 1 step_start 0; 2 job_end; 5 job_start; 7 step_start 0;"
       "8 checkpoint_restore_start",
       2},
      {"a failed end",
       "0 job_start; 1 step_start 0; 2 job_end \"status\":1; 5 job_start;"
       "6 step_start 0",
       1},
      {"a crash", "0 job_start; 1 step_start 0; 2 heartbeat; 5 job_start; 6 step_start 0", 1},
      {"an exit with status 0 is a clean end",
       "0 job_start; 1 step_start 0; 2 exit \"status\":0; 5 job_start; 6 step_start 0", 2},
      {"an exit by signal is not",
       "0 job_start; 1 step_start 0; 2 exit \"signal\":9; 5 job_start; 6 step_start 0", 1},
      {"the job's own end counts before its exit",
       "0 job_start; 1 step_start 0; 2 job_end; 3 exit \"status\":1; 5 job_start; 6 step_start 0",
       2},
      {"work after the end, without a job start",
       "0 job_start; 1 step_start 0; 2 job_end;"
       "5 step_start 0",
       2},
      {"an attempt without a step lies between",
       "0 job_start; 1 step_start 0; 2 job_end; 5 job_start; 6 job_end \"status\":1;"
       "8 job_start; 9 step_start 0",
       2},
      {"a restore there does not count",
       "0 job_start; 1 step_start 0; 2 job_end; 5 job_start; 5 checkpoint_restore_start;"
       "8 job_start; 9 step_start 0",
       2},
      {"a clean end before the first step is no run's end",
       "0 job_start; 1 job_end; 5 job_start; 6 step_start 0", 1},
      {"only the last attempt's end counts",
       "0 job_start; 1 step_start 0; 2 job_end; 5 job_start; 6 step_start 9; 8 job_start;"
       "9 step_start 0",
       1},
      {"three runs",
       "0 job_start; 1 step_start 0; 2 job_end; 5 job_start; 6 step_start 0; 7 job_end;"
       "8 job_start; 9 step_start 0; 10 job_end",
       3},
      {"another rank's end means nothing",
       "0 job_start; 1 step_start 0; 2 job_end \"rank\":1; 5 job_start; 6 step_start 0", 1},
      {"explicit attempts",
       "0 job_start \"attempt\":0; 1 step_start 0 \"attempt\":0; 2 job_end \"attempt\":0;"
       "5 job_start \"attempt\":1; 6 step_start 0 \"attempt\":1",
       2},
      {"explicit attempts, clean end told by a supervisor that knows of none",
       "0 job_start \"attempt\":0; 1 step_start 0 \"attempt\":0; 2 exit \"status\":0;"
       "5 job_start \"attempt\":1; 6 step_start 0 \"attempt\":1",
       2},
      {"explicit attempts that go on",
       "0 job_start \"attempt\":0; 1 step_start 0 \"attempt\":0; 2 job_end \"attempt\":0;"
       "5 job_start \"attempt\":1; 6 step_start 1 \"attempt\":0; 7 step_start 2 \"attempt\":1",
       1},
      {"both kinds of attempts",
       "0 job_start \"attempt\":0; 1 step_start 0 \"attempt\":0; 2 job_end \"attempt\":0;"
       "5 job_start; 6 step_start 0",
       1},
      {"an un-ranked process that follows in the instant of the end",
       "0 job_start \"writer\":\"b\"; 1 step_start 0 \"writer\":\"b\"; 2 step_start 1 "
       "\"writer\":\"b\";"
       "3 job_end \"writer\":\"b\"; 3 job_start \"writer\":\"a\"; 4 step_start 0 \"writer\":\"a\"",
       2},
      {"an exit that another un-ranked process of the attempt tells of",
       "0 step_start 0 \"writer\":\"a\"; 0 job_start \"writer\":\"b\";"
       "2 exit \"status\":0 \"writer\":\"b\"; 5 step_start 0 \"writer\":\"a\"",
       2},
      {"the end of another un-ranked process of a numbered attempt means nothing",
       "0 step_start 0 \"writer\":\"a\" \"attempt\":0; 1 job_start \"writer\":\"b\" \"attempt\":0;"
       "2 job_end \"writer\":\"b\" \"attempt\":0; 5 step_start 0 \"writer\":\"a\" \"attempt\":1",
       1},
  };
  for (const Case& c : cases) EXPECT_EQ(Count(c.script), c.runs) << c.what;
}

TEST(RunCutsTest, LeavesAStartInTheInstantOfTheEndWithTheEnd) {
  EXPECT_EQ(Runs("1 step_start 0 \"writer\":\"p2\"; 2 job_start \"writer\":\"p10\";"
                 "2 exit \"status\":0 \"writer\":\"p10\"; 2 step_start 0 \"writer\":\"p2\""),
            (Strings{"1 step_start; 2 job_start; 2 exit; ", "2 step_start; "}));
}

TEST(RunCutsTest, DoesNotDependOnWhoseLineComesFirst) {
  Strings lines = {"0 job_start \"writer\":\"b\"", "0 step_start 0 \"writer\":\"a\"",
                   "10 job_end \"writer\":\"a\"", "20 step_start 0 \"writer\":\"a\""};
  std::ranges::sort(lines);
  do {
    std::string script;
    for (const std::string& line : lines) script += (script.empty() ? "" : ";") + line;
    EXPECT_EQ(Runs(script), (Strings{"0 step_start; 0 job_start; 10 job_end; ", "20 step_start; "}))
        << script;
  } while (std::ranges::next_permutation(lines).found);
}

TEST(RunCutsTest, TakesOtherRanksAlongByTime) {
  EXPECT_EQ(Runs("0 job_start; 0 job_start \"rank\":1; 1 step_start 0; 5 job_end;"
                 "6 heartbeat \"rank\":1; 7 job_end \"rank\":1; 20 job_start \"rank\":1;"
                 "21 heartbeat \"rank\":1; 22 job_start; 23 step_start 0; 24 heartbeat \"rank\":1;"
                 "25 heartbeat \"rank\":2"),
            (Strings{"0 job_start; 0 job_start; 1 step_start; 5 job_end; 6 heartbeat; 7 job_end; ",
                     "20 job_start; 21 heartbeat; 22 job_start; 23 step_start; 24 heartbeat; "
                     "25 heartbeat; "}));
}

TEST(RunCutsTest, TakesExplicitAttemptsAsAWhole) {
  EXPECT_EQ(Runs("0 job_start \"attempt\":0; 1 step_start 0 \"attempt\":0; 9 job_end \"attempt\":0;"
                 "8 job_start \"attempt\":7; 10 heartbeat \"attempt\":0 \"rank\":1;"
                 "10 step_start 0 \"attempt\":7; 11 query"),
            (Strings{"0 job_start; 1 step_start; 9 job_end; 10 heartbeat; ",
                     "8 job_start; 10 step_start; 11 query; "}));
}

TEST(RunCutsTest, PutsAnExclusionWhereItsTimeIs) {
  EXPECT_EQ(Runs("0 job_start; 1 step_start 0; 5 job_end; 20 job_start; 22 step_start 0;"
                 "23 exclude \"from\":2,\"to\":3; 24 exclude \"from\":21"),
            (Strings{"0 job_start; 1 step_start; 5 job_end; 23 exclude; ",
                     "20 job_start; 22 step_start; 24 exclude; "}));
}

TEST(RunCutsTest, KeepsOneRunWhenAsked) {
  const std::string text =
      File("0 job_start; 1 step_start 0; 2 job_end; 5 job_start; 6 step_start 0");
  const Result<Import> import = ReadEvents(text, {.split_runs = false});
  ASSERT_TRUE(import.ok());
  EXPECT_EQ(import->runs.size(), 1U);
  EXPECT_EQ(import->runs[0].records.size(), 5U);
}

TEST(RunCutsTest, NumbersEachRunFromZeroWithItsOwnNames) {
  const std::string text =
      File(
          "0 job_start; 0 custom_start \"name\":\"a\"; 1 step_start 0; 2 job_end;"
          "5 job_start; 5 custom_start \"name\":\"b\"; 6 step_start 0") +
      "?\n";
  const Result<Import> import = ReadEvents(text);
  ASSERT_TRUE(import.ok());
  ASSERT_EQ(import->runs.size(), 2U);
  EXPECT_EQ(Describe(import->runs[1]),
            (Strings{"/rank0 0 job_start @5000000000", "/rank0 1 custom_start b @5000000000",
                     "/rank0 2 step_start @6000000000", "/rank0 3 note a=1 bad_line @6000000000",
                     "/rank0 4 note a=1 run_name_reused @6000000000"}));
  EXPECT_EQ(import->runs[0].names.size(), 3U);  // "", "a" and the note
}

TEST(RunCutsTest, StopsAtAThousandCuts) {
  std::string script;
  for (int i = 0; i < 1200; ++i) {
    const std::string ts = std::to_string(i * 10);
    script += ts + " job_start; " + ts + " step_start 0; " + ts + " job_end; ";
  }
  script.resize(script.size() - 2);
  EXPECT_EQ(Count(script), 1001U);
}

}  // namespace
}  // namespace headway::jsonl
