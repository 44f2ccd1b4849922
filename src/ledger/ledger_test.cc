#include "ledger/ledger.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace headway::ledger {
namespace {

using Numbers = std::vector<std::int64_t>;

// A step of each of these numbers, one a second, in one process after the other.
Report ReportOfSteps(const std::vector<Numbers>& attempts) {
  Ledger ledger;
  Record record;
  record.type = RecordType::kStepStart;
  for (const Numbers& numbers : attempts) {
    Writer writer;
    writer.uid = "w" + std::to_string(record.time_ns);
    writer.attempt_key = writer.uid;
    writer.rank = 0;
    record.writer = ledger.AddWriter(writer, Liveness::kDead);
    record.seq = 0;
    for (const std::int64_t number : numbers) {
      record.a = number;
      ledger.Add(record);
      record.seq += 1;
      record.time_ns += 1'000'000'000;
    }
  }
  return ledger.MakeReport();
}

// Whatever a file says: recorders number their steps from 0 to kLastStep.
TEST(LedgerTest, StepNumbersNearTheEndsOfTheRangeStayThere) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kHalf = kLastStep / 2;
  const std::vector<Numbers> all = {{3, kLeast + 4, kLeast + 5},
                                    {kMost - 1, kMost, 0, 1, 2},
                                    {kMost - 1, 0, 1},
                                    {kHalf, 0, kHalf, kMost - 1, 1, 2},
                                    {kHalf - 1, 0, kHalf, kMost - 1, kMost, 1},
                                    {kMost, kMost, kMost, kMost},
                                    {kLeast, kLeast, kLeast, 0, 0},
                                    {-kHalf, 1, -kHalf - 5, 1}};
  for (const Numbers& first : all) {
    for (const Numbers& second : all) {
      for (const std::int64_t from : {std::int64_t{0}, std::int64_t{5}, first.back()}) {
        Numbers last = second;
        last.insert(last.begin(), from);
        const Report report = ReportOfSteps({first, last});
        std::int64_t sum = 0;
        for (const CategoryTime& time : report.categories) {
          EXPECT_GE(time.ns, 0);
          sum += time.ns;
        }
        EXPECT_EQ(sum, report.elapsed_ns);
        for (const Disruption& disruption : report.disruptions) {
          EXPECT_NE(disruption.step_reached, kNoStep);
        }
      }
    }
  }
  // As far as numbers go, going back is a rollback where a counter would have no room.
  EXPECT_EQ(ReportOfSteps({{kMost - 1, 0, 1}}).steps.last_step, 1);
  EXPECT_EQ(ReportOfSteps({{kHalf - 1, 0, 1}}).steps.last_step, kHalf + 1);
}

}  // namespace
}  // namespace headway::ledger
