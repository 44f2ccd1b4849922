#include "cli/report_text.h"

#include <gtest/gtest.h>

#include <sstream>

#include "model/shares.h"
#include "model/text.h"

namespace headway::cli {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

Report BusyReport() {
  Report report;
  report.run = "a run with a name that is rather long for a terminal";
  report.project = "lm";
  report.state = RunState::kFailed;
  report.start = 0;
  report.end = report.as_of = 100'000 * kSecond;
  report.elapsed_ns = 100'000 * kSecond;
  report.goodput = 0.375;
  for (int i = 0; i < kCategoryCount; ++i) {
    const auto category = static_cast<Category>(i);
    report.categories.push_back({category, category == Category::kCustom ? "EVAL_STEP" : "",
                                 (i == 0 ? 37'500 : 4'464) * kSecond + (i == 14 ? 4 : 0)});
  }
  report.categories[1].ns += 4 * kSecond - 4;
  report.attempts.resize(2);
  report.disruptions.push_back({64 * kSecond, 12'345, 12'000, 24 * kSecond, 36 * kSecond,
                                10 * kSecond, 150 * kSecond, std::nullopt, 9, std::nullopt,
                                Cause::kSignal});
  report.rollbacks.push_back({70 * kSecond, 6, 3, kSecond, false});
  report.steps.count = 1'234'567;
  report.steps.p50_ns = report.steps.p90_ns = report.steps.p99_ns = report.steps.max_ns = kSecond;
  report.mtbf_ns = report.mttr_ns = 50 * kSecond;
  report.checkpointing = {3, kSecond, 900 * kSecond, 300 * kSecond};
  report.notes.push_back({"no_baseline", 2, "steps could not be compared with a normal one"});
  return report;
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(RenderReport, FitsTheTerminal) {
  for (const int width : {60, 72, 80, 100, 120, 200}) {
    Terminal terminal;
    terminal.width = width;
    for (const std::string& line : LinesOf(RenderReport(BusyReport(), terminal))) {
      EXPECT_LE(DisplayWidth(line), static_cast<std::size_t>(width)) << line;
    }
  }
}

TEST(RenderReport, SaysTheAnswerFirst) {
  const std::vector<std::string> lines = LinesOf(RenderReport(BusyReport(), Terminal()));
  EXPECT_TRUE(lines[0].starts_with("37.50 % goodput  failed")) << lines[0];
}

TEST(RenderReport, EveryCategoryHasARowAndTheyAddUp) {
  const std::string text = RenderReport(BusyReport(), Terminal());
  std::int64_t sum = 0;
  int rows = 0;
  bool total = false;
  for (const std::string& line : LinesOf(text)) {
    const std::size_t percent = line.find(" %  ");
    if (percent == std::string::npos || line.find("█") == std::string::npos) {
      if (line.find("╳") == std::string::npos && !line.starts_with("  total")) continue;
    }
    const std::size_t begin = line.rfind(' ', percent - 1) + 1;
    const std::string number = line.substr(begin, percent - begin);
    const std::int64_t hundredths =
        std::stoll(number) * 100 + std::stoll(number.substr(number.size() - 2));
    if (line.starts_with("  total")) {
      total = true;
      EXPECT_EQ(hundredths, 100'00);
    } else {
      sum += hundredths;
      ++rows;
    }
  }
  EXPECT_TRUE(total);
  EXPECT_EQ(rows, kCategoryCount);
  EXPECT_EQ(sum, 100'00) << text;
}

// Three thirds do not add up to 100.00 % unless one of them is rounded up.
TEST(RenderReport, SaysOneShareOnceAndForAll) {
  Report report = BusyReport();
  report.elapsed_ns = 300 * kSecond;
  report.goodput = 1.0 / 3;
  report.categories = {{Category::kInfrastructureRecovery, "", 100 * kSecond},
                       {Category::kProductive, "rollout", 60 * kSecond},
                       {Category::kProductive, "", 40 * kSecond},
                       {Category::kWastedProgress, "", 100 * kSecond}};
  Terminal terminal;
  terminal.width = 200;
  const std::string text = RenderReport(report, terminal);
  EXPECT_TRUE(text.starts_with("33.33 % goodput")) << text;
  EXPECT_NE(text.find("infrastructure_recovery: 0:01:40 (33.34 %)"), std::string::npos) << text;
  EXPECT_NE(text.find("  33.34 %   0:01:40"), std::string::npos) << text;
  EXPECT_NE(text.find("infrastructure_recovery took 0:01:40 (33.34 %)"), std::string::npos) << text;
  EXPECT_EQ(ShowGoodput(report), "33.33 %");
}

TEST(RenderReport, OnlyARunThatGoesOnCanLoseMore) {
  Report report = BusyReport();
  report.unsaved_ns = 5 * kSecond;
  for (const auto& [state, told] :
       {std::pair(RunState::kRunning, true), std::pair(RunState::kRestarting, true),
        std::pair(RunState::kCompleted, false), std::pair(RunState::kFailed, false),
        std::pair(RunState::kInterrupted, false)}) {
    report.state = state;
    const bool found = RenderReport(report, Terminal()).find("Unsaved") != std::string::npos;
    EXPECT_EQ(found, told) << RunStateName(state);
  }
}

TEST(RenderReport, SaysHowLongARunIsDownOnlyIfThatIsKnown) {
  Report report = BusyReport();
  report.down_since = report.as_of;
  EXPECT_NE(RenderReport(report, Terminal()).find("down since 1970-01-02 03:46:40 UTC\n"),
            std::string::npos);
  report.as_of += 90 * kSecond;
  EXPECT_NE(RenderReport(report, Terminal())
                .find("down since 1970-01-02 03:46:40 UTC, for "
                      "0:01:30\n"),
            std::string::npos);
}

TEST(RenderReport, ColoursOnlyWhereTheyAreWanted) {
  EXPECT_EQ(RenderReport(BusyReport(), Terminal()).find('\x1b'), std::string::npos);
  Terminal terminal;
  terminal.colour = true;
  EXPECT_NE(RenderReport(BusyReport(), terminal).find("\x1b[38;5;71m█"), std::string::npos);
}

TEST(RenderReport, ANameCannotPlayTricks) {
  Report report = BusyReport();
  report.run = "x\x1b[2J";
  report.categories[12].name = "E\x1b]0;pwned\x07";
  const std::string text = RenderReport(report, Terminal());
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x07'), std::string::npos);
  EXPECT_NE(text.find("\\x1b"), std::string::npos);
}

TEST(RenderReport, ARunWithoutARecord) {
  Report report;
  report.run = "r";
  report.categories = {{Category::kProductive, "", 0}};
  const std::string text = RenderReport(report, Terminal());
  EXPECT_TRUE(text.starts_with("no goodput yet")) << text;
  EXPECT_NE(text.find("not started"), std::string::npos) << text;
  EXPECT_EQ(text.find('%'), std::string::npos) << text;
  EXPECT_EQ(CostliestOf(report), nullptr);
}

TEST(RenderReport, OfManyNamesTheLargestAreShown) {
  Report report = BusyReport();
  report.elapsed_ns = 0;
  report.categories.clear();
  for (std::int64_t i = 5000; i > 0; --i) {
    report.categories.push_back({Category::kCustom, "N" + std::to_string(i), i * kSecond});
    report.elapsed_ns += i * kSecond;
  }
  const std::string text = RenderReport(report, Terminal());
  EXPECT_LT(LinesOf(text).size(), 60U);
  EXPECT_NE(text.find("custom N4989 "), std::string::npos) << text;
  EXPECT_EQ(text.find("custom N4988 "), std::string::npos) << text;
  const std::size_t rest = text.find("custom, 4,988 more names");
  ASSERT_NE(rest, std::string::npos) << text;
  EXPECT_NE(text.find("99.52 %", rest), std::string::npos) << text;
}

TEST(RenderReport, AWindowIsToldAsFarAsItElapsed) {
  Report report = BusyReport();
  report.elapsed_ns = 90 * kSecond;
  report.start = 10 * kSecond;
  report.end = 100 * kSecond;
  Terminal terminal;
  terminal.width = 120;
  std::string text = RenderReport(report, terminal, {{{0, 600 * kSecond}}, {}});
  EXPECT_NE(text.find("elapsed from 1970-01-01 00:00:10 to 1970-01-01 00:01:40"), std::string::npos)
      << text;

  report.elapsed_ns = 0;
  report.goodput = 0;
  report.categories = {{Category::kProductive, "", 0}};
  text = RenderReport(report, terminal, {{{200 * kSecond, 300 * kSecond}}, {}});
  EXPECT_TRUE(text.starts_with("nothing elapsed in this window  failed")) << text;
  EXPECT_NE(text.find("from 1970-01-01 00:03:20 to 1970-01-01 00:05:00"), std::string::npos)
      << text;
  EXPECT_EQ(text.find('%'), std::string::npos) << text;
  EXPECT_EQ(ShowGoodput(report), "–");
}

TEST(RenderReport, NamesTheWindow) {
  Terminal terminal;
  terminal.width = 120;
  const std::string text =
      RenderReport(BusyReport(), terminal, {std::pair(0, 60 * kSecond), 90 * kSecond});
  EXPECT_NE(text.find("from 1970-01-01 00:00:00 to 1970-01-01 00:01:00"), std::string::npos);
  EXPECT_NE(text.find("as known at"), std::string::npos);
}

TEST(RenderReport, SaysWhyADisruptionCame) {
  const struct {
    Cause cause;
    std::optional<std::int64_t> status, signal, notice;
    std::string_view shown;
  } cases[] = {
      {Cause::kNotice, {}, {}, 15, "SIGTERM notice  told to stop by SIGTERM"},
      {Cause::kNotice, 0, {}, 0, "status 0  preemption notice"},
      {Cause::kHang, {}, 9, {}, "SIGKILL  the last step hung"},
      {Cause::kSignal, {}, 11, {}, "SIGSEGV  killed by SIGSEGV"},
      {Cause::kExitStatus, 3, {}, {}, "status 3  the program failed\n"},
      {Cause::kExitStatus, 137, {}, {}, "status 137  the program failed, as by SIGKILL"},
      {Cause::kExitStatus, 255, {}, {}, "status 255  the program failed\n"},
      {Cause::kFailed, {}, {}, {}, "the program said so"},
      {Cause::kLost, {}, {}, {}, "process or node lost"},
  };
  Terminal terminal;
  terminal.width = 200;
  for (const auto& c : cases) {
    Report report = BusyReport();
    report.disruptions.resize(1);
    Disruption& disruption = report.disruptions[0];
    disruption.cause = c.cause;
    disruption.exit_status = c.status;
    disruption.signal = c.signal;
    disruption.notice = c.notice;
    const std::string text = RenderReport(report, terminal);
    EXPECT_NE(text.find(c.shown), std::string::npos) << c.shown << "\n" << text;
  }
}

TEST(ShowExit, PrefersTheSignal) {
  EXPECT_EQ(ShowExit(std::nullopt, 9), "SIGKILL");
  EXPECT_EQ(ShowExit(1, std::nullopt), "status 1");
  EXPECT_EQ(ShowExit(-1, 15), "SIGTERM");
  EXPECT_EQ(ShowExit(std::nullopt, 1000), "signal 1000");
  EXPECT_EQ(ShowExit(std::nullopt, std::nullopt), "");
  EXPECT_EQ(ShowExit(std::nullopt, std::nullopt, 15), "SIGTERM notice");
  EXPECT_EQ(ShowExit(std::nullopt, std::nullopt, 0), "notice");
  EXPECT_EQ(ShowExit(0, std::nullopt, 15), "status 0");
}

}  // namespace
}  // namespace headway::cli
