#include "cli/run_doctor.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace headway::cli {
namespace {

// A run of which nothing is missing, as far as its monitors go.
RunEvidence Evidence(const monitor::DestinationState& destination) {
  RunEvidence evidence;
  evidence.label = evidence.run.name = evidence.run.label = "r";
  evidence.namesakes = {"r"};
  evidence.records = 10;
  evidence.saves = 1;
  evidence.report.steps.count = 5;
  monitor::FoundState found;
  found.state.tells = {"goodput", "windows", "step_deviations"};
  found.state.ended = WallNs{1};
  found.state.destinations = {destination};
  found.liveness = Liveness::kDead;
  evidence.monitors = {found};
  return evidence;
}

monitor::DestinationState Failing(std::string destination, Code code, std::string error) {
  monitor::DestinationState one;
  one.destination = std::move(destination);
  one.samples = 1;
  one.code = code;
  one.error = std::move(error);
  return one;
}

std::string RemedyOf(const monitor::DestinationState& one, std::string_view name) {
  for (const Check& check : JudgeRun(Evidence(one), {})) {
    if (check.verdict != Verdict::kProblem) continue;
    EXPECT_EQ(check.name, name);
    EXPECT_NE(check.message.find(one.error), std::string::npos);
    return check.remedy;
  }
  ADD_FAILURE() << "no problem";
  return {};
}

TEST(RunDoctor, SaysWhatARefusalCallsFor) {
  const std::string monitoring = "Cloud Monitoring of project p1, workload r in z";
  const std::string logging = "Cloud Logging of project p2, log l";
  struct Case {
    std::string destination;
    Code code;
    std::string error, name, remedy;
  };
  for (const Case& one : std::vector<Case>{
           {monitoring, Code::kPermissionDenied, "the server answers 403: denied", "cloud_metrics",
            "add-iam-policy-binding p1 "},
           {monitoring, Code::kPermissionDenied, "the server answers 401: who?", "cloud_metrics",
            "credentials that are valid"},
           {monitoring, Code::kUnavailable, "the server answers 429: slow down", "cloud_metrics",
            "quota"},
           {monitoring, Code::kUnavailable, "no answer", "cloud_metrics", "https_proxy"},
           {monitoring, Code::kInvalidArgument, "the server answers 400: location", "cloud_metrics",
            "--cloud-location"},
           {logging, Code::kPermissionDenied, "the server answers 403: denied", "metrics",
            "roles/logging.logWriter"},
           {"TensorBoard in gs://b/o", Code::kPermissionDenied, "403", "metrics",
            "roles/storage.objectUser"},
           {"TensorBoard in s3://b/o", Code::kPermissionDenied, "403", "metrics", "s3:PutObject"},
           {"TensorBoard in /d", Code::kPermissionDenied, "cannot write /d", "metrics",
            "let the user of the training write there"},
       }) {
    const std::string remedy = RemedyOf(Failing(one.destination, one.code, one.error), one.name);
    EXPECT_NE(remedy.find(one.remedy), std::string::npos) << remedy;
  }
}

TEST(RunDoctor, SeesWhatHasNotArrived) {
  monitor::DestinationState one = Failing("OTLP", Code::kOk, "");
  RunEvidence evidence = Evidence(one);
  const auto problem = [&] {
    const std::vector<Check> checks = JudgeRun(evidence, {});
    return std::any_of(checks.begin(), checks.end(),
                       [](const Check& check) { return check.verdict == Verdict::kProblem; });
  };
  EXPECT_TRUE(problem());
  evidence.monitors[0].state.ended.reset();  // it may still arrive
  evidence.monitors[0].liveness = Liveness::kUnknown;
  EXPECT_FALSE(problem());
  evidence.monitors[0].liveness = Liveness::kDead;
  EXPECT_TRUE(problem());
}

TEST(RunDoctor, TakesTheNewestMonitorOfEachKind) {
  monitor::DestinationState well = Failing("TensorBoard", Code::kOk, "");
  well.delivered = WallNs{1};
  RunEvidence evidence = Evidence(well);
  evidence.monitors.push_back(evidence.monitors[0]);
  evidence.monitors[1].state.destinations = {
      Failing("TensorBoard", Code::kPermissionDenied, "cannot write")};
  for (const Check& check : JudgeRun(evidence, {})) EXPECT_NE(check.verdict, Verdict::kProblem);
  std::swap(evidence.monitors[0], evidence.monitors[1]);
  const std::vector<Check> checks = JudgeRun(evidence, {});
  EXPECT_EQ(std::count_if(checks.begin(), checks.end(),
                          [](const Check& check) { return check.verdict == Verdict::kProblem; }),
            1);
}

}  // namespace
}  // namespace headway::cli
