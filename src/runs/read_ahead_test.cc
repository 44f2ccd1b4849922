#include "runs/read_ahead.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "journal/test_files.h"
#include "journal/writer.h"
#include "runs/runs.h"

// Long enough for reading to take threads of its own; the sanitizers watch them.

namespace headway::runs {
namespace {

constexpr int kSteps = 30'000;

/// One rank of an attempt: a step each second, a named span in some of them.
void WriteRank(const std::string& data_dir, const RunUid& run, int rank) {
  FakeClock clock;
  clock.Advance(1000 + rank);
  journal::WriterOptions options;
  options.clock = &clock;
  options.header.project = "default";
  options.header.run = "r";
  options.header.run_uid = run;
  options.header.rank = rank;
  options.header.attempt_key = "job/0";
  options.header.origin = journal::Origin::kImport;
  const std::string directory = journal::RunDirectory(data_dir, "default", "r");
  ASSERT_EQ(std::system(("mkdir -p '" + directory + "'").c_str()), 0);
  auto created = journal::JournalWriter::Create(directory, options);
  ASSERT_TRUE(created.ok()) << created.status().ToString();
  journal::JournalWriter& writer = **created;
  const std::uint32_t name = writer.Intern("eval/" + std::to_string(rank));
  writer.Append(journal::MetaHigh(RecordType::kJobStart, 0), writer.Now(), 0, 0);
  for (int step = 0; step < kSteps; ++step) {
    writer.Append(journal::MetaHigh(RecordType::kStepStart, 0), writer.Now(), step, 0);
    clock.Advance(kNanosPerSecond / 2);
    if (step % 100 == 99) {
      const std::int64_t begin = writer.Append(
          journal::MetaHigh(RecordType::kSpanBegin, SpanKind::kCustom, Blocking::kYes, 0),
          writer.Now(), kNoStep, name);
      clock.Advance(kNanosPerSecond);
      writer.Append(journal::MetaHigh(RecordType::kSpanEnd, SpanKind::kCustom, Blocking::kYes, 0),
                    writer.Now(), kNoStep, journal::PackSpanEnd(begin, name));
    }
    clock.Advance(kNanosPerSecond / 2);
  }
  writer.Append(journal::MetaHigh(RecordType::kJobEnd, 0), writer.Now(), 0, 0);
  writer.Finish();
}

TEST(ReadAheadTest, ReadsSeveralLongJournalsAtOnce) {
  const ScratchDir dir;
  const RunUid run = RandomUid<RunUid>();
  for (int rank = 0; rank < 3; ++rank) WriteRank(dir.path(), run, rank);
  const auto found = Find({dir.path()}, "default", "r");
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  ASSERT_EQ(found->journals.size(), 3U);
  double progress = 0;
  auto loaded = Load(*found, [&progress](double share) {
    EXPECT_GE(share, progress);
    progress = share;
  });
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  EXPECT_GT(loaded->bytes, std::uint64_t{2} << 20);  // else there are no threads
  EXPECT_TRUE(loaded->problems.empty());
  EXPECT_EQ(loaded->records, 3U * (kSteps + 2 + 2 * kSteps / 100));
  const Report report = loaded->ledger.MakeReport();
  EXPECT_EQ(report.attempts.size(), 1U);
  EXPECT_EQ(report.steps.count, kSteps);
  // The lead's names are its own, whatever the other journals use.
  ASSERT_EQ(report.categories.size(), 2U);
  EXPECT_EQ(report.categories[1].name, "EVAL/0");
  EXPECT_EQ(report.categories[1].ns, kSteps / 100 * kNanosPerSecond);
}

TEST(ReadAheadTest, EndsEarlyWithoutWaiting) {
  const ScratchDir dir;
  WriteRank(dir.path(), RandomUid<RunUid>(), 0);
  auto found = Find({dir.path()}, "default", "r");
  ASSERT_TRUE(found.ok());
  NameTable names;
  for (int round = 0; round < 20; ++round) {
    auto read_names = std::make_unique<NameTable>();
    auto reader = journal::JournalReader::Open(found->journals[0].path,
                                               {.names = read_names.get(), .writer = 0});
    ASSERT_TRUE(reader.ok());
    std::vector<Source> sources;
    sources.emplace_back(*std::move(reader), std::move(read_names), 0, &names);
    ReadAhead ahead(&sources, std::uint64_t{8} << 20);
    if (round % 2 == 0) {
      ASSERT_TRUE(ahead.Next(&sources[0]).ok());
      EXPECT_EQ(sources[0].batch().front().type, RecordType::kJobStart);
    }
  }
}

}  // namespace
}  // namespace headway::runs
