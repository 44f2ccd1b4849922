#include "cli/doctor.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "journal/test_files.h"

namespace headway::cli {
namespace {

const Check* Find(const std::vector<Check>& checks, std::string_view name) {
  const auto found = std::find_if(checks.begin(), checks.end(),
                                  [name](const Check& check) { return check.name == name; });
  return found == checks.end() ? nullptr : &*found;
}

TEST(Doctor, JudgesSpace) {
  constexpr std::uint64_t kMiB = 1 << 20;
  EXPECT_EQ(JudgeSpace(64 * kMiB - 1, kMiB * kMiB, "/d").verdict, Verdict::kProblem);
  EXPECT_EQ(JudgeSpace(64 * kMiB, kMiB * kMiB, "/d").verdict, Verdict::kWarning);
  EXPECT_EQ(JudgeSpace(1024 * kMiB, kMiB * kMiB, "/d").verdict, Verdict::kGood);
}

TEST(Doctor, JudgesDrift) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  EXPECT_EQ(JudgeDrift(kSecond, kSecond).verdict, Verdict::kGood);
  EXPECT_EQ(JudgeDrift(kSecond + 999'999, kSecond).verdict, Verdict::kGood);
  EXPECT_EQ(JudgeDrift(kSecond + 1'000'000, kSecond).verdict, Verdict::kWarning);
  EXPECT_EQ(JudgeDrift(kSecond - 10'000'000, kSecond).verdict, Verdict::kProblem);
  EXPECT_EQ(JudgeDrift(INT64_MAX, 1).verdict, Verdict::kProblem);
}

TEST(Doctor, FindsWhatCannotBeRightInTheEnvironment) {
  EXPECT_EQ(Find(CheckEnvironment({{"RANK", "1"}, {"WORLD_SIZE", "2"}}), "rank_range"), nullptr);
  const std::vector<Check> range = CheckEnvironment({{"RANK", "2"}, {"WORLD_SIZE", "2"}});
  ASSERT_NE(Find(range, "rank_range"), nullptr);
  EXPECT_EQ(Find(range, "rank_range")->verdict, Verdict::kProblem);
  EXPECT_NE(Find(range, "rank")->message.find("torchrun"), std::string::npos);
  EXPECT_EQ(Find(range, "rank")->message.find("2 of 2"), std::string::npos);

  const std::vector<Check> number = CheckEnvironment({{"RANK", "captain"}});
  ASSERT_NE(Find(number, "variable"), nullptr);
  EXPECT_EQ(Find(number, "variable")->verdict, Verdict::kWarning);
  EXPECT_EQ(Find(CheckEnvironment({{"HEADWAY_RESUME", "often"}}), "variable")->verdict,
            Verdict::kProblem);
  EXPECT_EQ(Find(CheckEnvironment({{"HEADWAY_RUN_UID", "1"}}), "variable")->verdict,
            Verdict::kProblem);
  EXPECT_EQ(Find(CheckEnvironment({{"HEADWAY_RUN", std::string(257, 'x')}}), "variable")->verdict,
            Verdict::kProblem);
  EXPECT_EQ(Find(CheckEnvironment({{"HEADWAY_DISABLED", "1"}}), "disabled")->verdict,
            Verdict::kWarning);
  EXPECT_EQ(Find(CheckEnvironment({}), "variable"), nullptr);
  EXPECT_EQ(Find(CheckEnvironment({}), "machine"), nullptr);
  const std::vector<Check> machine =
      CheckEnvironment({{"SLURM_CLUSTER_NAME", "alps"}, {"HEADWAY_LOCATION", "zone a"}});
  EXPECT_EQ(Find(machine, "machine")->message, "cluster alps, location zone a");
  EXPECT_EQ(Find(CheckEnvironment({{"HEADWAY_CLUSTER", "a\nb"}}), "variable")->verdict,
            Verdict::kWarning);
}

TEST(Doctor, LooksWhereTheEnvironmentPutsJournals) {
  const ScratchDir dir;
  const std::string wanted = dir.path() + "/data";
  const std::string node = dir.path() + "/node";
  const std::vector<Check> network =
      CheckDirectory(wanted, {.file_system = "network", .node_local = node});
  ASSERT_NE(Find(network, "file_system"), nullptr);
  EXPECT_EQ(Find(network, "file_system")->verdict, Verdict::kWarning);
  EXPECT_NE(Find(network, "file_system")->message.find("written to " + node), std::string::npos);
  EXPECT_TRUE(std::any_of(network.begin(), network.end(), [&node](const Check& check) {
    return check.name == "writable" && check.message.find(node) != std::string::npos;
  }));
  const std::vector<Check> nowhere =
      CheckDirectory(wanted, {.file_system = "network", .node_local = wanted + "/no/where"});
  EXPECT_EQ(Find(nowhere, "file_system")->verdict, Verdict::kProblem);
  const std::vector<Check> local = CheckDirectory(wanted, {.file_system = "local"});
  EXPECT_EQ(Find(local, "file_system")->verdict, Verdict::kNote);
  EXPECT_NE(Find(local, "file_system")->message.find("write call"), std::string::npos);
  EXPECT_EQ(Find(CheckEnvironment({{"HEADWAY_FILE_SYSTEM", "nfs"}}), "variable")->verdict,
            Verdict::kWarning);
}

TEST(Doctor, SaysHowToMendEveryProblem) {
  for (const Check& check : CheckEnvironment({{"RANK", "x"},
                                              {"HEADWAY_RESUME", "x"},
                                              {"HEADWAY_RUN_UID", "x"},
                                              {"HEADWAY_DISABLED", "1"}})) {
    if (check.verdict == Verdict::kProblem || check.verdict == Verdict::kWarning) {
      EXPECT_NE(check.remedy, "") << check.message;
    }
  }
}

}  // namespace
}  // namespace headway::cli
