#include "cli/watch_view.h"

#include <gtest/gtest.h>

#include "model/text.h"

namespace headway::cli {
namespace {

constexpr std::int64_t kStart = 1'767'225'600 * kNanosPerSecond;

WatchNews News() {
  WatchNews news;
  Report& report = news.report;
  report.run = "r";
  report.state = RunState::kRunning;
  report.start = kStart;
  report.end = report.as_of = kStart + 100 * kNanosPerSecond;
  report.elapsed_ns = 100 * kNanosPerSecond;
  report.goodput = 0.75;
  report.categories = {{Category::kProductive, "", 75 * kNanosPerSecond},
                       {Category::kDataLoading, "", 25 * kNanosPerSecond}};
  report.steps.count = 10;
  report.steps.last_step = 10;
  report.attempts.emplace_back();
  for (int i = 8; i <= 10; ++i) {
    StepSummary step;
    step.step = i;
    step.start = kStart + (60 + 10 * i - 80) * kNanosPerSecond;
    step.end = step.start + 10 * kNanosPerSecond;
    step.complete = i < 10;
    news.steps.push_back(step);
  }
  return news;
}

constexpr WallNs kNow = {kStart + 101 * kNanosPerSecond};

TEST(WatchViewTest, StepsHaveATimeAndARate) {
  WatchNews news = News();
  const StepRate rate = RateOf(news);
  EXPECT_EQ(rate.current, 10);
  EXPECT_EQ(rate.last_ns, 10 * kNanosPerSecond);
  EXPECT_DOUBLE_EQ(*rate.per_second, 0.1);
  // A restart between two of them is no slow step.
  for (StepSummary& step : news.steps) {
    if (step.step == 8) step.start -= 1000 * kNanosPerSecond;
  }
  news.steps.front().end = news.steps.front().start + 10 * kNanosPerSecond;
  EXPECT_FALSE(RateOf(news).per_second);
  news.steps.clear();
  EXPECT_FALSE(RateOf(news).last_ns);
}

TEST(WatchViewTest, ThePageSaysHowItGoes) {
  WatchNews news = News();
  std::string page = RenderWatch(news, {.width = 80}, kNow);
  for (const char* const part :
       {"75.00 % goodput", "running", "data_loading", "25.00 %", "10, for 20.000 s; 10 kept",
        "last 10.000 s", "0.100 steps a second", "1 (1 open)"}) {
    EXPECT_NE(page.find(part), page.npos) << part << "\n" << page;
  }
  EXPECT_EQ(page.find("Last stop"), page.npos);
  Disruption& last = news.report.disruptions.emplace_back();
  last.time = kStart + 50 * kNanosPerSecond;
  last.step_reached = 5;
  last.resumed_from = 3;
  last.cause = Cause::kSignal;
  last.signal = 9;
  last.wasted_ns = 20 * kNanosPerSecond;
  news.trouble = "the server is away: no answer";
  news.arrived = {.journals = 1, .open = 1, .slots = 1234, .heard = kStart + 100 * kNanosPerSecond};
  page = RenderWatch(news, {.width = 120}, kNow);
  for (const char* const part : {"2026-01-01 00:00:50 UTC", "killed by SIGKILL", "at step 5",
                                 "went on from 3", "the server is away", "1,234 records"}) {
    EXPECT_NE(page.find(part), page.npos) << part << "\n" << page;
  }
  EXPECT_EQ(page.find('\x1b'), page.npos);
}

TEST(WatchViewTest, NothingIsWiderThanTheTerminal) {
  WatchNews news = News();
  news.report.run = std::string(300, 'r');
  news.report.disruptions.emplace_back().time = kStart;
  news.trouble = "no answer";
  news.arrived = {.journals = 12, .open = 3, .slots = 123'456'789, .heard = kStart};
  for (const int width : {60, 80, 120, 200}) {
    const std::string page = RenderWatch(news, {.width = width}, kNow);
    for (std::size_t at = 0; at < page.size();) {
      const std::size_t end = page.find('\n', at);
      EXPECT_LE(DisplayWidth(page.substr(at, end - at)), static_cast<std::size_t>(width)) << page;
      at = end + 1;
    }
  }
}

TEST(WatchViewTest, OneLineSaysTheMost) {
  WatchNews news = News();
  EXPECT_EQ(WatchLine(news, kNow),
            "2026-01-01 00:01:41  running  75.00 % goodput  0:01:40 elapsed  step 10  10.000 s a "
            "step  0.100 steps/s  most lost to data_loading\n");
  news.report = {};
  news.steps.clear();
  news.trouble = "a\nb";
  const std::string line = WatchLine(news, kNow);
  EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
}

TEST(WatchViewTest, WhatHasEnded) {
  Report report = News().report;
  constexpr std::int64_t kPatience = 60 * kNanosPerSecond;
  const struct {
    RunState state;
    std::int64_t after;  // its end
    bool ended;
  } kCases[] = {
      {RunState::kNotStarted, 1000, false}, {RunState::kRunning, 1000, false},
      {RunState::kRestarting, 1000, false}, {RunState::kCompleted, 0, true},
      {RunState::kFailed, 0, true},         {RunState::kInterrupted, 59, false},
      {RunState::kInterrupted, 60, true},
  };
  for (const auto& one : kCases) {
    report.state = one.state;
    const WallNs now = {*report.end + one.after * kNanosPerSecond};
    EXPECT_EQ(HasEnded(report, kPatience, now), one.ended) << RunStateName(one.state);
  }
}

}  // namespace
}  // namespace headway::cli
