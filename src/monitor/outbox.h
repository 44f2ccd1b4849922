#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/files.h"
#include "base/status.h"
#include "monitor/retry_pause.h"

namespace headway::monitor {

struct OutboxLimits {
  std::uint64_t bytes = std::uint64_t{16} << 20;  ///< of all bodies
  std::int64_t age_ns = std::int64_t{24} * 3600 * kNanosPerSecond;
  std::size_t bodies = 10'000;
};

/// What an outbox had to leave out since it was opened.
struct OutboxLosses {
  std::uint64_t full = 0;     ///< the oldest, for want of room
  std::uint64_t old = 0;      ///< waited for too long
  std::uint64_t damaged = 0;  ///< files that were torn or altered
  std::uint64_t refused = 0;  ///< the service will never take them

  std::uint64_t total() const { return full + old + damaged + refused; }
};

/// A body that is to be sent.
struct OutboxBody {
  std::string_view text;
  bool maybe_sent = false;  ///< an earlier try, of this process or another, may have succeeded
};

/// What became of a body.
struct Delivery {
  enum class Fate : std::uint8_t {
    kArrived,
    kRefused,  ///< for good; the body is dropped
    kLater,    ///< another try can help; the body is kept
  };
  Fate fate = Fate::kArrived;
  Status status = {};                               ///< why it has not arrived
  std::optional<std::int64_t> retry_after_ns = {};  ///< as the service asks
};

/// Bodies of requests on disk, in the order in which they came, until a service has taken them: a
/// file each (0600) in a directory of its own (0700). A process that goes on with the directory
/// finds what the one before has left. The oldest give way to newer ones, and are counted.
///
/// One process at a time, one thread.
class Outbox {
 public:
  /// Opens the outbox in `directory`, making it. FailedPrecondition: another process has it.
  /// PermissionDenied: the directory is open to others. Further errors of the disk.
  static Result<Outbox> Open(const std::string& directory, const Clock* clock,
                             const OutboxLimits& limits = {});

  /// Keeps `body` behind all others, in a directory that is made again if someone has removed it;
  /// what waited in it counts as damaged. ResourceExhausted: it alone is larger than the outbox, or
  /// the disk is full. A body that was kept survives the end of the process, not a power loss.
  /// FailedPrecondition: the directory was removed, and another process has the one that took its
  /// place.
  Status Add(std::string_view body);

  /// Gives each body to `send`, the oldest first, until there is none, one has to wait, or
  /// `deadline` comes. After a Fate::kLater it waits (RetryPause) and goes on, if there is time for
  /// that; else a later call does. OK: nothing is left. An error is the first reason why something
  /// has not arrived: the service's refusal, or why it waits.
  Status Deliver(const std::function<Delivery(const OutboxBody& body, MonoNs deadline)>& send,
                 MonoNs deadline);

  /// The next Deliver is the last one: it tries once more at once, unless the service has asked to
  /// wait.
  void Hurry() { pause_.Hurry(); }

  std::size_t size() const { return files_.size(); }
  std::uint64_t bytes() const { return bytes_; }
  const OutboxLosses& losses() const { return losses_; }

  /// What waits in place of a sleep; false: Deliver is to return.
  void set_wait(std::function<bool(std::int64_t ns)> wait) { wait_ = std::move(wait); }

 private:
  struct File {
    std::uint64_t number = 0;
    WallNs time;
    std::uint64_t bytes = 0;
    bool maybe_sent = false;
  };

  Outbox(std::string directory, const Clock* clock, const OutboxLimits& limits, UniqueFd lock);

  static Result<UniqueFd> Lock(const std::string& directory);
  Status LockAgainIfRemoved();
  Status Scan();
  std::string PathOf(const File& file) const;
  void DropFront();
  void DropOld();
  void MakeRoom(std::uint64_t bytes);
  Result<std::string> Read(const File& file) const;
  Status Write(const File& file, std::string_view body) const;

  std::string directory_;
  const Clock* clock_;
  OutboxLimits limits_;
  UniqueFd lock_;
  std::deque<File> files_;  // the oldest first
  std::uint64_t bytes_ = 0;
  std::uint64_t next_number_ = 1;
  OutboxLosses losses_;
  RetryPause pause_;
  Status waits_for_;  // why the oldest has not arrived yet
  std::function<bool(std::int64_t)> wait_;
};

}  // namespace headway::monitor
