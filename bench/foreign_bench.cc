// Sends points to a server over HTTP, as fast as it takes them: by Prometheus remote write, or by
// WritePoints of headway. All requests are made before the clock starts. Each connection has series
// of its own, and each of its requests one point of each of them, a second later than the one
// before.
//
// Usage: foreign_bench remote-write|native PORT TARGET TOKEN CONNECTIONS SERIES REQUESTS
//   TARGET   where: "/api/v1/write"; of native the run
//   TOKEN    or "-"
//   SERIES   of a connection; REQUESTS likewise
// A line of JSON: {"points": ..., "seconds": ..., "bytes": ...}.

#include <headway/v1/series_service.pb.h>
#include <netinet/in.h>
#include <snappy.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "formats/protobuf/wire.h"

namespace headway {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "foreign_bench: %s\n", what.c_str());
  std::exit(1);
}

// As an exporter of devices has them, scraped by a Prometheus with labels of its own.
Labels LabelsOf(int connection, int series) {
  const int device = series % 8;
  const int metric = series / 8 % 25;
  const int node = 1000 * connection + series / 200;
  return {
      {"__name__", "device_metric_" + std::to_string(metric) + "_ratio"},
      {"UUID", "GPU-5fd4f087-86f3-7a43-b711-" + std::to_string(100'000'000 + 8 * node + device)},
      {"cluster", "training-eu-1"},
      {"device", "nvidia" + std::to_string(device)},
      {"gpu", std::to_string(device)},
      {"instance", "node-" + std::to_string(node) + ".training.internal:9400"},
      {"job", "device-exporter"},
      {"modelName", "NVIDIA H100 80GB HBM3"},
      {"namespace", "monitoring"},
      {"run", "bench"},
  };
}

struct Walk {
  std::mt19937_64 random;
  std::vector<double> levels;

  Walk(int seed, int series) : random(static_cast<std::uint64_t>(seed)) {
    for (int i = 0; i < series; ++i) levels.push_back(50 + static_cast<double>(random() % 100) / 8);
  }
  double Next(int series) {
    double& level = levels[static_cast<std::size_t>(series)];
    level += (static_cast<double>(random() % 9) - 4) / 8;
    return level;
  }
};

std::string RemoteWrite(int connection, int series_count, std::int64_t time_ms, Walk* walk) {
  std::string request;
  for (int i = 0; i < series_count; ++i) {
    std::string series;
    for (const auto& [key, value] : LabelsOf(connection, i)) {
      std::string label;
      protobuf::AppendBytesField(1, key, &label);
      protobuf::AppendBytesField(2, value, &label);
      protobuf::AppendBytesField(1, label, &series);
    }
    std::string sample;
    protobuf::AppendDoubleField(1, walk->Next(i), &sample);
    protobuf::AppendVarintField(2, static_cast<std::uint64_t>(time_ms), &sample);
    protobuf::AppendBytesField(2, sample, &series);
    protobuf::AppendBytesField(1, series, &request);
  }
  std::string packed;
  snappy::Compress(request.data(), request.size(), &packed);
  return packed;
}

std::string Native(const std::string& run, int connection, int series_count, int number,
                   std::int64_t time_ms, Walk* walk) {
  v1::WritePointsRequest request;
  request.set_run(run);
  request.set_source("bench/" + std::to_string(connection));
  request.set_sequence(static_cast<std::uint64_t>(number));
  v1::PointFrame* const frame = request.add_frames();
  frame->add_times(time_ms * 1'000'000);
  for (int i = 0; i < series_count; ++i) {
    v1::PointColumn* const column = frame->add_columns();
    for (const auto& [key, value] : LabelsOf(connection, i)) {
      key == "__name__" ? column->set_name(value)
                        : (void)(*column->mutable_labels())[key].assign(value);
    }
    column->add_values(walk->Next(i));
  }
  return request.SerializeAsString();
}

void SendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) Fail("the server has hung up");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

// An answer to the end; its status.
int TakeAnswer(int fd) {
  std::string answer;
  std::size_t head = std::string::npos;
  std::size_t wanted = 0;
  char buffer[4096];
  while (head == std::string::npos || answer.size() < wanted) {
    const ssize_t got = ::recv(fd, buffer, sizeof buffer, 0);
    if (got <= 0) Fail("the server has hung up");
    answer.append(buffer, static_cast<std::size_t>(got));
    if (head != std::string::npos) continue;
    head = answer.find("\r\n\r\n");
    if (head == std::string::npos) continue;
    const std::size_t length = answer.find("Content-Length: ");
    wanted = head + 4;
    if (length < head) wanted += std::strtoull(answer.c_str() + length + 16, nullptr, 10);
  }
  const int status = std::atoi(answer.c_str() + std::min<std::size_t>(9, answer.size()));
  if (status != 200 && status != 204) Fail("the answer is " + answer);
  return status;
}

int Connect(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    Fail("nobody listens on port " + std::to_string(port));
  }
  return fd;
}

int Run(char** arguments) {
  const bool native = std::string_view(arguments[1]) == "native";
  const int port = std::atoi(arguments[2]);
  const std::string target = arguments[3];
  const std::string token = arguments[4];
  const int connections = std::atoi(arguments[5]);
  const int series = std::atoi(arguments[6]);
  const int requests = std::atoi(arguments[7]);
  const std::int64_t begin_ms = SystemClock::WallNow().ns / 1'000'000 - 3'600'000;
  std::string head = "POST " + (native ? "/headway.v1.SeriesService/WritePoints" : target) +
                     " HTTP/1.1\r\nHost: localhost\r\n";
  if (token != "-") head += "Authorization: Bearer " + token + "\r\n";
  head += native ? "Content-Type: application/proto\r\n"
                 : "Content-Type: application/x-protobuf\r\nContent-Encoding: snappy\r\n"
                   "X-Prometheus-Remote-Write-Version: 0.1.0\r\n";
  std::vector<std::vector<std::string>> bodies(static_cast<std::size_t>(connections));
  std::size_t bytes = 0;
  for (int c = 0; c < connections; ++c) {
    Walk walk(c, series);
    for (int r = 0; r < requests; ++r) {
      const std::int64_t time = begin_ms + 1000 * r + c;
      std::string body =
          native ? Native(target, c, series, r, time, &walk) : RemoteWrite(c, series, time, &walk);
      bytes += body.size();
      bodies[static_cast<std::size_t>(c)].push_back(
          head + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    }
  }
  const MonoNs begin = SystemClock::MonoNow();
  std::vector<std::thread> threads;
  for (const std::vector<std::string>& mine : bodies) {
    threads.emplace_back([&mine, port] {
      const int fd = Connect(port);
      for (const std::string& request : mine) {
        SendAll(fd, request);
        TakeAnswer(fd);
      }
      ::close(fd);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double seconds = static_cast<double>(SystemClock::MonoNow() - begin) / 1e9;
  const auto points = static_cast<double>(connections) * series * requests;
  std::printf("{\"points\": %.0f, \"seconds\": %.6f, \"bytes\": %zu}\n", points, seconds, bytes);
  return 0;
}

}  // namespace
}  // namespace headway

int main(int count, char** arguments) {
  if (count != 8) {
    std::fprintf(stderr,
                 "usage: foreign_bench remote-write|native PORT TARGET TOKEN CONNECTIONS SERIES "
                 "REQUESTS\n");
    return 2;
  }
  return headway::Run(arguments);
}
