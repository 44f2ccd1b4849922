#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/time_format.h"
#include "cli/beside.h"
#include "cli/commands.h"
#include "cli/monitor_sinks.h"
#include "cli/place.h"
#include "cli/remote.h"
#include "model/text.h"
#include "monitor/monitor.h"
#include "runs/follower.h"

namespace headway::cli {
namespace {

class MonitorCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "Reads the run's journals as they are written, which costs the training nothing, and tells "
        "destinations now and then what share of its time was progress. It goes on until it gets "
        "SIGINT or SIGTERM, or until the process it runs beside has ended; then it tells the final "
        "values. How it does stands in DIR/monitors/PROJECT/RUN. With a server the run may be "
        "recorded "
        "anywhere: its records are asked for there, a server that can't be reached is tried again, "
        "and without --beside it also ends once the run has completed, or was silent for a day.");
    DescribeRun(description, &run_);
    description->Duration("--every", &every_,
                          "how often the numbers of the whole run go out (30s)");
    description->Option("--window", "DUR", &windows_,
                        "also the numbers of the last DUR (whole seconds); may be repeated");
    description->Flag("--windows-only", &windows_only_, "no numbers of the whole run");
    description->Flag("--step-deviation", &deviation_,
                      "also how far each step is off the ideal step time");
    description->Duration("--step-deviation-every", &deviation_every_, "how often (10s)");
    description->Flag("--step-deviation-only", &deviation_only_, "nothing but that");
    DescribeSinks(description, &sinks_);
    description->Choice("--accounting", "HOW", {"exact", "compat"}, &accounting_,
                        "where its words are used: exact (the default) or its own numbers");
    description->Flag("--elastic", &elastic_, "there: with what it says of elastic jobs");
    description->Option("--ideal-step", "SECONDS", &ideal_step_,
                        "the ideal step time (computed from the steps)");
    description->Duration("--final", &final_, "how long the final values may take (5s)");
    description->Option("--left-out", "WHAT", &left_out_,
                        "what whoever starts it leaves out, for headway doctor; may be repeated");
    beside_.Describe(description);
    DescribePlace(description, &place_);
    DescribeServer(description, &place_);
    description->Example("headway monitor llama-7b --tensorboard /logs/llama-7b --window 1h",
                         "curves of goodput and badput in TensorBoard while it trains");
    description->Example(
        "headway monitor llama-7b --server https://goodput:8460 --prometheus-listen 9464",
        "the same run for Prometheus, from another machine");
  }

  Result<int> Run(const Context&) override {
    Result<int> result = Watch();
    if (!result.ok()) beside_.Tell(result.status().message());
    return result;
  }

 private:
  Result<int> Watch() {
    HEADWAY_RETURN_IF_ERROR(ResolveServer(&place_));
    HEADWAY_RETURN_IF_ERROR(Resolve(&place_));
    HEADWAY_RETURN_IF_ERROR(CheckName("RUN", run_));
    Result<monitor::Options> options = MakeOptions();
    if (!options.ok()) return options.status();
    sinks_.run = run_;
    sinks_.state_directory = options->state_directory;
    sinks_.elastic = elastic_;
    sinks_.step_deviations = deviation_ || deviation_only_;
    sinks_.whole = options->whole_every_ns > 0;
    sinks_.windows.insert(options->windows.begin(), options->windows.end());
    sinks_.exact = options->accounting.exact;
    Result<std::unique_ptr<runs::GrowingRun>> reader = OpenReader();
    if (!reader.ok()) return reader.status();
    // First of all: sinks open files and start threads.
    HEADWAY_RETURN_IF_ERROR(beside_.Begin());
    Result<std::vector<std::unique_ptr<monitor::Sink>>> sinks = OpenSinks(sinks_);
    if (!sinks.ok()) {
      // Nobody may be listening: the state says it to headway doctor.
      monitor::State state = monitor::BeginState(*options);
      state.ended = state.started;
      state.problem = sinks.status().message();
      monitor::StateFile(options->state_directory).Write(state).IgnoreError();
      return sinks.status();
    }
    beside_.LeaveDirectory();
    if (!beside_.controlled()) {
      if (place_.server.empty()) TellWhetherItWaits();
      options->tell = [this](const std::string& news) {
        Complain(PrintableLine(run_) + " at " + place_.server + ": " + news);
      };
    }
    options->until_end = !place_.server.empty() && beside_.company().beside == 0;
    monitor::Monitor monitor(*std::move(options), *std::move(reader), *std::move(sinks));
    const bool delivered = monitor.Run(beside_.company());
    if (!beside_.controlled()) {
      for (const monitor::DestinationState& one : monitor.state().destinations) {
        if (!one.error.empty()) Complain(one.destination + ": " + one.error);
      }
      if (!monitor.state().problem.empty()) Complain(monitor.state().problem);
    }
    // What hangs in a destination must not keep it from ending.
    if (beside_.controlled() || !delivered) ::_exit(delivered ? 0 : 4);
    if (!monitor.reading().ok()) return ExitCode(monitor.reading().code());
    if (monitor.state().samples == 0 && !monitor.state().problem.empty()) return 1;
    return 0;
  }

  // A name may be mistyped.
  void TellWhetherItWaits() const {
    const Result<runs::Run> run = runs::Find(place_.dirs, place_.project, run_);
    if (run.status().code() != Code::kNotFound) return;
    Complain("waiting for run \"" + PrintableLine(run_) + "\": nothing is recorded of it yet");
  }

  Result<std::unique_ptr<runs::GrowingRun>> OpenReader() const {
    if (!place_.server.empty()) return FollowAtServer(place_, run_);
    std::vector<std::string> dirs;
    for (const std::string& dir : place_.dirs) dirs.push_back(Absolute(dir));
    return std::unique_ptr<runs::GrowingRun>(
        std::make_unique<runs::Follower>(std::move(dirs), place_.project, run_));
  }

  // It may not stay where it was started.
  static std::string Absolute(const std::string& path) {
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(path, error);
    return error ? path : absolute.lexically_normal().string();
  }

  Result<monitor::Options> MakeOptions() {
    monitor::Options options;
    options.project = place_.project;
    options.run = run_;
    options.accounting.exact = accounting_ != "compat";
    options.accounting.elastic = elastic_;
    options.log = !sinks_.cloud_log.empty();
    if (!ideal_step_.empty()) {
      char* end = nullptr;
      const double seconds = std::strtod(ideal_step_.c_str(), &end);
      if (*end != '\0' || !(seconds > 0)) {
        return Status(Code::kInvalidArgument,
                      "--ideal-step: \"" + ideal_step_ + "\" is no number of seconds");
      }
      options.accounting.ideal_step_s = seconds;
    }
    const std::int64_t every_ns = every_.value_or(30 * kNanosPerSecond);
    const std::int64_t deviation_every_ns = deviation_every_.value_or(10 * kNanosPerSecond);
    constexpr std::int64_t kLeastNs = kNanosPerSecond / 100;
    for (const auto& [option, ns] :
         {std::pair("--every", every_ns), {"--step-deviation-every", deviation_every_ns}}) {
      if (ns >= kLeastNs) continue;
      return Status(Code::kInvalidArgument,
                    std::string(option) + ": at least 10ms, not " + ShowDuration(ns));
    }
    if (!windows_only_ && !deviation_only_) options.whole_every_ns = every_ns;
    if (!deviation_only_) options.windows_every_ns = every_ns;
    if (deviation_ || deviation_only_) options.deviations_every_ns = deviation_every_ns;
    for (const std::string& window : windows_) {
      const Result<std::int64_t> parsed = ParseDuration(window);
      const std::int64_t ns = parsed.ok() ? *parsed : 0;
      if (ns < kNanosPerSecond || ns % kNanosPerSecond != 0) {
        return Status(Code::kInvalidArgument,
                      "--window: \"" + window + "\" is no duration in whole seconds, like 1h30m");
      }
      options.windows.push_back(ns / kNanosPerSecond);
    }
    if (windows_only_ && windows_.empty()) {
      return Status(Code::kInvalidArgument, "--windows-only needs a --window");
    }
    if (final_) options.final_ns = *final_;
    options.left_out = left_out_;
    options.state_directory =
        monitor::StateDirectory(Absolute(place_.dirs.front()), place_.project, run_);
    return options;
  }

  std::string run_;
  std::optional<std::int64_t> every_;
  std::vector<std::string> windows_;
  bool windows_only_ = false;
  bool deviation_ = false;
  bool deviation_only_ = false;
  std::optional<std::int64_t> deviation_every_;
  SinkOptions sinks_;
  std::string accounting_;
  bool elastic_ = false;
  std::string ideal_step_;
  std::optional<std::int64_t> final_;
  Beside beside_;
  std::vector<std::string> left_out_;
  Place place_;
};

}  // namespace

std::unique_ptr<Command> MakeMonitor() { return std::make_unique<MonitorCommand>(); }

}  // namespace headway::cli
