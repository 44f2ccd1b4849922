#include "ledger/snapshot.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "ledger/ledger.h"

namespace headway::ledger {
namespace {

struct Data {
  SnapshotHead head;
  std::vector<std::vector<Record>> logs;
};

std::string Encode(const Data& data) {
  std::vector<RecordLog> logs(data.logs.size());
  std::vector<const RecordLog*> pointers;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    for (const Record& record : data.logs[i]) logs[i].Append(record, record.time_ns);
    pointers.push_back(&logs[i]);
  }
  return EncodeSnapshot(data.head, pointers);
}

/// All logs become one.
Result<Data> Decode(std::string_view bytes) {
  Result<SnapshotReader> reader = SnapshotReader::Open(bytes);
  if (!reader.ok()) return reader.status();
  Data data{reader->head(), {{}}};
  std::vector<Record> batch(2);
  while (true) {
    const Result<std::size_t> read = reader->Next(batch);
    if (!read.ok()) return read.status();
    if (*read == 0) return data;
    data.logs[0].insert(data.logs[0].end(), batch.begin(),
                        batch.begin() + static_cast<std::ptrdiff_t>(*read));
  }
}

Data Some() {
  Data data;
  data.head.supervised = true;
  const NameId name = data.head.names.Intern("eval \xe2\x82\xac");
  Writer writer;
  writer.uid = "u";
  writer.name = "node";
  writer.rank = -1;
  writer.attempt_key = "job/3";
  writer.attempt_index = 3;
  writer.event_file = writer.supervisor = true;
  writer.host = "h";
  writer.pid = 7;
  data.head.writers = {Writer(), writer};
  data.head.liveness = {Liveness::kUnknown, Liveness::kDead};
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
  data.logs = {{Record(), record, Record()}, {}, {record}};
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
  const Data data = Some();
  const Result<Data> again = Decode(Encode(data));
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_TRUE(again->head.supervised);
  const Record& record = data.logs[2][0];
  EXPECT_EQ(again->logs[0], (std::vector<Record>{Record(), record, Record(), record}));
  EXPECT_EQ(again->head.liveness, data.head.liveness);
  EXPECT_EQ(again->head.names.Text(1), data.head.names.Text(1));
  ASSERT_EQ(again->head.writers.size(), 2U);
  const Writer& writer = again->head.writers[1];
  EXPECT_EQ(writer.uid, "u");
  EXPECT_EQ(writer.rank, -1);
  EXPECT_EQ(writer.attempt_key, "job/3");
  EXPECT_EQ(writer.attempt_index, 3);
  EXPECT_TRUE(writer.event_file && writer.supervisor && !writer.monotonic);
  EXPECT_EQ(writer.host + writer.name, "hnode");
  EXPECT_EQ(writer.pid, 7);
}

TEST(SnapshotTest, FindsDamage) {
  const std::string bytes = Encode(Some());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_EQ(Decode(damaged).status().code(), Code::kDataLoss) << i;
    EXPECT_EQ(Decode(std::string_view(bytes).substr(0, i)).status().code(), Code::kDataLoss);
  }
}

TEST(SnapshotTest, ChecksEveryLengthAndIndex) {
  const std::string bytes = Unsigned(Encode(Some()));
  for (std::size_t size = 8; size < bytes.size(); ++size) {  // cut, and signed all the same
    EXPECT_EQ(Decode(Signed(bytes.substr(0, size))).status().code(), Code::kDataLoss) << size;
  }
  EXPECT_EQ(Decode(Signed(bytes + "x")).status().code(), Code::kDataLoss);
  struct Case {
    const char* what;
    void (*change)(Record*);
  };
  const Case cases[] = {
      {"writer", [](Record* r) { r->writer = 2; }},
      {"name", [](Record* r) { r->name = 2; }},
      {"type", [](Record* r) { r->type = static_cast<RecordType>(23); }},
      {"span", [](Record* r) { r->span = static_cast<SpanKind>(11); }},
      {"blocking", [](Record* r) { r->blocking = static_cast<Blocking>(3); }},
  };
  for (const Case& c : cases) {
    Data data = Some();
    c.change(&data.logs[0][1]);
    EXPECT_EQ(Decode(Encode(data)).status().code(), Code::kDataLoss) << c.what;
  }
}

TEST(SnapshotTest, LeavesNewerVersionsAlone) {
  std::string bytes = Unsigned(Encode(Some()));
  bytes[8] = 3;  // the version follows the magic
  EXPECT_EQ(Decode(Signed(bytes)).status().code(), Code::kUnimplemented);
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
