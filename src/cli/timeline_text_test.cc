#include "cli/timeline_text.h"

#include <gtest/gtest.h>

namespace headway::cli {
namespace {

TimelineInterval Interval(std::int64_t begin, std::int64_t end, Category category,
                          std::int64_t attempt) {
  TimelineInterval interval;
  interval.begin = begin;
  interval.end = end;
  interval.category = category;
  interval.attempt = attempt;
  return interval;
}

// The cells of the lane that begins with `head`.
std::string Lane(const std::string& picture, const std::string& head) {
  const std::size_t at = picture.find("\n  " + head) + 3;
  const std::size_t end = picture.find('\n', at);
  return picture.substr(at + 4, end - at - 4);
}

TEST(Timeline, ShowsWhatTookMostOfEachColumn) {
  Terminal terminal;
  terminal.width = 48;  // 40 columns for the lanes
  const std::string picture = RenderTimeline(
      {Interval(0, 100, Category::kProgramStartup, 0), Interval(100, 200, Category::kProductive, 0),
       Interval(200, 300, Category::kInfrastructureRecovery, -1),
       Interval(300, 400, Category::kProductive, 1)},
      0, 400, terminal);
  EXPECT_EQ(Lane(picture, "#0"), std::string(10, 's') + std::string(10, '='));
  EXPECT_EQ(Lane(picture, "none"), std::string(20, ' ') + std::string(10, '.'));
  EXPECT_EQ(Lane(picture, "#1"), std::string(30, ' ') + std::string(10, '='));
  EXPECT_NE(picture.find(" 50.00 %  200 ns\n"), std::string::npos) << picture;
}

TEST(Timeline, NamesHaveLettersOfTheirOwn) {
  Terminal terminal;
  terminal.width = 48;
  std::vector<TimelineInterval> intervals;
  for (const char* const name : {"EVAL", "EXPORT", "EVE"}) {
    const auto i = static_cast<std::int64_t>(intervals.size());
    intervals.push_back(Interval(i * 100, i * 100 + 100 - i, Category::kCustom, 0));
    intervals.back().name = name;
  }
  const std::string picture = RenderTimeline(intervals, 0, 400, terminal);
  EXPECT_EQ(Lane(picture, "#0"),
            std::string(10, 'E') + std::string(10, 'X') + std::string(10, 'V'));
  EXPECT_NE(picture.find("  X  custom EXPORT"), std::string::npos) << picture;
}

TEST(Timeline, OfManyNamesTheLargestAreShown) {
  std::vector<TimelineInterval> intervals;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < 5000; ++i) {
    intervals.push_back(Interval(at, at + i + 1, Category::kCustom, 0));
    intervals.back().name = "N" + std::to_string(i);
    at += i + 1;
  }
  const std::string picture = RenderTimeline(intervals, 0, at, Terminal());
  EXPECT_NE(picture.find("custom N4999"), std::string::npos) << picture;
  EXPECT_EQ(picture.find("custom N4987 "), std::string::npos) << picture;
  EXPECT_NE(picture.find("  n  custom, 4,988 more names"), std::string::npos) << picture;
}

TEST(Timeline, OneNanosecondAndExtremeTimes) {
  EXPECT_NE(RenderTimeline({Interval(5, 6, Category::kOther, 0)}, 5, 6, Terminal()).find('-'),
            std::string::npos);
  const std::int64_t far = INT64_MAX / 2;
  const std::string picture = RenderTimeline(
      {Interval(-far, 0, Category::kOther, 0), Interval(0, far, Category::kProductive, 0)}, -far,
      far, Terminal());
  EXPECT_NE(picture.find("-="), std::string::npos);
}

TEST(Timeline, NothingAndManyAttempts) {
  EXPECT_EQ(RenderTimeline({}, 0, 0, Terminal()), "  nothing happened in this time\n");
  std::vector<TimelineInterval> intervals;
  for (int i = 0; i < 100; ++i) {
    intervals.push_back(Interval(i, i + 1, Category::kProductive, i));
  }
  const std::string picture = RenderTimeline(intervals, 0, 100, Terminal());
  EXPECT_NE(picture.find("60 earlier attempts"), std::string::npos);
  EXPECT_NE(picture.find("#99"), std::string::npos);
  EXPECT_EQ(picture.find("#59"), std::string::npos);
}

}  // namespace
}  // namespace headway::cli
