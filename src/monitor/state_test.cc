#include "monitor/state.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "journal/test_files.h"

namespace headway::monitor {
namespace {

constexpr WallNs kStart{1'700'000'000 * kNanosPerSecond};

State Example() {
  State state;
  state.project = "p";
  state.run = "a/\"b\"";
  state.process = journal::ReadProcessFacts();
  state.beside = 17;
  state.tells = {"goodput", "windows"};
  state.left_out = {"gcp_goodput_metrics"};
  state.started = kStart;
  state.samples = 3;
  state.problem = "none";
  DestinationState one;
  one.destination = "Cloud Monitoring";
  one.samples = 3;
  one.kind = DestinationKind::kCloudMonitoring;
  one.missed = 1;
  one.rejected_points = 4;
  one.error = "refused";
  one.code = Code::kPermissionDenied;
  one.failed = kStart + 5;
  one.failures = 2;
  DestinationState two;
  two.destination = "TensorBoard";
  two.delivered = kStart + 7;
  state.destinations = {one, two};
  return state;
}

TEST(State, IsReadAsItWasWritten) {
  const State state = Example();
  const Result<State> read = ParseState(ToJson(state));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(ToJson(*read), ToJson(state));
  EXPECT_EQ(read->process.boot_id, state.process.boot_id);
  ASSERT_EQ(read->destinations.size(), 2U);
  EXPECT_EQ(read->destinations[0].code, Code::kPermissionDenied);
  EXPECT_EQ(read->destinations[0].kind, DestinationKind::kCloudMonitoring);
  EXPECT_EQ(read->destinations[0].rejected_points, 4);
  EXPECT_EQ(read->destinations[1].code, Code::kOk);
  State ended = state;
  ended.ended = kStart + kNanosPerSecond;
  EXPECT_EQ(ParseState(ToJson(ended))->ended, ended.ended);
}

TEST(State, OfAnythingElseIsNone) {
  for (const char* text : {"", "7", "[]", "{}", "{\"started\": 7}", "{\"started\": \"soon\"}"}) {
    EXPECT_EQ(ParseState(text).status().code(), Code::kDataLoss) << text;
  }
  // What another release writes differently is left at its default.
  const Result<State> odd = ParseState(
      R"({"started": "2026-01-01T00:00:00Z", "pid": "x", "tells": 3, "left_out": [1, "a"],
          "destinations": [4, {"destination": 5, "code": "NEW", "samples": -1e300}]})");
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(odd->process.pid, 0);
  EXPECT_EQ(odd->left_out, std::vector<std::string>{"a"});
  ASSERT_EQ(odd->destinations.size(), 1U);
  EXPECT_EQ(odd->destinations[0].code, Code::kUnknown);
  EXPECT_EQ(odd->destinations[0].kind, DestinationKind::kUnknown);
  EXPECT_EQ(odd->destinations[0].samples, 0);
}

TEST(State, OnDiskIsTheNewestFirstAndKnowsWhoLives) {
  const ScratchDir dir;
  const std::string directory = StateDirectory(dir.path(), "p", "r");
  std::vector<Status> problems;
  EXPECT_TRUE(ReadStates(directory, &problems).empty());
  EXPECT_TRUE(problems.empty());

  State alive = Example();
  alive.run = "alive";
  ASSERT_TRUE(StateFile(directory).Write(alive).ok());
  State killed = alive;
  killed.run = "killed";
  killed.started = kStart + kNanosPerSecond;
  killed.process.pid_start += 1;  // its number has been given to another process
  ASSERT_TRUE(StateFile(directory).Write(killed).ok());
  State foreign = alive;
  foreign.run = "foreign";
  foreign.started = kStart + 2 * kNanosPerSecond;
  foreign.process.host = "another";
  foreign.process.boot_id.bytes[0] ^= 1;
  ASSERT_TRUE(StateFile(directory).Write(foreign).ok());
  State ended = alive;
  ended.run = "ended";
  ended.started = kStart + 3 * kNanosPerSecond;
  ended.ended = ended.started;
  ASSERT_TRUE(StateFile(directory).Write(ended).ok());
  // What else may lie there: what waits for destinations, a file that is being written.
  ASSERT_TRUE(MakeDirectories(JoinPath(directory, "waiting")).ok());
  std::ofstream(JoinPath(directory, "20990101T000000Z-1.json.new")) << "{";
  std::ofstream(JoinPath(directory, "20990101T000000Z-1.json")) << "{";

  const std::vector<FoundState> found = ReadStates(directory, &problems);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].state.run, "ended");
  EXPECT_EQ(found[0].liveness, Liveness::kDead);
  EXPECT_EQ(found[1].state.run, "foreign");
  EXPECT_EQ(found[1].liveness, Liveness::kUnknown);
  EXPECT_EQ(found[2].state.run, "killed");
  EXPECT_EQ(found[2].liveness, Liveness::kDead);
  EXPECT_EQ(found[3].state.run, "alive");
  EXPECT_EQ(found[3].liveness, Liveness::kAlive);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_NE(problems[0].message().find("20990101T000000Z-1.json: "), std::string::npos);
}

TEST(State, ADirectoryThatIsRemovedIsMadeAgain) {
  const ScratchDir dir;
  const std::string directory = StateDirectory(dir.path(), "p", "r");
  StateFile file(directory);
  State state = Example();
  ASSERT_TRUE(file.Write(state).ok());
  std::filesystem::remove_all(dir.path() + "/monitors");
  state.samples = 4;
  ASSERT_TRUE(file.Write(state).ok());
  std::vector<Status> problems;
  const std::vector<FoundState> found = ReadStates(directory, &problems);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].state.samples, 4);
}

}  // namespace
}  // namespace headway::monitor
