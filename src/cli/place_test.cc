#include "cli/place.h"

#include <gtest/gtest.h>

namespace headway::cli {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
using Window = std::pair<std::int64_t, std::int64_t>;

TEST(CheckName, RefusesWhatCanBeNoName) {
  EXPECT_TRUE(CheckName("the run", "../x").ok());
  EXPECT_TRUE(CheckName("the run", "a/b ä").ok());
  EXPECT_TRUE(CheckName("the run", std::string(256, 'x')).ok());
  for (const std::string& name : {std::string(), std::string(257, 'x'), std::string("\xff")}) {
    EXPECT_EQ(CheckName("the run", name).code(), Code::kInvalidArgument);
  }
}

OpenRun TenSeconds() {
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
  OpenRun open;
  open.loaded.ledger.Add(run);
  open.loaded.now = WallNs{500 * kSecond};
  return open;
}

TEST(MakeQuery, LooksBackFromTheEnd) {
  OpenRun open = TenSeconds();
  TimeOptions times;
  times.last = 4 * kSecond;
  Result<ledger::Query> query = MakeQuery(times, &open);
  ASSERT_TRUE(query.ok());
  EXPECT_EQ(query->window, Window(106 * kSecond, 110 * kSecond));

  times.as_of = "+8s";
  query = MakeQuery(times, &open);
  ASSERT_TRUE(query.ok());
  EXPECT_EQ(query->as_of, 108 * kSecond);
  EXPECT_EQ(query->window, Window(104 * kSecond, 108 * kSecond));

  times = TimeOptions();
  times.window = "+2s..";
  query = MakeQuery(times, &open);
  ASSERT_TRUE(query.ok());
  EXPECT_EQ(query->window, Window(102 * kSecond, 110 * kSecond));
}

TEST(MakeQuery, TakesEveryFormOfTime) {
  OpenRun open = TenSeconds();
  const std::int64_t start = 100 * kSecond;
  const struct {
    const char* text;
    Window window;
  } cases[] = {
      {"+1s..+2s", {start + kSecond, start + 2 * kSecond}},
      {"..+2s", {start, start + 2 * kSecond}},
      {"+1s..", {start + kSecond, start + 10 * kSecond}},
      {"+1m..", {start + 60 * kSecond, start + 60 * kSecond}},
      {"..", {start, start + 10 * kSecond}},
      {"@5..@7", {5, 7}},
      {"@5..@5", {5, 5}},
      {"1970-01-01T00:01:42Z..+1h", {102 * kSecond, 3'700 * kSecond}},
      {"1970-01-01T00:01:42.5Z..1970-01-01T00:01:43.25Z",
       {102 * kSecond + kSecond / 2, 103 * kSecond + kSecond / 4}},
      {"+1.5s..+2.5s", {start + 3 * kSecond / 2, start + 5 * kSecond / 2}},
  };
  for (const auto& c : cases) {
    TimeOptions times;
    times.window = c.text;
    const Result<ledger::Query> query = MakeQuery(times, &open);
    ASSERT_TRUE(query.ok()) << c.text << ": " << query.status().ToString();
    EXPECT_EQ(query->window, c.window) << c.text;
  }
}

TEST(MakeQuery, SaysWhatIsWrong) {
  OpenRun open = TenSeconds();
  TimeOptions times;
  for (const char* text : {"+1m", "+1m-+2m", "x..y", "+1m..tomorrow", "+2m..+1m", "..-"}) {
    times.window = text;
    const Status status = MakeQuery(times, &open).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_NE(status.message().find("--window"), std::string::npos) << text;
  }
  times.window = "+1m..";
  OpenRun empty;  // without a start
  EXPECT_FALSE(MakeQuery(times, &empty).ok());
  times.window.clear();
  times.as_of = "soon";
  EXPECT_TRUE(MakeQuery(times, &open).status().message().starts_with("--as-of: "));
}

TEST(MakeQuery, AsksNothingByDefault) {
  OpenRun open = TenSeconds();
  const Result<ledger::Query> query = MakeQuery({}, &open);
  ASSERT_TRUE(query.ok());
  EXPECT_FALSE(query->as_of || query->window);
  EXPECT_EQ(query->now, 500 * kSecond);
}

TEST(MakeQuery, RefusesTwoWindows) {
  OpenRun open = TenSeconds();
  TimeOptions times;
  times.window = "..";
  times.last = 1;
  EXPECT_EQ(MakeQuery(times, &open).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace headway::cli
