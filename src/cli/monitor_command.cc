#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/background.h"
#include "base/time_format.h"
#include "cli/commands.h"
#include "cli/monitor_sinks.h"
#include "cli/place.h"
#include "cli/text.h"
#include "monitor/monitor.h"

namespace headway::cli {
namespace {

constexpr int kControl = 3;

// Who sees to the job, in front of a terminal or beside a program, may want to end it.
UniqueFd CatchEndings() {
  sigset_t endings;
  ::sigemptyset(&endings);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&endings, number);
  ::sigprocmask(SIG_BLOCK, &endings, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return UniqueFd(::signalfd(-1, &endings, SFD_CLOEXEC | SFD_NONBLOCK));
}

class MonitorCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "Reads the run's journals as they are written, which costs the training nothing, and tells "
        "destinations now and then what share of its time was progress. It goes on until it gets "
        "SIGINT or SIGTERM, or until the process it runs beside has ended; then it tells the final "
        "values. How it does stands in DIR/monitors/PROJECT/RUN.");
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
    description->Option("--beside", "PID", &beside_, "the process it runs beside");
    description->Option("--left-out", "WHAT", &left_out_,
                        "what whoever starts it leaves out, for headway doctor; may be repeated");
    description->Flag("--control", &control_,
                      "it was started by a program, which talks to it on descriptor 3");
    DescribePlace(description, &place_);
    description->Example("headway monitor llama-7b --tensorboard /logs/llama-7b --window 1h",
                         "curves of goodput and badput in TensorBoard while it trains");
  }

  Result<int> Run(const Context&) override {
    Result<int> result = Watch();
    if (control_ && !result.ok()) monitor::Tell(kControl, result.status().message());
    return result;
  }

 private:
  Result<int> Watch() {
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
    // First of all: sinks open files and start threads.
    if (control_) Detach();
    const UniqueFd signals = CatchEndings();
    if (!signals.ok()) return ErrnoStatus(errno, "watch", "signals");
    Result<std::vector<std::unique_ptr<monitor::Sink>>> sinks = OpenSinks(sinks_);
    if (!sinks.ok()) {
      // Nobody may be listening: the state says it to headway doctor.
      monitor::State state = monitor::BeginState(*options);
      state.ended = state.started;
      state.problem = sinks.status().message();
      monitor::StateFile(options->state_directory).Write(state).IgnoreError();
      return sinks.status();
    }
    if (control_) (void)!::chdir("/");  // the directory it was started in may go
    monitor::Company company;
    company.signals = signals.get();
    if (control_) company.control = kControl;
    UniqueFd process;
    if (!beside_.empty()) {
      const Result<std::int64_t> pid = ParseNumber("--beside", beside_);
      if (!pid.ok()) return pid.status();
      process = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
      // Without it (Linux below 5.3) the end of the socket has to do.
      const bool blind = !process.ok() && errno == ENOSYS && control_;
      if (!process.ok() && errno != ESRCH && !blind) {
        return ErrnoStatus(errno, "watch", "process " + beside_);
      }
      if (!process.ok() && !blind) ::raise(SIGTERM);  // it has gone: only the final values are left
      company.process = process.get();
      company.beside = *pid;
    }
    if (!control_) TellWhetherItWaits(options->dirs);
    monitor::Monitor monitor(*std::move(options), *std::move(sinks));
    const bool delivered = monitor.Run(company);
    if (!control_) {
      for (const monitor::DestinationState& one : monitor.state().destinations) {
        if (!one.error.empty()) Complain(one.destination + ": " + one.error);
      }
      if (!monitor.state().problem.empty()) Complain(monitor.state().problem);
    }
    // What hangs in a destination must not keep it from ending.
    if (control_ || !delivered) ::_exit(delivered ? 0 : 4);
    if (!monitor.reading().ok()) return ExitCode(monitor.reading().code());
    if (monitor.state().samples == 0 && !monitor.state().problem.empty()) return 1;
    return 0;
  }

  // A name may be mistyped.
  void TellWhetherItWaits(const std::vector<std::string>& dirs) const {
    const Result<runs::Run> run = runs::Find(dirs, place_.project, run_);
    if (run.status().code() != Code::kNotFound) return;
    Complain("waiting for run \"" + PrintableLine(run_) + "\": nothing is recorded of it yet");
  }

  static Result<std::int64_t> ParseNumber(const std::string& flag, const std::string& text) {
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || rest != end || number <= 0 || number > INT32_MAX) {
      return Status(Code::kInvalidArgument, flag + ": \"" + text + "\" is no positive number");
    }
    return number;
  }

  // It may not stay where it was started.
  static std::string Absolute(const std::string& path) {
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(path, error);
    return error ? path : absolute.lexically_normal().string();
  }

  // Out of the way of the program that started it.
  static void Detach() {
    ::close_range(kControl + 1, ~0U, 0);
    ::setsid();
    StayInBackground();
  }

  Result<monitor::Options> MakeOptions() {
    monitor::Options options;
    for (const std::string& dir : place_.dirs) options.dirs.push_back(Absolute(dir));
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
    options.state_directory = monitor::StateDirectory(place_.dirs.front(), place_.project, run_);
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
  std::string beside_;
  std::vector<std::string> left_out_;
  bool control_ = false;
  Place place_;
};

}  // namespace

std::unique_ptr<Command> MakeMonitor() { return std::make_unique<MonitorCommand>(); }

}  // namespace headway::cli
