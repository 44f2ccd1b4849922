#include <gtest/gtest.h>

#include <map>
#include <random>

#include "ledger/compat/calculator.h"
#include "ledger/compat/custom_events.h"
#include "ledger/compat/report.h"
#include "ledger/compat/step_table.h"
#include "ledger/compat/step_times.h"
#include "ledger/compat/to_ledger.h"

namespace headway::compat {
namespace {

TEST(StepTableTest, KeepsTheOrderOfFirstComing) {
  StepTable table;
  for (const std::int64_t step : {5, 6, 7, 3, 9, 4}) {
    EXPECT_EQ(table.Find(step), StepTable::kNowhere);
    table.Append(step, static_cast<double>(step));
  }
  table.Set(3, 30);
  table.Set(10, 100);
  EXPECT_EQ(table.Find(3), 3U);
  EXPECT_EQ(table.items()[3].value, 30);
  EXPECT_EQ(table.items().back().step, 10);
  EXPECT_EQ(table.lowest(), 3);
  EXPECT_EQ(table.highest().step, 10);
  EXPECT_EQ(table.Find(8), StepTable::kNowhere);
  table.Clear();
  table.Append(1, 1);
  EXPECT_EQ(table.Find(1), 0U);
  EXPECT_EQ(table.Find(3), StepTable::kNowhere);
}

TEST(StepTableTest, TakesTheNumbersAtTheEndsOf64Bits) {
  StepTable table;
  table.Append(INT64_MAX, 1);
  table.Append(INT64_MIN, 2);
  EXPECT_EQ(table.Find(INT64_MIN), 1U);
  EXPECT_EQ(table.lowest(), INT64_MIN);
  EXPECT_EQ(table.highest().step, INT64_MAX);
  Calculator calculator;
  calculator.log()->Add(EntryKind::kJobStart, 1);
  calculator.log()->AddStep(INT64_MAX, 1);
  calculator.log()->AddStep(INT64_MIN, 2);
  EXPECT_TRUE(calculator.Cumulative(10).ok());
}

TEST(TimeTest, SecondsAreThoseOfPython) {
  EXPECT_EQ(SecondsOf(1'767'225'600'123'456'000), 1767225600.123456);
  EXPECT_EQ(SecondsOf(-1'500'000'000), -1.5);
  EXPECT_EQ(SecondsOf(1'767'225'600'123'456'999), 1767225600.123456);
  EXPECT_EQ(SecondsOf(-1), -1e-6);
  EXPECT_EQ(ThroughDatetime(1767225600.1234561), 1767225600.123456);
  EXPECT_EQ(ThroughDatetime(0.9999999), 1.0);
  EXPECT_EQ(ThroughDatetime(-0.25), -0.25);
}

TEST(CustomEventsTest, FindsThemInAnyOrderOfAsking) {
  CustomEvents events;
  std::vector<CustomEvents::Event> all;
  std::mt19937_64 random(7);
  auto add = [&](double start, double end) {
    events.Take({start, 0, 1, EntryKind::kCustomStart});
    events.Take({end, 0, 1, EntryKind::kCustomEnd});
    if (start < end) all.push_back({start, end, 1});
  };
  for (int i = 0; i < 200; ++i) {
    const auto start = static_cast<double>(random() % 1000);
    add(start, start + static_cast<double>(random() % 40));
    const auto from = static_cast<double>(random() % 1000);
    const double to = from + static_cast<double>(random() % 100);
    double within = 0;
    double over = 0;
    for (const CustomEvents::Event& event : all) {
      if (from <= event.start && event.end <= to) within += event.end - event.start;
      if (event.start < to && event.end > from) over += 1;
    }
    events.Within(from, to, [&](const auto& event) { within -= event.end - event.start; });
    events.Overlapping(from, to, [&](const auto&) { over -= 1; });
    EXPECT_EQ(within, 0) << i;
    EXPECT_EQ(over, 0) << i;
  }
}

/// A log that no job would write, but that a hostile or broken one might.
void Append(std::mt19937_64* random, double* time, EntryLog* log) {
  auto pick = [random](std::uint64_t n) { return (*random)() % n; };
  *time += static_cast<double>(pick(2000)) / 1000 - (pick(20) == 0 ? 3 : 0);
  const auto kind = static_cast<EntryKind>(pick(18));
  switch (kind) {
    case EntryKind::kCustomStart:
    case EntryKind::kCustomEnd:
    case EntryKind::kWaitStart:
    case EntryKind::kWaitEnd: log->AddNamed(kind, pick(2) == 0 ? "A" : "scale_up", *time); break;
    case EntryKind::kSlices: log->AddSlices({1, 2, 4}, *time); break;
    case EntryKind::kSave:
    case EntryKind::kRestore:
      log->AddCheckpoint(kind, std::to_string(pick(3)), "gs://b", 0.25, *time);
      break;
    case EntryKind::kJobEnd:
      if (pick(10) == 0) log->Add(kind, *time);
      break;
    default: log->Add(kind, *time); break;
    case EntryKind::kStep: break;
  }
  if (pick(2) == 0) {
    const auto back = static_cast<std::int64_t>(pick(8));
    const auto last = static_cast<std::int64_t>(log->entries().size());
    log->AddStep(pick(10) == 0 ? last / 2 - back : last / 2, *time);
  }
}

void ExpectEqual(const Account& a, const Account& b) {
  auto near = [](double x, double y) { EXPECT_NEAR(x, y, 1e-9 * (1 + std::abs(y))); };
  near(a.productive_s, b.productive_s);
  EXPECT_EQ(a.max_productive_step, b.max_productive_step);
  EXPECT_EQ(a.last_step, b.last_step);
  EXPECT_EQ(a.restarts.size(), b.restarts.size());
  for (std::size_t i = 0; i < a.unproductive.seconds.size(); ++i) {
    EXPECT_EQ(a.unproductive.seconds[i].has_value(), b.unproductive.seconds[i].has_value()) << i;
    near(a.unproductive.seconds[i].value_or(0), b.unproductive.seconds[i].value_or(0));
  }
  ASSERT_EQ(a.unproductive.custom.has_value(), b.unproductive.custom.has_value());
  if (!a.unproductive.custom) return;
  ASSERT_EQ(a.unproductive.custom->size(), b.unproductive.custom->size());
  for (const auto& [name, seconds] : *a.unproductive.custom) {
    near(seconds, b.unproductive.custom->at(name));
  }
}

TEST(AccountantTest, GoesOnAsIfItHadStartedOver) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    EntryLog log;
    double time = 100;
    Accountant going(&log, true);
    for (int i = 0; i < 60; ++i) {
      Append(&random, &time, &log);
      if (random() % 3 != 0) continue;
      going.Take(log.entries());
      Accountant fresh(&log, true);
      fresh.Take(log.entries());
      ExpectEqual(going.Now(), fresh.Now());
    }
  }
}

TEST(AccountantTest, AnEventThatIsToldLateCountsInStepsLongAgo) {
  Calculator calculator;
  EntryLog& log = *calculator.log();
  log.Add(EntryKind::kJobStart, 0);
  for (int step = 0; step < 10; ++step) log.AddStep(step, step * 10);
  EXPECT_EQ(calculator.Cumulative(100)->account.productive_s, 90);
  log.AddNamed(EntryKind::kCustomStart, "EVAL", 42);
  log.AddNamed(EntryKind::kCustomEnd, "EVAL", 47);
  // 5 s less, and the first step, now longer than the others, to the mean of those.
  EXPECT_EQ(calculator.Cumulative(100)->account.productive_s, 75 + 75.0 / 8);
}

TEST(CalculatorTest, SaysWhyThereIsNoAnswer) {
  Calculator calculator;
  EXPECT_EQ(calculator.Cumulative(10).status().code(), Code::kFailedPrecondition);
  calculator.log()->Add(EntryKind::kJobStart, 0);
  calculator.log()->Add(EntryKind::kSave, 0);
  EXPECT_EQ(calculator.Window(100, 200).answer.status().code(), Code::kNotFound);
}

TEST(StepTimesTest, TheIdealLeavesOutWhatIsFarOff) {
  EXPECT_FALSE(IdealStepTime(std::vector<double>{}).has_value());
  EXPECT_FALSE(IdealStepTime(std::vector<double>{0.5, 0.9}).has_value());
  EXPECT_EQ(IdealStepTime(std::vector<double>{2, 2, 2, 50, 0.1}), 2.0);
  EXPECT_EQ(IdealStepTime(std::vector<double>{1, 2, 3, 4}), 2.5);
}

TEST(ToLedgerTest, ExactNumbersOfTheSameEntries) {
  EntryLog log;
  log.Add(EntryKind::kJobStart, 1000);
  for (int step = 0; step < 5; ++step) log.AddStep(step, 1000 + step * 10);
  log.AddNamed(EntryKind::kCustomStart, "EVAL", 1050);
  log.AddNamed(EntryKind::kCustomEnd, "EVAL", 1060);
  log.Add(EntryKind::kJobEnd, 1060);
  ledger::Ledger ledger = ToLedger(log);
  Report report = ledger.MakeReport();
  EXPECT_EQ(report.elapsed_ns, 60'000'000'000);
  EXPECT_EQ(report.Ns(Category::kCustom), 10'000'000'000);
  NameTable names;
  const Answer answer = ToAnswer(report, &names);
  EXPECT_EQ(answer.account.productive_s, 50);
  EXPECT_EQ(answer.account.unproductive.custom->at(names.Intern("EVAL")), 10);
  Exclude(std::vector<Exclusion>{{1050, 1060}}, &ledger);
  EXPECT_EQ(ledger.MakeReport().elapsed_ns, 50'000'000'000);
}

}  // namespace
}  // namespace headway::compat
