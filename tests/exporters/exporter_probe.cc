// Says what is in an event file by an exporter, for tests:
//   exporter_probe prometheus|otlp|otlp-json RUN EVENTS [WINDOW_SECONDS...]   to standard output
//   exporter_probe report RUN EVENTS [WINDOW_SECONDS...]    the reports as JSON, a line each
//   exporter_probe version
//   exporter_probe table     the rows of the table in docs/metrics.md
//   exporter_probe textfile PATH RUN EVENTS [WINDOW_SECONDS...]
//   exporter_probe show ADDRESS PORT RUN EVENTS [WINDOW_SECONDS...]    prints where, serves until
//                                        standard input ends
//   exporter_probe serve ADDRESS PORT    prints its port, then publishes what standard input says:
//                                        each time a file's name and a line feed

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "formats/jsonl/reader.h"
#include "formats/otlp/writer.h"
#include "formats/prometheus/writer.h"
#include "ledger/ledger.h"
#include "monitor/metrics_server.h"
#include "monitor/prometheus_file_sink.h"
#include "monitor/prometheus_server_sink.h"
#include "monitor/sample_metrics.h"

namespace {

using headway::kNanosPerSecond;
using headway::Status;
using headway::monitor::Sample;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int Fail(const Status& status) {
  std::cerr << status.ToString() << "\n";
  return headway::ExitCode(status.code());
}

Sample SampleOf(const std::vector<std::string>& arguments) {
  Sample sample;
  sample.project = "default";
  sample.run = arguments.at(0);
  auto import = headway::jsonl::ReadEvents(ReadFile(arguments.at(1)), {});
  HEADWAY_CHECK(import.ok());
  headway::ledger::Ledger ledger;
  ledger.Add(import->runs.back());
  sample.report = ledger.MakeReport();
  sample.time_ns = sample.report->as_of;
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    headway::monitor::WindowSample window;
    window.seconds = std::stoll(arguments[i]);
    headway::ledger::Query query;
    query.window = {sample.time_ns - window.seconds * kNanosPerSecond, sample.time_ns};
    window.report = ledger.MakeReport(query);
    sample.windows.push_back(std::move(window));
  }
  return sample;
}

int Serve(const std::string& address, const std::string& port) {
  auto server =
      headway::monitor::MetricsServer::Start(address, static_cast<std::uint16_t>(std::stoul(port)));
  if (!server.ok()) return Fail(server.status());
  std::cout << (*server)->port() << std::endl;
  std::string path;
  while (std::getline(std::cin, path)) {
    (*server)->Publish(ReadFile(path));
    std::cout << "published" << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string what = arguments.at(0);
  arguments.erase(arguments.begin());
  if (what == "serve") return Serve(arguments.at(0), arguments.at(1));
  if (what == "show") {
    auto sink = headway::monitor::PrometheusServerSink::Start(
        arguments.at(0), static_cast<std::uint16_t>(std::stoul(arguments.at(1))));
    if (!sink.ok()) return Fail(sink.status());
    arguments.erase(arguments.begin(), arguments.begin() + 2);
    const Status status = sink->Put(SampleOf(arguments));
    std::cout << sink->Destination() << std::endl;
    std::cin.get();
    return status.ok() ? 0 : Fail(status);
  }
  if (what == "textfile") {
    auto sink = headway::monitor::PrometheusFileSink::Open(arguments.at(0));
    if (!sink.ok()) return Fail(sink.status());
    arguments.erase(arguments.begin());
    const Status status = sink->Put(SampleOf(arguments));
    return status.ok() ? 0 : Fail(status);
  }
  if (what == "version") {
    std::cout << HEADWAY_VERSION << "\n";
    return 0;
  }
  if (what == "table") {
    for (const headway::metrics::Definition& metric : headway::metrics::Definitions()) {
      std::cout << "| `" << metric.prometheus << "` | `" << metric.otlp << "` | `" << metric.tag
                << "` | `" << headway::metrics::UcumUnit(metric.unit) << "` | " << metric.help
                << " |\n";
    }
    return 0;
  }
  const Sample sample = SampleOf(arguments);
  if (what == "report") {
    std::cout << ToJson(*sample.report);
    for (const auto& window : sample.windows) std::cout << ToJson(*window.report);
    return 0;
  }
  const headway::metrics::RunMetrics run = MetricsOf(sample);
  std::cout << (what == "prometheus" ? headway::prometheus::WriteText({&run, 1})
                : what == "otlp"     ? headway::otlp::WriteProtobuf({&run, 1})
                                     : headway::otlp::WriteJson({&run, 1}));
}
