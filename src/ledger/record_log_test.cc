#include "ledger/record_log.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace headway::ledger {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::vector<TimedRecord> ReadFrom(const RecordLog& log, RecordLog::Cursor cursor) {
  std::vector<TimedRecord> all;
  TimedRecord timed;
  while (log.Next(&cursor, &timed)) all.push_back(timed);
  return all;
}

void ExpectSame(const std::vector<TimedRecord>& got, const std::vector<TimedRecord>& wanted,
                std::size_t from = 0) {
  ASSERT_EQ(got.size(), wanted.size() - from);
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].record, wanted[from + i].record) << "record " << from + i;
    EXPECT_EQ(got[i].time, wanted[from + i].time) << "record " << from + i;
  }
}

Record Of(RecordType type, std::uint64_t seq, std::int64_t time, std::int64_t a = 0,
          std::int64_t b = 0) {
  Record record;
  record.type = type;
  record.seq = seq;
  record.time_ns = time;
  record.a = a;
  record.b = b;
  return record;
}

/// Anything, the ordinary more often than the absurd.
Record Random(std::mt19937_64* random, const Record& last) {
  auto one_in = [random](std::uint64_t n) { return (*random)() % n == 0; };
  auto any = [random] { return static_cast<std::int64_t>((*random)()); };
  Record r;
  r.type = static_cast<RecordType>((*random)() % 21 + 1);
  r.writer = one_in(8) ? static_cast<WriterId>((*random)() % 5) : last.writer;
  r.seq = one_in(8) ? (*random)() : last.seq + 1;
  r.thread = one_in(8) ? static_cast<std::uint16_t>((*random)()) : last.thread;
  r.time_ns =
      one_in(20) ? any() : last.time_ns / 2 + static_cast<std::int64_t>((*random)() % 1'000'000);
  r.a = one_in(4) ? any() : last.a + 1;
  if (one_in(3))
    r.b = one_in(2) ? any() : static_cast<std::int64_t>(r.seq - (*random)() % 3'000'000);
  if (one_in(2)) {
    r.span = static_cast<SpanKind>((*random)() % kSpanKindCount);
    r.blocking = static_cast<Blocking>((*random)() % 3);
    r.name = static_cast<NameId>(one_in(3) ? (*random)() : (*random)() % 3);
  }
  return r;
}

TEST(RecordLogTest, GivesBackWhatItTook) {
  const std::vector<TimedRecord> records = {
      {Of(RecordType::kJobStart, 0, 1'767'225'600'000'000'000), 1'767'225'600'000'000'000},
      {Of(RecordType::kStepStart, 1, 5, 7), 1'767'225'600'000'000'001},  // stamped too early
      {Of(RecordType::kStepStart, 2, kMost, 8), kMost},
      {Of(RecordType::kStepEnd, 3, kLeast, 8), kLeast},
      {Of(RecordType::kSpanEnd, 1'000, 0, kNoStep, 999), 0},
      {Of(RecordType::kSpanEnd, 1'001, 0, kNoStep, kNoHandle), 0},
      {Of(RecordType::kMetric, std::numeric_limits<std::uint64_t>::max(), 0, kLeast, kMost), 0},
      {Of(RecordType::kDropped, 0, 0, 3), 0},
  };
  RecordLog log;
  for (const TimedRecord& timed : records) log.Append(timed.record, timed.time);
  EXPECT_EQ(log.size(), records.size());
  ExpectSame(ReadFrom(log, {}), records);
}

TEST(RecordLogTest, ReadsAndForgetsFromAnyPlace) {
  std::mt19937_64 random(1);
  std::vector<TimedRecord> records;
  std::vector<RecordLog::Cursor> places;  // before each record
  RecordLog log;
  Record last;
  for (int i = 0; i < 20'000; ++i) {  // several chunks
    last = Random(&random, last);
    const std::int64_t time =
        random() % 16 == 0 ? static_cast<std::int64_t>(random()) : last.time_ns;
    places.push_back(log.end());
    records.push_back({last, time});
    log.Append(last, time);
  }
  ExpectSame(ReadFrom(log, {}), records);
  for (const std::size_t from : {19'999U, 12'345U, 4'321U, 1U}) {
    ExpectSame(ReadFrom(log, places[from]), records, from);
  }
  // What is appended after a cut follows what was left.
  for (const std::size_t cut : {15'000U, 14'999U, 3'000U, 0U}) {
    log.Truncate(places[cut]);
    records.resize(cut);
    EXPECT_EQ(log.size(), cut);
    for (int i = 0; i < 100; ++i) {
      last = Random(&random, last);
      records.push_back({last, last.time_ns});
      log.Append(last, last.time_ns);
    }
    ExpectSame(ReadFrom(log, {}), records);
  }
  log.Clear();
  EXPECT_EQ(log.size(), 0U);
  EXPECT_TRUE(ReadFrom(log, {}).empty());
}

TEST(RecordLogTest, TakesFewBytesForAnOrdinaryStep) {
  RecordLog log;
  for (std::int64_t i = 0; i < 100'000; ++i) {
    log.Append(Of(RecordType::kStepStart, static_cast<std::uint64_t>(i), i * 312'345'678, i),
               i * 312'345'678);
  }
  EXPECT_LE(log.MemoryBytes(), 8U * 100'000);
}

}  // namespace
}  // namespace headway::ledger
