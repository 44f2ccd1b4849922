#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "journal/test_files.h"

/// Every journal format ever released stays readable: `tests/golden/journal_v*.hwj`.
///
/// The files are never changed. For a new format add a file, with the writer below adjusted, by
/// HEADWAY_WRITE_GOLDEN=tests/golden/journal_vN.hwj build/tests/journal_test --gtest_filter=Golden*

namespace headway::journal {
namespace {

constexpr std::string_view kConfig = R"({"lr": 0.0003, "layers": 32, "name": "llama-7b"})";

// One record of each kind and shape.
void WriteGoldenRecords(JournalWriter* w) {
  std::int64_t t = w->header().anchor.mono.ns;
  const auto next = [&t] { return MonoNs{t += 1'500'000'000}; };
  const auto plain = [&](RecordType type, std::int64_t a, std::int64_t b = 0) {
    w->Append(MetaHigh(type, 0), next(), a, b);
  };
  const auto named = [&](RecordType type, std::uint32_t name, std::int64_t a, std::int64_t b) {
    w->Append(NamedMetaHigh(static_cast<std::uint8_t>(type), name), next(), a, b);
  };
  plain(RecordType::kJobStart, 0);
  w->AppendPayload(RecordType::kConfig, w->Intern("user"), next(), kConfig);
  for (int kind = 1; kind < kSpanKindCount; ++kind) {
    const auto span = static_cast<SpanKind>(kind);
    const auto blocking = static_cast<Blocking>(kind % 3);
    const std::uint32_t name = span == SpanKind::kElasticWait ? w->Intern("scale_up")
                               : span == SpanKind::kCustom    ? w->Intern("eval")
                                                              : 0;
    const std::int64_t begin = w->Append(
        MetaHigh(RecordType::kSpanBegin, span, blocking, static_cast<std::uint16_t>(kind)), next(),
        kind == 5 ? 500 : kNoStep, name);
    w->Append(MetaHigh(RecordType::kSpanEnd, span, blocking, static_cast<std::uint16_t>(kind)),
              next(), kNoStep, PackSpanEnd(kind == 6 ? kNoHandle : begin, name));
  }
  plain(RecordType::kStepStart, 0);
  plain(RecordType::kStepSoftEnd, 0);
  plain(RecordType::kStepStart, 1);
  plain(RecordType::kStepEnd, 1);
  plain(RecordType::kCapacity, 7 | std::int64_t{6} << 32, 8);
  plain(RecordType::kCheckpointSaved, 1);
  plain(RecordType::kHeartbeat, 1'767'225'650'000'000'000);
  named(RecordType::kExclude, w->Intern("manual stop \xe2\x98\x95"), 1'767'225'600'000'000'000,
        kNoTime);
  plain(RecordType::kRollback, 0);
  plain(RecordType::kQuery, 0);
  plain(RecordType::kClock, 1'767'225'660'000'000'000);
  plain(RecordType::kNotice, 15);
  named(RecordType::kNote, w->Intern("torn_tail"), 3, 0);
  double loss = 2.5;
  std::int64_t bits;
  std::memcpy(&bits, &loss, sizeof bits);
  named(RecordType::kMetric, w->Intern("loss"), 1, bits);
  w->AppendPayload(RecordType::kStderrTail, 0, next(), "Traceback (most recent call last):\n");
  const MonoNs dropped_at = next();
  w->Append(MetaHigh(RecordType::kDropped, 0), dropped_at, 12, dropped_at.ns - 1'000'000'000);
  plain(RecordType::kExit, -1, 9);
  plain(RecordType::kJobEnd, 0);
}

std::string GoldenBytes() {
  const ScratchDir dir;
  WriterOptions options;
  options.mode = WriterOptions::Mode::kWrite;
  options.header = GoldenHeader();
  FakeClock clock(WallNs{1'767'225'600'000'000'000}, MonoNs{1'000'000'000'000});
  options.clock = &clock;
  auto writer = JournalWriter::Create(dir.path(), options);
  WriteGoldenRecords(writer->get());
  (*writer)->Finish();
  // Facts about this machine and process are replaced; names are defined at the clock's time.
  const auto header = EncodeHeader(GoldenHeader());
  return std::string(reinterpret_cast<const char*>(header.data()), header.size()) +
         ReadBytes((*writer)->path()).substr(kHeaderBytes);
}

TEST(GoldenTest, Version1IsWrittenByteForByte) {
  const std::string bytes = GoldenBytes();
  if (const char* path = std::getenv("HEADWAY_WRITE_GOLDEN")) WriteBytes(path, bytes);
  EXPECT_TRUE(bytes == ReadBytes("tests/golden/journal_v1.hwj"));
}

TEST(GoldenTest, Version1IsRead) {
  const std::string path = "tests/golden/journal_v1.hwj";
  const ReadResult read = Read(path);
  ASSERT_TRUE(read.status.ok()) << read.status.ToString();
  EXPECT_TRUE(read.summary.findings.empty());
  EXPECT_EQ(read.summary.unknown_types, 0u);
  EXPECT_EQ(read.summary.unknown_names, 0u);
  ASSERT_EQ(read.records.size(), 40u);

  std::map<RecordType, int> count;
  for (const Record& record : read.records) ++count[record.type];
  EXPECT_EQ(count.size(), 21u);  // all of them
  EXPECT_EQ(count[RecordType::kSpanBegin], kSpanKindCount - 1);

  const Record& first = read.records.front();
  EXPECT_EQ(first.type, RecordType::kJobStart);
  EXPECT_EQ(first.time_ns, 1'767'225'601'500'000'000);
  const Record& last = read.records.back();
  EXPECT_EQ(last.type, RecordType::kJobEnd);
  EXPECT_EQ(last.a, 0);
  for (const Record& record : read.records) {
    switch (record.type) {
      case RecordType::kSpanBegin:
        if (record.span == SpanKind::kCustom) {
          EXPECT_EQ(read.names.Text(record.name), "eval");
        }
        EXPECT_EQ(static_cast<int>(record.blocking), static_cast<int>(record.span) % 3);
        EXPECT_EQ(record.thread, static_cast<int>(record.span));
        break;
      case RecordType::kSpanEnd:
        EXPECT_EQ(record.b, record.span == SpanKind::kCheckpointRestore
                                ? kNoHandle
                                : static_cast<std::int64_t>(record.seq) - 1);
        break;
      case RecordType::kExclude:
        EXPECT_EQ(read.names.Text(record.name), "manual stop \xe2\x98\x95");
        EXPECT_EQ(record.b, kNoTime);
        break;
      case RecordType::kMetric: {
        double value;
        std::memcpy(&value, &record.b, sizeof value);
        EXPECT_EQ(value, 2.5);
        EXPECT_EQ(read.names.Text(record.name), "loss");
        break;
      }
      case RecordType::kDropped: EXPECT_EQ(record.b, record.time_ns - 1'000'000'000); break;
      default: break;
    }
  }

  NameTable names;
  Result<JournalReader> reader = JournalReader::Open(path, {.names = &names});
  EXPECT_EQ(*reader->Payload(read.records[1].seq), kConfig);
  EXPECT_EQ(reader->header().attempt_key, "slurm:cluster/77#1@0");
}

}  // namespace
}  // namespace headway::journal
