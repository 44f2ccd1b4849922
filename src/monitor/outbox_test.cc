#include "monitor/outbox.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/test_scratch_dir.h"

namespace headway::monitor {
namespace {

using Fate = Delivery::Fate;

class OutboxTest : public testing::Test {
 protected:
  Outbox Open(const OutboxLimits& limits = {}) {
    Result<Outbox> outbox = Outbox::Open(folder + "/new/box", &clock, limits);
    EXPECT_TRUE(outbox.ok()) << outbox.status().ToString();
    outbox->set_wait([this](std::int64_t ns) {
      waits.push_back(ns);
      clock.Advance(ns);
      return true;
    });
    return *std::move(outbox);
  }
  std::vector<std::filesystem::path> Bodies() const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/new/box")) {
      if (entry.path().extension() == ".body") found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  MonoNs In(std::int64_t seconds) const { return clock.Mono() + seconds * kNanosPerSecond; }

  Status Deliver(Outbox* outbox, std::int64_t seconds = 3600) {
    return outbox->Deliver(
        [this](const OutboxBody& body, MonoNs) {
          sent.emplace_back(body.text);
          maybe_sent.push_back(body.maybe_sent);
          if (fates.empty()) return Delivery{};
          Delivery next = fates.front();
          fates.erase(fates.begin());
          return next;
        },
        In(seconds));
  }

  FakeClock clock;
  const ScratchDir scratch;
  const std::string& folder = scratch.path();
  std::vector<std::string> sent;
  std::vector<bool> maybe_sent;
  std::vector<Delivery> fates;
  std::vector<std::int64_t> waits;
};

const Status kBusy(Code::kUnavailable, "busy");

TEST_F(OutboxTest, TheOldestFirst) {
  Outbox outbox = Open();
  EXPECT_TRUE(outbox.Add("one").ok());
  EXPECT_TRUE(outbox.Add("").ok());
  EXPECT_TRUE(outbox.Add(std::string("\0three", 6)).ok());
  EXPECT_TRUE(Deliver(&outbox).ok());
  EXPECT_EQ(sent, (std::vector<std::string>{"one", "", std::string("\0three", 6)}));
  EXPECT_EQ(outbox.size(), 0U);
  EXPECT_EQ(outbox.bytes(), 0U);
  EXPECT_TRUE(Bodies().empty());
}

TEST_F(OutboxTest, OthersCannotReadIt) {
  Outbox outbox = Open();
  EXPECT_TRUE(outbox.Add("secret").ok());
  struct stat info;
  ASSERT_EQ(::stat((folder + "/new/box").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  ASSERT_EQ(::stat(Bodies()[0].c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(OutboxTest, ALaterProcessGoesOn) {
  {
    Outbox outbox = Open();
    EXPECT_TRUE(outbox.Add("one").ok());
    EXPECT_TRUE(outbox.Add("two").ok());
    EXPECT_EQ(Outbox::Open(folder + "/new/box", &clock).status().code(), Code::kFailedPrecondition);
  }
  std::ofstream(folder + "/new/box/7.part") << "half";
  std::ofstream(folder + "/new/box/notes.body") << "none of ours";
  Outbox outbox = Open();
  EXPECT_FALSE(std::filesystem::exists(folder + "/new/box/7.part"));
  EXPECT_TRUE(outbox.Add("three").ok());
  EXPECT_TRUE(Deliver(&outbox).ok());
  EXPECT_EQ(sent, (std::vector<std::string>{"one", "two", "three"}));
  EXPECT_EQ(maybe_sent, (std::vector<bool>{true, true, false}));
}

TEST_F(OutboxTest, DamagedFilesAreToldAndSkipped) {
  Outbox outbox = Open();
  for (const char* const body : {"first", "second", "third", "fourth"}) {
    EXPECT_TRUE(outbox.Add(body).ok());
  }
  const auto files = Bodies();
  std::filesystem::resize_file(files[0], 0);
  std::filesystem::resize_file(files[1], std::filesystem::file_size(files[1]) - 1);
  std::fstream(files[2], std::ios::in | std::ios::out).seekp(-1, std::ios::end).put('X');
  const Status status = Deliver(&outbox);
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_NE(status.message().find(files[0].string()), std::string::npos);
  EXPECT_EQ(sent, std::vector<std::string>{"fourth"});
  EXPECT_EQ(outbox.losses().damaged, 3U);
}

TEST_F(OutboxTest, TheOldestGiveWay) {
  Outbox outbox = Open({.bytes = 300});
  for (int i = 0; i < 10; ++i)
    EXPECT_TRUE(outbox.Add(std::to_string(i) + std::string(70, ' ')).ok());
  EXPECT_EQ(outbox.size(), 3U);
  EXPECT_EQ(outbox.losses().full, 7U);
  EXPECT_EQ(Bodies().size(), 3U);
  EXPECT_EQ(outbox.Add(std::string(300, 'x')).code(), Code::kResourceExhausted);
  EXPECT_EQ(outbox.size(), 3U);
  EXPECT_TRUE(Deliver(&outbox).ok());
  EXPECT_EQ(sent[0][0], '7');
}

TEST_F(OutboxTest, AtMostSoManyBodies) {
  Outbox outbox = Open({.bodies = 2});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(outbox.Add(std::to_string(i)).ok());
  EXPECT_TRUE(Deliver(&outbox).ok());
  EXPECT_EQ(sent, (std::vector<std::string>{"3", "4"}));
}

TEST_F(OutboxTest, WhatIsTooOldIsDropped) {
  Outbox outbox = Open({.age_ns = 10 * kNanosPerSecond});
  EXPECT_TRUE(outbox.Add("one").ok());
  clock.Advance(8 * kNanosPerSecond);
  EXPECT_TRUE(outbox.Add("two").ok());
  clock.Advance(8 * kNanosPerSecond);
  EXPECT_TRUE(Deliver(&outbox).ok());
  EXPECT_EQ(sent, std::vector<std::string>{"two"});
  EXPECT_EQ(outbox.losses().old, 1U);
}

TEST_F(OutboxTest, ARefusalDoesNotStopLaterOnes) {
  Outbox outbox = Open();
  EXPECT_TRUE(outbox.Add("one").ok());
  EXPECT_TRUE(outbox.Add("two").ok());
  fates = {{Fate::kRefused, {Code::kPermissionDenied, "no"}, {}}};
  EXPECT_EQ(Deliver(&outbox).message(), "no");
  EXPECT_EQ(sent, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(outbox.losses().refused, 1U);
  EXPECT_EQ(outbox.size(), 0U);
}

TEST_F(OutboxTest, PausesDoubleAndStayBounded) {
  Outbox outbox = Open();
  EXPECT_TRUE(outbox.Add("one").ok());
  fates.assign(12, {Fate::kLater, kBusy, {}});
  EXPECT_TRUE(Deliver(&outbox).ok());
  EXPECT_EQ(sent.size(), 13U);
  EXPECT_FALSE(maybe_sent[0]);
  EXPECT_TRUE(maybe_sent[1]);
  ASSERT_EQ(waits.size(), 12U);
  EXPECT_LE(waits[0], RetryPause::kFirstNs);
  for (std::size_t i = 1; i < waits.size(); ++i) {
    EXPECT_LE(waits[i], RetryPause::kLongestNs);
    EXPECT_GE(waits[i], std::min(waits[i - 1], RetryPause::kLongestNs * 3 / 4));
  }
}

TEST_F(OutboxTest, TheDeadlineHolds) {
  Outbox outbox = Open();
  EXPECT_TRUE(outbox.Add("one").ok());
  fates.assign(100, {Fate::kLater, kBusy, {}});
  const MonoNs deadline = In(2);
  EXPECT_EQ(Deliver(&outbox, 2).message(), "busy");
  EXPECT_LT(clock.Mono(), deadline);
  EXPECT_LE(sent.size(), 5U);
  sent.clear();
  EXPECT_EQ(Deliver(&outbox, 0).message(), "busy");
  EXPECT_TRUE(sent.empty());
  EXPECT_EQ(outbox.size(), 1U);
}

TEST_F(OutboxTest, WhatTheServiceAsksForIsWaited) {
  Outbox outbox = Open();
  EXPECT_TRUE(outbox.Add("one").ok());
  fates = {{Fate::kLater, kBusy, 30 * kNanosPerSecond}};
  EXPECT_EQ(Deliver(&outbox, 10).message(), "busy");
  outbox.Hurry();  // the service's word counts all the same
  EXPECT_EQ(Deliver(&outbox, 10).message(), "busy");
  EXPECT_EQ(sent.size(), 1U);
  EXPECT_TRUE(Deliver(&outbox, 60).ok());
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0], 30 * kNanosPerSecond);
}

TEST_F(OutboxTest, TheLastCallDoesNotWait) {
  Outbox outbox = Open();
  EXPECT_TRUE(outbox.Add("one").ok());
  fates.assign(9, {Fate::kLater, kBusy, {}});
  EXPECT_FALSE(Deliver(&outbox, 60).ok());
  sent.clear();
  fates.clear();
  outbox.Hurry();
  EXPECT_TRUE(Deliver(&outbox, 1).ok());
  EXPECT_EQ(sent.size(), 1U);
}

TEST_F(OutboxTest, DirectoriesOfOthersAreNotUsed) {
  std::filesystem::create_directory(folder + "/open");
  std::filesystem::permissions(folder + "/open", std::filesystem::perms::all);
  EXPECT_EQ(Outbox::Open(folder + "/open", &clock).status().code(), Code::kPermissionDenied);
}

TEST_F(OutboxTest, ADirectoryThatIsRemovedIsMadeAgain) {
  Outbox outbox = Open();
  EXPECT_TRUE(outbox.Add("gone").ok());
  std::filesystem::remove_all(folder + "/new");
  EXPECT_TRUE(outbox.Add("kept").ok());
  // It is still one process at a time.
  EXPECT_EQ(Outbox::Open(folder + "/new/box", &clock).status().code(), Code::kFailedPrecondition);
  const Status status = Deliver(&outbox);
  EXPECT_NE(status.message().find(folder + "/new/box"), std::string::npos);  // what is gone is told
  EXPECT_EQ(sent, std::vector<std::string>{"kept"});
  EXPECT_EQ(outbox.losses().damaged, 1U);
  EXPECT_EQ(outbox.size(), 0U);

  std::filesystem::remove_all(folder + "/new");
  const Outbox taken = Open();
  EXPECT_EQ(outbox.Add("x").code(), Code::kFailedPrecondition);
}

}  // namespace
}  // namespace headway::monitor
