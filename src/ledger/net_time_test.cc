#include "ledger/net_time.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace headway::ledger {
namespace {

using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

NetTime Excluding(const Pairs& excluded) {
  NetTime net;
  for (const auto& [from, to] : excluded) net.Exclude(from, to);
  return net;
}

TEST(NetTimeTest, TakesExcludedTimeOut) {
  struct Case {
    const char* what;
    Pairs excluded;
    std::int64_t wall;
    std::int64_t net;
  };
  const Case cases[] = {
      {"nothing excluded", {}, 7, 7},
      {"before", {{10, 20}}, 10, 10},
      {"inside", {{10, 20}}, 15, 10},
      {"after", {{10, 20}}, 25, 15},
      {"overlapping ones count once", {{10, 20}, {15, 30}}, 40, 20},
      {"touching ones", {{10, 20}, {20, 30}}, 30, 10},
      {"in any order", {{40, 50}, {10, 20}}, 60, 40},
      {"one inside another", {{10, 50}, {20, 30}}, 60, 20},
      {"empty and inverted", {{10, 10}, {20, 5}}, 30, 30},
      {"before the epoch", {{-20, -10}}, 0, -10},
  };
  for (const Case& c : cases) EXPECT_EQ(Excluding(c.excluded).Net(c.wall), c.net) << c.what;
}

TEST(NetTimeTest, GoesBackToWallTime) {
  const NetTime net = Excluding({{10, 20}, {30, 40}});
  struct Case {
    std::int64_t net;
    std::int64_t earliest;
    std::int64_t latest;
  };
  const Case cases[] = {{9, 9, 9}, {10, 10, 20}, {11, 21, 21}, {20, 30, 40}, {21, 41, 41}};
  for (const Case& c : cases) {
    EXPECT_EQ(net.WallEnd(c.net), c.earliest) << c.net;
    EXPECT_EQ(net.WallBegin(c.net), c.latest) << c.net;
    EXPECT_EQ(net.Net(c.earliest), c.net);
    EXPECT_EQ(net.Net(c.latest), c.net);
  }
}

TEST(NetTimeTest, CutsIntervalsAtWhatIsExcluded) {
  const NetTime net = Excluding({{10, 20}, {30, 40}});
  struct Case {
    std::int64_t begin;
    std::int64_t end;
    Pairs wall;
  };
  const Case cases[] = {
      {0, 5, {{0, 5}}},
      {5, 5, {}},
      {0, 10, {{0, 10}}},
      {10, 15, {{20, 25}}},
      {5, 15, {{5, 10}, {20, 25}}},
      {0, 25, {{0, 10}, {20, 30}, {40, 45}}},
      {20, 25, {{40, 45}}},
  };
  for (const Case& c : cases) {
    Pairs wall;
    for (const WallInterval& piece : net.Wall(c.begin, c.end)) {
      wall.emplace_back(piece.begin, piece.end);
    }
    EXPECT_EQ(wall, c.wall) << c.begin << ".." << c.end;
  }
}

TEST(NetTimeTest, SaysWhetherMoreIsExcluded) {
  NetTime net;
  EXPECT_TRUE(net.empty());
  EXPECT_FALSE(net.Exclude(5, 5));
  EXPECT_TRUE(net.Exclude(10, 20));
  EXPECT_TRUE(net.Exclude(30, 40));  // behind all
  EXPECT_FALSE(net.Exclude(12, 20));
  EXPECT_TRUE(net.Exclude(20, 30));  // in between: one gap now
  EXPECT_FALSE(net.Exclude(10, 40));
  EXPECT_TRUE(net.Exclude(0, 5));  // before all
  EXPECT_TRUE(net.Exclude(35, 41));
  EXPECT_EQ(net.Net(50), 50 - 5 - 31);
}

}  // namespace
}  // namespace headway::ledger
