#include "model/attempt_key.h"

#include <gtest/gtest.h>

namespace headway {
namespace {

TEST(AttemptKey, PartsOfAKey) {
  EXPECT_EQ(AttemptPartKey("j#0", 0), "j#0");
  EXPECT_EQ(AttemptPartKey("j#0", 12), "j#0~12");
  EXPECT_EQ(AttemptPartOf("j#0", "j#0"), 0u);
  EXPECT_EQ(AttemptPartOf("j#0", "j#0~12"), 12u);
  EXPECT_EQ(AttemptPartOf("j#0~1", "j#0~1"), 0u);
  for (const char* other : {"j#01", "j#", "k#0", "j#0~", "j#0~0", "j#0~01", "j#0~1x", "j#0~-1",
                            "j#0~1~2", "j#0+run#1", "j#0~99999999999999999999"}) {
    EXPECT_EQ(AttemptPartOf("j#0", other), std::nullopt) << other;
  }
}

TEST(AttemptKey, TheKeyThatWasGiven) {
  EXPECT_EQ(GivenAttemptKey("j#0~3"), "j#0");
  EXPECT_EQ(GivenAttemptKey("j~3#0~3"), "j~3#0");
  for (const char* key : {"", "j", "j~", "j~0", "j~x", "j~3#0"})
    EXPECT_EQ(GivenAttemptKey(key), key);
}

}  // namespace
}  // namespace headway
