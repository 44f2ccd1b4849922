#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "ledger/ledger.h"
#include "model/report.h"

// Any bytes are a set of records: the ledger must account for every nanosecond of it, in every
// window, and answer the same whatever the order, however often it is asked, and from a snapshot.
//
// Byte 0: how many writers (2 bits), supervised (1 bit). A byte for each writer. Then the records,
// in 6 bytes or more each; what is missing at the end reads as 0.

namespace headway::ledger {
namespace {

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : left_(data, size) {}

  bool empty() const { return left_.empty(); }
  std::uint8_t Byte() {
    if (left_.empty()) return 0;
    const std::uint8_t byte = left_.front();
    left_ = left_.subspan(1);
    return byte;
  }
  /// Small numbers mostly; one byte in 16 says that eight follow.
  std::int64_t Number() {
    const std::uint8_t byte = Byte();
    if (byte < 0xf0) return static_cast<std::int64_t>(byte) - 16;
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | Byte();
    return static_cast<std::int64_t>(value);
  }

 private:
  std::span<const std::uint8_t> left_;
};

Writer WriterFrom(std::uint8_t byte, std::size_t number) {
  Writer writer;
  writer.name = std::string(1, static_cast<char>('a' + (byte & 1)));
  writer.rank = (byte >> 1 & 3) - 1;
  writer.event_file = (byte & 8) != 0;
  writer.monotonic = !writer.event_file;
  writer.supervisor = !writer.event_file && (byte & 0x10) != 0;
  if ((byte & 0x20) != 0) writer.attempt_key = (byte & 0x40) != 0 ? "j/1" : "j/2";
  writer.uid = std::to_string(number);
  return writer;
}

RunRecords RunFrom(Bytes* bytes, bool* supervised) {
  RunRecords run;
  const std::uint8_t head = bytes->Byte();
  *supervised = (head & 4) != 0;
  const std::size_t writers = (head & 3) + 1U;
  for (std::size_t i = 0; i < writers; ++i) {
    const std::uint8_t byte = bytes->Byte();
    run.writers.push_back(WriterFrom(byte, i));
    run.liveness.push_back(static_cast<Liveness>((byte >> 7) * (byte & 1 ? 1 : 2)));
  }
  for (const char* name : {"eval", "Eval", "scale_up", "bad_line"}) run.names.Intern(name);
  std::vector<std::uint64_t> seq(writers, 0);
  std::int64_t time = 0;
  while (!bytes->empty()) {
    Record record;
    record.type = static_cast<RecordType>(bytes->Byte() % (static_cast<int>(kLastRecordType) + 1));
    if (record.type == RecordType::kNone) record.type = RecordType::kStepStart;
    const std::uint8_t who = bytes->Byte();
    record.writer = static_cast<WriterId>((who & 3) % writers);
    record.blocking = static_cast<Blocking>((who >> 2 & 3) % 3);
    record.thread = who >> 4 & 1;
    record.name = static_cast<NameId>(who >> 5 & 7) % 5;
    record.span = static_cast<SpanKind>(bytes->Byte() % kSpanKindCount);
    const std::int64_t passed = bytes->Number();
    time = static_cast<std::int64_t>(static_cast<std::uint64_t>(time) +
                                     static_cast<std::uint64_t>(passed) * 1'000'000'000U);
    record.time_ns = time;
    record.a = bytes->Number();
    record.b = bytes->Number();
    record.seq = seq[record.writer]++;
    if ((who & 0x80) != 0 && record.seq > 0) record.seq -= 1;  // two of one number
    run.records.push_back(record);
  }
  return run;
}

Ledger Told(const RunRecords& run, bool supervised, bool backwards) {
  Ledger ledger;
  ledger.SetSupervised(supervised);
  RunRecords some = run;
  some.records.clear();
  ledger.Add(some);
  if (!backwards) {
    ledger.Add(std::span<const Record>(run.records));
    return ledger;
  }
  for (std::size_t i = run.records.size(); i-- > 0;) {
    ledger.Add(run.records[i]);
    if (i % 16 == 0) ledger.MakeReport();
  }
  return ledger;
}

std::string Answer(Ledger* ledger) {
  return ToJson(ledger->MakeReport()) + ToJson(ledger->Timeline()) + ToJson(ledger->Steps());
}

void CheckSums(const Report& report) {
  std::int64_t sum = 0;
  for (const CategoryTime& time : report.categories) {
    HEADWAY_CHECK(time.ns >= 0);
    sum += time.ns;
  }
  HEADWAY_CHECK(sum == report.elapsed_ns);
  HEADWAY_CHECK(report.data_loading_overlapped_ns >= 0);
}

void Check(const std::uint8_t* data, std::size_t size) {
  if (size > 4'096) return;
  Bytes bytes(data, size);
  bool supervised = false;
  const RunRecords run = RunFrom(&bytes, &supervised);
  Ledger ledger = Told(run, supervised, false);
  const Report report = ledger.MakeReport();
  CheckSums(report);
  if (report.start) {
    const std::int64_t begin = *report.start;
    const std::int64_t middle =
        begin + (run.records.empty() ? 0 : run.records[run.records.size() / 2].a & 0xfffff) * 9'999;
    const Report before = ledger.MakeReport({.as_of = {}, .window = {{begin, middle}}, .now = {}});
    const Report after = ledger.MakeReport(
        {.as_of = {}, .window = {{middle, std::max(middle, *report.end)}}, .now = {}});
    CheckSums(before);
    CheckSums(after);
    HEADWAY_CHECK(before.elapsed_ns + after.elapsed_ns == report.elapsed_ns);
    for (const Category category : {Category::kProductive, Category::kWastedProgress}) {
      HEADWAY_CHECK(before.Ns(category) + after.Ns(category) == report.Ns(category));
    }
    const std::int64_t end = std::max(middle, *report.end);
    const std::vector<WallSpan> spans = {{begin, middle}, {middle, end}, {begin, end}};
    const TimeSplit split = ledger.Split({}, spans);
    HEADWAY_CHECK(split.elapsed_ns[0] == before.elapsed_ns);
    HEADWAY_CHECK(split.elapsed_ns[1] == after.elapsed_ns);
    std::vector<std::int64_t> sums(spans.size());
    for (const TimeSplit::Series& series : split.series) {
      HEADWAY_CHECK(series.ns[0] + series.ns[1] == series.ns[2]);
      for (std::size_t i = 0; i < spans.size(); ++i) {
        HEADWAY_CHECK(series.ns[i] >= 0);
        sums[i] += series.ns[i];
      }
    }
    HEADWAY_CHECK(sums == split.elapsed_ns);
    CheckSums(ledger.MakeReport({.as_of = middle, .window = {}, .now = {}}));
  }
  const std::string answer = Answer(&ledger);
  Ledger backwards = Told(run, supervised, true);
  HEADWAY_CHECK(Answer(&backwards) == answer);
  Result<Ledger> restored = Ledger::Restore(ledger.Pack());
  HEADWAY_CHECK(restored.ok());
  HEADWAY_CHECK(Answer(&*restored) == answer);
}

}  // namespace
}  // namespace headway::ledger

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headway::ledger::Check(data, size);
  return 0;
}
