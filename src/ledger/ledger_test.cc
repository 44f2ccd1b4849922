#include "ledger/ledger.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <limits>

namespace headway::ledger {
namespace {

// A step of each of these numbers, one a second, in one process.
Report ReportOfSteps(std::initializer_list<std::int64_t> numbers) {
  Ledger ledger;
  Writer writer;
  writer.uid = "w";
  writer.rank = 0;
  Record record;
  record.type = RecordType::kStepStart;
  record.writer = ledger.AddWriter(writer);
  for (const std::int64_t number : numbers) {
    record.a = number;
    ledger.Add(record);
    record.seq += 1;
    record.time_ns += 1'000'000'000;
  }
  return ledger.MakeReport();
}

// Whatever a file says: recorders number their steps from 0 to kLastStep.
TEST(LedgerTest, StepNumbersNearTheEndsOfTheRangeWrap) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const auto& numbers : {std::initializer_list<std::int64_t>{3, kLeast + 4, kLeast + 5},
                              std::initializer_list<std::int64_t>{kMost - 1, kMost, 0, 1, 2},
                              std::initializer_list<std::int64_t>{kMost, kMost, kMost, kMost},
                              std::initializer_list<std::int64_t>{kLeast, kLeast, kLeast, 0, 0}}) {
    const Report report = ReportOfSteps(numbers);
    std::int64_t sum = 0;
    for (const CategoryTime& time : report.categories) {
      EXPECT_GE(time.ns, 0);
      sum += time.ns;
    }
    EXPECT_EQ(sum, report.elapsed_ns);
    EXPECT_EQ(report.elapsed_ns, (static_cast<std::int64_t>(numbers.size()) - 1) * 1'000'000'000);
  }
}

}  // namespace
}  // namespace headway::ledger
