#include "server/server_metrics.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headway::server {
namespace {

class StillClock final : public Clock {
 public:
  WallNs Wall() const noexcept override { return {0}; }
  MonoNs Mono() const noexcept override { return {now}; }
  std::int64_t now = 0;
};

class ServerMetricsTest : public ::testing::Test {
 protected:
  ServerMetricsTest() : metrics_({"/headway.v1.RunService/GetReport", "/healthz"}, &clock_) {}

  bool Has(const std::string& line) {
    const std::string text =
        metrics_.Write({.http = &http_,
                        .journals = &journals_,
                        .points = &points_,
                        .ledgers = 3,
                        .live = {.runs = 2, .lists = 1, .opened = 7, .refused = 4, .updates = 9},
                        .store_bytes = 4096});
    return ("\n" + text).find("\nheadway_server_" + line + "\n") != std::string::npos;
  }

  StillClock clock_;
  HttpStats http_;
  JournalCounts journals_;
  ForeignPointCounts points_;
  ServerMetrics metrics_;
};

TEST_F(ServerMetricsTest, CountsByMethodAndCode) {
  const std::string report = "/headway.v1.RunService/GetReport";
  metrics_.Count({.path = report, .status = 200, .ns = 1'000'000});
  metrics_.Count({.path = report, .status = 200, .ns = 1'000'001});
  metrics_.Count({.path = report, .status = 404, .ns = 60 * kNanosPerSecond});
  metrics_.Count({.path = report, .status = 401});
  metrics_.Count({.path = "/healthz", .status = 200});
  EXPECT_TRUE(Has(R"(requests_total{method="RunService/GetReport",code="200"} 2)"));
  EXPECT_TRUE(Has(R"(requests_total{method="RunService/GetReport",code="404"} 1)"));
  EXPECT_TRUE(Has(R"(requests_total{method="/healthz",code="200"} 1)"));
  EXPECT_TRUE(Has(R"(tokens_refused_total{code="401"} 1)"));
  EXPECT_TRUE(Has(R"(tokens_refused_total{code="403"} 0)"));
  const auto bucket = [&](const std::string& bound, const std::string& count) {
    return Has("request_duration_seconds_bucket{method=\"RunService/GetReport\",le=\"" + bound +
               "\"} " + count);
  };
  EXPECT_TRUE(bucket("0.001", "2"));
  EXPECT_TRUE(bucket("0.0025", "3"));
  EXPECT_TRUE(bucket("30", "3"));
  EXPECT_TRUE(bucket("+Inf", "4"));
  EXPECT_TRUE(Has(R"(request_duration_seconds_count{method="RunService/GetReport"} 4)"));
  EXPECT_TRUE(Has(R"(request_duration_seconds_sum{method="RunService/GetReport"} 60.002000001)"));
}

TEST_F(ServerMetricsTest, KnowsNoMoreNamesThanItWasTold) {
  for (int i = 0; i < 100; ++i) {
    metrics_.Count({.path = "/" + std::to_string(i) + "\"}\n", .status = 404});
  }
  metrics_.Count({.path = "", .status = 418});
  EXPECT_TRUE(Has(R"(requests_total{method="other",code="404"} 100)"));
  EXPECT_TRUE(Has(R"(requests_total{method="other",code="other"} 1)"));
}

TEST_F(ServerMetricsTest, TellsWhatOthersKnow) {
  clock_.now = 90 * kNanosPerSecond;
  http_.refused_queue = 5;
  http_.connections_open = 7;
  http_.bytes_in = 123'456'789'012;
  journals_.slots = 10;
  journals_.bytes = 35;
  points_.kept = 11;
  points_.refused = 2;
  EXPECT_TRUE(Has("uptime_seconds 90"));
  EXPECT_TRUE(Has(R"(requests_refused_total{reason="queue"} 5)"));
  EXPECT_TRUE(Has("connections_open 7"));
  EXPECT_TRUE(Has("received_bytes_total 123456789012"));
  EXPECT_TRUE(Has("ingest_record_bytes_total 320"));
  EXPECT_TRUE(Has("ingest_packed_bytes_total 35"));
  EXPECT_TRUE(Has(R"(ingest_points_total{result="kept"} 11)"));
  EXPECT_TRUE(Has(R"(ingest_points_total{result="refused"} 2)"));
  EXPECT_TRUE(Has("ledgers_held 3"));
  EXPECT_TRUE(Has("live_streams{of=\"list\"} 1"));
  EXPECT_TRUE(Has("live_streams{of=\"run\"} 2"));
  EXPECT_TRUE(Has("live_streams_total 7"));
  EXPECT_TRUE(Has("live_streams_refused_total 4"));
  EXPECT_TRUE(Has("live_updates_total 9"));
  EXPECT_TRUE(Has("store_bytes 4096"));
  EXPECT_FALSE(Has("tls_certificate_expiry_timestamp_seconds 0"));
  http_.certificate_expires = 1'800'000'000 * kNanosPerSecond;
  EXPECT_TRUE(Has("tls_certificate_expiry_timestamp_seconds 1800000000"));
}

}  // namespace
}  // namespace headway::server
