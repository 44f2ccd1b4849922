#include "ledger/step_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "ledger/ledger.h"
#include "ledger/long_run.h"

namespace headway::ledger {
namespace {

using Axis = StepQuestion::Axis;

std::vector<std::int64_t> Ends(std::int64_t begin, std::int64_t end, int columns) {
  std::vector<std::int64_t> ends;
  for (int i = 0; i <= columns; ++i) ends.push_back(begin + (end - begin) * i / columns);
  return ends;
}

std::int64_t Quantile(const std::vector<std::int64_t>& sorted, std::size_t percent) {
  if (sorted.empty()) return 0;
  return sorted[std::max<std::size_t>((sorted.size() * percent + 99) / 100, 1) - 1];
}

// The same out of all steps, one by one.
StepHistory Slowly(const std::vector<StepSummary>& steps, const StepQuestion& question) {
  const bool by_step = question.axis == Axis::kStep;
  StepHistory history;
  std::optional<std::int64_t> last, productive;
  for (std::size_t i = 0; i + 1 < question.ends.size(); ++i) {
    StepHistory::Column& column = history.columns.emplace_back();
    std::vector<std::int64_t> works;
    for (const StepSummary& step : steps) {
      const std::int64_t at = by_step ? step.step : step.start;
      if (at < question.ends[i] || at >= question.ends[i + 1]) continue;
      if (by_step && !step.retained) continue;
      last = step.step;
      if (!step.complete) continue;
      works.push_back(step.work_ns);
      column.wasted += step.retained ? 0 : 1;
      if (step.retained) productive = std::max(step.step, productive.value_or(step.step));
    }
    std::ranges::sort(works);
    column.count = static_cast<std::int64_t>(works.size());
    column.min_ns = Quantile(works, 0);
    column.p10_ns = Quantile(works, 10);
    column.p50_ns = Quantile(works, 50);
    column.p90_ns = Quantile(works, 90);
    column.max_ns = Quantile(works, 100);
    if (by_step) continue;
    column.last_step = last;
    column.productive_step = productive;
  }
  return history;
}

TEST(StepHistory, SaysWhatAllStepsTogetherSay) {
  Ledger ledger = LongRun();
  const Report report = ledger.MakeReport();
  const std::vector<StepSummary> steps = ledger.Steps();
  for (const int columns : {1, 7, 500}) {
    for (const Axis axis : {Axis::kTime, Axis::kStep}) {
      StepQuestion question{.axis = axis, .ends = {}, .slowest = 5};
      question.ends = axis == Axis::kTime ? Ends(*report.start, *report.end, columns)
                                          : Ends(0, *report.steps.max_productive_step + 1, columns);
      const StepHistory history = ledger.MakeStepHistory({}, question);
      EXPECT_EQ(history.columns, Slowly(steps, question).columns) << columns;
      std::int64_t count = 0;
      for (const StepHistory::Column& column : history.columns) {
        count += column.count - column.wasted;
      }
      // The last step of all has neither ended nor been lost.
      EXPECT_EQ(count, report.steps.count);

      ASSERT_EQ(history.slowest.size(), 5u);
      std::vector<std::int64_t> works;
      for (const StepSummary& step : steps) {
        const bool counts = axis == Axis::kTime || step.retained;
        if (step.complete && !step.first && counts) works.push_back(step.work_ns);
      }
      std::ranges::sort(works, std::greater());
      for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(history.slowest[i].work_ns, works[i]) << i;
    }
  }
}

TEST(StepHistory, OfAWindowAndOfNothing) {
  Ledger ledger = LongRun();
  const Report report = ledger.MakeReport();
  const std::int64_t begin = *report.start + (*report.end - *report.start) / 3;
  const std::int64_t end = begin + (*report.end - *report.start) / 9;
  StepQuestion question{.axis = Axis::kTime, .ends = Ends(begin, end, 40), .slowest = 3};
  const StepHistory history =
      ledger.MakeStepHistory({.as_of = {}, .window = {{begin, end}}, .now = {}}, question);
  EXPECT_EQ(history.columns, Slowly(ledger.Steps(), question).columns);
  for (const StepSummary& step : history.slowest) {
    EXPECT_GE(step.start, begin);
    EXPECT_LT(step.start, end);
  }
  // Before the run there is none.
  question.ends = Ends(-1000, -1, 4);
  EXPECT_EQ(ledger.MakeStepHistory({}, question).columns, std::vector(4, StepHistory::Column{}));
  question.ends = {0};
  EXPECT_TRUE(ledger.MakeStepHistory({}, question).columns.empty());
}

TEST(StepHistory, ColumnsOfVeryManyStepsAreCloseEnough) {
  Ledger ledger;
  Writer writer;
  writer.uid = writer.attempt_key = "a";
  writer.rank = 0;
  Record record;
  record.writer = ledger.AddWriter(writer, Liveness::kDead);
  record.type = RecordType::kStepStart;
  std::vector<std::int64_t> works;
  for (std::int64_t i = 0; i < 100'000; ++i) {
    record.a = i;
    ledger.Add(record);
    works.push_back(1'000'000 + i * 7919 % 500'000);
    record.time_ns += works.back();
    record.seq += 1;
  }
  works.pop_back();  // the last one is not complete
  std::ranges::sort(works);
  StepQuestion question{.axis = Axis::kStep, .ends = {0, 100'000}, .slowest = 0};
  const StepHistory history = ledger.MakeStepHistory({}, question);
  const StepHistory::Column& column = history.columns.at(0);
  EXPECT_EQ(column.count, 99'999);
  EXPECT_EQ(column.min_ns, Quantile(works, 0));
  EXPECT_EQ(column.max_ns, Quantile(works, 100));
  for (const auto& [ns, percent] :
       {std::pair(column.p10_ns, 10), std::pair(column.p50_ns, 50), std::pair(column.p90_ns, 90)}) {
    const auto exact = static_cast<double>(Quantile(works, static_cast<std::size_t>(percent)));
    EXPECT_NEAR(static_cast<double>(ns), exact, exact / 1000) << percent;
  }
}

}  // namespace
}  // namespace headway::ledger
