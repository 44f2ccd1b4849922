#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <tuple>

#include "base/test_scratch_dir.h"
#include "monitor/cloud_logging_reader.h"
#include "monitor/cloud_logging_sink.h"
#include "monitor/cloud_monitoring_sink.h"
#include "monitor/object_uploader.h"
#include "monitor/otlp_sink.h"
#include "net/test_http.h"

namespace headway::monitor {
namespace {

constexpr std::int64_t kSecond = kNanosPerSecond;

class SinksTest : public testing::Test {
 protected:
  std::unique_ptr<CloudMonitoringSink> Monitoring() {
    CloudMonitoringOptions options;
    options.project_id = "p1";
    options.workload.workload_id = "job";
    options.workload.location = "us-central1-a";
    options.outbox_directory = folder + "/monitoring";
    auto sink = CloudMonitoringSink::Open(options, &google, &clock);
    EXPECT_TRUE(sink.ok()) << sink.status().ToString();
    (*sink)->outbox()->set_wait([this](std::int64_t ns) {
      clock.Advance(ns);
      return true;
    });
    return *std::move(sink);
  }
  Sample At(std::int64_t seconds, double productive_s) {
    Sample sample;
    sample.time_ns = clock.Wall().ns + seconds * kSecond;
    sample.figures = compat::Figures();
    sample.figures->productive_s = productive_s;
    return sample;
  }
  MonoNs In(std::int64_t seconds) const { return clock.Mono() + seconds * kSecond; }

  // The time and value of each goodput_time that was sent, and how often each.
  std::vector<std::string> Goodput() const {
    std::vector<std::string> found;
    for (const auto& sent : http.sent) {
      const std::size_t at = sent.body.find("goodput_time");
      const std::size_t time = sent.body.find("\"endTime\":\"", at) + 11;
      const std::size_t value = sent.body.find("\"doubleValue\":", time) + 14;
      if (at == std::string::npos) continue;
      found.push_back(sent.body.substr(time + 11, 8) + " " +
                      sent.body.substr(value, sent.body.find('}', value) - value));
    }
    return found;
  }

  FakeClock clock;  // 2023-11-14T22:13:20Z
  net::FakeHttp http;
  net::GoogleAuth google{&http, &clock, {.access_token = "t"}};
  const ScratchDir scratch;
  const std::string& folder = scratch.path();
  net::ScopedVariable variables[3] = {{"HEADWAY_MONITORING_ENDPOINT", nullptr},
                                      {"HEADWAY_LOGGING_ENDPOINT", nullptr},
                                      {"STORAGE_EMULATOR_HOST", nullptr}};
};

TEST_F(SinksTest, PointsOfASeriesAreFiveSecondsApart) {
  const auto sink = Monitoring();
  const WallNs start = clock.Wall();
  for (int i = 0; i < 9; ++i) http.Answer(200, "{}");
  for (const std::int64_t second : {0, 1, 3, 6, 7}) {
    clock.Advance(start + second * kSecond - clock.Wall());
    EXPECT_TRUE(sink->Put(At(0, static_cast<double>(second))).ok());
    EXPECT_TRUE(sink->Deliver(In(1)).ok());
  }
  EXPECT_EQ(Goodput(), (std::vector<std::string>{"22:13:20 0", "22:13:26 6"}));
  clock.Advance(5 * kSecond);  // what was held back is sent without another sample
  EXPECT_TRUE(sink->Deliver(In(1)).ok());
  EXPECT_EQ(Goodput().back(), "22:13:31 7");
  EXPECT_TRUE(sink->Put(At(0, 12)).ok());
  EXPECT_TRUE(sink->Deliver(In(1)).ok());
  EXPECT_EQ(Goodput().size(), 3U);
  EXPECT_TRUE(sink->Finish(In(1)).ok());  // the last value isn't left behind
  EXPECT_EQ(Goodput().back(), "22:13:36 12");
}

TEST_F(SinksTest, SeriesDoNotHoldBackEachOther) {
  const auto sink = Monitoring();
  http.Answer(200, "{}");
  http.Answer(200, "{}");
  EXPECT_TRUE(sink->Put(At(0, 1)).ok());
  Sample windows;
  windows.time_ns = clock.Wall().ns + kSecond;
  windows.ideal_step_s = 2;
  EXPECT_TRUE(sink->Put(windows).ok());
  EXPECT_TRUE(sink->Deliver(In(1)).ok());
  ASSERT_EQ(http.sent.size(), 2U);
  EXPECT_EQ(http.sent[0].url, "https://monitoring.googleapis.com/v3/projects/p1/timeSeries");
  EXPECT_NE(http.sent[1].body.find("workload/performance"), std::string::npos);
}

TEST_F(SinksTest, ASinkOfOnePartSendsNothingElse) {
  for (const auto& [only, has, has_not] : {
           std::tuple<std::int64_t, const char*, const char*>(0, "goodput_time",
                                                              "interval_goodput"),
           {60, "interval_goodput", "goodput_time"},
           {600, nullptr, nullptr},
       }) {
    CloudMonitoringOptions options;
    options.project_id = "p1";
    options.workload.location = "z";
    options.outbox_directory = folder + "/part-" + std::to_string(only);
    options.only = only;
    const auto sink = *CloudMonitoringSink::Open(options, &google, &clock);
    Sample sample = At(0, 1);
    sample.figures->total_s = 1;
    sample.windows.push_back({60, {}, sample.figures, {}});
    EXPECT_TRUE(sink->Put(sample).ok());
    http.sent.clear();
    http.answers.clear();
    http.Answer(200, "{}");
    EXPECT_TRUE(sink->Deliver(In(1)).ok());
    ASSERT_EQ(http.sent.size(), has == nullptr ? 0U : 1U) << only;
    if (has == nullptr) continue;
    EXPECT_NE(http.sent[0].body.find(has), std::string::npos) << only;
    EXPECT_EQ(http.sent[0].body.find(has_not), std::string::npos) << only;
  }
}

TEST_F(SinksTest, PointsThatACollectorRejectsAreCountedAndNotSentAgain) {
  OtlpOptions options;
  options.endpoint = "http://collector:4318";
  options.outbox_directory = folder + "/otlp";
  options.headers = {{"x-api-key", "secret-of-mine"}};
  const auto sink = *OtlpSink::Open(options, &http, &clock);
  Sample sample;
  sample.report = Report();
  EXPECT_TRUE(sink->Put(sample).ok());
  EXPECT_TRUE(sink->Put(sample).ok());
  EXPECT_TRUE(sink->Put(sample).ok());
  http.Answer(200, R"({"partialSuccess": {"rejectedDataPoints": "3",
                       "errorMessage": "too old, secret-of-mine"}})",
              {{"content-type", "application/json"}});
  http.Answer(200, std::string("\x0a\x02\x08\x04", 4));  // 4 of them, in protocol buffers
  http.Answer(200);
  const Status status = sink->Deliver(In(60));
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("rejected 3 data points"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("too old, [masked]"), std::string::npos) << status.message();
  EXPECT_EQ(http.sent.size(), 3U);
  EXPECT_EQ(sink->RejectedPoints(), 7);
  EXPECT_EQ(sink->outbox()->size(), 0U);
}

TEST_F(SinksTest, AWebPageIsNoAnswerOfACollector) {
  OtlpOptions options;
  options.endpoint = "http://collector:4318";
  options.outbox_directory = folder + "/otlp";
  const auto sink = *OtlpSink::Open(options, &http, &clock);
  bool patient = false;
  sink->outbox()->set_wait([&](std::int64_t ns) {
    clock.Advance(ns);
    return patient;
  });
  Sample sample;
  sample.report = Report();
  EXPECT_TRUE(sink->Put(sample).ok());
  http.Answer(200, "<html>sign in</html>", {{"content-type", "Text/HTML; charset=utf-8"}});
  const Status status = sink->Deliver(In(60));
  patient = true;
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.message().find("a web page"), std::string::npos) << status.message();
  EXPECT_EQ(sink->outbox()->size(), 1U);
  http.Answer(200);
  EXPECT_TRUE(sink->Deliver(In(60)).ok());
  EXPECT_EQ(sink->outbox()->size(), 0U);
  // Advice of 58 bytes: the message begins with a line feed and "<".
  EXPECT_TRUE(sink->Put(sample).ok());
  http.Answer(200, "\n<\x12:" + std::string(58, 'x'), {{"content-type", "application/x-protobuf"}});
  EXPECT_TRUE(sink->Deliver(In(60)).ok());
  EXPECT_EQ(sink->outbox()->size(), 0U);
}

TEST_F(SinksTest, WhatIsRefusedAndWhatWaits) {
  const auto sink = Monitoring();
  EXPECT_TRUE(sink->Put(At(0, 1)).ok());
  EXPECT_TRUE(sink->Put(At(10, 2)).ok());
  http.Answer(403, R"({"error": {"message": "monitoring.timeSeries.create denied",
                                 "status": "PERMISSION_DENIED"}})");
  http.Answer(503);
  http.Answer(200, "{}");
  const Status status = sink->Deliver(In(60));
  EXPECT_EQ(status.code(), Code::kPermissionDenied);
  EXPECT_NE(status.message().find("monitoring.timeSeries.create denied"), std::string::npos);
  EXPECT_EQ(Goodput(), (std::vector<std::string>{"22:13:20 1", "22:13:30 2", "22:13:30 2"}));
  EXPECT_EQ(sink->losses().refused, 1U);
  EXPECT_EQ(sink->losses().total(), 1U);
}

TEST_F(SinksTest, PointsThatHadArrivedAfterAllAreNoError) {
  const auto sink = Monitoring();
  const char* const words =
      R"({"error": {"message": "One or more TimeSeries could not be written: One or more points )"
      R"(were written more frequently than the maximum sampling period"}})";
  EXPECT_TRUE(sink->Put(At(0, 1)).ok());
  http.Fail({Code::kUnavailable, "timed out"});
  http.Answer(400, words);
  EXPECT_TRUE(sink->Deliver(In(60)).ok());
  EXPECT_EQ(sink->losses().total(), 0U);
  EXPECT_TRUE(sink->Put(At(10, 1)).ok());
  http.Answer(400, words);  // someone else writes the same series
  EXPECT_EQ(sink->Deliver(In(60)).code(), Code::kInvalidArgument);
  EXPECT_EQ(sink->losses().refused, 1U);
}

TEST_F(SinksTest, CredentialsThatAreRefusedKeepTheSample) {
  const auto sink = Monitoring();
  EXPECT_TRUE(sink->Put(At(0, 1)).ok());
  for (int i = 0; i < 50; ++i) http.Answer(401, "expired ya29.secret");
  const Status status = sink->Deliver(In(2));
  EXPECT_EQ(status.code(), Code::kPermissionDenied);
  EXPECT_EQ(status.message().find("ya29"), std::string::npos);
  EXPECT_EQ(sink->outbox()->size(), 1U);
}

TEST_F(SinksTest, MonitoringNeedsToKnowWhere) {
  CloudMonitoringOptions options;
  options.outbox_directory = folder + "/x";
  EXPECT_EQ(CloudMonitoringSink::Open(options, &google, &clock).status().code(),
            Code::kInvalidArgument);
  Complete({"p", "z", "ct5p-hightpu-4t", "c"}, &options);
  EXPECT_TRUE(CloudMonitoringSink::Open(options, &google, &clock).ok());
  EXPECT_EQ(options.workload.accelerator_type, "TPU-v5p");
  EXPECT_EQ(options.workload.cluster_name, "");
  const net::ScopedVariable endpoint("HEADWAY_MONITORING_ENDPOINT", "ftp://x");
  EXPECT_EQ(CloudMonitoringSink::Open(options, &google, &clock).status().code(),
            Code::kInvalidArgument);
}

TEST_F(SinksTest, LogEntries) {
  CloudLoggingOptions options;
  options.log = {"p1", "goodput_job", "job"};
  options.outbox_directory = folder + "/logging";
  options.limits.bytes = 300'000;  // room for one request at a time
  auto sink = CloudLoggingSink::Open(options, &google, &clock);
  ASSERT_TRUE(sink.ok()) << sink.status().ToString();
  compat::EntryLog log;
  for (int i = 0; i < 1200; ++i) log.AddStep(i, 1'700'000'000 + i);
  std::size_t rounds = 0;
  for (; (*sink)->taken() < 1200; ++rounds) {
    ASSERT_TRUE((*sink)->PutEntries(log).ok());
    for (int i = 0; i < 5; ++i) http.Answer(200, "{}");
    ASSERT_TRUE((*sink)->Deliver(In(60)).ok());
    http.answers.clear();
    ASSERT_LT(rounds, 10U);
  }
  EXPECT_GT(rounds, 1U);
  EXPECT_EQ((*sink)->losses().total(), 0U);
  ASSERT_EQ(http.sent.size(), 3U);
  EXPECT_EQ(http.sent[0].url, "https://logging.googleapis.com/v2/entries:write");
  EXPECT_NE(http.sent[2].body.find("\"step_count\":1199"), std::string::npos);
  EXPECT_TRUE((*sink)->PutEntries(log).ok());
  EXPECT_EQ((*sink)->outbox()->size(), 0U);
}

TEST_F(SinksTest, EntriesAreReadPageByPage) {
  const gcp::JobLog log{"p1", "goodput_job", "job"};
  const gcp::EntryRange range{.after = {}, .start = {}, .end = clock.Wall()};
  std::vector<std::string> pages;
  const auto read = [&] {
    return ReadLogEntries(
        &google, &clock, log, range,
        [&](std::string_view page) {
          pages.emplace_back(page);
          return OkStatus();
        },
        In(60));
  };
  http.Answer(200, R"({"entries": [{"insertId": "1", "jsonPayload": {"a": 1.5}}, {}],
                       "nextPageToken": "t1"})");
  http.Answer(200, R"({"nextPageToken": "t2"})");
  http.Answer(200, R"({"entries": [{"insertId": "2"}]})");
  EXPECT_TRUE(read().ok());
  EXPECT_EQ(pages, (std::vector<std::string>{R"([{"insertId":"1","jsonPayload":{"a":1.5}},{}])",
                                             "[]", R"([{"insertId":"2"}])"}));
  EXPECT_EQ(http.sent[0].url, "https://logging.googleapis.com/v2/entries:list");
  EXPECT_EQ(http.sent[0].body.find("pageToken"), std::string::npos);
  EXPECT_NE(http.sent[2].body.find(R"("pageToken":"t2")"), std::string::npos);
  http.Answer(403, R"({"error": {"message": "logging.logEntries.list denied"}})");
  EXPECT_EQ(read().code(), Code::kPermissionDenied);
  http.Answer(200, "no JSON");
  EXPECT_EQ(read().code(), Code::kUnavailable);
}

TEST_F(SinksTest, AFileThatGrowsIsPutWhenItHasChanged) {
  const std::string path = folder + "/events";
  const auto uploader = *ObjectUploader::Open(path, "gs://b/events", &google, &http, &clock);
  EXPECT_TRUE(uploader->Deliver(In(1)).ok());  // it isn't there yet
  std::ofstream(path) << "one";
  http.Answer(200, R"({"generation": "1"})");
  EXPECT_TRUE(uploader->Deliver(In(1)).ok());
  EXPECT_TRUE(uploader->Deliver(In(-1)).ok());  // nothing to do takes no time
  EXPECT_EQ(http.sent.size(), 1U);
  std::ofstream(path, std::ios::app) << " two";
  http.Answer(403, R"({"error": {"message": "denied"}})");
  EXPECT_EQ(uploader->Deliver(In(1)).code(), Code::kPermissionDenied);
  EXPECT_EQ(uploader->Deliver(In(1)).code(), Code::kPermissionDenied);  // not tried again so soon
  EXPECT_EQ(http.sent.size(), 2U);
  http.Answer(200, R"({"generation": "2"})");
  EXPECT_TRUE(uploader->Finish(In(1)).ok());
  EXPECT_NE(http.sent[2].body.find("\r\none two\r\n"), std::string::npos);
}

}  // namespace
}  // namespace headway::monitor
