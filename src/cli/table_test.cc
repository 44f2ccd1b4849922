#include "cli/table.h"

#include <gtest/gtest.h>

#include "model/text.h"

namespace headway::cli {
namespace {

TEST(Table, AlignsAndLeavesOutWhatIsEmpty) {
  Table table({{"name", false}, {"empty", true}, {"n", true}});
  table.AddRow({"a", "", "1"});
  table.AddRow({"bcd", "", "23"});
  EXPECT_EQ(table.Render(Terminal()), "  name   n\n  a      1\n  bcd   23\n");
}

TEST(Table, DropsColumnsBeforeItCutsText) {
  Table table({{"name", false}, {"detail", false, 1}, {"more", false, 2}, {"n", true}});
  table.AddRow({"a name that is long enough", "some detail", "even more", "12345"});
  Terminal terminal;
  terminal.width = 56;
  EXPECT_NE(table.Render(terminal).find("detail"), std::string::npos);
  EXPECT_EQ(table.Render(terminal).find("more"), std::string::npos);
  terminal.width = 40;
  EXPECT_EQ(table.Render(terminal).find("detail"), std::string::npos);
  EXPECT_NE(table.Render(terminal).find("a name that is long enough"), std::string::npos);
  terminal.width = 24;
  const std::string narrow = table.Render(terminal);
  EXPECT_NE(narrow.find("…"), std::string::npos);
  EXPECT_NE(narrow.find("12345"), std::string::npos);
  EXPECT_LE(DisplayWidth(narrow.substr(narrow.find('\n') + 1)), 25u);
}

TEST(Table, DoesNotCutWhatIsWhole) {
  Table table({{"uid", false, 0, true}, {"name", false}});
  table.AddRow({"0123456789abcdef0123456789abcdef", "a name that is long enough"});
  Terminal terminal;
  terminal.width = 40;
  const std::string narrow = table.Render(terminal);
  EXPECT_NE(narrow.find("0123456789abcdef0123456789abcdef"), std::string::npos);
  EXPECT_NE(narrow.find("…"), std::string::npos);
}

}  // namespace
}  // namespace headway::cli
