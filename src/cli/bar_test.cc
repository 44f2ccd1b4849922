#include "cli/bar.h"

#include <gtest/gtest.h>

#include <limits>

#include "model/text.h"

namespace headway::cli {
namespace {

TEST(Bar, IsExactToAnEighth) {
  EXPECT_EQ(Bar(0, 10), "");
  EXPECT_EQ(Bar(1, 3), "███");
  EXPECT_EQ(Bar(0.5, 3), "█▌");
  EXPECT_EQ(Bar(1.0 / 24, 3), "▏");
  EXPECT_EQ(Bar(23.0 / 24, 3), "██▉");
  EXPECT_EQ(Bar(0.5, 0), "");
}

TEST(Bar, ShowsEverythingAboveZeroAndNeverTooMuch) {
  EXPECT_EQ(Bar(1e-12, 10), "▏");
  EXPECT_EQ(Bar(7, 4), "████");
  EXPECT_EQ(Bar(-1, 4), "");
  EXPECT_EQ(Bar(std::numeric_limits<double>::quiet_NaN(), 4), "");
  for (int i = 0; i <= 1000; ++i) EXPECT_LE(DisplayWidth(Bar(i / 1000.0, 17)), 17u);
}

TEST(MarkedBar, TakesWholeColumns) {
  EXPECT_EQ(MarkedBar(0.5, 4, "╳"), "╳╳");
  EXPECT_EQ(MarkedBar(0.01, 4, "╳"), "╳");
  EXPECT_EQ(MarkedBar(0, 4, "╳"), "");
}

}  // namespace
}  // namespace headway::cli
