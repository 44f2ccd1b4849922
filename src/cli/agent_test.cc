#include "cli/agent.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/test_scratch_dir.h"

namespace headway::cli {
namespace {

constexpr std::int64_t kDay = 24 * 3600 * kNanosPerSecond;

TEST(Acknowledged, TheFirstTimeCounts) {
  const ScratchDir dir;
  const JournalUid uid = RandomUid<JournalUid>();
  Acknowledged one(dir.path(), "http://a");
  EXPECT_FALSE(one.Since(uid));
  EXPECT_TRUE(one.Note(uid, WallNs{5}).ok());
  EXPECT_TRUE(one.Note(uid, WallNs{7}).ok());
  EXPECT_EQ(Acknowledged(dir.path(), "http://a").Since(uid), WallNs{5});
  EXPECT_FALSE(Acknowledged(dir.path(), "http://b").Since(uid)) << "another server";
  one.Forget(uid);
  EXPECT_FALSE(one.Since(uid));
  one.Forget(uid);
}

TEST(Acknowledged, WhatWasTornIsNotKnown) {
  const ScratchDir dir;
  const JournalUid uid = RandomUid<JournalUid>();
  Acknowledged one(dir.path(), "http://a");
  ASSERT_TRUE(one.Note(uid, WallNs{123}).ok());
  const std::string path =
      dir.path() + "/acknowledged/" + ToHex(DeriveUid<RunUid>("http://a")) + "/" + ToHex(uid);
  for (const char* text : {"", "12", "x\n", "12 \n", "99999999999999999999999999999\n"}) {
    std::ofstream(path) << text;
    EXPECT_FALSE(one.Since(uid)) << text;
    EXPECT_TRUE(one.Note(uid, WallNs{4}).ok());
    EXPECT_EQ(one.Since(uid), WallNs{4});
  }
}

TEST(Outlived, OnlyWhatIsThereInFullForLong) {
  const ScratchDir dir;
  Acknowledged acknowledged(dir.path(), "http://a");
  std::set<JournalUid> here;
  const auto run = [&](std::initializer_list<std::int64_t> since) {
    runs::Run made;
    for (const std::int64_t ns : since) {
      journal::JournalFile file;
      file.header.uid = RandomUid<JournalUid>();
      if (ns >= 0) {
        EXPECT_TRUE(acknowledged.Note(file.header.uid, WallNs{ns}).ok());
        here.insert(file.header.uid);
      }
      made.journals.push_back(file);
    }
    return made;
  };
  const std::vector<runs::Run> runs = {run({0, kDay}), run({0, kDay + 1}), run({0, -1}), run({})};
  const WallNs now{8 * kDay};
  const auto outlived = Outlived(runs, here, acknowledged, now, 7 * kDay);
  ASSERT_EQ(outlived.size(), 1u);
  EXPECT_EQ(outlived[0].journals[0].header.uid, runs[0].journals[0].header.uid);
  // A server that lost it since has not been asked, or has said so.
  here.erase(runs[0].journals[1].header.uid);
  EXPECT_TRUE(Outlived(runs, here, acknowledged, now, 7 * kDay).empty());
}

}  // namespace
}  // namespace headway::cli
