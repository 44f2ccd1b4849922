#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "monitor/sink.h"

namespace headway::monitor {

/// How a destination does.
struct DestinationState {
  std::string destination;
  DestinationKind kind = DestinationKind::kUnknown;
  std::int64_t samples = 0;          ///< handed to it
  std::int64_t missed = 0;           ///< that it had no time for
  std::int64_t rejected_points = 0;  ///< data points that it will never take; it took the others
  std::optional<WallNs> delivered;   ///< when nothing was left to send for the last time
  std::string error;                 ///< of the last try; empty: it went well
  Code code = Code::kOk;             ///< that error's
  std::optional<WallNs> failed;      ///< when that error first came in a row of failures
  std::int64_t failures = 0;         ///< in a row
};

/// Courier: a sink with a thread of its own, so that none waits for another.
class Courier {
 public:
  /// `patience_ns`: how long one round of sending may take.
  Courier(std::unique_ptr<Sink> sink, std::int64_t patience_ns);
  /// Waits for the thread: end it first.
  ~Courier();
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  /// Hands over a sample; never waits. Beyond a hundred that wait the oldest is left out.
  void Post(std::shared_ptr<const Sample> sample);
  /// Hands over the `last` sample, if there is one. The thread ends once all is sent or `until` has
  /// come. Both at once, so that it knows how much time there is when it sends that sample. Called
  /// again, there is less time.
  void Close(MonoNs until, std::shared_ptr<const Sample> last = nullptr);
  /// Whether the thread ended before `until`; waits for it.
  bool WaitForEnd(MonoNs until);

  DestinationState state() const;

 private:
  static constexpr std::size_t kMostWaiting = 100;
  static constexpr std::int64_t kAgainNs = 2 * kNanosPerSecond;

  void Work();
  void Note(const Status& status);

  std::unique_ptr<Sink> sink_;
  std::int64_t patience_ns_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<const Sample>> waiting_;
  std::optional<MonoNs> until_;  // closed
  bool ended_ = false;
  DestinationState state_;
  Code failure_ = Code::kOk;  // the last round's
  std::thread thread_;
};

}  // namespace headway::monitor
