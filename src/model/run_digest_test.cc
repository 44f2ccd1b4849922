#include "model/run_digest.h"

#include <gtest/gtest.h>

#include <string>

namespace headway {
namespace {

TEST(RunDigest, IsWhatItWasAfterPacking) {
  RunDigest digest;
  for (int i = 0; i < kCategoryCount; ++i) digest.ns[static_cast<std::size_t>(i)] = 1000 + i;
  digest.disruptions = 7;
  digest.goodput = {0, 200, RunDigest::kNoGoodput};
  const std::string bytes = PackDigest(digest);
  EXPECT_EQ(UnpackDigest(bytes), digest);
  EXPECT_EQ(UnpackDigest(PackDigest({})), RunDigest());
  EXPECT_EQ(digest.elapsed_ns() - digest.lost_ns(), 1000);

  EXPECT_EQ(UnpackDigest(""), std::nullopt);
  EXPECT_EQ(UnpackDigest(bytes.substr(0, 20)), std::nullopt);
  EXPECT_EQ(UnpackDigest(bytes + std::string(100, 'x')), std::nullopt);
  std::string newer = bytes;
  newer[0] = 2;
  EXPECT_EQ(UnpackDigest(newer), std::nullopt);
}

TEST(RunDigest, TakesNamesTogether) {
  Report report;
  report.categories = {
      {Category::kProductive, "", 5}, {Category::kCustom, "a", 2}, {Category::kCustom, "b", 3}};
  report.disruptions.resize(4);
  const RunDigest digest = DigestOf(report);
  EXPECT_EQ(digest.ns[static_cast<std::size_t>(Category::kCustom)], 5);
  EXPECT_EQ(digest.elapsed_ns(), 10);
  EXPECT_EQ(digest.lost_ns(), 5);
  EXPECT_EQ(digest.disruptions, 4);
}

}  // namespace
}  // namespace headway
