#include "formats/csv/writer.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace headway::csv {
namespace {

TEST(EscapeTextTest, QuotesAndDisarms) {
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {"plain text", "plain text"},
      {"a,b", "\"a,b\""},
      {"say \"hi\"", "\"say \"\"hi\"\"\""},
      {"two\nlines", "\"two\nlines\""},
      {"cr\r", "\"cr\r\""},
      {" padded", "\" padded\""},
      {"=1+2", "'=1+2"},
      {"+1", "'+1"},
      {"-1", "'-1"},
      {"@SUM(A1)", "'@SUM(A1)"},
      {"\tx", "'\tx"},
      {"\r=1", "\"'\r=1\""},
      {"=HYPERLINK(\"x\",\"y\")", "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\""},
      {"a=b", "a=b"},
      {"\xc3\xa9", "\xc3\xa9"},
  };
  for (const auto& [text, cell] : cases) EXPECT_EQ(EscapeText(text), cell);
}

TEST(CsvWriterTest, WritesTypedRows) {
  std::string out;
  CsvWriter csv(&out, {{"start_ns", ColumnType::kInteger},
                       {"share", ColumnType::kReal},
                       {"name, or none", ColumnType::kText}});
  csv.Integer(std::numeric_limits<std::int64_t>::min()).Real(0.1).Text("-x").EndRow();
  csv.Empty().Real(std::numeric_limits<double>::quiet_NaN()).Empty().EndRow();
  EXPECT_EQ(out,
            "start_ns,share,\"name, or none\"\r\n"
            "-9223372036854775808,0.1,'-x\r\n"
            ",,\r\n");
}

TEST(CsvWriterDeathTest, EndsOnACellOutOfPlace) {
  std::string out;
  CsvWriter csv(&out, {{"n", ColumnType::kInteger}, {"t", ColumnType::kText}});
  EXPECT_DEATH(csv.Text("x"), "columns_");
  EXPECT_DEATH(csv.EndRow(), "columns_");
  csv.Integer(1).Text("x");
  EXPECT_DEATH(csv.Integer(2), "columns_");
}

}  // namespace
}  // namespace headway::csv
