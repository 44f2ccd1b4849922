#include "ledger/snapshot.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/crc32c.h"
#include "ledger/ledger.h"

namespace headway::ledger {
namespace {

SnapshotData Some() {
  SnapshotData data;
  data.supervised = true;
  const NameId name = data.run.names.Intern("eval \xe2\x82\xac");
  Writer writer;
  writer.uid = "u";
  writer.name = "node";
  writer.rank = -1;
  writer.attempt_key = "job/3";
  writer.attempt_index = 3;
  writer.event_file = writer.supervisor = true;
  writer.host = "h";
  writer.pid = 7;
  data.run.writers = {Writer(), writer};
  data.run.liveness = {Liveness::kUnknown, Liveness::kDead};
  Record record;
  record.type = RecordType::kSpanBegin;
  record.span = SpanKind::kElasticReinit;
  record.blocking = Blocking::kNo;
  record.thread = 65'535;
  record.writer = 1;
  record.name = name;
  record.seq = std::numeric_limits<std::uint64_t>::max();
  record.time_ns = std::numeric_limits<std::int64_t>::min();
  record.a = std::numeric_limits<std::int64_t>::max();
  record.b = std::numeric_limits<std::int64_t>::min();
  data.run.records = {Record(), record, Record()};
  return data;
}

/// `bytes` with a checksum that fits them.
std::string Signed(std::string bytes) {
  const std::uint32_t crc = Crc32c(bytes.data(), bytes.size());
  bytes.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  return bytes;
}

std::string Unsigned(std::string bytes) {
  bytes.resize(bytes.size() - sizeof(std::uint32_t));
  return bytes;
}

TEST(SnapshotTest, ReadsBackWhatItWrote) {
  const SnapshotData data = Some();
  const Result<SnapshotData> again = DecodeSnapshot(EncodeSnapshot(data));
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_TRUE(again->supervised);
  EXPECT_EQ(again->run.records, data.run.records);
  EXPECT_EQ(again->run.liveness, data.run.liveness);
  EXPECT_EQ(again->run.names.Text(1), data.run.names.Text(1));
  ASSERT_EQ(again->run.writers.size(), 2U);
  const Writer& writer = again->run.writers[1];
  EXPECT_EQ(writer.uid, "u");
  EXPECT_EQ(writer.rank, -1);
  EXPECT_EQ(writer.attempt_key, "job/3");
  EXPECT_EQ(writer.attempt_index, 3);
  EXPECT_TRUE(writer.event_file && writer.supervisor && !writer.monotonic);
  EXPECT_EQ(writer.host + writer.name, "hnode");
  EXPECT_EQ(writer.pid, 7);
}

TEST(SnapshotTest, FindsDamage) {
  const std::string bytes = EncodeSnapshot(Some());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_EQ(DecodeSnapshot(damaged).status().code(), Code::kDataLoss) << i;
    EXPECT_EQ(DecodeSnapshot(std::string_view(bytes).substr(0, i)).status().code(),
              Code::kDataLoss);
  }
}

TEST(SnapshotTest, ChecksEveryLengthAndIndex) {
  const std::string bytes = Unsigned(EncodeSnapshot(Some()));
  for (std::size_t size = 8; size < bytes.size(); ++size) {  // cut, and signed all the same
    EXPECT_EQ(DecodeSnapshot(Signed(bytes.substr(0, size))).status().code(), Code::kDataLoss)
        << size;
  }
  EXPECT_EQ(DecodeSnapshot(Signed(bytes + "x")).status().code(), Code::kDataLoss);
  struct Case {
    const char* what;
    void (*change)(Record*);
  };
  const Case cases[] = {
      {"writer", [](Record* r) { r->writer = 2; }},
      {"name", [](Record* r) { r->name = 2; }},
      {"type", [](Record* r) { r->type = static_cast<RecordType>(22); }},
      {"span", [](Record* r) { r->span = static_cast<SpanKind>(11); }},
      {"blocking", [](Record* r) { r->blocking = static_cast<Blocking>(3); }},
  };
  for (const Case& c : cases) {
    SnapshotData data = Some();
    c.change(&data.run.records[1]);
    EXPECT_EQ(DecodeSnapshot(EncodeSnapshot(data)).status().code(), Code::kDataLoss) << c.what;
  }
}

TEST(SnapshotTest, LeavesNewerVersionsAlone) {
  std::string bytes = Unsigned(EncodeSnapshot(Some()));
  bytes[8] = 2;  // the version follows the magic
  EXPECT_EQ(DecodeSnapshot(Signed(bytes)).status().code(), Code::kUnimplemented);
}

TEST(SnapshotTest, RestoresALedgerThatGoesOn) {
  Ledger ledger;
  Writer writer;
  writer.uid = "w";
  writer.rank = 0;
  writer.event_file = true;
  const WriterId id = ledger.AddWriter(writer);
  auto step = [id](std::uint64_t n) {
    Record record;
    record.type = RecordType::kStepStart;
    record.writer = id;
    record.seq = n;
    record.time_ns = static_cast<std::int64_t>(n) * 10;
    record.a = static_cast<std::int64_t>(n);
    return record;
  };
  for (std::uint64_t n = 0; n < 5; ++n) ledger.Add(step(n));
  Result<Ledger> restored = Ledger::Restore(ledger.Snapshot());
  ASSERT_TRUE(restored.ok());
  for (std::uint64_t n = 3; n < 9; ++n) {  // two of them again
    ledger.Add(step(n));
    restored->Add(step(n));
  }
  EXPECT_EQ(ToJson(restored->MakeReport()), ToJson(ledger.MakeReport()));
  EXPECT_EQ(restored->MakeReport().steps.count, 8);
}

}  // namespace
}  // namespace headway::ledger
