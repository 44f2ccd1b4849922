#include "runs/runs.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/clock.h"
#include "journal/directory.h"
#include "journal/format.h"
#include "journal/test_files.h"
#include "journal/writer.h"

namespace headway::runs {
namespace {

constexpr std::int64_t kSecond = kNanosPerSecond;

/// An attempt of ten steps of one second each, recorded by this process; how it ended is not said.
void WriteAttempt(const std::string& dir, const RunUid& run, int number, int first_step,
                  FakeClock* clock) {
  journal::WriterOptions options;
  options.clock = clock;
  options.header.run_uid = run;
  options.header.project = "default";
  options.header.run = "r";
  options.header.rank = 0;
  options.header.attempt_key = "job#" + std::to_string(number);
  options.header.attempt_index = number;
  ASSERT_TRUE(journal::MakeRunDirectory(dir, "default", "r").ok());
  auto writer = journal::JournalWriter::Create(journal::RunDirectory(dir, "default", "r"), options);
  ASSERT_TRUE(writer.ok()) << writer.status().ToString();
  auto record = [&](RecordType type, std::int64_t a) {
    (*writer)->Append(journal::MetaHigh(type, 0), (*writer)->Now(), a, 0);
  };
  record(RecordType::kJobStart, 0);
  for (int i = 0; i < 10; ++i) {
    record(RecordType::kStepStart, first_step + i);
    clock->Advance(kSecond);
  }
  record(RecordType::kHeartbeat, clock->Wall().ns);
  (*writer)->Finish();
}

Report ReportOf(const std::string& dir) {
  const auto run = Find({dir}, "default", "r");
  EXPECT_TRUE(run.ok()) << run.status().ToString();
  auto loaded = Load(*run);
  EXPECT_TRUE(loaded.ok()) << loaded.status().ToString();
  return loaded->ledger.MakeReport();
}

TEST(RunsTest, AClockThatIsSteppedBetweenAttemptsChangesNoDuration) {
  for (const std::int64_t step : {std::int64_t{0}, std::int64_t{-3600}, std::int64_t{3600}}) {
    SCOPED_TRACE(step);
    const ScratchDir dir;
    const auto run = RandomUid<RunUid>();
    FakeClock clock;
    WriteAttempt(dir.path(), run, 0, 0, &clock);
    clock.Advance(5 * kSecond);
    clock.StepWall(step * kSecond);
    WriteAttempt(dir.path(), run, 1, 10, &clock);
    const Report report = ReportOf(dir.path());
    EXPECT_EQ(report.elapsed_ns, 25 * kSecond);
    EXPECT_EQ(report.Ns(Category::kInfrastructureRecovery), 5 * kSecond);
    ASSERT_EQ(report.attempts.size(), 2U);
    EXPECT_EQ(report.attempts[0].first_step, 0);
    EXPECT_EQ(report.end, clock.Wall().ns);  // by the newest word about the wall time
    std::int64_t notes = 0;
    for (const ReportNote& note : report.notes) notes += note.code == "clock_step" ? 1 : 0;
    EXPECT_EQ(notes, step == 0 ? 0 : 1);
  }
}

TEST(RunsTest, AnExportFollowsTheSameClock) {
  const ScratchDir dir;
  const auto run = RandomUid<RunUid>();
  FakeClock clock;
  WriteAttempt(dir.path(), run, 0, 0, &clock);
  clock.StepWall(-3600 * kSecond);
  WriteAttempt(dir.path(), run, 1, 10, &clock);
  const auto found = Find({dir.path()}, "default", "r");
  ASSERT_TRUE(found.ok());
  std::vector<Status> problems;
  const auto records = ReadRecords(*found, &problems);
  ASSERT_TRUE(records.ok());
  ledger::Ledger ledger;
  ledger.Add(*records);
  EXPECT_EQ(ledger.MakeReport().elapsed_ns, 20 * kSecond);
}

}  // namespace
}  // namespace headway::runs
