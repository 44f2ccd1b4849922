#include "cli/place.h"

#include <gtest/gtest.h>

namespace headway::cli {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
using Window = std::pair<std::int64_t, std::int64_t>;

TEST(ParseWindow, TakesEveryFormOfTime) {
  const std::int64_t start = 1'000 * kSecond;
  const std::int64_t end = 9'000 * kSecond;
  const struct {
    const char* text;
    Window window;
  } cases[] = {
      {"+1m..+2m", {1'060 * kSecond, 1'120 * kSecond}},
      {"..+2m", {start, 1'120 * kSecond}},
      {"+1m..", {1'060 * kSecond, end}},
      {"..", {start, end}},
      {"@5..@7", {5, 7}},
      {"@5..@5", {5, 5}},
      {"1970-01-01T00:20:00Z..+1h", {1'200 * kSecond, 4'600 * kSecond}},
      {"1970-01-01T00:20:00.5Z..1970-01-01T00:20:01.25Z",
       {1'200 * kSecond + kSecond / 2, 1'201 * kSecond + kSecond / 4}},
      {"+1.5h..+2.5h", {6'400 * kSecond, 10'000 * kSecond}},
  };
  for (const auto& c : cases) {
    const Result<Window> window = ParseWindow(c.text, start, end);
    ASSERT_TRUE(window.ok()) << c.text << ": " << window.status().ToString();
    EXPECT_EQ(*window, c.window) << c.text;
  }
}

TEST(ParseWindow, SaysWhatIsWrong) {
  for (const char* text : {"", "+1m", "+1m-+2m", "x..y", "+1m..tomorrow", "+2m..+1m", "..-"}) {
    const Result<Window> window = ParseWindow(text, 0, 10);
    EXPECT_EQ(window.status().code(), Code::kInvalidArgument) << text;
    EXPECT_NE(window.status().message().find("--window"), std::string::npos) << text;
  }
  EXPECT_FALSE(ParseWindow("+1m..", std::nullopt, 10).ok());  // a run without a start
}

TEST(CheckName, RefusesWhatCanBeNoName) {
  EXPECT_TRUE(CheckName("the run", "../x").ok());
  EXPECT_TRUE(CheckName("the run", "a/b ä").ok());
  EXPECT_TRUE(CheckName("the run", std::string(256, 'x')).ok());
  for (const std::string& name : {std::string(), std::string(257, 'x'), std::string("\xff")}) {
    EXPECT_EQ(CheckName("the run", name).code(), Code::kInvalidArgument);
  }
}

ledger::Ledger TenSeconds() {
  RunRecords run;
  run.writers.resize(1);
  run.writers[0].uid = "w";
  run.writers[0].rank = 0;
  run.writers[0].event_file = true;
  for (const auto& [type, at] :
       {std::pair(RecordType::kJobStart, 100), std::pair(RecordType::kStepStart, 102),
        std::pair(RecordType::kJobEnd, 110)}) {
    Record record;
    record.type = type;
    record.seq = run.records.size();
    record.time_ns = at * kSecond;
    run.records.push_back(record);
  }
  ledger::Ledger ledger;
  ledger.Add(run);
  return ledger;
}

TEST(MakeQuery, LooksBackFromTheEnd) {
  ledger::Ledger ledger = TenSeconds();
  TimeOptions times;
  times.last = 4 * kSecond;
  Result<ledger::Query> query = MakeQuery(times, &ledger, WallNs{500 * kSecond});
  ASSERT_TRUE(query.ok());
  EXPECT_EQ(query->window, Window(106 * kSecond, 110 * kSecond));

  times.as_of = "+8s";
  query = MakeQuery(times, &ledger, WallNs{500 * kSecond});
  ASSERT_TRUE(query.ok());
  EXPECT_EQ(query->as_of, 108 * kSecond);
  EXPECT_EQ(query->window, Window(104 * kSecond, 108 * kSecond));

  times = TimeOptions();
  times.window = "+2s..";
  query = MakeQuery(times, &ledger, WallNs{500 * kSecond});
  ASSERT_TRUE(query.ok());
  EXPECT_EQ(query->window, Window(102 * kSecond, 110 * kSecond));
}

TEST(MakeQuery, AsksNothingByDefault) {
  ledger::Ledger ledger = TenSeconds();
  const Result<ledger::Query> query = MakeQuery({}, &ledger, WallNs{7});
  ASSERT_TRUE(query.ok());
  EXPECT_FALSE(query->as_of || query->window);
  EXPECT_EQ(query->now, 7);
}

TEST(MakeQuery, RefusesTwoWindows) {
  ledger::Ledger ledger = TenSeconds();
  TimeOptions times;
  times.window = "..";
  times.last = 1;
  EXPECT_EQ(MakeQuery(times, &ledger, WallNs{7}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace headway::cli
