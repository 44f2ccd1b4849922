#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/files.h"
#include "base/status.h"

namespace headway::cli {

/// StderrRelay: passes on what children write to standard error, and remembers the end of it.
///
/// A small process of its own copies from a pipe to our standard error. It outlives us: a child
/// whose supervisor was killed can go on writing. It waits for nobody but the reader of standard
/// error, as the child itself would.
class StderrRelay {
 public:
  /// How much is remembered: twice what is kept, so that masking sees what came before.
  static constexpr std::size_t kRingBytes = std::size_t{128} << 10;

  /// Forks. Call it while this process has one thread.
  static Result<StderrRelay> Start();
  StderrRelay(StderrRelay&& other) noexcept;
  StderrRelay& operator=(StderrRelay&&) = delete;
  ~StderrRelay();

  /// Children get it as their descriptor 2.
  int write_end() const { return pipe_.get(); }
  pid_t pid() const { return pid_; }

  /// Bytes passed on so far.
  std::uint64_t Position() const;
  /// Waits until all that was written has been passed on, at most `patience_ns`.
  void Drain(std::int64_t patience_ns) const;
  /// What was written since `position`, as far as it is remembered; `*cut` when some is not.
  std::string Since(std::uint64_t position, bool* cut) const;

 private:
  struct Shared;
  StderrRelay(UniqueFd pipe, Shared* shared, pid_t pid)
      : pipe_(std::move(pipe)), shared_(shared), pid_(pid) {}
  [[noreturn]] static void RunRelay(int pipe, Shared* shared);

  UniqueFd pipe_;
  Shared* shared_ = nullptr;
  pid_t pid_ = -1;
};

}  // namespace headway::cli
