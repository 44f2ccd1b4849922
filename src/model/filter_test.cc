#include "model/filter.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "model/run_fields.h"

namespace headway {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

Report TheReport() {
  Report report;
  report.project = "lm";
  report.state = RunState::kFailed;
  report.start = 1'767'225'600 * kSecond;  // 2026-01-01T00:00:00Z
  report.elapsed_ns = 5400 * kSecond;
  report.goodput = 0.375;
  report.attempts.resize(3);
  return report;
}

FilterRow RowOf(const std::string& name, const Report& report) {
  return [name, report](std::size_t field, std::string_view) {
    return RunFieldValue(name, report, field);
  };
}

bool Takes(const std::string& text, const FilterRow& row) {
  const Result<Filter> filter = Filter::Parse(text, RunFields());
  EXPECT_TRUE(filter.ok()) << text << ": " << filter.status().message();
  return filter.ok() && filter->Matches(row);
}

TEST(Filter, LevelsAreInOrder) {
  const std::vector<FilterField> fields = {{"severity", FieldType::kLevel, {"low", "mid", "high"}}};
  const auto takes = [&fields](const std::string& text, FieldValue value) {
    const Result<Filter> filter = Filter::Parse(text, fields);
    EXPECT_TRUE(filter.ok()) << text << ": " << filter.status().message();
    return filter.ok() && filter->Matches([value](std::size_t, std::string_view) { return value; });
  };
  const FieldValue mid = std::int64_t{2};
  for (const char* text : {"severity = mid", "severity >= low", "severity < high", "severity:*"}) {
    EXPECT_TRUE(takes(text, mid)) << text;
    EXPECT_FALSE(takes(text, {})) << text;
  }
  EXPECT_FALSE(takes("severity > mid", mid));
  for (const char* text : {"severity = 2", "severity > none", "severity:mid", "severity = Low"}) {
    EXPECT_EQ(Filter::Parse(text, fields).status().code(), Code::kInvalidArgument) << text;
  }
  EXPECT_NE(Filter::Parse("severity = x", fields).status().message().find("low, mid, high"),
            std::string::npos);
}

TEST(Filter, ComparesEachTypeWithEachOperator) {
  const FilterRow row = RowOf("llama-7b", TheReport());
  for (const char* text : {
           "name = llama-7b",
           "name=\"llama-7b\"",
           "name = 'llama-7b'",
           "name != llama",
           "name:7b",
           "name < m",
           "name >= llama-7b",
           "project = lm",
           "state = failed",
           "state != running",
           "start = 2026-01-01T00:00:00Z",
           "start < \"2026-01-01T01:00:00+00:30\"",
           "start >= @1767225600000000000",
           "start != 2026-01-02T00:00:00Z",
           "elapsed = 1h30m",
           "elapsed > 89m",
           "elapsed <= 5400s",
           "goodput = 0.375",
           "goodput = 37.5%",
           "goodput < .5",
           "goodput >= 37%",
           "attempts = 3",
           "attempts > 2",
           "attempts <= 3",
           "goodput:*",
           "start:*",
           "name:*",
           "name:\"\"",
           "",
           "  ",
       }) {
    EXPECT_TRUE(Takes(text, row)) << text;
  }
  for (const char* text : {
           "name = llama",
           "name:8b",
           "name > m",
           "project != lm",
           "state = completed",
           "start > 2026-01-01T00:00:00Z",
           "elapsed < 1h30m",
           "elapsed != 90m",
           "goodput > 37.5%",
           "attempts < 3",
           "attempts != 3",
           "name = LLAMA-7B",
       }) {
    EXPECT_FALSE(Takes(text, row)) << text;
  }
}

TEST(Filter, OrBindsTighterThanAnd) {
  const FilterRow row = RowOf("x", TheReport());
  const std::string yes = "attempts = 3";
  const std::string no = "attempts = 4";
  const struct {
    std::string text;
    bool taken;
  } cases[] = {
      {yes + " AND " + no, false},
      {yes + " OR " + no, true},
      {no + " AND " + no + " OR " + yes, false},  // no AND (no OR yes)
      {"(" + no + " AND " + no + ") OR " + yes, true},
      {yes + " OR " + no + " AND " + yes, true},
      {yes + " OR " + yes + " AND " + no, false},
      {"NOT " + no, true},
      {"NOT " + no + " AND " + yes, true},
      {"NOT (" + no + " OR " + yes + ")", false},
      {"NOT NOT " + yes, true},
      {"((" + yes + "))AND(" + yes + ")", true},
  };
  for (const auto& c : cases) EXPECT_EQ(Takes(c.text, row), c.taken) << c.text;
}

TEST(Filter, WhatIsNotKnownIsNeitherThisNorThat) {
  Report report;
  const FilterRow row = RowOf("x", report);
  for (const char* text : {"goodput < 1", "goodput >= 0", "goodput != 0.5", "goodput = 0.5",
                           "goodput:*", "start > @0"}) {
    EXPECT_FALSE(Takes(text, row)) << text;
  }
  EXPECT_TRUE(Takes("NOT goodput:*", row));
}

TEST(Filter, TextsMayHoldAnything) {
  EXPECT_TRUE(Takes(R"(name = "a \"b\" (c) AND d")", RowOf("a \"b\" (c) AND d", TheReport())));
  EXPECT_TRUE(Takes(R"(name = 'it\'s \\')", RowOf("it's \\", TheReport())));
  EXPECT_TRUE(Takes("name = grün", RowOf("grün", TheReport())));
  EXPECT_TRUE(Takes("name = '*'", RowOf("*", TheReport())));
}

TEST(Filter, SaysWhatIsWrongAndWhere) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"goodputt > 1", "column 1: there is no field \"goodputt\"; there are name, project, state"},
      {"name = a AND stat = failed", "column 14: there is no field \"stat\""},
      {"name", "column 5: one of = != < <= > >= : is missing at the end"},
      {"name ~ a", "column 6: one of = != < <= > >= : is missing before \"~\""},
      {"name =", "column 7: a value is missing at the end"},
      {"name = )", "column 8: a value is missing before \")\""},
      {"(name = a", "column 10: AND, OR or ) is missing at the end"},
      {"name = a)", "column 9: AND or OR is missing before \")\""},
      {"name = a state = failed", "column 10: AND or OR is missing before \"state\""},
      {"name = a and state = failed", "column 10: AND, OR and NOT are written in capitals"},
      {"name = a AND", "column 13: a field is missing at the end"},
      {"name = \"a", "column 8: the closing quote is missing"},
      {"state = dead",
       "column 9: state is compared with one of not_started, running, restarting, completed"},
      {"state < running", "column 7: state is compared with = and !="},
      {"attempts : 3", "column 10: attempts is compared with = != < <= > >="},
      {"attempts = 3.5", "column 12: attempts is compared with a whole number"},
      {"goodput > high", "column 11: goodput is compared with a share, such as 0.9 or 90%"},
      {"goodput > nan", "column 11: goodput is compared with a share"},
      {"goodput > %", "column 11: goodput is compared with a share"},
      {"elapsed > 5", "column 11: elapsed is compared with a duration, such as 90s or 1h30m"},
      {"start > monday", "column 9: start is compared with a time, such as"},
      {"start > +1h", "column 9: start is compared with a time"},
  };
  for (const auto& c : cases) {
    const Result<Filter> filter = Filter::Parse(c.text, RunFields());
    EXPECT_EQ(filter.status().code(), Code::kInvalidArgument) << c.text;
    EXPECT_TRUE(filter.status().message().starts_with(c.message))
        << c.text << ": " << filter.status().message();
  }
}

TEST(Filter, HasLimits) {
  const std::string deep =
      std::string(kFilterDepth, '(') + "name=a" + std::string(kFilterDepth, ')');
  EXPECT_TRUE(Filter::Parse(deep, RunFields()).ok());
  EXPECT_EQ(Filter::Parse("name=a AND (" + deep + ")", RunFields()).status().message(),
            "column 22: more than 10 parentheses and NOTs within each other");
  std::string nots;
  for (int i = 0; i < kFilterDepth; ++i) nots += "NOT ";
  EXPECT_TRUE(Filter::Parse(nots + "name=a", RunFields()).ok());
  EXPECT_FALSE(Filter::Parse(nots + "(name=a)", RunFields()).ok());
  EXPECT_FALSE(Filter::Parse("NOT " + nots + "name=a", RunFields()).ok());
  const std::string wide(kFilterBytes, 'a');
  EXPECT_FALSE(Filter::Parse("name=" + wide, RunFields()).ok());
}

TEST(RowOrder, OrdersByOneFieldAfterTheOther) {
  std::vector<FilterRow> rows;
  for (const auto& [name, goodput] : {std::pair<const char*, std::optional<double>>{"a", 0.5},
                                      {"b", 0.9},
                                      {"c", std::nullopt},
                                      {"d", 0.5}}) {
    Report report;
    report.goodput = goodput;
    rows.push_back(RowOf(name, report));
  }
  const auto ordered = [&rows](const char* text) {
    const Result<RowOrder> order = RowOrder::Parse(text, RunFields());
    EXPECT_TRUE(order.ok()) << order.status().message();
    std::vector<FilterRow> sorted = rows;
    std::stable_sort(
        sorted.begin(), sorted.end(),
        [&order](const FilterRow& a, const FilterRow& b) { return order->Before(a, b); });
    std::string names;
    for (const FilterRow& row : sorted) names += std::get<std::string>(row(0, {}));
    return names;
  };
  EXPECT_EQ(ordered("goodput"), "adbc");
  EXPECT_EQ(ordered("goodput desc"), "badc");
  EXPECT_EQ(ordered("goodput desc, name desc"), "bdac");
  EXPECT_EQ(ordered(" goodput asc,name desc "), "dabc");
  EXPECT_EQ(ordered("name desc"), "dcba");
}

TEST(RowOrder, SaysWhatIsWrongAndWhere) {
  for (const auto& [text, message] : {
           std::pair("size", "column 1: there is no field \"size\"; there are name"),
           std::pair("", "column 1: a field is missing at the end"),
           std::pair("name,", "column 6: a field is missing at the end"),
           std::pair("name down", "column 6: desc or a comma is missing before \"down\""),
       }) {
    const Result<RowOrder> order = RowOrder::Parse(text, RunFields());
    EXPECT_EQ(order.status().code(), Code::kInvalidArgument) << text;
    EXPECT_TRUE(order.status().message().starts_with(message)) << order.status().message();
  }
}

}  // namespace
}  // namespace headway
