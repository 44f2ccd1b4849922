#include "ledger/lead_place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ledger/ledger.h"

namespace headway::ledger {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

/// Two ranks of two attempts.
class Job {
 public:
  explicit Job(Ledger* ledger) {
    for (const int attempt : {0, 1}) {
      for (const int rank : {0, 1}) {
        Writer writer;
        writer.uid = std::to_string(attempt) + "/" + std::to_string(rank);
        writer.rank = rank;
        writer.monotonic = true;
        writer.attempt_key = "job#" + std::to_string(attempt);
        writer.attempt_index = attempt;
        const WriterId id = ledger->AddWriter(writer);
        const std::int64_t begin = attempt * 1000 * kSecond + rank;
        std::uint64_t seq = 0;
        auto add = [&](RecordType type, std::int64_t time, std::int64_t a) {
          Record record;
          record.type = type;
          record.writer = id;
          record.seq = seq++;
          record.time_ns = time;
          record.a = a;
          records_.push_back(record);
        };
        add(RecordType::kJobStart, begin, 0);
        for (int step = 0; step < 200; ++step) {
          add(RecordType::kStepStart, begin + (1 + step) * kSecond, attempt * 150 + step);
        }
      }
    }
  }

  const std::vector<Record>& All() const { return records_; }

 private:
  std::vector<Record> records_;
};

/// Reads on, and begins anew where it must.
class Reader {
 public:
  explicit Reader(Ledger* ledger) : ledger_(ledger) {}

  void ReadOn(std::int64_t until) {
    auto take = [this, until](const Record& record) {
      if (record.time_ns > until) return false;
      visited_.push_back(record);
      return true;
    };
    if (ledger_->VisitLeads(&place_, take)) return;
    ++starts_;
    place_ = {};
    visited_.clear();
    EXPECT_TRUE(ledger_->VisitLeads(&place_, take));
  }

  void ExpectAll(std::int64_t until) const {
    std::vector<Record> all;
    ledger_->VisitLeads([&](const Record& record) {
      if (record.time_ns <= until) all.push_back(record);
    });
    ASSERT_EQ(visited_.size(), all.size());
    EXPECT_TRUE(visited_ == all);
  }

  int starts() const { return starts_; }

 private:
  Ledger* ledger_;
  LeadPlace place_;
  std::vector<Record> visited_;
  int starts_ = 0;
};

constexpr std::int64_t kEver = INT64_MAX;

TEST(LeadPlaceTest, GoesOnWhereItWas) {
  std::mt19937_64 random(1);
  Ledger ledger;
  Job job(&ledger);
  Reader reader(&ledger);
  std::vector<Record> records = job.All();
  std::ranges::stable_sort(records, {}, &Record::time_ns);
  for (const Record& record : records) {
    ledger.Add(record);
    if (random() % 10 != 0) continue;
    reader.ReadOn(kEver);
    reader.ExpectAll(kEver);
  }
  EXPECT_EQ(reader.starts(), 0);
}

TEST(LeadPlaceTest, StopsWhereNothingMoreIsWantedAndGoesOnThere) {
  Ledger ledger;
  Job job(&ledger);
  for (const Record& record : job.All()) ledger.Add(record);
  Reader reader(&ledger);
  for (std::int64_t until = 0; until < 1300 * kSecond; until += 7 * kSecond) {
    reader.ReadOn(until);
    reader.ExpectAll(until);
  }
  EXPECT_EQ(reader.starts(), 0);
}

TEST(LeadPlaceTest, BeginsAnewWhereLateRecordsChangeWhatWasVisited) {
  std::mt19937_64 random(2);
  int starts = 0;
  for (int round = 0; round < 20; ++round) {
    Ledger ledger;
    Job job(&ledger);
    std::vector<Record> records = job.All();
    std::shuffle(records.begin(), records.end(), random);
    Reader reader(&ledger);
    for (std::size_t i = 0; i < records.size(); ++i) {
      ledger.Add(records[i]);
      if (random() % 50 != 0) continue;
      reader.ReadOn(kEver);
      reader.ExpectAll(kEver);
    }
    starts += reader.starts();
  }
  EXPECT_GT(starts, 0);
}

}  // namespace
}  // namespace headway::ledger
