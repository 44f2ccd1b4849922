#include "cli/parser.h"

#include <gtest/gtest.h>

namespace headway::cli {
namespace {

// Everything a command can take.
struct Targets {
  std::string run;
  std::vector<std::string> files;
  std::vector<std::string> dirs;
  bool json = false;
  std::optional<std::int64_t> limit;
  std::optional<std::int64_t> last;
  std::string format;
  std::vector<std::string> command;
};

Status Parse(const std::vector<std::string>& words, Targets* targets, bool with_command = false) {
  Description description;
  if (!with_command) {
    description.Positional("RUN", &targets->run, "a run");
    description.Positional("FILE", &targets->files, "files").required = false;
  }
  description.Option("--dir", "DIR", &targets->dirs, "directory");
  description.Flag("-j,--json", &targets->json, "JSON");
  description.Count("--limit", "N", 1, &targets->limit, "how many");
  description.Duration("--last", &targets->last, "how long");
  description.Choice("--as", "FORMAT", {"jsonl", "csv"}, &targets->format, "format");
  if (with_command) description.CommandLine("COMMAND...", &targets->command, "what to run");
  return ParseArguments("test", description, words);
}

TEST(Parser, TakesOptionsAnywhere) {
  Targets targets;
  ASSERT_TRUE(Parse({"--dir", "a", "r", "--json", "f1", "--dir=b", "--limit", "3", "f2", "-",
                     "--last", "1m", "--as", "csv"},
                    &targets)
                  .ok());
  EXPECT_EQ(targets.run, "r");
  EXPECT_EQ(targets.files, (std::vector<std::string>{"f1", "f2", "-"}));
  EXPECT_EQ(targets.dirs, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(targets.json);
  EXPECT_EQ(targets.limit, 3);
  EXPECT_EQ(targets.last, 60'000'000'000);
  EXPECT_EQ(targets.format, "csv");
}

TEST(Parser, TakesHostileWordsAsTheyAre) {
  Targets targets;
  ASSERT_TRUE(Parse({"--", "--json", "[a,b]", "@3", "../x", ""}, &targets).ok());
  EXPECT_EQ(targets.run, "--json");
  EXPECT_EQ(targets.files, (std::vector<std::string>{"[a,b]", "@3", "../x", ""}));
  EXPECT_FALSE(targets.json);
  targets = Targets();
  ASSERT_TRUE(Parse({"r", "--dir", "[a,b]", "--dir", "x y"}, &targets).ok());
  EXPECT_EQ(targets.dirs, (std::vector<std::string>{"[a,b]", "x y"}));
}

TEST(Parser, SaysWhatIsWrong) {
  const struct {
    std::vector<std::string> words;
    const char* part;
  } cases[] = {
      {{}, "needs RUN"},
      {{"r", "--jsno"}, "did you mean --json?"},
      {{"r", "--frobnicate=1"}, "no option --frobnicate;"},
      {{"r", "--limit"}, "--limit needs a value;"},
      {{"r", "--as="}, "--as "},
      {{"r", "--dir", ""}, "--dir must not be empty;"},
      {{"r", "--dir=", "--json"}, "--dir must not be empty;"},
      {{"--limit=", "3", "r"}, "--limit must not be empty;"},
      {{"r", "--json=x"}, "--json takes no value;"},
      {{"r", "--json=false"}, "--json takes no value;"},
      {{"r", "--json="}, "--json takes no value;"},
      {{"r", "--limit", ""}, "--limit must not be empty;"},
      {{"r", "--limit", "0"}, "from 1 on"},
      {{"r", "--limit", "3x"}, "\"3x\""},
      {{"r", "--limit", "1", "--limit", "2"}, "takes --limit once, not 2 times"},
      {{"r", "--last", "5"}, "--last"},
      {{"r", "--as", "jsnl"}, "did you mean jsonl?"},
  };
  for (const auto& c : cases) {
    Targets targets;
    const Status status = Parse(c.words, &targets);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << c.part;
    EXPECT_NE(status.message().find(c.part), std::string::npos) << status.message();
  }
}

TEST(Parser, LeavesTheCommandLineAlone) {
  Targets targets;
  ASSERT_TRUE(Parse({"--json", "--", "python", "--json", "--", "x"}, &targets, true).ok());
  EXPECT_EQ(targets.command, (std::vector<std::string>{"python", "--json", "--", "x"}));
  EXPECT_TRUE(targets.json);
  const Status status = Parse({"python", "x"}, &targets, true);
  EXPECT_NE(status.message().find("after \"--\""), std::string::npos) << status.message();
}

}  // namespace
}  // namespace headway::cli
