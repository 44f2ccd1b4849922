#include "recorder/core.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/limits.h"
#include "journal/directory.h"
#include "journal/test_files.h"
#include "recorder/heartbeat.h"

namespace headway::recorder {
namespace {

using journal::Read;
using journal::ReadResult;

class CoreTest : public testing::Test {
 protected:
  CoreOptions Options() {
    CoreOptions options;
    options.dir = dir_.path();
    options.run = "r";
    options.clock = &clock_;
    return options;
  }
  std::unique_ptr<Core> Open(const CoreOptions& options, const Environment& env = {}) {
    Result<std::unique_ptr<Core>> core = Core::Open(options, env);
    EXPECT_TRUE(core.ok()) << core.status().ToString();
    return *std::move(core);
  }

  ScratchDir dir_;
  FakeClock clock_;
};

TEST_F(CoreTest, RecordsWhatItIsTold) {
  auto core = Open(Options());
  clock_.Advance(1);
  core->Record(RecordType::kStepStart, 5);
  const std::uint64_t span =
      core->BeginSpan(SpanKind::kCustom, Blocking::kYes, core->writer().Intern("eval"), 5);
  EXPECT_NE(span, 0u);
  clock_.Advance(1);
  core->EndSpan(span);
  core->EndSpan(0);
  core->EndSpan(12345);  // never given out
  core->RecordNamed(RecordType::kMetric, core->writer().Intern("loss"), 5, 77);
  core->Config("user", "{}");
  for (const int signal : {15, 64, 65, -1, 1 << 30}) core->Notice(signal);
  core->Beat();
  core->Finish(3);
  core->Finish(0);
  core->Record(RecordType::kStepStart, 6);

  const ReadResult read = Read(core->writer().path());
  std::vector<RecordType> types;
  for (const headway::Record& record : read.records) types.push_back(record.type);
  EXPECT_EQ(types,
            (std::vector<RecordType>{
                RecordType::kJobStart, RecordType::kStepStart, RecordType::kSpanBegin,
                RecordType::kSpanEnd, RecordType::kMetric, RecordType::kConfig, RecordType::kNotice,
                RecordType::kNotice, RecordType::kNotice, RecordType::kNotice, RecordType::kNotice,
                RecordType::kHeartbeat, RecordType::kJobEnd}));
  EXPECT_EQ(read.records[1].a, 5);
  EXPECT_EQ(read.records[3].b, static_cast<std::int64_t>(read.records[2].seq));
  EXPECT_EQ(read.records[3].span, SpanKind::kCustom);
  EXPECT_EQ(read.records[3].blocking, Blocking::kYes);
  EXPECT_EQ(read.names.Text(read.records[3].name), "eval");
  for (const auto& [index, signal] : {std::pair(6, 15), {7, 64}, {8, 0}, {9, 0}, {10, 0}}) {
    EXPECT_EQ(read.records[static_cast<std::size_t>(index)].a, signal);
  }
  EXPECT_EQ(read.records[11].a, clock_.Wall().ns);
  EXPECT_EQ(read.records[12].a, 3);
}

TEST_F(CoreTest, HeaderSaysWhoWhereAndWhich) {
  Environment env;
  env.rank = 2;
  env.world_size = 4;
  env.local_rank = 1;
  env.job_id = "slurm:c/7";
  env.attempt_key = "slurm:c/7#1";
  env.attempt_index = 1;
  env.project = "from env";
  auto core = Open(Options(), env);
  const journal::Header& h = core->writer().header();
  EXPECT_EQ(h.project, "from env");
  EXPECT_EQ(h.run, "r");
  EXPECT_EQ(h.rank, 2);
  EXPECT_EQ(h.world_size, 4);
  EXPECT_EQ(h.local_rank, 1);
  EXPECT_EQ(h.attempt_index, 1);
  EXPECT_EQ(h.run_uid, journal::RunUidOfJob("from env", "r", "slurm:c/7"));
  EXPECT_TRUE(core->writer().path().starts_with(dir_.path() + "/journals/from%20env/r/"));
}

TEST_F(CoreTest, AnEnvironmentOfAnotherJobIsNotBelieved) {
  Environment env;
  env.rank = 5;
  env.world_size = 3;
  env.local_rank = -4;
  const auto core = Open(Options(), env);
  const journal::Header& h = core->writer().header();
  EXPECT_EQ(h.rank, 5);
  EXPECT_EQ(h.world_size, -1);
  EXPECT_EQ(h.local_rank, -1);
}

TEST_F(CoreTest, TheProgramOutweighsTheEnvironmentButNotItsSupervisor) {
  Environment env;
  env.project = "e";
  env.run = "e";
  env.rank = 3;
  env.job_id = "j";
  CoreOptions options = Options();
  options.rank = 0;
  options.project = "o";
  auto core = Open(options, env);
  EXPECT_EQ(core->writer().header().project, "o");
  EXPECT_EQ(core->writer().header().run, "r");
  EXPECT_EQ(core->writer().header().rank, 0);
  env.run_uid = "000102030405060708090a0b0c0d0e0f";
  core = Open(options, env);
  EXPECT_EQ(core->writer().header().project, "e");
  EXPECT_EQ(core->writer().header().run, "e");
  EXPECT_EQ(core->run_uid_hex(), env.run_uid);
}

TEST_F(CoreTest, NamesFollowOneRuleWhereverTheyComeFrom) {
  const auto message = [](const CoreOptions& options, const Environment& env) {
    return Core::Open(options, env).status().message();
  };
  Environment env;
  CoreOptions options = Options();
  options.run = "\xff\xfe";
  EXPECT_EQ(message(options, env), "the run's name is not valid UTF-8");
  options.run = "";
  env.run = "a\nb";
  EXPECT_EQ(message(options, env),
            "the run's name of the environment (see headway doctor) must not hold control "
            "characters");
  env.run = "";
  env.project = "a\tb";
  EXPECT_EQ(message(options, env),
            "the project of the environment (see headway doctor) must not hold control characters");
  env.project = "";
  options.attempt_key = std::string(257, 'x');
  EXPECT_EQ(message(options, env), "the attempt key has 257 bytes; at most 256 are allowed");
  EXPECT_TRUE(ListDirectory(dir_.path())->empty());
}

TEST_F(CoreTest, RestartsContinueTheRun) {
  const std::string first = Open(Options())->run_uid_hex();
  clock_.Advance(kNanosPerSecond);
  auto second = Open(Options());
  EXPECT_EQ(second->run_uid_hex(), first);
  EXPECT_TRUE(second->continued());
  second->Finish(0);
  EXPECT_NE(Open(Options())->run_uid_hex(), first);
}

TEST_F(CoreTest, ARepeatedAttemptKeyIsANewAttempt) {
  Environment env;
  env.rank = 0;
  env.job_id = "j";
  env.attempt_key = "j#0";
  const auto key = [](const std::unique_ptr<Core>& core) {
    return core->writer().header().attempt_key;
  };
  auto first = Open(Options(), env);
  EXPECT_EQ(key(first), "j#0");
  EXPECT_EQ(key(Open(Options(), env)), "j#0");  // a companion: the first one lives
  Environment other_rank = env;
  other_rank.rank = 1;
  EXPECT_EQ(key(Open(Options(), other_rank)), "j#0");
  first->Finish(1);
  auto second = Open(Options(), env);
  EXPECT_EQ(key(second), "j#0~1");
  EXPECT_EQ(key(Open(Options(), env)), "j#0~1");
  EXPECT_EQ(key(Open(Options(), other_rank)), "j#0~1");
  second->Finish(1);
  EXPECT_EQ(key(Open(Options(), env)), "j#0~2");
  env.attempt_key_given = true;  // what is given stays
  EXPECT_EQ(key(Open(Options(), env)), "j#0");
}

TEST_F(CoreTest, OtherRanksFollowWhoIsThere) {
  const auto open = [&](int rank) {
    Environment env;
    env.rank = rank;
    env.job_id = "j";
    env.attempt_key = "j#0";
    return Open(Options(), env);
  };
  const auto key = [](const std::unique_ptr<Core>& core) {
    return core->writer().header().attempt_key;
  };
  auto zero = open(0);
  auto one = open(1);
  one->Finish(1);
  one = open(1);
  EXPECT_EQ(key(one), "j#0") << "it comes again beside rank 0";
  EXPECT_EQ(key(open(-1)), "j#0");
  zero->Finish(1);
  EXPECT_EQ(key(open(2)), "j#0") << "rank 1 lives";
  one->Finish(1);
  auto late = open(3);
  EXPECT_EQ(key(late), "j#0~1") << "a new rank, and nobody is there";
  zero = open(0);
  EXPECT_EQ(key(zero), "j#0~1");
  EXPECT_EQ(key(open(1)), "j#0~1");
  EXPECT_EQ(key(open(-1)), "j#0~1") << "it belongs to who is there";
  late->Finish(0);
  zero->Finish(0);
  EXPECT_EQ(key(open(1)), "j#0~1") << "it ended well";
  EXPECT_EQ(key(open(0)), "j#0~2");
}

TEST_F(CoreTest, RefusesWhatItCantRecordUnder) {
  CoreOptions options = Options();
  options.run = std::string(limits::kNameBytes + 1, 'x');
  EXPECT_EQ(Core::Open(options, {}).status().code(), Code::kInvalidArgument);
  options = Options();
  options.resume = "perhaps";
  EXPECT_EQ(Core::Open(options, {}).status().code(), Code::kInvalidArgument);
  options = Options();
  options.dir.clear();
  EXPECT_EQ(Core::Open(options, {}).status().code(), Code::kFailedPrecondition);
  options.dir = "/proc/nowhere";
  EXPECT_FALSE(Core::Open(options, {}).ok());
  Environment env;
  env.run_uid = "zz";
  EXPECT_EQ(Core::Open(Options(), env).status().code(), Code::kInvalidArgument);
}

TEST_F(CoreTest, RunNamesNeverLeaveTheDirectory) {
  CoreOptions options = Options();
  options.run = "../../../../escape";
  auto core = Open(options);
  EXPECT_TRUE(core->writer().path().starts_with(dir_.path() + "/journals/default/%2E.%2F"));
}

TEST_F(CoreTest, ThreadsHaveOrdinals) {
  auto core = Open(Options());
  core->Record(RecordType::kStepStart, 0);
  for (int i = 1; i <= 3; ++i) {
    std::thread([&core, i] { core->Record(RecordType::kStepStart, i); }).join();
  }
  core->Record(RecordType::kStepStart, 4);
  const ReadResult read = Read(core->writer().path());
  ASSERT_EQ(read.records.size(), 6u);
  const std::uint16_t mine = read.records[1].thread;
  EXPECT_EQ(read.records[5].thread, mine);
  for (int i = 2; i <= 4; ++i) {
    EXPECT_NE(read.records[static_cast<std::size_t>(i)].thread, mine);
    EXPECT_NE(read.records[static_cast<std::size_t>(i)].thread,
              read.records[static_cast<std::size_t>(i % 3 + 2)].thread);
  }
}

TEST_F(CoreTest, HeartbeatsCarryBothClocks) {
  CoreOptions options = Options();
  options.heartbeat = true;
  options.heartbeat_ns = 1'000'000;
  auto core = Open(options);
  while (core->writer().next_seq() < 4) std::this_thread::yield();
  core->Finish(0);
  const ReadResult read = Read(core->writer().path());
  EXPECT_EQ(read.records[2].type, RecordType::kHeartbeat);
  EXPECT_EQ(read.records[2].a, clock_.Wall().ns);
  EXPECT_EQ(read.records.back().type, RecordType::kJobEnd);

  Environment off;
  off.heartbeat_off = true;
  core = Open(options, off);
  core->Finish(0);
  EXPECT_EQ(Read(core->writer().path()).records.size(), 2u);
}

TEST(HeartbeatTest, BeatsUntilStopped) {
  std::mutex mutex;
  std::condition_variable beaten;
  int beats = 0;
  Heartbeat heartbeat;
  ASSERT_TRUE(heartbeat.Start(1'000'000, [&] {
    sigset_t blocked;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    EXPECT_EQ(::sigismember(&blocked, SIGTERM), 1);
    EXPECT_EQ(::sigismember(&blocked, SIGINT), 1);
    const std::lock_guard lock(mutex);
    ++beats;
    beaten.notify_all();
  }));
  EXPECT_FALSE(heartbeat.Start(1, [] {}));
  {
    std::unique_lock lock(mutex);
    beaten.wait(lock, [&] { return beats >= 3; });
  }
  heartbeat.Stop();
  heartbeat.Stop();
  const int after = beats;
  EXPECT_EQ(beats, after);
}

}  // namespace
}  // namespace headway::recorder
