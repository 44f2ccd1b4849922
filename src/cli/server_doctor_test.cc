#include "cli/server_doctor.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace headway::cli {
namespace {

ServerEvidence Healthy() {
  ServerEvidence evidence;
  evidence.url = "http://127.0.0.1:8460";
  evidence.token = true;
  evidence.project = "lm";
  evidence.version = evidence.server_version = "0.1.0";
  evidence.took_ns = 2'000'000;
  evidence.time = 1'800'000'000 * kNanosPerSecond;
  evidence.server_time = evidence.time + 1'000'000;
  evidence.name = "token 1f0c9d2a77b3";
  evidence.role = "editor";
  evidence.permissions = {"runs.get", "journals.append"};
  return evidence;
}

// "name verdict" of what is not good.
std::string Faults(const ServerEvidence& evidence) {
  std::string faults;
  for (const Check& check : JudgeServer(evidence)) {
    if (check.verdict == Verdict::kGood) continue;
    EXPECT_FALSE(check.message.empty());
    EXPECT_FALSE(check.remedy.empty()) << check.message;
    faults += (faults.empty() ? "" : ", ") + check.name + " ";
    faults += VerdictName(check.verdict);
  }
  return faults;
}

TEST(JudgeServer, AHealthyOneIsGood) {
  EXPECT_EQ(Faults(Healthy()), "");
  EXPECT_EQ(JudgeServer(Healthy()).size(), 5u);
}

TEST(JudgeServer, ADiskThatIsFull) {
  constexpr std::int64_t kMiB = 1 << 20;
  for (const auto& [free, faults] : {std::pair(std::int64_t{0}, "server_disk problem"),
                                     {64 * kMiB - 1, "server_disk problem"},
                                     {64 * kMiB, "server_disk warning"},
                                     {1024 * kMiB, ""}}) {
    ServerEvidence evidence = Healthy();
    evidence.free_bytes = free;
    evidence.total_bytes = 4096 * kMiB;
    EXPECT_EQ(Faults(evidence), faults) << free;
  }
}

TEST(JudgeServer, AShareLinkMayAskForItsRunOnly) {
  ServerEvidence evidence = Healthy();
  evidence.answer = Status(Code::kPermissionDenied, "why");
  evidence.link = true;
  EXPECT_EQ(Faults(evidence), "");
  evidence.answer = Status(Code::kUnauthenticated, "why");
  EXPECT_EQ(Faults(evidence), "token problem");
}

TEST(JudgeServer, OneThatDoesNotAnswer) {
  const std::pair<Code, const char*> cases[] = {
      {Code::kUnavailable, "server problem"},
      {Code::kUnauthenticated, "token problem"},
      {Code::kPermissionDenied, "token problem"},
      {Code::kFailedPrecondition, "certificate problem"},
      {Code::kUnimplemented, "server problem"},
  };
  for (const auto& [code, faults] : cases) {
    ServerEvidence evidence = Healthy();
    evidence.answer = Status(code, "why");
    EXPECT_EQ(Faults(evidence), faults);
    EXPECT_EQ(JudgeServer(evidence).size(), 1u);
    evidence.token = false;
    EXPECT_EQ(Faults(evidence), faults);
  }
}

TEST(JudgeServer, Clocks) {
  ServerEvidence evidence = Healthy();
  for (const int sign : {1, -1}) {
    evidence.server_time = evidence.time + sign * 900'000'000;
    EXPECT_EQ(Faults(evidence), "");
    evidence.server_time = evidence.time + sign * 5 * kNanosPerSecond;
    EXPECT_EQ(Faults(evidence), "server_clock warning");
    // What it took to ask may explain it.
    evidence.took_ns = 10 * kNanosPerSecond;
    EXPECT_EQ(Faults(evidence), "");
    evidence.took_ns = 0;
    evidence.server_time = evidence.time + sign * 100 * kNanosPerSecond;
    EXPECT_EQ(Faults(evidence), "server_clock problem");
  }
}

TEST(JudgeServer, WhatATokenMayDo) {
  ServerEvidence evidence = Healthy();
  evidence.permissions = {"runs.get"};
  EXPECT_EQ(Faults(evidence), "permissions note");
  evidence.permissions = {"journals.append"};
  EXPECT_EQ(Faults(evidence), "permissions note");
  evidence.permissions = {"server.get"};
  EXPECT_EQ(Faults(evidence), "permissions problem");
  evidence = Healthy();
  evidence.only_project = "lm";
  evidence.only_run = "r";
  EXPECT_EQ(Faults(evidence), "");
  evidence.project = "vision";
  EXPECT_EQ(Faults(evidence), "token problem");
  evidence = Healthy();
  evidence.expires = evidence.server_time + std::int64_t{48} * 3600 * kNanosPerSecond;
  EXPECT_EQ(Faults(evidence), "");
  evidence.expires = evidence.server_time + 3600 * kNanosPerSecond;
  EXPECT_EQ(Faults(evidence), "token warning");
}

TEST(JudgeServer, VersionsAndEncryption) {
  ServerEvidence evidence = Healthy();
  evidence.server_version = "0.2.0";
  EXPECT_EQ(Faults(evidence), "server_version note");
  evidence = Healthy();
  evidence.url = "http://goodput:8460";
  EXPECT_EQ(Faults(evidence), "encryption warning");
  evidence.url = "https://goodput:8460";
  EXPECT_EQ(Faults(evidence), "");
}

}  // namespace
}  // namespace headway::cli
