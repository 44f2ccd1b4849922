#include "wire/config.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace headway::wire {
namespace {

std::shared_ptr<const FlatConfig> Config(const std::string& value, std::uint64_t left_out = 0) {
  FlatConfig config;
  config.entries = {{"lr", value, false}, {"key", "\"***\"", true}};
  config.left_out = left_out;
  return std::make_shared<const FlatConfig>(std::move(config));
}

RunConfig Sample() {
  std::vector<ConfigProcess> processes;
  const auto shared = Config("1", 3);
  for (int rank = 0; rank < 3; ++rank) {
    ConfigProcess process;
    process.uid = std::string(32, static_cast<char>('a' + rank));
    process.name = "writer";
    process.rank = rank - 1;  // -1: not known
    process.host = "host";
    process.pid = 10 + rank;
    process.supervisor = rank == 0;
    process.attempt = rank == 2 ? -1 : 4;
    process.configs = {{"software", shared}, {"user", Config(std::to_string(rank))}};
    processes.push_back(process);
  }
  RunConfig run = MakeRunConfig(std::move(processes));
  run.run = "r@1";
  run.project = "p";
  run.registered = {{"system", Config("\"x\"")}};
  return run;
}

TEST(ConfigTest, NothingIsLost) {
  const RunConfig before = Sample();
  const v1::GetConfigResponse answer = ToProto(before);
  EXPECT_EQ(answer.configurations_size(), 1 + 3 + 1) << "what is shared is sent once";
  const Result<RunConfig> after = FromProto(answer);
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(after->run, "r@1");
  EXPECT_EQ(after->project, "p");
  ASSERT_EQ(after->attempts.size(), before.attempts.size());
  for (std::size_t i = 0; i < before.attempts.size(); ++i) {
    const AttemptConfig& a = before.attempts[i];
    const AttemptConfig& b = after->attempts[i];
    EXPECT_EQ(a.attempt, b.attempt);
    ASSERT_EQ(a.processes.size(), b.processes.size());
    for (std::size_t k = 0; k < a.processes.size(); ++k) {
      const ConfigProcess& one = a.processes[k];
      const ConfigProcess& other = b.processes[k];
      EXPECT_EQ(one.uid, other.uid);
      EXPECT_EQ(one.name, other.name);
      EXPECT_EQ(one.rank, other.rank);
      EXPECT_EQ(one.host, other.host);
      EXPECT_EQ(one.pid, other.pid);
      EXPECT_EQ(one.supervisor, other.supervisor);
      EXPECT_EQ(one.attempt, other.attempt);
      ASSERT_EQ(one.configs.size(), other.configs.size());
      for (const auto& [name, config] : one.configs) {
        EXPECT_EQ(*config, *other.configs.at(name));
      }
    }
    EXPECT_EQ(a.classes.size(), b.classes.size());
  }
  EXPECT_EQ(*after->registered.at("system"), *before.registered.at("system"));
  EXPECT_EQ(ToProto(*after).SerializeAsString().size(), answer.SerializeAsString().size());
}

TEST(ConfigTest, PlacesThatAreNotThereAreRefused) {
  v1::GetConfigResponse answer = ToProto(Sample());
  (*answer.mutable_registered())["user"] = 99;
  EXPECT_EQ(FromProto(answer).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace headway::wire
