#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "base/status.h"

/// Helpers of a supervisor: small processes for what may hang.

namespace headway::cli {

/// Makes this process, just forked, one that stays out of the job's way: in a session of its own,
/// with /dev/null as standard input and output, and deaf to signals that are meant for the job.
/// Closes all descriptors above `keep`.
void StepAside(const char* name, int keep);

/// Helper: a process that does a round of some work now and then.
///
/// It is a process, not a thread, because a call that waits for a dead disk or file server can't be
/// ended, and would keep us from exiting. It outlives a supervisor that was killed for as long as
/// there is work, and as long as nothing is amiss; else for a minute.
class Helper {
 public:
  struct Work {
    const char* name = "";  ///< of the process
    std::int64_t every_ns = kNanosPerSecond;
    bool until_done = false;  ///< ends once a round says so, and with the supervisor at the latest
    /// A round. True: as things are, nothing is left to do.
    std::function<Result<bool>()> round;
  };
  static constexpr std::int64_t kLongestPauseNs = 8 * kNanosPerSecond;  ///< after errors in a row
  static constexpr std::int64_t kAfterlifeNs = 60 * kNanosPerSecond;

  /// Forks. Call it while this process has one thread.
  static Result<Helper> Start(const Work& work);
  Helper(Helper&&) noexcept = default;
  Helper& operator=(Helper&&) noexcept = default;

  /// What the rounds since the last call came to: nothing when none has ended; "" when all is well.
  std::optional<std::string> Hear();
  /// It has ended.
  bool ended() const { return !news_.ok(); }
  /// The supervisor is done: one more round is asked for, at once.
  void Dismiss() { life_.Reset(); }
  /// Waits for it to end, not beyond `until`; what Hear would say meanwhile is put into `*last`.
  bool WaitForEnd(MonoNs until, std::string* last);

 private:
  Helper(UniqueFd life, UniqueFd news) : life_(std::move(life)), news_(std::move(news)) {}
  [[noreturn]] static void Serve(const Work& work, int life, int news);

  UniqueFd life_;  // the helper sees it close
  UniqueFd news_;
  std::string heard_;  // the beginning of a line
};

/// TroubleWatch: what to say about a helper, and when: at once, again while it stays, and when it
/// is over. Pure.
class TroubleWatch {
 public:
  static constexpr std::int64_t kAgainNs = 600 * kNanosPerSecond;

  /// `silence_ns`: after so much time without news the helper hangs.
  TroubleWatch(std::string hangs, std::int64_t silence_ns, MonoNs now)
      : hangs_(std::move(hangs)), silence_ns_(silence_ns), heard_at_(now) {}

  /// `news` as Helper::Hear returns it. Returns what to say, or nothing.
  std::string Look(const std::optional<std::string>& news, MonoNs now);
  /// What is amiss now, or nothing.
  const std::string& trouble() const { return trouble_; }

 private:
  std::string hangs_;
  std::int64_t silence_ns_;
  MonoNs heard_at_;
  std::string trouble_;
  std::optional<MonoNs> told_at_;
};

}  // namespace headway::cli
