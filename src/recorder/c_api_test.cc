#include <gtest/gtest.h>
#include <headway/headway.h>
#include <headway/recorder.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "journal/directory.h"
#include "journal/liveness.h"
#include "journal/test_files.h"

namespace headway {
namespace {

using journal::Read;
using journal::ReadResult;

[[gnu::noinline]] void Throw() { throw std::runtime_error("x"); }

class ApiTest : public testing::Test {
 protected:
  ApiTest() {
    ::setenv("HEADWAY_DIR", dir_.path().c_str(), 1);
    ::unsetenv("HEADWAY_DISABLED");
  }

  // Runs `body` in a child and returns its wait status and the records of run "r".
  int InChild(auto body) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      body();
      ::_exit(99);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    return status;
  }
  ReadResult ReadRun(const std::string& run = "r") {
    const auto journals = journal::ListJournals(dir_.path(), "default", run);
    if (journals->size() != 1) {
      ADD_FAILURE() << journals->size() << " journals";
      return {};
    }
    return Read((*journals)[0].path);
  }

  ScratchDir dir_;
};

TEST_F(ApiTest, ADisabledRecorderTakesEverything) {
  Recorder off;
  EXPECT_FALSE(off.enabled());
  off.StepStart(1);
  off.StepEnd(1);
  { const headway::Step step = off.Step(2); }
  { const Span span = off.Custom("x"); }
  off.Log("loss", 1, 2);
  off.Config("{}");
  off.Capacity(1, 1, 1);
  off.Exclude(1, 2, "x");
  off.CheckpointSaved(1);
  off.Rollback(1);
  off.Heartbeat();
  off.Notice();
  off.Finish();
  EXPECT_STREQ(off.journal_path(), "");
  EXPECT_STREQ(headway_run(nullptr), "");
  EXPECT_STREQ(headway_project(nullptr), "");
  EXPECT_STREQ(headway_run_uid(nullptr), "");
  EXPECT_STREQ(headway_attempt_key(nullptr), "");
  EXPECT_STREQ(headway_destination(nullptr), "");
  EXPECT_EQ(headway_rank(nullptr), HEADWAY_UNKNOWN);
  EXPECT_EQ(headway_world_size(nullptr), HEADWAY_UNKNOWN);
  EXPECT_EQ(headway_dropped(nullptr), 0u);
  EXPECT_EQ(headway_continued(nullptr), 0);
  EXPECT_EQ(headway_name(nullptr, "x"), 0u);
  headway_close(nullptr);
}

TEST_F(ApiTest, DisabledByTheEnvironment) {
  ::setenv("HEADWAY_DISABLED", "1", 1);
  std::string error = "before";
  EXPECT_FALSE(Recorder::Open({.run = "r"}, &error).enabled());
  EXPECT_EQ(error, "");
  ::unsetenv("HEADWAY_DISABLED");
}

TEST_F(ApiTest, ErrorsComeAsCodeAndText) {
  char error[32];
  headway_recorder* recorder = reinterpret_cast<headway_recorder*>(1);
  headway_options options = HEADWAY_OPTIONS_INIT;
  options.resume = "perhaps";
  EXPECT_EQ(headway_open(&options, &recorder, error, sizeof error), 3);
  EXPECT_EQ(recorder, nullptr);
  EXPECT_EQ(std::strlen(error), sizeof error - 1);  // cut
  EXPECT_EQ(headway_open(&options, &recorder, nullptr, 0), 3);
  EXPECT_EQ(headway_open(&options, nullptr, error, sizeof error), 3);
  options = HEADWAY_OPTIONS_INIT;
  options.project = "";
  EXPECT_EQ(headway_open(&options, &recorder, error, sizeof error), 3);
  EXPECT_TRUE(std::string_view(error).starts_with("project must not be empty")) << error;
}

TEST_F(ApiTest, HistoryIsFilledInAtTheTimesItHad) {
  constexpr std::int64_t kStart = 1'767'225'600'000'000'000;
  headway_options options = HEADWAY_OPTIONS_INIT;
  options.run = "r";
  options.job_start = 0;
  headway_recorder* recorder = nullptr;
  ASSERT_EQ(headway_open(&options, &recorder, nullptr, 0), 0);
  headway_job_start_at(recorder, kStart);
  const headway_span span =
      headway_span_begin_at(recorder, HEADWAY_CUSTOM, HEADWAY_BLOCKING_DEFAULT,
                            headway_name(recorder, "eval"), 7, kStart + 1);
  headway_span_end_at(recorder, span, kStart + 2);
  headway_capacity_at(recorder, 3, 2, 4, kStart + 3);
  headway_step_start_at(recorder, 8, HEADWAY_NO_TIME);  // now
  headway_job_end_at(recorder, 1, kStart + 4);
  headway_step_start_at(recorder, 9, INT64_MAX);
  headway_abandon(recorder);
  headway_step_start(recorder, 10);  // nobody records any more
  headway_close(recorder);
  headway_job_start_at(nullptr, 1);
  headway_job_end_at(nullptr, 0, 1);
  headway_step_start_at(nullptr, 1, 1);
  EXPECT_EQ(headway_span_begin_at(nullptr, HEADWAY_CUSTOM, HEADWAY_BLOCKING_YES, 0, 1, 1), 0u);
  headway_span_end_at(nullptr, 1, 1);
  headway_capacity_at(nullptr, 1, 1, 1, 1);
  headway_abandon(nullptr);

  const ReadResult read = ReadRun();
  ASSERT_EQ(read.records.size(), 8u);
  const RecordType types[] = {RecordType::kJobStart,  RecordType::kSpanBegin, RecordType::kSpanEnd,
                              RecordType::kCapacity,  RecordType::kStepStart, RecordType::kJobEnd,
                              RecordType::kStepStart, RecordType::kProcessEnd};
  for (std::size_t i = 0; i < read.records.size(); ++i) EXPECT_EQ(read.records[i].type, types[i]);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(read.records[static_cast<std::size_t>(i)].time_ns, kStart + i);
  EXPECT_EQ(read.records[1].a, 7);
  EXPECT_GT(read.records[4].time_ns, kStart);
  EXPECT_EQ(read.records[5].time_ns, kStart + 4);
  EXPECT_EQ(read.records[5].a, 1);
  EXPECT_EQ(read.records[6].time_ns, INT64_MAX);
}

TEST_F(ApiTest, StepsBelowZeroAreCountedAndNotKept) {
  headway_options options = HEADWAY_OPTIONS_INIT;
  options.run = "r";
  headway_recorder* recorder = nullptr;
  ASSERT_EQ(headway_open(&options, &recorder, nullptr, 0), 0);
  headway_step_start(recorder, 0);
  std::uint64_t unkept = 0;
  for (const std::int64_t step : {std::int64_t{-1}, std::int64_t{-7}, INT64_MIN + 1, INT64_MAX}) {
    headway_step_start(recorder, step);
    headway_step_start_at(recorder, step, 1);
    headway_step_end(recorder, step);
    headway_step_soft_end(recorder, step);
    headway_checkpoint_saved(recorder, step);
    headway_rollback(recorder, step);
    const headway_name_id loss = headway_name(recorder, "loss");
    const double value = 1;
    headway_log(recorder, loss, value, step);
    headway_log_all(recorder, &loss, &value, 1, step);
    unkept += 8;
    EXPECT_EQ(headway_dropped(recorder), unkept) << step;
  }
  for (auto* const call : {&headway_step_start, &headway_checkpoint_saved, &headway_rollback}) {
    call(recorder, HEADWAY_NO_STEP);
    EXPECT_EQ(headway_dropped(recorder), ++unkept);
  }
  headway_step_start_at(recorder, HEADWAY_NO_STEP, 1);
  EXPECT_EQ(headway_dropped(recorder), ++unkept);
  // An end of whichever step runs, a span and a metric of no step are records.
  headway_step_soft_end(recorder, HEADWAY_NO_STEP);
  headway_step_end(recorder, HEADWAY_NO_STEP);
  headway_span_end(recorder,
                   headway_span_begin(recorder, HEADWAY_CUSTOM, HEADWAY_BLOCKING_YES, 0, -3));
  headway_log(recorder, headway_name(recorder, "loss"), 1, HEADWAY_NO_STEP);
  EXPECT_EQ(headway_dropped(recorder), unkept);
  headway_close(recorder);
  const ReadResult read = ReadRun();
  ASSERT_EQ(read.records.size(), 8u);
  EXPECT_EQ(read.records[1].type, RecordType::kStepStart);
  EXPECT_EQ(read.records[2].type, RecordType::kStepSoftEnd);
  EXPECT_EQ(read.records[4].type, RecordType::kSpanBegin);
  EXPECT_EQ(read.records[4].a, kNoStep);
  EXPECT_EQ(read.records[6].type, RecordType::kMetric);
}

TEST_F(ApiTest, MetricsOfOneCallHaveOneTime) {
  Recorder run = Recorder::Open({.run = "r"});
  run.Log({{"loss", 0.5}, {"accuracy", 1}}, 7);
  run.Log("loss", 0.25, 8);
  const headway_name_id names[] = {headway_name(run.handle(), "loss"), 4711};
  const double values[] = {2, 3};
  headway_log_all(run.handle(), names, values, 2, HEADWAY_NO_STEP);
  EXPECT_EQ(run.dropped(), 1u) << "one name is none";
  headway_log_all(run.handle(), nullptr, values, 2, 1);
  headway_log_all(run.handle(), names, nullptr, 2, 1);
  headway_log_all(nullptr, names, values, 2, 1);
  run.Finish();
  const ReadResult read = ReadRun("r");
  std::vector<Record> metrics;
  for (const Record& record : read.records) {
    if (record.type == RecordType::kMetric) metrics.push_back(record);
  }
  ASSERT_EQ(metrics.size(), 4u);
  EXPECT_EQ(metrics[0].time_ns, metrics[1].time_ns);
  EXPECT_EQ(read.names.Text(metrics[0].name), "loss");
  EXPECT_EQ(read.names.Text(metrics[1].name), "accuracy");
  EXPECT_EQ(std::bit_cast<double>(metrics[1].b), 1.0);
  EXPECT_EQ(metrics[1].a, 7);
  EXPECT_GE(metrics[2].time_ns, metrics[1].time_ns);
  EXPECT_EQ(metrics[3].a, kNoStep);
}

TEST_F(ApiTest, AnExitThatEndsNoJob) {
  const int status = InChild([] {
    headway_options options = HEADWAY_OPTIONS_INIT;
    options.run = "r";
    options.hook_exit = 2;
    headway_recorder* recorder = nullptr;
    headway_open(&options, &recorder, nullptr, 0);
    std::exit(3);
  });
  EXPECT_EQ(WEXITSTATUS(status), 3);
  const ReadResult read = ReadRun();
  ASSERT_EQ(read.records.size(), 2u);
  EXPECT_EQ(read.records[1].type, RecordType::kExit);
  EXPECT_EQ(read.records[1].a, 3);
}

TEST_F(ApiTest, OptionsOfAnOlderReleaseAreCompleted) {
  headway_options options = HEADWAY_OPTIONS_INIT;
  options.run = "old";
  options.rank = 12345;  // lies beyond what this caller's release knew
  options.struct_size = offsetof(headway_options, rank);
  headway_recorder* recorder = nullptr;
  ASSERT_EQ(headway_open(&options, &recorder, nullptr, 0), 0);
  EXPECT_STREQ(headway_run(recorder), "old");
  EXPECT_EQ(headway_rank(recorder), -1);
  headway_close(recorder);
  EXPECT_EQ(headway_abi_version(), static_cast<std::uint32_t>(HEADWAY_ABI_VERSION));
  EXPECT_STREQ(headway_version(), "0.1.0");
}

TEST_F(ApiTest, EveryCallIsRecorded) {
  Recorder run = Recorder::Open({.run = "r"});
  ASSERT_TRUE(run.enabled());
  { const headway::Step step = run.Step(1); }
  { const headway::Step step = run.Step(2, true); }
  { const Span span = run.AcceleratorInit(); }
  { const Span span = run.TrainingPrep(); }
  { const Span span = run.DataLoading(SpanBlocking::kYes); }
  { const Span span = run.CheckpointSave(2, SpanBlocking::kNo); }
  { const Span span = run.CheckpointRestore(); }
  { const Span span = run.Custom("eval"); }
  { const Span span = run.Phase("rollout"); }
  { const Span span = run.ElasticWait("slice_down"); }
  { const Span span = run.ElasticReinit(); }
  run.CheckpointSaved(2);
  run.Rollback(1);
  run.Capacity(3, HEADWAY_UNKNOWN, HEADWAY_UNKNOWN);
  run.Exclude(10, HEADWAY_NO_TIME, "lunch");
  run.Log("loss", 0.5, 2);
  run.Config("{\"a\": 1}");
  run.Notice(0);
  run.Finish(0);
  const ReadResult read = ReadRun();
  std::vector<int> types;
  for (const Record& record : read.records) types.push_back(static_cast<int>(record.type));
  EXPECT_EQ(types, (std::vector<int>{1, 3, 5, 3, 4, 6, 7, 6, 7,  6, 7,  6,  7,  6,  7, 6,
                                     7, 6, 7, 6, 7, 6, 7, 9, 13, 8, 12, 18, 19, 16, 2}));
  EXPECT_EQ(read.records[25].a, 3 | std::int64_t{0xffffffff} << 32);
  EXPECT_EQ(read.records[25].b, -1);
  EXPECT_EQ(read.records[9].blocking, Blocking::kYes);
  EXPECT_EQ(read.records[11].a, 2);
  EXPECT_EQ(read.names.Text(read.records[15].name), "eval");
}

TEST_F(ApiTest, WrongArgumentsDoNothing) {
  Recorder run = Recorder::Open({.run = "r"});
  EXPECT_EQ(headway_span_begin(run.handle(), static_cast<headway_span_kind>(0),
                               HEADWAY_BLOCKING_DEFAULT, 0, 0),
            0u);
  EXPECT_EQ(headway_span_begin(run.handle(), static_cast<headway_span_kind>(11),
                               HEADWAY_BLOCKING_DEFAULT, 0, 0),
            0u);
  EXPECT_EQ(
      headway_span_begin(run.handle(), HEADWAY_CUSTOM, static_cast<headway_blocking>(3), 0, 0), 0u);
  EXPECT_EQ(headway_span_begin(run.handle(), HEADWAY_CUSTOM, HEADWAY_BLOCKING_NO, 1u << 24, 0), 0u);
  EXPECT_EQ(run.dropped(), 4u);
  headway_span_end(run.handle(), 0);
  headway_config(run.handle(), nullptr, nullptr, 5);
  EXPECT_EQ(headway_name(run.handle(), nullptr), 0u);
  EXPECT_EQ(run.dropped(), 4u);
  headway_exclude(run.handle(), 2, 1, 0);
  EXPECT_EQ(run.dropped(), 5u);
  run.Finish();
  EXPECT_EQ(ReadRun().records.size(), 2u);
}

TEST_F(ApiTest, AnotherRecordersNamesAndSpansAreNotKept) {
  Recorder other = Recorder::Open({.run = "other"});
  Recorder run = Recorder::Open({.run = "r"});
  const headway_name_id eval = headway_name(other.handle(), "eval");
  const headway_span span =
      headway_span_begin(other.handle(), HEADWAY_CUSTOM, HEADWAY_BLOCKING_YES, eval, 0);
  ASSERT_NE(span, 0u);
  // One without a name, while another of its kind is open here.
  const headway_span save =
      headway_span_begin(other.handle(), HEADWAY_CHECKPOINT_SAVE, HEADWAY_BLOCKING_YES, 0, 0);
  const headway_span own =
      headway_span_begin(run.handle(), HEADWAY_CHECKPOINT_SAVE, HEADWAY_BLOCKING_YES, 0, 0);
  headway_span_end(run.handle(), save);
  for (const headway_span made_up : {std::uint64_t{12345}, std::uint64_t{1} << 63,
                                     12345 | std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    headway_span_end(run.handle(), made_up);
  }
  EXPECT_EQ(run.dropped(), 5u);
  headway_span_end(run.handle(), own);
  EXPECT_EQ(run.dropped(), 5u);
  EXPECT_EQ(headway_span_begin(run.handle(), HEADWAY_CUSTOM, HEADWAY_BLOCKING_YES, eval, 0), 0u);
  headway_span_end(run.handle(), span);
  headway_log(run.handle(), eval, 1.0, 0);
  headway_exclude(run.handle(), 1, 2, eval);
  EXPECT_EQ(run.dropped(), 9u);
  headway_log(run.handle(), headway_name(run.handle(), "loss"), 1.0, 0);
  EXPECT_EQ(run.dropped(), 9u);
  other.Finish();
  run.Finish();
  const ReadResult read = ReadRun("r");
  ASSERT_EQ(read.records.size(), 5u);
  EXPECT_EQ(read.records[2].type, RecordType::kSpanEnd);
  EXPECT_EQ(read.records[2].b, static_cast<std::int64_t>(read.records[1].seq));
}

TEST_F(ApiTest, RanksThatCanNotBe) {
  const struct {
    std::int64_t rank, world_size, local_rank, attempt_index;
    const char* error;  // empty: none
  } kCases[] = {
      {5, 3, -1, -1, "rank 5 is none of 3"},
      {3, 3, -1, -1, "rank 3 is none of 3"},
      {-7, 3, -1, -1, "rank must be 0 or more, not -7"},
      {0, 0, -1, -1, "world_size must be 1 or more, not 0"},
      {0, -3, -1, -1, "world_size must be 1 or more, not -3"},
      {0, 1, -2, -1, "local_rank must be 0 or more, not -2"},
      {0, 1, 0, -9, "attempt_index must be 0 or more, not -9"},
      {2, 3, 0, 0, ""},
      {-1, -1, -1, -1, ""},
  };
  for (const auto& one : kCases) {
    headway_options options = HEADWAY_OPTIONS_INIT;
    options.run = "r";
    options.rank = one.rank;
    options.world_size = one.world_size;
    options.local_rank = one.local_rank;
    options.attempt_index = one.attempt_index;
    headway_recorder* recorder = nullptr;
    char error[200];
    const std::int32_t code = headway_open(&options, &recorder, error, sizeof error);
    EXPECT_STREQ(error, one.error);
    EXPECT_EQ(code == 0, *one.error == '\0');
    headway_close(recorder);
  }
}

// --- Ends
// ------------------------------------------------------------------------------------------

TEST_F(ApiTest, EndsAreToldApart) {
  const struct {
    const char* what;
    void (*body)();
    int exit_status;  // -1: by a signal
    int signal;
    std::vector<std::pair<RecordType, std::int64_t>> end;
  } kCases[] = {
      {"finish",
       [] {
         Recorder run = Recorder::Open({.run = "r"});
         run.Finish(0);
         std::exit(5);
       },
       5,
       0,
       {{RecordType::kJobEnd, 0}}},
      {"exit 0",
       [] {
         static Recorder run = Recorder::Open({.run = "r"});
         std::exit(0);
       },
       0,
       0,
       {{RecordType::kJobEnd, 0}}},
      {"exit 3",
       [] {
         static Recorder run = Recorder::Open({.run = "r"});
         std::exit(3);
       },
       3,
       0,
       {{RecordType::kJobEnd, 3}}},
      {"exit 256, of which the system keeps a byte",
       [] {
         static Recorder run = Recorder::Open({.run = "r"});
         std::exit(256);
       },
       0,
       0,
       {{RecordType::kJobEnd, 0}}},
      {"leaving the scope, then exit 4",
       [] {
         { Recorder run = Recorder::Open({.run = "r"}); }
         std::exit(4);
       },
       4,
       0,
       {{RecordType::kJobEnd, 4}}},
      {"leaving the scope, then _exit",
       [] {
         {
           Recorder run = Recorder::Open({.run = "r"});
           run.StepStart(1);
         }
         ::_exit(0);
       },
       0,
       0,
       {{RecordType::kStepStart, 1}}},
      {"leaving the scope without a hook",
       [] {
         { Recorder run = Recorder::Open({.run = "r", .hook_exit = false}); }
         ::_exit(0);
       },
       0,
       0,
       {{RecordType::kJobEnd, 0}}},
      {"another one in its place",
       [] {
         Recorder run = Recorder::Open({.run = "r"});
         run = Recorder();
         std::exit(0);
       },
       0,
       0,
       {{RecordType::kJobEnd, 0}}},
      {"an exception that is caught outside",
       [] {
         try {
           Recorder run = Recorder::Open({.run = "r"});
           throw std::runtime_error("x");
         } catch (const std::exception&) {
         }
         ::_exit(0);
       },
       0,
       0,
       {{RecordType::kJobEnd, -1}}},
      {"an exception that nobody catches",
       [] {
         []() noexcept {
           Recorder run = Recorder::Open({.run = "r"});
           Throw();
         }();
       },
       -1,
       SIGABRT,
       {{RecordType::kJobEnd, 134}}},
      {"_exit",
       [] {
         Recorder run = Recorder::Open({.run = "r"});
         run.StepStart(1);
         ::_exit(0);
       },
       0,
       0,
       {{RecordType::kStepStart, 1}}},
      {"SIGKILL",
       [] {
         Recorder run = Recorder::Open({.run = "r"});
         run.StepStart(1);
         ::kill(::getpid(), SIGKILL);
       },
       -1,
       SIGKILL,
       {{RecordType::kStepStart, 1}}},
      {"SIGTERM, not hooked",
       [] {
         Recorder run = Recorder::Open({.run = "r"});
         run.StepStart(1);
         ::raise(SIGTERM);
       },
       -1,
       SIGTERM,
       {{RecordType::kStepStart, 1}}},
      {"SIGTERM",
       [] {
         Recorder run = Recorder::Open({.run = "r", .hook_sigterm = true});
         ::raise(SIGTERM);
       },
       -1,
       SIGTERM,
       {{RecordType::kNotice, SIGTERM}}},
      {"SIGTERM with an earlier handler",
       [] {
         static volatile sig_atomic_t told = 0;
         ::signal(SIGTERM, [](int) { told = 1; });
         static Recorder run = Recorder::Open({.run = "r", .hook_sigterm = true});
         ::raise(SIGTERM);
         std::exit(told == 1 ? 0 : 7);
       },
       0,
       0,
       {{RecordType::kNotice, SIGTERM}, {RecordType::kJobEnd, 0}}},
      {"SIGTERM ignored earlier",
       [] {
         ::signal(SIGTERM, SIG_IGN);
         Recorder run = Recorder::Open({.run = "r", .hook_sigterm = true});
         ::raise(SIGTERM);
         run.StepStart(2);
         ::_exit(0);
       },
       0,
       0,
       {{RecordType::kNotice, SIGTERM}, {RecordType::kStepStart, 2}}},
  };
  for (const auto& c : kCases) {
    const ScratchDir dir;
    const int status = InChild([&] {
      ::setenv("HEADWAY_DIR", dir.path().c_str(), 1);
      ::close(STDERR_FILENO);  // std::terminate prints
      c.body();
    });
    if (c.exit_status >= 0) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == c.exit_status) << c.what << status;
    } else {
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == c.signal) << c.what << status;
    }
    const auto journals = journal::ListJournals(dir.path(), "default", "r");
    ASSERT_EQ(journals->size(), 1u) << c.what;
    const ReadResult read = Read((*journals)[0].path);
    ASSERT_EQ(read.records.size(), 1 + c.end.size()) << c.what;
    for (std::size_t i = 0; i < c.end.size(); ++i) {
      EXPECT_EQ(read.records[i + 1].type, c.end[i].first) << c.what;
      EXPECT_EQ(read.records[i + 1].a, c.end[i].second) << c.what;
    }
  }
}

// Waits until the thread of the heartbeat is up, and waits for its time.
bool HeartbeatSleeps() {
  const MonoNs until = SystemClock::MonoNow() + 30 * kNanosPerSecond;
  while (SystemClock::MonoNow() < until) {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::ifstream stat(task.path() / "stat");
      std::string id, name, state;
      if (stat >> id >> name >> state && name == "(headway)" && state == "S") return true;
    }
    std::this_thread::yield();
  }
  return false;
}

TEST_F(ApiTest, AForkedChildMayOpenItsOwn) {
  Recorder run = Recorder::Open({.run = "r", .heartbeat = true, .hook_sigterm = true});
  run.StepStart(1);
  // A leak checker in the child would wait for ever for what a thread was just allocating.
  ASSERT_TRUE(HeartbeatSleeps());
  const int status = InChild([&run] {
    run.StepStart(2);  // the parent's: nothing
    run.Finish(7);
    Recorder mine = Recorder::Open({.run = "child"});
    mine.StepStart(3);
    mine.Finish();
    run = Recorder();  // closing the parent's does not hang on its thread
    std::exit(0);
  });
  EXPECT_EQ(status, 0);
  run.StepStart(4);
  run.Finish();
  const ReadResult parent = ReadRun();
  std::vector<std::int64_t> steps;
  for (const Record& record : parent.records) {
    if (record.type == RecordType::kStepStart) steps.push_back(record.a);
  }
  EXPECT_EQ(steps, (std::vector<std::int64_t>{1, 4}));
  EXPECT_EQ(parent.records.back().a, 0);
  EXPECT_EQ(ReadRun("child").records.size(), 3u);
}

TEST_F(ApiTest, ManyRecordersInOneProcess) {
  std::vector<Recorder> runs;
  for (std::size_t i = 0; i < limits::kOpenRecorders; ++i) {
    runs.push_back(Recorder::Open({.run = "many", .resume = "never"}));
    ASSERT_TRUE(runs.back().enabled()) << i;
  }
  std::string error;
  EXPECT_FALSE(Recorder::Open({.run = "many"}, &error).enabled());
  EXPECT_NE(error.find("finish one first"), std::string::npos);
  runs.back().Finish();
  runs.pop_back();
  EXPECT_TRUE(Recorder::Open({.run = "many"}).enabled());
}

}  // namespace
}  // namespace headway
