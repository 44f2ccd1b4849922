#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/attempt_journal.h"
#include "model/mask.h"
#include "recorder/environment.h"

namespace headway::cli {

struct SupervisorOptions {
  std::vector<std::string> command;
  recorder::EnvMap environment;
  SupervisedRun run;
  std::int64_t restarts = 0;
  std::int64_t grace_ns = 30 * kNanosPerSecond;
  std::int64_t backoff_ns = kNanosPerSecond;
  bool keep_stderr = true;
  std::int64_t sync_ns = kNanosPerSecond;         ///< 0: never
  std::int64_t settle_ns = 10 * kNanosPerSecond;  ///< for the last sync and copy
  std::string last_words;  ///< told on standard error at the end, if something is recorded
};

/// Runs the command, notes how it ends, and starts it again as often as it may. Returns the exit
/// code for this process: that of the last child, 128 + N after signal N, 127 when there is no such
/// command, 126 when it can't be executed.
///
/// Signals that ask to stop (SIGINT, SIGTERM, SIGHUP, SIGQUIT) are passed on to the child's process
/// group, as are SIGUSR1 and SIGUSR2; after a signal to stop nothing is restarted, and what is left
/// after `grace_ns` is killed. Blocks those signals in the calling process for good.
Result<int> Supervise(const SupervisorOptions& options, const Masker& masker);

/// Whether the third (or a later) restart in a row has reached no new step. Pure; for messages.
class CrashLoopWatch {
 public:
  static constexpr std::int64_t kRestarts = 3;

  /// An attempt has ended that started steps up to `highest_step` and lived for `lived_ns`. A
  /// program that records no steps gets on when it lives for ten minutes. Returns how many restarts
  /// in a row have now reached nothing new.
  std::int64_t AttemptEnded(std::optional<std::int64_t> highest_step, std::int64_t lived_ns);
  std::optional<std::int64_t> highest_step() const { return highest_step_; }

 private:
  bool first_ = true;
  std::int64_t in_vain_ = 0;
  std::optional<std::int64_t> highest_step_;
};

}  // namespace headway::cli
