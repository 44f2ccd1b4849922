#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "monitor/sample.h"

namespace headway::monitor {

/// What a destination is, for those who have to say what to do about its errors.
enum class DestinationKind : std::uint8_t {
  kUnknown,
  kFile,  ///< in a directory of this machine
  kGoogleStorage,
  kS3,
  kPrometheus,  ///< a server that waits to be asked
  kOtlp,
  kCloudMonitoring,
  kCloudLogging,
};

/// Its name in the state of a monitor: "cloud_monitoring".
std::string_view DestinationKindName(DestinationKind kind);

/// Where samples go. One thread.
class Sink {
 public:
  virtual ~Sink() = default;

  /// For people: "TensorBoard event files in /logs/goodput".
  virtual std::string Destination() const = 0;
  virtual DestinationKind Kind() const = 0;
  /// Data points that it has rejected for good while it took the others of their request.
  virtual std::int64_t RejectedPoints() const { return 0; }

  /// Takes a sample: writes it where that is local, else keeps it for Deliver. No network.
  virtual Status Put(const Sample& sample) = 0;

  /// Sends what is kept, the oldest first, and returns by `deadline`. An error says why something
  /// has not arrived; it is kept where another try can help, as far as there is room. Sending
  /// something twice does no harm.
  virtual Status Deliver(MonoNs /*deadline*/) { return OkStatus(); }

  /// From another thread: what is under way in the sink's own should end soon, for Finish follows.
  /// Until then nothing more is sent.
  virtual void Hurry() {}

  /// The last call: sends what else would have waited for a better time, too.
  virtual Status Finish(MonoNs deadline) { return Deliver(deadline); }
};

}  // namespace headway::monitor
