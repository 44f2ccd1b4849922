#include "cli/run_doctor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "base/files.h"

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

using monitor::DestinationKind;

monitor::DestinationState Failing(DestinationKind kind, std::string destination, Code code,
                                  std::string error) {
  monitor::DestinationState one;
  one.kind = kind;
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
  const std::string logging = "the log l in Cloud Logging of project p2";
  constexpr auto kMonitoring = DestinationKind::kCloudMonitoring;
  constexpr auto kLogging = DestinationKind::kCloudLogging;
  struct Case {
    DestinationKind kind;
    std::string destination;
    Code code;
    std::string error, name, remedy;
  };
  for (const Case& one : std::vector<Case>{
           {kMonitoring, monitoring, Code::kPermissionDenied, "the server answers 403: denied",
            "cloud_metrics", "add-iam-policy-binding p1 "},
           {kMonitoring, monitoring, Code::kPermissionDenied, "the server answers 401: who?",
            "cloud_metrics", "credentials that are valid"},
           {kMonitoring, monitoring, Code::kUnavailable, "the server answers 429: slow down",
            "cloud_metrics", "quota"},
           {kMonitoring, monitoring, Code::kUnavailable, "no answer", "cloud_metrics",
            "https_proxy"},
           {kMonitoring, monitoring, Code::kInvalidArgument, "the server answers 400: location",
            "cloud_metrics", "--cloud-location"},
           {kLogging, logging, Code::kPermissionDenied, "the server answers 403: denied", "metrics",
            "roles/logging.logWriter"},
           {DestinationKind::kGoogleStorage, "TensorBoard in gs://b/o", Code::kPermissionDenied,
            "403", "metrics", "roles/storage.objectUser"},
           {DestinationKind::kS3, "TensorBoard in s3://b/o", Code::kPermissionDenied, "403",
            "metrics", "s3:PutObject"},
           {DestinationKind::kFile, "TensorBoard in /d", Code::kPermissionDenied, "cannot write /d",
            "metrics", "let the user of the training write there"},
           // A name says nothing of what a destination is, nor of whose project it is.
           {DestinationKind::kFile, "TensorBoard in /Cloud Monitoring/gs://",
            Code::kPermissionDenied, "cannot write", "metrics",
            "let the user of the training write there"},
           {kMonitoring, "Cloud Monitoring of project p1, workload x of project p9: off in z",
            Code::kPermissionDenied, "403", "cloud_metrics", "add-iam-policy-binding p1 "},
           {kLogging, "the log of project p9 in Cloud Logging of project p2",
            Code::kPermissionDenied, "403", "metrics", "add-iam-policy-binding p2 "},
           // A full disk is nobody's quota.
           {DestinationKind::kFile, "TensorBoard in /d", Code::kResourceExhausted,
            ErrnoStatus(ENOSPC, "write", "/d").message(), "metrics", "make room on the disk"},
           {DestinationKind::kOtlp, "OTLP", Code::kResourceExhausted,
            ErrnoStatus(EDQUOT, "write", "/h").message(), "metrics", "HEADWAY_DIR"},
           {kMonitoring, monitoring, Code::kResourceExhausted,
            ErrnoStatus(ENOSPC, "write", "/h").message(), "cloud_metrics", "HEADWAY_DIR"},
           {DestinationKind::kGoogleStorage, "TensorBoard in gs://b/o", Code::kResourceExhausted,
            "/w is larger than 1 GiB and isn't put to gs://b/o", "metrics",
            "mend what the message names"},
       }) {
    const std::string remedy =
        RemedyOf(Failing(one.kind, one.destination, one.code, one.error), one.name);
    EXPECT_NE(remedy.find(one.remedy), std::string::npos) << remedy;
  }
}

TEST(RunDoctor, SeesWhatHasNotArrived) {
  monitor::DestinationState one = Failing(DestinationKind::kOtlp, "OTLP", Code::kOk, "");
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

TEST(RunDoctor, PraisesNothingThatHasNotArrived) {
  monitor::DestinationState one = Failing(DestinationKind::kOtlp, "OTLP", Code::kOk, "");
  const auto verdict = [&one] {
    RunEvidence evidence = Evidence(one);
    evidence.monitors[0].state.ended.reset();
    evidence.monitors[0].liveness = Liveness::kAlive;
    for (const Check& check : JudgeRun(evidence, {})) {
      if (check.message.find(" to OTLP: ") != std::string::npos) return check.verdict;
    }
    return Verdict::kProblem;
  };
  EXPECT_EQ(verdict(), Verdict::kNote);
  one.delivered = WallNs{1};
  EXPECT_EQ(verdict(), Verdict::kGood);
  one.rejected_points = 3;
  EXPECT_EQ(verdict(), Verdict::kWarning);
}

TEST(RunDoctor, ANumberThatAnotherMonitorSendsIsNoProblem) {
  const monitor::DestinationState one = Failing(
      DestinationKind::kCloudMonitoring, "Cloud Monitoring of project p1, workload r in z",
      Code::kAlreadyExists, "another monitor of this run sends the numbers of the whole run there");
  const std::vector<Check> checks = JudgeRun(Evidence(one), {});
  EXPECT_TRUE(std::any_of(checks.begin(), checks.end(), [](const Check& check) {
    return check.verdict == Verdict::kNote &&
           check.message.find("another monitor") != std::string::npos;
  }));
  for (const Check& check : checks) EXPECT_NE(check.verdict, Verdict::kProblem) << check.message;
}

TEST(RunDoctor, TakesTheNewestMonitorOfEachKind) {
  monitor::DestinationState well = Failing(DestinationKind::kFile, "TensorBoard", Code::kOk, "");
  well.delivered = WallNs{1};
  RunEvidence evidence = Evidence(well);
  evidence.monitors.push_back(evidence.monitors[0]);
  evidence.monitors[1].state.destinations = {
      Failing(DestinationKind::kFile, "TensorBoard", Code::kPermissionDenied, "cannot write")};
  for (const Check& check : JudgeRun(evidence, {})) EXPECT_NE(check.verdict, Verdict::kProblem);
  std::swap(evidence.monitors[0], evidence.monitors[1]);
  const std::vector<Check> checks = JudgeRun(evidence, {});
  EXPECT_EQ(std::count_if(checks.begin(), checks.end(),
                          [](const Check& check) { return check.verdict == Verdict::kProblem; }),
            1);
}

}  // namespace
}  // namespace headway::cli
