#include "cli/config_text.h"

#include <gtest/gtest.h>

#include <utility>

#include "model/text.h"

namespace headway::cli {
namespace {

ConfigProcess Process(std::int64_t rank, std::string host, std::vector<ConfigEntry> entries) {
  ConfigProcess process;
  process.rank = rank;
  process.host = std::move(host);
  process.pid = 100 + rank;
  process.attempt = 0;
  process.configs.emplace("user",
                          std::make_shared<const FlatConfig>(FlatConfig{std::move(entries), 0}));
  return process;
}

RunConfig RunOf(std::vector<ConfigProcess> processes) {
  RunConfig run = MakeRunConfig(std::move(processes));
  run.run = "llama";
  run.project = "lm";
  return run;
}

TEST(ConfigText, AlignsValuesAndTellsWhoDiffers) {
  std::vector<ConfigProcess> processes;
  for (int rank = 0; rank < 4; ++rank) {
    processes.push_back(Process(rank, rank < 2 ? "a" : "b",
                                {{"lr", "0.1"},
                                 {"optimizer.name", "\"adamw\""},
                                 {"kernel", rank < 2 ? "6" : "7"},
                                 {"seed", rank == 3 ? "2" : "1"}}));
  }
  const RunConfig run = RunOf(std::move(processes));
  EXPECT_EQ(RenderConfig(run, run.attempts[0], {}),
            "llama  attempt 0, 4 processes on 2 hosts\n"
            "\n"
            "user\n"
            "  lr              0.1\n"
            "  optimizer.name  \"adamw\"\n"
            "  kernel          differs:\n"
            "                    6  a\n"
            "                    7  b\n"
            "  seed            differs:\n"
            "                    1  ranks 0-2\n"
            "                    2  rank 3\n");
}

TEST(ConfigText, ShowsWhoSaidNothing) {
  std::vector<ConfigProcess> processes = {Process(0, "a", {{"lr", "1"}}),
                                          Process(1, "a", {{"n", "1"}})};
  processes.push_back(processes[1]);
  processes[2].rank = 2;
  processes[2].configs.emplace("system", processes[1].configs.at("user"));
  processes[2].configs.erase("user");
  const RunConfig run = RunOf(std::move(processes));
  const std::string text = RenderConfig(run, run.attempts[0], {});
  EXPECT_NE(text.find("system  said by rank 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("user  said by ranks 0-1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("not set  rank 1\n"), std::string::npos) << text;
}

TEST(ConfigText, ListsAFewOfMany) {
  std::vector<ConfigProcess> processes;
  for (int rank = 0; rank < 100; ++rank) {
    processes.push_back(Process(rank, "h" + std::to_string(100 + rank / 4),
                                {{"rank", std::to_string(rank)},
                                 {"odd", rank / 4 % 2 == 0 ? "0" : "1"},
                                 {"even", rank % 2 == 0 ? "0" : "1"}}));
  }
  const RunConfig run = RunOf(std::move(processes));
  const std::string text = RenderConfig(run, run.attempts[0], {});
  EXPECT_NE(text.find("and 92 more values: --json"), std::string::npos) << text;
  EXPECT_NE(text.find("0  h100, h102, h104 and 10 more hosts\n"), std::string::npos) << text;
  EXPECT_NE(text.find("0  ranks 0, 2, 4, 6, 8, 10 and 44 more\n"), std::string::npos) << text;
}

TEST(ConfigText, HostileTextMovesNoCursor) {
  const RunConfig run = RunOf({Process(0, "a\x1b[2J", {{"k\x1b[1m\n", "\"\x1b]0;x\x07\""}}),
                               Process(1, "b", {{"k\x1b[1m\n", "1"}})});
  const RunConfig other = RunOf({Process(0, "a", {{"k\x1b[1m\n", "2"}})});
  const ComparedConfig left{&run, &run.attempts[0]};
  const ComparedConfig right{&other, &other.attempts[0]};
  for (const std::string& text :
       {RenderConfig(run, run.attempts[0], {}),
        RenderComparison(left, right, Compare(*left.attempt, *right.attempt), true, {})}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find('\x07'), std::string::npos);
  }
}

TEST(ConfigText, FitsATerminal) {
  const RunConfig run = RunOf({Process(0, "a", {{"short", "1"}, {"long", std::string(500, '7')}})});
  const RunConfig other =
      RunOf({Process(0, "a", {{"short", "2"}, {"long", std::string(500, '8')}})});
  const ComparedConfig left{&run, &run.attempts[0]};
  const ComparedConfig right{&other, &other.attempts[0]};
  const Terminal terminal{.width = 60, .colour = false, .interactive = true};
  for (const std::string& text :
       {RenderConfig(run, run.attempts[0], terminal),
        RenderComparison(left, right, Compare(*left.attempt, *right.attempt), true, terminal)}) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      EXPECT_LE(DisplayWidth(text.substr(at, end - at)), 60U) << text;
      at = end + 1;
    }
  }
  // Whoever reads a file gets all of it.
  EXPECT_NE(RenderConfig(run, run.attempts[0], {}).find(std::string(500, '7')), std::string::npos);
}

TEST(ConfigText, ShowsAComparison) {
  const RunConfig run = RunOf({Process(0, "a", {{"lr", "0.1"}, {"old", "1"}, {"same", "1"}})});
  RunConfig other = RunOf({Process(0, "a", {{"lr", "0.25"}, {"same", "1"}, {"new", "[1,2]"}})});
  other.run = "llama-2";
  const ComparedConfig left{&run, &run.attempts[0]};
  const ComparedConfig right{&other, &other.attempts[0]};
  const auto found = Compare(*left.attempt, *right.attempt);
  EXPECT_EQ(RenderComparison(left, right, found, false, {}),
            "  left   llama, attempt 0\n"
            "  right  llama-2, attempt 0\n"
            "\n"
            "user\n"
            "  ~ lr   0.1  →  0.25\n"
            "  - old  1\n"
            "  + new  [1,2]\n"
            "\n"
            "  1 changed, 1 added, 1 removed, 1 the same: --all\n");
  const std::string all = RenderComparison(left, right, found, true, {});
  EXPECT_NE(all.find("    same  1\n"), std::string::npos) << all;
}

}  // namespace
}  // namespace headway::cli
