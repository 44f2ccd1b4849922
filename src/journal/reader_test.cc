#include "journal/reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "journal/test_files.h"

namespace headway::journal {
namespace {

constexpr std::uint32_t kStep = MetaHigh(RecordType::kStepStart, 0);

std::vector<std::int64_t> Steps(const std::vector<Record>& records) {
  std::vector<std::int64_t> steps;
  for (const Record& record : records) steps.push_back(record.a);
  return steps;
}

TEST(ReaderTest, EachKindOfDamageHasItsOwnAnswer) {
  const ScratchDir dir;
  const std::string good = ReadBytes(WriteSteps(dir.path(), 5));
  ASSERT_EQ(good.size(), SlotOffset(5));
  const auto with = [&good](auto change) {
    std::string bytes = good;
    change(&bytes);
    return bytes;
  };
  const struct {
    const char* what;
    std::string bytes;
    std::vector<std::int64_t> steps;
    FindingKind kind;
    std::uint64_t offset;
    std::uint64_t slots;
  } kCases[] = {
      {"bit flip in the middle",
       with([](std::string* b) { (*b)[SlotOffset(2) + 20] ^= 4; }),
       {0, 1, 3, 4},
       FindingKind::kCorrupt,
       SlotOffset(2),
       1},
      {"bit flip in a checksum",
       with([](std::string* b) { (*b)[SlotOffset(0)] ^= 1; }),
       {1, 2, 3, 4},
       FindingKind::kCorrupt,
       SlotOffset(0),
       1},
      {"two neighbours damaged",
       with([](std::string* b) {
         (*b)[SlotOffset(1) + 9] ^= 1;
         (*b)[SlotOffset(2) + 9] ^= 1;
       }),
       {0, 3, 4},
       FindingKind::kCorrupt,
       SlotOffset(1),
       2},
      {"records swapped",
       with([](std::string* b) {
         const std::string one = b->substr(SlotOffset(1), 32);
         b->replace(SlotOffset(1), 32, b->substr(SlotOffset(2), 32));
         b->replace(SlotOffset(2), 32, one);
       }),
       {0, 3, 4},
       FindingKind::kCorrupt,
       SlotOffset(1),
       2},
      {"hole",
       with([](std::string* b) { b->replace(SlotOffset(2), 32, 32, '\0'); }),
       {0, 1, 3, 4},
       FindingKind::kTombstone,
       SlotOffset(2),
       1},
      {"hole with its fields written",
       with([](std::string* b) { b->replace(SlotOffset(2), 8, 8, '\0'); }),
       {0, 1, 3, 4},
       FindingKind::kTombstone,
       SlotOffset(2),
       1},
      {"torn by a cut file",
       with([](std::string* b) { b->resize(SlotOffset(4) + 16); }),
       {0, 1, 2, 3},
       FindingKind::kTornTail,
       SlotOffset(4),
       1},
      {"torn within reserved space",
       with([](std::string* b) {
         b->replace(SlotOffset(4), 16, 16, '\0');
         b->append(4096, '\0');
       }),
       {0, 1, 2, 3},
       FindingKind::kTornTail,
       SlotOffset(4),
       1},
      {"last record damaged",
       with([](std::string* b) { (*b)[SlotOffset(4) + 8] ^= 1; }),
       {0, 1, 2, 3},
       FindingKind::kTornTail,
       SlotOffset(4),
       1},
      {"the last records destroyed",
       with([](std::string* b) { b->replace(SlotOffset(2), 96, 96, 'x'); }),
       {0, 1},
       FindingKind::kCorrupt,
       SlotOffset(2),
       3},
      {"the last records destroyed before reserved space",
       with([](std::string* b) {
         b->replace(SlotOffset(3), 64, 64, 'x');
         b->append(4096, '\0');
       }),
       {0, 1, 2},
       FindingKind::kCorrupt,
       SlotOffset(3),
       2},
      {"a byte put in between",
       with([](std::string* b) { b->insert(SlotOffset(1) + 3, 1, 'x'); }),
       {0},
       FindingKind::kCorrupt,
       SlotOffset(1),
       4},
      {"two threads killed while they wrote",
       with([](std::string* b) {
         b->replace(SlotOffset(3), 8, 8, '\0');
         b->replace(SlotOffset(4), 8, 8, '\0');
       }),
       {0, 1, 2},
       FindingKind::kTornTail,
       SlotOffset(3),
       1},
  };
  for (const auto& c : kCases) {
    const std::string path = dir.path() + "/case.hwj";
    WriteBytes(path, c.bytes);
    const ReadResult read = Read(path);
    ASSERT_TRUE(read.status.ok()) << c.what << ": " << read.status.ToString();
    EXPECT_EQ(Steps(read.records), c.steps) << c.what;
    ASSERT_EQ(read.summary.findings.size(), 1u) << c.what;
    EXPECT_EQ(read.summary.findings[0].kind, c.kind) << c.what;
    EXPECT_EQ(read.summary.findings[0].offset, c.offset) << c.what;
    EXPECT_EQ(read.summary.findings[0].slots, c.slots) << c.what;
    EXPECT_EQ(read.summary.torn_tail, c.kind == FindingKind::kTornTail) << c.what;
    const Status check = read.summary.Check(path);
    EXPECT_EQ(check.code(), c.kind == FindingKind::kCorrupt ? Code::kDataLoss : Code::kOk);
    if (!check.ok()) {
      const std::string where = "at byte " + std::to_string(c.offset) + " (" +
                                std::to_string(c.slots * kSlotBytes) + " bytes)";
      EXPECT_NE(check.message().find(where), std::string::npos) << check.message();
    }
    const std::string text = FindingText(read.summary.findings[0]);
    EXPECT_NE(text.find("at byte " + std::to_string(c.offset)), std::string::npos) << text;
  }
}

TEST(ReaderTest, UnusableFilesAreRefusedOneByOne) {
  const ScratchDir dir;
  const std::string good = ReadBytes(WriteSteps(dir.path(), 1));
  const struct {
    std::string bytes;
    Code code;
    const char* text;
  } kCases[] = {
      {"", Code::kDataLoss, "empty file"},
      {good.substr(0, 100), Code::kDataLoss, "truncated header"},
      {"{\"ts\": 1}\n", Code::kDataLoss, "not a headway journal"},
  };
  for (const auto& c : kCases) {
    const std::string path = dir.path() + "/case.hwj";
    WriteBytes(path, c.bytes);
    const ReadResult read = Read(path);
    EXPECT_EQ(read.status.code(), c.code);
    EXPECT_NE(read.status.message().find(c.text), std::string::npos) << read.status.message();
    EXPECT_NE(read.status.message().find(path), std::string::npos);
  }
  EXPECT_EQ(Read(dir.path() + "/missing").status.code(), Code::kNotFound);
}

TEST(ReaderTest, AHeaderAloneIsAnEmptyJournal) {
  const ScratchDir dir;
  const ReadResult read = Read(WriteSteps(dir.path(), 0));
  EXPECT_TRUE(read.status.ok());
  EXPECT_TRUE(read.records.empty());
  EXPECT_TRUE(read.summary.findings.empty());
}

TEST(ReaderTest, EverySingleBitFlipIsFound) {
  const ScratchDir dir;
  const std::string good = ReadBytes(WriteSteps(dir.path(), 4));
  const std::string path = dir.path() + "/case.hwj";
  for (std::size_t bit = 0; bit < 3 * 32 * 8; ++bit) {
    std::string bytes = good;
    bytes[kHeaderBytes + bit / 8] =
        static_cast<char>(bytes[kHeaderBytes + bit / 8] ^ (1 << (bit % 8)));
    WriteBytes(path, bytes);
    const ReadResult read = Read(path);
    ASSERT_EQ(read.records.size(), 3u) << "bit " << bit;
    ASSERT_EQ(read.summary.corrupt, 1u) << "bit " << bit;
  }
}

TEST(ReaderTest, EveryCutLeavesTheRecordsBefore) {
  const ScratchDir dir;
  const std::string good = ReadBytes(WriteSteps(dir.path(), 6));
  const std::string path = dir.path() + "/case.hwj";
  for (std::size_t size = kHeaderBytes; size <= good.size(); ++size) {
    WriteBytes(path, good.substr(0, size));
    const ReadResult read = Read(path);
    ASSERT_TRUE(read.status.ok());
    // A record of which nothing but zeros is missing is whole.
    const std::size_t slots = (size - kHeaderBytes) / kSlotBytes;
    const bool torn = (size - kHeaderBytes) % kSlotBytes != 0;
    const std::size_t behind = std::min(SlotOffset(slots + 1), good.size());
    const bool whole = torn && good.find_first_not_of('\0', size) >= behind;
    EXPECT_EQ(read.records.size(), slots + (whole ? 1 : 0)) << size;
    EXPECT_EQ(read.summary.torn_tail, torn && !whole) << size;
    EXPECT_EQ(read.summary.corrupt, 0u);
  }
}

TEST(ReaderTest, UnknownRecordsAreSkippedAndCounted) {
  const ScratchDir dir;
  auto writer = JournalWriter::Create(dir.path(), {});
  ASSERT_TRUE(writer.ok());
  (*writer)->Append(kStep, MonoNs{1}, 1, 0);
  (*writer)->Append(0x7f, MonoNs{2}, 2, 0);  // a later release's
  (*writer)->Append(MetaHigh(RecordType::kSpanBegin, static_cast<SpanKind>(31), Blocking::kNo, 0),
                    MonoNs{3}, 3, 0);
  (*writer)->Append(MetaHigh(RecordType::kSpanBegin, SpanKind::kCustom, Blocking::kNo, 0),
                    MonoNs{4}, 4,
                    77);  // undefined name
  (*writer)->Finish();
  const ReadResult read = Read((*writer)->path());
  EXPECT_EQ(Steps(read.records), (std::vector<std::int64_t>{1, 4}));
  EXPECT_EQ(read.summary.unknown_types, 2u);
  EXPECT_EQ(read.summary.unknown_names, 1u);
}

TEST(ReaderTest, FollowsALivingWriter) {
  const ScratchDir dir;
  auto writer = JournalWriter::Create(dir.path(), {});
  ASSERT_TRUE(writer.ok());
  NameTable names;
  Result<JournalReader> reader = JournalReader::Open((*writer)->path(), {.names = &names});
  ASSERT_TRUE(reader.ok());
  std::vector<Record> out(10);
  EXPECT_EQ(*reader->Next(out), 0u);
  std::size_t total = 0;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 3000; ++i) (*writer)->Append(kStep, MonoNs{i}, i, 0);
    ASSERT_TRUE(reader->Refresh().ok());
    while (const std::size_t got = *reader->Next(out)) total += got;
    EXPECT_EQ(total, 3000u * static_cast<unsigned>(round + 1));
    EXPECT_EQ(reader->liveness(), Liveness::kAlive);
    EXPECT_TRUE(reader->summary().findings.empty());
  }
  (*writer)->Finish();
  ASSERT_TRUE(reader->Refresh().ok());
  EXPECT_EQ(reader->liveness(), Liveness::kDead);
  EXPECT_EQ(*reader->Next(out), 0u);
}

// What a writer has not finished yet looks the same, but not twice.
TEST(ReaderTest, DamageBeforeValidRecordsIsToldWhileTheWriterLives) {
  const ScratchDir dir;
  FakeClock clock;
  WriterOptions options;
  options.clock = &clock;
  auto writer = *JournalWriter::Create(dir.path(), options);
  for (int i = 0; i < 5; ++i) writer->Append(kStep, writer->Now(), i, 0);
  std::string bytes = ReadBytes(writer->path());
  bytes[SlotOffset(2) + 20] ^= 4;
  const std::string copy = dir.path() + "/copy.hwj";
  WriteBytes(copy, bytes);
  NameTable names;
  EXPECT_EQ(JournalReader::Open(copy, {.names = &names})->liveness(), Liveness::kAlive);
  const ReadResult read = Read(copy);
  EXPECT_EQ(Steps(read.records), (std::vector<std::int64_t>{0, 1, 3, 4}));
  EXPECT_EQ(read.summary.corrupt, 1U);
  const Status status = read.summary.Check(copy);
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_NE(status.message().find("byte " + std::to_string(SlotOffset(2))), std::string::npos)
      << status.message();
}

TEST(ReaderTest, GoesOnAfterItsFileWasReleased) {
  const ScratchDir dir;
  const std::string path = WriteSteps(dir.path(), 5);
  NameTable names;
  Result<JournalReader> reader = JournalReader::Open(path, {.names = &names});
  std::vector<Record> out(2);
  EXPECT_EQ(*reader->Next(out), 2u);
  reader->Release();
  EXPECT_EQ(*reader->Next(out), 2u);
  EXPECT_EQ(Steps(out), (std::vector<std::int64_t>{2, 3}));
  reader->Release();
  EXPECT_FALSE(reader->summary().torn_tail);
  EXPECT_TRUE(reader->Refresh().ok());
  reader->Release();
  const std::string bytes = ReadBytes(path);
  std::filesystem::rename(path, path + ".old");
  WriteBytes(path, bytes);
  const Status replaced = reader->Refresh();
  EXPECT_EQ(replaced.code(), Code::kUnavailable);
  EXPECT_NE(replaced.message().find("replaced"), std::string::npos);
}

// A hole of a living writer, made by wiping a record in the file and putting it back later.
class HoleTest : public testing::Test {
 protected:
  HoleTest() {
    writer_ = *JournalWriter::Create(dir_.path(), {});
    for (int i = 0; i < 5; ++i) writer_->Append(kStep, MonoNs{i}, i, 0);
    fd_ = ::open(writer_->path().c_str(), O_RDWR);
    EXPECT_EQ(::pread(fd_, saved_, 32, SlotOffset(2)), 32);
    Put(std::string(32, '\0').data());
  }
  ~HoleTest() override { ::close(fd_); }
  void Put(const char* bytes) { EXPECT_EQ(::pwrite(fd_, bytes, 32, SlotOffset(2)), 32); }

  ScratchDir dir_;
  std::unique_ptr<JournalWriter> writer_;
  NameTable names_;
  int fd_ = -1;
  char saved_[32];
};

TEST_F(HoleTest, SnapshotReadersGoOnAndComeBack) {
  Result<JournalReader> reader = JournalReader::Open(writer_->path(), {.names = &names_});
  std::vector<Record> out(10);
  EXPECT_EQ(*reader->Next(out), 4u);
  ASSERT_EQ(reader->summary().findings.size(), 1u);
  EXPECT_EQ(reader->summary().findings[0].kind, FindingKind::kInProgress);
  EXPECT_EQ(reader->summary().findings[0].offset, SlotOffset(2));
  Put(saved_);
  ASSERT_TRUE(reader->Refresh().ok());
  ASSERT_EQ(*reader->Next(out), 1u);
  EXPECT_EQ(out[0].a, 2);
  EXPECT_EQ(out[0].seq, 2u);
  EXPECT_TRUE(reader->summary().findings.empty());
}

// Another reader goes on where one stood: names that were defined before, holes that are filled
// later, and what was counted.
TEST_F(HoleTest, AnotherReaderGoesOnFromThere) {
  const std::uint32_t name = writer_->Intern("loss");
  const auto metric = [&](std::int64_t step) {
    writer_->Append(NamedMetaHigh(static_cast<std::uint8_t>(RecordType::kMetric), name), MonoNs{9},
                    step, 0);
  };
  metric(5);
  std::vector<Record> out(100);
  ReaderPlace place;
  {
    Result<JournalReader> reader = JournalReader::Open(writer_->path(), {.names = &names_});
    EXPECT_EQ(*reader->Next(out), 5u);
    EXPECT_EQ(*reader->Next(out), 0u);
    place = reader->place();
  }
  metric(6);
  NameTable names;
  names.Intern("something else");
  Result<JournalReader> reader = JournalReader::Open(*OpenJournalFile(writer_->path()),
                                                     writer_->path(), {.names = &names}, &place);
  ASSERT_TRUE(reader.ok()) << reader.status().ToString();
  ASSERT_EQ(*reader->Next(out), 1u);
  EXPECT_EQ(out[0].a, 6);
  EXPECT_EQ(names.Text(out[0].name), "loss");
  EXPECT_EQ(*reader->Next(out), 0u);
  ASSERT_EQ(reader->summary().findings.size(), 1u);
  EXPECT_EQ(reader->summary().records, 6u);
  Put(saved_);
  ASSERT_TRUE(reader->Refresh().ok());
  ASSERT_EQ(*reader->Next(out), 1u);
  EXPECT_EQ(out[0].a, 2);
  EXPECT_TRUE(reader->summary().findings.empty());
  place.next = 1'000'000;
  const Result<JournalReader> beyond = JournalReader::Open(
      *OpenJournalFile(writer_->path()), writer_->path(), {.names = &names}, &place);
  EXPECT_EQ(beyond.status().code(), Code::kOutOfRange);
}

TEST_F(HoleTest, ShippingReadersWaitUntilTheWriterIsDead) {
  Result<JournalReader> reader =
      JournalReader::Open(writer_->path(), {.names = &names_, .stop_at_holes = true});
  std::vector<Record> out(10);
  EXPECT_EQ(*reader->Next(out), 2u);
  EXPECT_EQ(*reader->Next(out), 0u);
  ASSERT_TRUE(reader->Refresh().ok());
  EXPECT_EQ(*reader->Next(out), 0u);
  writer_->Finish();
  ASSERT_TRUE(reader->Refresh().ok());
  ASSERT_EQ(*reader->Next(out), 2u);
  EXPECT_EQ(out[0].a, 3);
  EXPECT_EQ(reader->summary().tombstones, 1u);
}

TEST(ReaderTest, DamagedPayloadsAreNamed) {
  const ScratchDir dir;
  auto writer = JournalWriter::Create(dir.path(), {});
  ASSERT_TRUE(writer.ok());
  const std::int64_t seq =
      (*writer)->AppendPayload(RecordType::kStderrTail, 0, MonoNs{1}, std::string(100, 'e'));
  (*writer)->Append(kStep, MonoNs{2}, 1, 0);
  (*writer)->Finish();
  std::string bytes = ReadBytes((*writer)->path());
  bytes[SlotOffset(static_cast<std::uint64_t>(seq) + 2) + 10] ^= 1;
  const std::string path = dir.path() + "/case.hwj";
  WriteBytes(path, bytes);
  NameTable names;
  Result<JournalReader> reader = JournalReader::Open(path, {.names = &names});
  const Status status = reader->Payload(static_cast<std::uint64_t>(seq)).status();
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_NE(status.message().find("at byte " +
                                  std::to_string(SlotOffset(static_cast<std::uint64_t>(seq) + 2))),
            std::string::npos)
      << status.message();
}

TEST(ReaderTest, AShrinkingFileIsAnAnswerNotASignal) {
  const ScratchDir dir;
  const std::string path = WriteSteps(dir.path(), 10'000);
  NameTable names;
  Result<JournalReader> reader = JournalReader::Open(path, {.names = &names});
  std::vector<Record> out(100);
  EXPECT_EQ(*reader->Next(out), 100u);
  ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(SlotOffset(3000))), 0);
  std::size_t total = 100;
  while (const std::size_t got = *reader->Next(out)) total += got;
  EXPECT_GE(total, 2048u);  // what had been read already, at most up to the new end
  EXPECT_LE(total, 3000u);
}

TEST(ReaderTest, ACountOfDropsThatCannotBeIsDamage) {
  const ScratchDir dir;
  const std::string path = WriteSteps(dir.path(), 3);
  std::string bytes = ReadBytes(path);
  bytes[kLiveDroppedOffset + 7] ^= static_cast<char>(0x80);
  WriteBytes(path, bytes);
  const ReadResult read = Read(path);
  EXPECT_EQ(read.records.size(), 3u);
  EXPECT_EQ(read.summary.dropped, 0u);
  const Status status = read.summary.Check(path);
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_EQ(status.message(),
            path +
                ": the count of dropped records at byte 3840 is damaged; the 3 records can be "
                "used");
}

TEST(EndedCleanlyTest, LooksAtTheEnd) {
  const ScratchDir dir;
  const struct {
    const char* what;
    std::vector<std::pair<RecordType, std::int64_t>> records;
    bool clean;
  } kCases[] = {
      {"nothing", {}, false},
      {"no end", {{RecordType::kJobStart, 0}, {RecordType::kStepStart, 1}}, false},
      {"clean", {{RecordType::kStepStart, 1}, {RecordType::kJobEnd, 0}}, true},
      {"failed", {{RecordType::kStepStart, 1}, {RecordType::kJobEnd, 1}}, false},
      {"exit 0", {{RecordType::kExit, 0}}, true},
      {"exit 1", {{RecordType::kExit, 1}}, false},
      {"clean after SIGTERM", {{RecordType::kNotice, 15}, {RecordType::kJobEnd, 0}}, false},
  };
  for (const auto& c : kCases) {
    auto writer = JournalWriter::Create(dir.path(), {});
    for (const auto& [type, a] : c.records) (*writer)->Append(MetaHigh(type, 0), MonoNs{1}, a, 0);
    EXPECT_EQ(*EndedCleanly((*writer)->path()), c.clean) << c.what;
    (*writer)->Finish();
    EXPECT_EQ(*EndedCleanly((*writer)->path()), c.clean) << c.what;
  }
}

}  // namespace
}  // namespace headway::journal
