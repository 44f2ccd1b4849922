// Drives the sinks to networks for tests: reads a command a line, answers each with a line of JSON.

#include <cstdio>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json_writer.h"
#include "formats/cloud_logging/reader.h"
#include "monitor/cloud_logging_reader.h"
#include "monitor/cloud_logging_sink.h"
#include "monitor/cloud_monitoring_sink.h"
#include "monitor/object_uploader.h"
#include "net/google_auth.h"
#include "net/http.h"

namespace {

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::monitor;  // NOLINT(google-build-using-namespace)

class Sender {
 public:
  // False: an unknown command.
  bool Run(std::istringstream& line) {
    std::string command;
    line >> command;
    const MonoNs start = clock_.Mono();
    Status status;
    if (command == "monitoring") {
      status = OpenMonitoring(line);
    } else if (command == "logging") {
      status = OpenLogging(line);
    } else if (command == "object") {
      status = OpenUploader(line);
    } else if (command == "sample") {
      status = PutSample(line);
    } else if (command == "entries") {
      status = PutEntries(line);
    } else if (command == "deliver" || command == "finish") {
      status = Deliver(line, command == "finish");
    } else if (command == "read") {
      status = ReadEntries(line);
    } else if (command != "machine") {
      return false;
    }
    std::string out;
    JsonWriter json(&out);
    json.BeginObject();
    if (command == "machine") {
      const net::GoogleMachine machine = auth_.LookUpMachine(In(10));
      json.Field("project", machine.project_id).Field("zone", machine.zone);
      json.Field("machine_type", machine.machine_type).Field("cluster", machine.cluster_name);
    }
    if (command == "read") json.Field("jobs", jobs_).Field("events", events_);
    json.Field("code", CodeName(status.code())).Field("message", status.message());
    if (outbox_ != nullptr) {
      const OutboxLosses& losses = outbox_->losses();
      json.Field("waiting", outbox_->size()).Field("refused", losses.refused);
      json.Field("lost", losses.full + losses.old).Field("damaged", losses.damaged);
    }
    json.Field("ms", (clock_.Mono() - start) / 1'000'000).EndObject();
    std::cout << out << std::endl;
    return true;
  }

 private:
  MonoNs In(double seconds) const {
    return clock_.Mono() + static_cast<std::int64_t>(seconds * 1e9);
  }

  // DIRECTORY PROJECT WORKLOAD LOCATION
  Status OpenMonitoring(std::istream& line) {
    CloudMonitoringOptions options;
    line >> options.outbox_directory >> options.project_id >> options.workload.workload_id >>
        options.workload.location;
    options.workload.cluster_name = "c1";
    auto sink = CloudMonitoringSink::Open(options, &auth_, &clock_);
    HEADWAY_RETURN_IF_ERROR(sink.status());
    outbox_ = (*sink)->outbox();
    sink_ = *std::move(sink);
    return OkStatus();
  }

  // DIRECTORY PROJECT LOG JOB
  Status OpenLogging(std::istream& line) {
    CloudLoggingOptions options;
    line >> options.outbox_directory >> options.log.project_id >> options.log.log_name >>
        options.log.job_name;
    auto sink = CloudLoggingSink::Open(options, &auth_, &clock_);
    HEADWAY_RETURN_IF_ERROR(sink.status());
    outbox_ = (*sink)->outbox();
    logging_ = sink->get();
    sink_ = *std::move(sink);
    return OkStatus();
  }

  // FILE URL
  Status OpenUploader(std::istream& line) {
    std::string file, url;
    line >> file >> url;
    auto uploader = ObjectUploader::Open(file, url, &auth_, http_.get(), &clock_);
    HEADWAY_RETURN_IF_ERROR(uploader.status());
    uploader_ = *std::move(uploader);
    return OkStatus();
  }

  // SECONDS_FROM_NOW GOODPUT_SECONDS [NUMBER_OF_CUSTOM_TYPES]
  Status PutSample(std::istream& line) {
    double from_now = 0, goodput = 0;
    int types = 1;
    line >> from_now >> goodput >> types;
    Sample sample;
    sample.time_ns = clock_.Wall().ns + static_cast<std::int64_t>(from_now * 1e9);
    compat::Figures figures{.goodput_percent = 75,
                            .productive_s = goodput,
                            .total_s = goodput / 0.75,
                            .badput = {{"TPU_INITIALIZATION", 1.5},
                                       {"DATA_LOADING_ASYNC", 9},
                                       {"WASTED_PROGRESS_FROM_DISRUPTION", 2}},
                            .custom = {},
                            .max_productive_step = 41,
                            .disruptions = 2};
    for (int i = 0; i < types; ++i) figures.custom.emplace_back("EVAL" + std::to_string(i), 1);
    sample.figures = figures;
    sample.efficiency = compat::SliceEfficiency{0.5, 0.75};
    sample.ideal_step_s = 1.25;
    sample.deviation_s = 0.125;
    sample.windows.push_back({3600, {}, figures, compat::SliceEfficiency{0.5, 1}});
    return sink_->Put(sample);
  }

  // NUMBER FIRST_STEP
  Status PutEntries(std::istream& line) {
    std::int64_t number = 0, first = 0;
    line >> number >> first;
    const std::int64_t now_s = clock_.Wall().ns / kNanosPerSecond;
    if (log_.entries().empty()) {
      begin_ = static_cast<double>(now_s - 100'000);
      log_.Add(compat::EntryKind::kJobStart, begin_);
    }
    for (std::int64_t step = first; step < first + number; ++step) {
      log_.AddStep(step, begin_ + static_cast<double>(step));
    }
    return logging_->PutEntries(log_);
  }

  // PROJECT LOG JOB SECONDS
  Status ReadEntries(std::istream& line) {
    gcp::JobLog log;
    double seconds = 0;
    line >> log.project_id >> log.log_name >> log.job_name >> seconds;
    return ReadLogEntries(
        &auth_, &clock_, log, {.after = {}, .start = {}, .end = clock_.Wall()},
        [this](std::string_view page) {
          for (const auto& job : cloud_logging::Translate(page).jobs) {
            jobs_ += jobs_.find(job.name) == std::string::npos ? job.name : "";
            events_ += job.entries;
          }
          return OkStatus();
        },
        In(seconds));
  }

  Status Deliver(std::istream& line, bool last) {
    double seconds = 0;
    line >> seconds;
    const MonoNs deadline = In(seconds);
    if (uploader_) return last ? uploader_->Finish(deadline) : uploader_->Deliver(deadline);
    return last ? sink_->Finish(deadline) : sink_->Deliver(deadline);
  }

  const SystemClock& clock_ = SystemClock::Get();
  std::unique_ptr<net::HttpClient> http_ = net::MakeHttpClient(&clock_);
  net::GoogleAuth auth_{http_.get(), &clock_, net::GoogleAuthFromEnvironment()};
  std::unique_ptr<Sink> sink_;
  std::unique_ptr<ObjectUploader> uploader_;
  CloudLoggingSink* logging_ = nullptr;
  Outbox* outbox_ = nullptr;
  compat::EntryLog log_;
  double begin_ = 0;
  std::string jobs_;  // that were read
  std::uint64_t events_ = 0;
};

}  // namespace

int main() {
  Sender sender;
  for (std::string text; std::getline(std::cin, text);) {
    std::istringstream line(text);
    if (!sender.Run(line)) {
      std::fprintf(stderr, "no such command: %s\n", text.c_str());
      return 2;
    }
  }
  return 0;
}
