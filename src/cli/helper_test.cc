#include "cli/helper.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <new>
#include <string>

namespace headway::cli {
namespace {

constexpr std::int64_t kLong = 60 * kNanosPerSecond;

// A number that processes share.
class Shared {
 public:
  Shared()
      : number_(new(::mmap(nullptr, sizeof *number_, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0)) std::atomic<int>()) {}
  ~Shared() { ::munmap(number_, sizeof *number_); }
  std::atomic<int>& operator*() { return *number_; }

 private:
  std::atomic<int>* number_;
};

std::string Await(Helper* helper, const std::string& wanted) {
  while (!helper->ended()) {
    if (const auto news = helper->Hear(); news == wanted) return *news;
  }
  return "it has ended";
}

TEST(HelperTest, DoesARoundNowAndThenAndALastOne) {
  Shared rounds;
  auto helper = Helper::Start({.name = "test", .every_ns = kNanosPerSecond / 1000, .round = [&] {
                                 return Result<bool>(++*rounds > 1000);
                               }});
  ASSERT_TRUE(helper.ok());
  while (*rounds < 5) continue;
  EXPECT_EQ(Await(&*helper, ""), "");
  EXPECT_FALSE(helper->ended());
  helper->Dismiss();
  std::string last = "nothing";
  EXPECT_TRUE(helper->WaitForEnd(SystemClock::MonoNow() + kLong, &last));
  EXPECT_EQ(*rounds, 1001) << "to the end of its work";
  EXPECT_EQ(last, "");
}

TEST(HelperTest, TellsWhatIsAmiss) {
  Shared heard;
  auto helper = Helper::Start({.name = "test", .every_ns = 1000, .round = [&]() -> Result<bool> {
                                 if (*heard == 0) return Status(Code::kUnknown, "two\nlines");
                                 return true;
                               }});
  ASSERT_TRUE(helper.ok());
  EXPECT_EQ(Await(&*helper, "two lines"), "two lines");
  *heard = 1;  // only now: of several lines the last one is heard
  EXPECT_EQ(Await(&*helper, ""), "");
}

TEST(HelperTest, OneThatIsDoneEnds) {
  auto helper = Helper::Start(
      {.name = "test", .until_done = true, .round = [] { return Result<bool>(true); }});
  std::string last;
  EXPECT_TRUE(helper->WaitForEnd(SystemClock::MonoNow() + kLong, &last));
}

TEST(HelperTest, OneThatHangsIsNotWaitedForLong) {
  Shared go;
  auto helper = Helper::Start({.name = "test", .round = [&] {
                                 while (*go == 0) continue;
                                 return Result<bool>(true);
                               }});
  helper->Dismiss();
  std::string last;
  EXPECT_FALSE(helper->WaitForEnd(SystemClock::MonoNow() + kNanosPerSecond / 100, &last));
  *go = 1;
  EXPECT_TRUE(helper->WaitForEnd(SystemClock::MonoNow() + kLong, &last));
}

TEST(TroubleWatchTest, TellsAtOnceAgainAndWhenItIsOver) {
  const auto at = [](std::int64_t seconds) { return MonoNs{seconds * kNanosPerSecond}; };
  TroubleWatch watch("hangs", 20 * kNanosPerSecond, at(0));
  EXPECT_EQ(watch.Look("", at(1)), "");
  EXPECT_EQ(watch.Look(std::nullopt, at(20)), "");
  EXPECT_EQ(watch.Look(std::nullopt, at(21)), "hangs");
  EXPECT_EQ(watch.Look(std::nullopt, at(22)), "");
  EXPECT_EQ(watch.Look(std::nullopt, at(700)), "still: hangs");
  EXPECT_EQ(watch.Look("", at(701)), "it goes on again");
  EXPECT_EQ(watch.Look("", at(702)), "");
  EXPECT_EQ(watch.Look("no space", at(703)), "no space");
  EXPECT_EQ(watch.Look("no permission", at(704)), "") << "one trouble at a time";
  EXPECT_EQ(watch.trouble(), "no permission");
  EXPECT_EQ(watch.Look("no permission", at(1303)), "still: no permission");
}

}  // namespace
}  // namespace headway::cli
