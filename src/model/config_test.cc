#include "model/config.h"

#include <gtest/gtest.h>

#include <utility>

namespace headway {
namespace {

ConfigProcess Process(std::int64_t rank, std::string host, std::vector<ConfigEntry> entries,
                      std::string config_class = "user", std::int64_t attempt = 0) {
  ConfigProcess process;
  process.rank = rank;
  process.host = std::move(host);
  process.attempt = attempt;
  process.configs.emplace(std::move(config_class),
                          std::make_shared<const FlatConfig>(FlatConfig{std::move(entries), 0}));
  return process;
}

// "path: value [processes] value [processes]" of each row.
std::string Rows(const ClassConfig& config) {
  std::string out;
  for (const ConfigRow& row : config.rows) {
    out += (out.empty() ? "" : "; ") + row.path + ":";
    for (const ConfigVariant& variant : row.variants) {
      out += " " + (variant.missing ? "-" : variant.value) + " [";
      for (const std::size_t process : variant.processes) out += std::to_string(process);
      out += "]";
    }
  }
  return out;
}

TEST(RunConfig, ShowsWhoHasWhichValue) {
  const RunConfig run = MakeRunConfig({Process(2, "b", {{"lr", "2"}, {"x", "1"}}),
                                       Process(0, "a", {{"lr", "1"}, {"n", "5"}}),
                                       Process(1, "a", {{"lr", "1"}, {"n", "5"}})});
  ASSERT_EQ(run.attempts.size(), 1);
  const AttemptConfig& attempt = run.attempts[0];
  EXPECT_EQ(attempt.processes[2].rank, 2);
  ASSERT_EQ(attempt.classes.size(), 1);
  EXPECT_EQ(Rows(attempt.classes[0]), "lr: 1 [01] 2 [2]; n: 5 [01] - [2]; x: 1 [2] - [01]");
}

TEST(RunConfig, SilentProcessesDoNotDiffer) {
  ConfigProcess silent;
  silent.rank = 1;
  silent.attempt = 0;
  const RunConfig run = MakeRunConfig(
      {Process(0, "a", {{"lr", "1"}}), silent, Process(2, "a", {{"v", "1"}}, "software")});
  const AttemptConfig& attempt = run.attempts[0];
  ASSERT_EQ(attempt.classes.size(), 2);
  EXPECT_EQ(attempt.processes.size(), 2);
  EXPECT_EQ(attempt.classes[0].name, "software");
  EXPECT_EQ(Rows(attempt.classes[0]), "v: 1 [1]");
  EXPECT_EQ(Rows(attempt.classes[1]), "lr: 1 [0]");
}

TEST(RunConfig, KeepsAttemptsApart) {
  const RunConfig run = MakeRunConfig(
      {Process(0, "a", {{"lr", "2"}}, "user", 1), Process(0, "a", {{"lr", "1"}}, "user", 0)});
  ASSERT_EQ(run.attempts.size(), 2);
  EXPECT_EQ(Rows(run.Find(0)->classes[0]), "lr: 1 [0]");
  EXPECT_EQ(Rows(run.Find(1)->classes[0]), "lr: 2 [0]");
  EXPECT_EQ(run.Find(2), nullptr);
}

TEST(RunConfig, ClassesHaveAnOrder) {
  const RunConfig run = MakeRunConfig(
      {Process(0, "a", {{"x", "1"}}, "zoo"), Process(0, "a", {{"x", "1"}}, "user"),
       Process(0, "a", {{"x", "1"}}, "data"), Process(0, "a", {{"x", "1"}}, "system")});
  std::string names;
  for (const ClassConfig& one : run.attempts[0].classes) names += one.name + " ";
  EXPECT_EQ(names, "system user data zoo ");
}

TEST(Select, ByClassRankAndText) {
  const RunConfig run = MakeRunConfig({Process(0, "a", {{"opt.LR", "1"}, {"name", "\"Adam\""}}),
                                       Process(1, "a", {{"opt.LR", "2"}, {"name", "\"Adam\""}}),
                                       Process(1, "a", {{"v", "1"}}, "software")});
  const AttemptConfig& attempt = run.attempts[0];
  EXPECT_EQ(Rows(Select(attempt, {.config_class = "user"}).classes.at(0)),
            "opt.LR: 1 [0] 2 [1]; name: \"Adam\" [01]");
  EXPECT_EQ(Rows(Select(attempt, {.config_class = "user", .rank = 1}).classes.at(0)),
            "opt.LR: 2 [0]; name: \"Adam\" [0]");
  EXPECT_EQ(Rows(Select(attempt, {.config_class = "user", .search = "lr"}).classes.at(0)),
            "opt.LR: 1 [0] 2 [1]");
  EXPECT_EQ(Rows(Select(attempt, {.config_class = "user", .search = "aDaM"}).classes.at(0)),
            "name: \"Adam\" [01]");
  EXPECT_TRUE(Select(attempt, {.config_class = "none"}).classes.empty());
  EXPECT_TRUE(Select(attempt, {.rank = 7}).processes.empty());
  const RunConfig alone = MakeRunConfig({Process(-1, "a", {{"lr", "1"}})});
  EXPECT_EQ(Select(alone.attempts[0], {.rank = 0}).processes.size(), 1);
}

TEST(DifferBetweenHosts, LooksAtHostsNotAtRanks) {
  const RunConfig run = MakeRunConfig({Process(0, "a", {{"device", "0"}, {"kernel", "6.1"}}),
                                       Process(1, "a", {{"device", "1"}, {"kernel", "6.1"}}),
                                       Process(2, "b", {{"device", "0"}, {"kernel", "6.2"}}),
                                       Process(3, "b", {{"device", "1"}, {"kernel", "6.2"}})});
  EXPECT_EQ(Rows(DifferBetweenHosts(run.attempts[0]).classes[0]), "kernel: 6.1 [01] 6.2 [23]");
}

std::string Changes(const std::vector<ConfigDifference>& found) {
  std::string out;
  for (const ConfigDifference& one : found) {
    out += (out.empty() ? "" : "; ") + one.config_class + " " + one.path + " " +
           std::string(ConfigChangeName(one.change));
  }
  return out;
}

TEST(Compare, TellsWhatWasChangedAddedRemoved) {
  const RunConfig left = MakeRunConfig(
      {Process(0, "a", {{"lr", "1"}, {"old", "1"}, {"same", "1"}, {"t", "\"***\"", true}})});
  const RunConfig right = MakeRunConfig(
      {Process(0, "b", {{"t", "\"***\"", true}, {"same", "1"}, {"new", "1"}, {"lr", "2"}}),
       Process(0, "b", {{"v", "1"}}, "software")});
  EXPECT_EQ(Changes(Compare(left.attempts[0], right.attempts[0])),
            "software v added; user lr changed; user old removed; user same same; user t same; "
            "user new added");
}

TEST(Compare, ManyProcessesAreAsOneWithTheSameValues) {
  const RunConfig one = MakeRunConfig({Process(0, "a", {{"lr", "1"}})});
  const RunConfig two =
      MakeRunConfig({Process(0, "a", {{"lr", "1"}}), Process(1, "b", {{"lr", "1"}})});
  const RunConfig drift =
      MakeRunConfig({Process(0, "a", {{"lr", "1"}}), Process(1, "b", {{"lr", "2"}})});
  EXPECT_EQ(Changes(Compare(one.attempts[0], two.attempts[0])), "user lr same");
  EXPECT_EQ(Changes(Compare(one.attempts[0], drift.attempts[0])), "user lr changed");
}

TEST(Update, ObjectsKeyByKeyOthersWhole) {
  const auto scalar = [](std::string text) {
    ConfigValue value;
    value.text = std::move(text);
    return value;
  };
  ConfigValue base;
  base.kind = ConfigValue::Kind::kObject;
  base.keys = {"a", "b"};
  base.items = {scalar("1"), scalar("2")};
  ConfigValue later = base;
  later.keys = {"b", "c"};
  later.items = {scalar("3"), base};
  Update(&base, later);
  ASSERT_EQ(base.items.size(), 3);
  EXPECT_EQ(base.items[1].text, "3");
  EXPECT_EQ(CountValues(base), 6);
  later.keys = {"c"};
  later.items = {scalar("4")};
  Update(&base, later);
  EXPECT_EQ(base.items[2].text, "4");
}

}  // namespace
}  // namespace headway
