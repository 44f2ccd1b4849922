#include "journal/writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "journal/test_files.h"

namespace headway::journal {
namespace {

constexpr std::uint32_t kStep = MetaHigh(RecordType::kStepStart, 0);

// Every test runs on the mapped and on the write path.
class WriterTest : public testing::TestWithParam<WriterOptions::Mode> {
 protected:
  WriterOptions Options() {
    WriterOptions options;
    options.clock = &clock_;
    options.mode = GetParam();
    options.header.project = "p";
    options.header.run = "r";
    return options;
  }
  std::unique_ptr<JournalWriter> Make(const WriterOptions& options) {
    auto writer = JournalWriter::Create(dir_.path(), options);
    EXPECT_TRUE(writer.ok()) << writer.status().ToString();
    return *std::move(writer);
  }

  ScratchDir dir_;
  FakeClock clock_{WallNs{1'000'000'000'000}, MonoNs{500}};
};

INSTANTIATE_TEST_SUITE_P(Modes, WriterTest,
                         testing::Values(WriterOptions::Mode::kMapped, WriterOptions::Mode::kWrite),
                         [](const auto& mode) {
                           return mode.param == WriterOptions::Mode::kMapped ? "Mapped" : "Write";
                         });

TEST_P(WriterTest, WhatIsWrittenIsRead) {
  auto writer = Make(Options());
  clock_.Advance(10);
  EXPECT_EQ(writer->Append(MetaHigh(RecordType::kJobStart, 3), writer->Now(), 0, 0), 0);
  clock_.Advance(5);
  clock_.StepWall(-999'999);  // changes nothing: time inside a journal is monotonic
  const std::uint32_t eval = writer->Intern("eval");
  const std::int64_t begin =
      writer->Append(MetaHigh(RecordType::kSpanBegin, SpanKind::kCustom, Blocking::kNo, 7),
                     writer->Now(), 42, eval);
  writer->Append(MetaHigh(RecordType::kSpanEnd, SpanKind::kCustom, Blocking::kNo, 7), writer->Now(),
                 kNoStep, PackSpanEnd(begin, eval));
  writer->Append(NamedMetaHigh(static_cast<std::uint8_t>(RecordType::kMetric), eval), writer->Now(),
                 -1, 0x3ff0000000000000);
  writer->Finish();

  const ReadResult read = Read(writer->path());
  ASSERT_TRUE(read.status.ok()) << read.status.ToString();
  ASSERT_EQ(read.records.size(), 4u);
  EXPECT_EQ(
      read.records[0],
      (Record{.type = RecordType::kJobStart, .thread = 3, .seq = 0, .time_ns = 1'000'000'000'010}));
  const NameId name = read.records[1].name;
  EXPECT_EQ(read.names.Text(name), "eval");
  EXPECT_EQ(read.records[1], (Record{.type = RecordType::kSpanBegin,
                                     .span = SpanKind::kCustom,
                                     .blocking = Blocking::kNo,
                                     .thread = 7,
                                     .name = name,
                                     .seq = static_cast<std::uint64_t>(begin),
                                     .time_ns = 1'000'000'000'015,
                                     .a = 42}));
  EXPECT_EQ(read.records[2].b, begin);
  EXPECT_EQ(read.records[2].name, name);
  EXPECT_EQ(read.records[3].name, name);
  EXPECT_EQ(read.records[3].a, -1);
  EXPECT_EQ(read.records[3].b, 0x3ff0000000000000);
  EXPECT_TRUE(read.summary.findings.empty());
  EXPECT_EQ(read.summary.dropped, 0u);
}

TEST_P(WriterTest, RecordsOfEveryTypeSurvive) {
  WriterOptions options = Options();
  options.header.origin = Origin::kImport;
  auto writer = Make(options);
  std::vector<Record> sent;
  for (int type = 1; type <= static_cast<int>(kLastRecordType); ++type) {
    Record record;
    record.type = static_cast<RecordType>(type);
    record.time_ns = -5'000 + type;  // imports may lie before 1970
    record.a = kNoStep;
    record.b = -7;
    if (record.type == RecordType::kSpanBegin || record.type == RecordType::kSpanEnd) {
      record.span = SpanKind::kElasticWait;
      record.blocking = Blocking::kYes;
      record.b = record.type == RecordType::kSpanBegin ? 0 : kNoHandle;
    }
    const bool has_payload =
        record.type == RecordType::kConfig || record.type == RecordType::kStderrTail;
    const std::int64_t seq = writer->AppendRecord(record, "slice_down");
    EXPECT_EQ(seq == kNotKept, has_payload);
    if (seq == kNotKept) continue;
    record.seq = static_cast<std::uint64_t>(seq);
    sent.push_back(record);
  }
  writer->Finish();
  ReadResult read = Read(writer->path());
  ASSERT_EQ(read.records.size(), sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const RecordType type = sent[i].type;
    const bool named = type == RecordType::kSpanBegin || type == RecordType::kSpanEnd ||
                       type == RecordType::kExclude || type == RecordType::kNote ||
                       type == RecordType::kMetric;
    EXPECT_EQ(read.names.Text(read.records[i].name), named ? "slice_down" : "");
    read.records[i].name = 0;
    EXPECT_EQ(read.records[i], sent[i]) << "type " << static_cast<int>(type);
  }
}

TEST_P(WriterTest, PayloadsOfAllSizes) {
  auto writer = Make(Options());
  std::vector<std::pair<std::int64_t, std::string>> sent;
  for (const std::size_t size : {0u, 1u, 26u, 27u, 28u, 54u, 1000u, 100'000u, 1'000'000u}) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text.push_back(static_cast<char>(i * 31 + size));
    const std::int64_t seq =
        writer->AppendPayload(RecordType::kConfig, writer->Intern("user"), writer->Now(), text);
    ASSERT_NE(seq, kNotKept);
    sent.emplace_back(seq, text);
  }
  EXPECT_EQ(writer->AppendPayload(RecordType::kConfig, 0, writer->Now(),
                                  std::string(limits::kPayloadBytes + 1, 'x')),
            kNotKept);
  EXPECT_EQ(writer->dropped(), 1u);
  writer->Finish();
  NameTable names;
  Result<JournalReader> reader = JournalReader::Open(writer->path(), {.names = &names});
  ASSERT_TRUE(reader.ok());
  for (const auto& [seq, text] : sent) {
    const Result<std::string> payload = reader->Payload(static_cast<std::uint64_t>(seq));
    ASSERT_TRUE(payload.ok()) << payload.status().ToString();
    EXPECT_TRUE(*payload == text);
  }
  std::vector<Record> records(100);
  EXPECT_EQ(*reader->Next(records), sent.size() + 1);  // + what was dropped
  EXPECT_EQ(records[1].a, 1);
  EXPECT_EQ(names.Text(records[1].name), "user");
  EXPECT_EQ(reader->Payload(0).status().code(), Code::kNotFound);  // a name
  EXPECT_EQ(reader->Payload(1u << 30).status().code(), Code::kNotFound);
}

TEST_P(WriterTest, NamesAreDefinedOnceAndCut) {
  auto writer = Make(Options());
  EXPECT_EQ(writer->Intern(""), 0u);
  const std::uint32_t a = writer->Intern("a");
  EXPECT_EQ(writer->Intern("a"), a);
  EXPECT_NE(writer->Intern("b"), a);
  const std::string longest(limits::kNameBytes, 'x');
  EXPECT_EQ(writer->Intern(longest + "y"), writer->Intern(longest));
  const std::uint64_t before = writer->next_seq();
  for (int i = 0; i < 1000; ++i) writer->Intern("a");
  EXPECT_EQ(writer->next_seq(), before);
  std::set<std::uint32_t> ids;
  for (int i = 0; i < 5000; ++i) ids.insert(writer->Intern("metric/" + std::to_string(i)));
  EXPECT_EQ(ids.size(), 5000u);
}

TEST_P(WriterTest, ThreadsLoseNothing) {
  auto writer = Make(Options());
  constexpr int kThreads = 4;
  constexpr int kRecords = 20'000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&writer, t] {
      for (int i = 0; i < kRecords; ++i) {
        const std::uint32_t name = writer->Intern("n" + std::to_string(i % 50));
        writer->Append(MetaHigh(RecordType::kSpanBegin, SpanKind::kPhase, Blocking::kDefault,
                                static_cast<std::uint16_t>(t)),
                       writer->Now(), i, name);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  writer->Finish();
  const ReadResult read = Read(writer->path());
  ASSERT_EQ(read.records.size(), std::size_t{kThreads} * kRecords);
  std::vector<std::int64_t> next(kThreads, 0);
  for (const Record& record : read.records) {
    EXPECT_EQ(record.a, next[record.thread]++);
    EXPECT_EQ(read.names.Text(record.name), "n" + std::to_string(record.a % 50));
  }
  EXPECT_TRUE(read.summary.findings.empty());
}

TEST_P(WriterTest, FinishClosesTheGate) {
  auto writer = Make(Options());
  writer->Append(kStep, writer->Now(), 1, 0);
  writer->Finish();
  writer->Finish();
  EXPECT_EQ(writer->Append(kStep, writer->Now(), 2, 0), kNotKept);
  EXPECT_EQ(writer->AppendEssential(kStep, writer->Now(), 2, 0), kNotKept);
  EXPECT_EQ(writer->AppendPayload(RecordType::kConfig, 0, writer->Now(), "x"), kNotKept);
  writer->Maintain();
  EXPECT_EQ(writer->Intern("a name of none of them"), 0u);
  EXPECT_EQ(writer->dropped(), 3u);
  EXPECT_EQ(ReadBytes(writer->path()).size(), SlotOffset(1));
  const ReadResult read = Read(writer->path());
  EXPECT_EQ(read.records.size(), 1u);
  EXPECT_EQ(read.summary.dropped, 0u) << "the file is closed";
}

TEST_P(WriterTest, StopsAtItsSizeLimit) {
  WriterOptions options = Options();
  options.max_bytes = 512 << 10;
  auto writer = Make(options);
  const int kTries = 20'000;
  int kept = 0;
  for (int i = 0; i < kTries; ++i) kept += writer->Append(kStep, writer->Now(), i, 0) >= 0;
  EXPECT_GT(kept, 16'000);
  EXPECT_LT(kept, 16'300);
  EXPECT_EQ(writer->dropped(), static_cast<std::uint64_t>(kTries - kept));
  writer->Finish();
  EXPECT_LE(ReadBytes(writer->path()).size(), options.max_bytes);
  EXPECT_EQ(Read(writer->path()).summary.dropped, writer->dropped());
}

TEST_P(WriterTest, TheFileIsPrivateAndNamedByItsRank) {
  WriterOptions options = Options();
  options.header.rank = 3;
  auto writer = Make(options);
  struct stat info;
  ASSERT_EQ(::stat(writer->path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(writer->path(), dir_.path() + "/19700101T001640Z-r3-" + ToHex(writer->header().uid) +
                                std::string(kFileSuffix));
  EXPECT_EQ(ListDirectory(dir_.path())->size(), 1u);
}

TEST_P(WriterTest, SurvivesThatSomeoneClosesAllDescriptors) {
  auto writer = Make(Options());
  writer->Append(kStep, writer->Now(), 0, 0);
  // Like a daemon: close everything, then open a file of one's own under the same numbers.
  for (int fd = 3; fd < 200; ++fd) ::close(fd);
  std::vector<int> mine;
  const std::string victim = dir_.path() + "/victim";
  for (int i = 0; i < 50; ++i) mine.push_back(::open(victim.c_str(), O_RDWR | O_CREAT, 0600));
  writer->Maintain();
  for (int i = 1; i < 30'000; ++i) writer->Append(kStep, writer->Now(), i, 0);
  EXPECT_EQ(ReadBytes(victim), "");
  const ReadResult read = Read(writer->path());
  EXPECT_EQ(read.records.size(), 30'000u);
  EXPECT_EQ(writer->dropped(), 0u);
  writer->Finish();
  for (const int fd : mine) EXPECT_EQ(::close(fd), 0);
}

// A daemon has no standard streams: what it prints all the same must not land in the journal.
void WriteToStreams() {
  for (int fd = 0; fd < 3; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || ::write(fd, "print", 5) >= 0) ::_exit(10 + fd);
  }
}

TEST_P(WriterTest, ADaemonNeverPrintsIntoItsJournal) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (int fd = 0; fd < 3; ++fd) ::close(fd);
    auto writer = Make(Options());
    WriteToStreams();
    writer->Append(kStep, writer->Now(), 0, 0);
    WriteToStreams();
    ::close_range(0, 255, 0);  // daemonised only now
    writer->Maintain();        // takes its lock again
    WriteToStreams();
    for (int i = 1; i < 30'000; ++i) writer->Append(kStep, writer->Now(), i, 0);  // grows
    WriteToStreams();
    const ReadResult read = Read(writer->path());
    if (!read.status.ok() || !read.summary.findings.empty()) ::_exit(1);
    ::_exit(read.records.size() == 30'000 ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

// --- Only for mappings
// -----------------------------------------------------------------------------

class MappedWriterTest : public testing::Test {
 protected:
  ScratchDir dir_;
  FakeClock clock_{WallNs{1'000'000'000'000}, MonoNs{500}};
};

TEST_F(MappedWriterTest, FailingReservationsAreCountedAndTold) {
  // Every n-th reservation fails; whatever is dropped is told by a record once there is space
  // again.
  for (int n = 1; n <= 6; ++n) {
    int calls = 0;
    WriterOptions options;
    options.clock = &clock_;
    options.mode = WriterOptions::Mode::kMapped;
    options.retry_ns = 100;
    options.reserve = [&calls, n](int fd, std::uint64_t offset, std::uint64_t size) {
      // The first one is needed to begin at all.
      if (++calls > 1 && (calls - 1) % n == 0) return EIO;
      return ::fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(size)) == 0 ? 0
                                                                                           : errno;
    };
    auto writer = JournalWriter::Create(dir_.path(), options);
    ASSERT_TRUE(writer.ok());
    std::set<std::int64_t> kept;
    for (int i = 0; i < 100'000; ++i) {
      clock_.Advance(1);
      if ((*writer)->Append(kStep, (*writer)->Now(), i, 0) >= 0) kept.insert(i);
    }
    (*writer)->Finish();
    const ReadResult read = Read((*writer)->path());
    ASSERT_TRUE(read.status.ok());
    std::set<std::int64_t> found;
    std::int64_t told = 0;
    for (const Record& record : read.records) {
      if (record.type == RecordType::kDropped) {
        told += record.a;
        EXPECT_GT(record.b, 1'000'000'000'000);
        EXPECT_LE(record.b, record.time_ns);
      } else {
        found.insert(record.a);
      }
    }
    EXPECT_EQ(found, kept) << "n = " << n;
    EXPECT_EQ(told, static_cast<std::int64_t>(100'000 - kept.size())) << "n = " << n;
    EXPECT_EQ(read.summary.dropped, 100'000 - kept.size());
    EXPECT_TRUE(read.summary.findings.empty());
    if (n == 1) {
      EXPECT_LT(kept.size(), 9'000u);
    } else {
      EXPECT_GT(kept.size(), 50'000u);
    }
  }
}

TEST_F(MappedWriterTest, EssentialRecordsAreKeptWithoutSpace) {
  bool full = false;
  WriterOptions options;
  options.clock = &clock_;
  options.mode = WriterOptions::Mode::kMapped;
  options.reserve = [&full](int fd, std::uint64_t offset, std::uint64_t size) {
    if (full) return ENOSPC;
    return ::fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(size)) == 0 ? 0
                                                                                         : errno;
  };
  auto writer = JournalWriter::Create(dir_.path(), options);
  ASSERT_TRUE(writer.ok());
  full = true;
  while ((*writer)->Append(kStep, (*writer)->Now(), 0, 0) >= 0) continue;
  EXPECT_GE((*writer)->AppendEssential(MetaHigh(RecordType::kNotice, 0), (*writer)->Now(), 15, 0),
            0);
  EXPECT_GE((*writer)->AppendEssential(MetaHigh(RecordType::kJobEnd, 0), (*writer)->Now(), 0, 0),
            0);
  // Killed now, its header still tells what was lost.
  EXPECT_EQ(Read((*writer)->path()).summary.dropped, 1u);
  (*writer)->Finish();
  const ReadResult read = Read((*writer)->path());
  ASSERT_GE(read.records.size(), 3u);
  EXPECT_EQ(read.records.end()[-1].type, RecordType::kDropped);
  EXPECT_EQ(read.records.end()[-2].type, RecordType::kJobEnd);
  EXPECT_EQ(read.records.end()[-3].type, RecordType::kNotice);
}

TEST_F(MappedWriterTest, UsesTheLastPieceOfANearlyFullDisk) {
  std::uint64_t left = 1 << 20;
  WriterOptions options;
  options.clock = &clock_;
  options.mode = WriterOptions::Mode::kMapped;
  options.reserve = [&left](int fd, std::uint64_t offset, std::uint64_t size) {
    if (size > left) return ENOSPC;
    left -= size;
    return ::fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(size)) == 0 ? 0
                                                                                         : errno;
  };
  auto writer = JournalWriter::Create(dir_.path(), options);
  ASSERT_TRUE(writer.ok());
  int kept = 0;
  while ((*writer)->Append(kStep, (*writer)->Now(), 0, 0) >= 0) ++kept;
  EXPECT_EQ(left, 0u);
  EXPECT_EQ(kept, (1 << 20) / 32 - 128 - 16);
}

TEST_F(MappedWriterTest, NoSpaceAtAllIsAnError) {
  WriterOptions options;
  options.mode = WriterOptions::Mode::kMapped;
  options.reserve = [](int, std::uint64_t, std::uint64_t) { return ENOSPC; };
  EXPECT_EQ(JournalWriter::Create(dir_.path(), options).status().code(), Code::kResourceExhausted);
  EXPECT_TRUE(ListDirectory(dir_.path())->empty());
  EXPECT_EQ(JournalWriter::Create(dir_.path() + "/no", WriterOptions()).status().code(),
            Code::kNotFound);
}

TEST_F(MappedWriterTest, WithoutReservationsItWrites) {
  WriterOptions options;
  options.reserve = [](int, std::uint64_t, std::uint64_t) { return EOPNOTSUPP; };
  auto writer = JournalWriter::Create(dir_.path(), options);
  ASSERT_TRUE(writer.ok());
  EXPECT_FALSE((*writer)->mapped());
  EXPECT_EQ((*writer)->Append(kStep, (*writer)->Now(), 9, 0), 0);
  EXPECT_EQ(Read((*writer)->path()).records.size(), 1u);
}

TEST_F(MappedWriterTest, GrowsFarBeyondItsFirstChunks) {
  WriterOptions options;
  options.clock = &clock_;
  auto writer = JournalWriter::Create(dir_.path(), options);
  ASSERT_TRUE(writer.ok());
  constexpr int kRecords = 2'000'000;  // 64 MB: several chunks of 16 MiB, the first ones released
  for (int i = 0; i < kRecords; ++i) (*writer)->Append(kStep, (*writer)->Now(), i, 0);
  (*writer)->Finish();
  const ReadResult read = Read((*writer)->path());
  ASSERT_EQ(read.records.size(), static_cast<std::size_t>(kRecords));
  for (int i = 0; i < kRecords; ++i) {
    ASSERT_EQ(read.records[static_cast<std::size_t>(i)].a, i);
  }
}

TEST_F(MappedWriterTest, RecordsWithoutTheCrcInstruction) {
  const bool before = crc32c_internal::has_instruction;
  crc32c_internal::has_instruction = false;
  WriterOptions options;
  options.clock = &clock_;
  auto writer = JournalWriter::Create(dir_.path(), options);
  ASSERT_TRUE(writer.ok());
  for (int i = 0; i < 50'000; ++i) (*writer)->Append(kStep, (*writer)->Now(), i, 0);
  (*writer)->AppendPayload(RecordType::kConfig, 0, (*writer)->Now(), "{}");
  (*writer)->Finish();
  crc32c_internal::has_instruction = before;
  const ReadResult read = Read((*writer)->path());
  EXPECT_EQ(read.records.size(), 50'001u);
  EXPECT_TRUE(read.summary.findings.empty());
}

TEST_F(MappedWriterTest, MaintainKeepsSpaceReady) {
  int calls = 0;
  WriterOptions options;
  options.clock = &clock_;
  options.reserve = [&calls](int fd, std::uint64_t offset, std::uint64_t size) {
    ++calls;
    return ::fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(size)) == 0 ? 0
                                                                                         : errno;
  };
  auto writer = JournalWriter::Create(dir_.path(), options);
  ASSERT_TRUE(writer.ok());
  (*writer)->Maintain();
  const int before = calls;
  for (int i = 0; i < 16'000; ++i) (*writer)->Append(kStep, (*writer)->Now(), i, 0);
  EXPECT_EQ(calls, before);
}

}  // namespace
}  // namespace headway::journal
