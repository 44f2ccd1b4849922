#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "monitor/company.h"
#include "monitor/courier.h"
#include "monitor/retry_pause.h"
#include "monitor/sampler.h"
#include "monitor/state.h"
#include "runs/growing_run.h"

namespace headway::monitor {

struct Options {
  std::string project;
  std::string run;
  Accounting accounting;
  // How often what is told, in nanoseconds; 0: never.
  std::int64_t whole_every_ns = 0;
  std::int64_t windows_every_ns = 0;
  std::int64_t deviations_every_ns = 0;
  std::vector<std::int64_t> windows;            ///< seconds
  std::int64_t final_ns = 5 * kNanosPerSecond;  ///< for the final values, where nobody says
  bool log = false;  ///< whether a destination takes what the incumbent would have written down
  std::string state_directory;        ///< where it tells how it does; empty: nowhere
  std::vector<std::string> left_out;  ///< see State
  /// Whether it also ends once the run has: it has completed, or nothing was recorded for a day.
  bool until_end = false;
  /// Is told that a run that is far away can't be read, and that it can be again. May be empty.
  std::function<void(const std::string&)> tell;
};

/// The state of a monitor that begins now, in this process.
State BeginState(const Options& options);

/// Monitor: tells destinations now and then how a run does, until it is told to end.
///
/// Samples are taken on a grid of times from its start on, one for each; what it was too late for
/// (a machine that was suspended, a server that could not be reached) is made up for, as of the
/// time it should have been. Between samples it sleeps. One thread, and one for each destination.
class Monitor {
 public:
  Monitor(Options options, std::unique_ptr<runs::GrowingRun> reader,
          std::vector<std::unique_ptr<Sink>> sinks);

  /// Returns once it was told to end and is done, or the run can't be read any more. False: not
  /// everything was delivered in time.
  bool Run(const Company& company);

  /// How it does; of destinations as of the last sample, or its end.
  const State& state() const { return state_; }
  /// Whether the run could be read when it was last looked at.
  const Status& reading() const { return reading_; }

 private:
  struct Stream {
    std::int64_t every_ns = 0;
    Wanted wanted;
    std::int64_t taken = 0;  // samples so far
  };

  MonoNs NextDue() const;
  void TakeDue(MonoNs now, const Company& company);
  Status Refresh(WallNs at, WallNs now, const Company& company);
  void NoteReading();
  bool IsOver();
  std::shared_ptr<const Sample> TakeOne(WallNs at, WallNs now, const Wanted& wanted);
  bool Finish(MonoNs until, const Company& company);
  void WriteState(bool ended);

  Options options_;
  SystemClock clock_;
  std::unique_ptr<runs::GrowingRun> reader_;
  Sampler sampler_;
  std::vector<std::unique_ptr<Courier>> couriers_;
  std::vector<Stream> streams_;
  MonoNs begin_;
  State state_;
  Status reading_;
  RetryPause retry_{&clock_};  // to read a run that is far away
  Code told_ = Code::kOk;      // how that went, as told
  StateFile state_file_;
};

}  // namespace headway::monitor
