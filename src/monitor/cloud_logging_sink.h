#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/clock.h"
#include "formats/gcp/log_entries.h"
#include "ledger/compat/entry.h"
#include "monitor/outbox.h"
#include "monitor/sink.h"
#include "net/google_auth.h"

namespace headway::monitor {

struct CloudLoggingOptions {
  gcp::JobLog log;
  std::string outbox_directory;  ///< for what waits; of this sink alone
  OutboxLimits limits{.bytes = std::uint64_t{64} << 20,
                      .age_ns = std::int64_t{7} * 86'400 * kNanosPerSecond};
};

/// Sends the entries of a job to Google Cloud Logging, as ml-goodput-measurement writes them, so
/// that its readers go on. Of a sample it takes what is new in its log. An entry that is sent
/// twice, also by a later process, is kept once.
class CloudLoggingSink final : public Sink {
 public:
  /// Makes the outbox. `auth` and `clock` must outlive the sink. No network. InvalidArgument: no
  /// project, no name of a log, or HEADWAY_LOGGING_ENDPOINT is no URL. Other errors: Outbox::Open.
  static Result<std::unique_ptr<CloudLoggingSink>> Open(const CloudLoggingOptions& options,
                                                        net::GoogleAuth* auth, const Clock* clock);

  std::string Destination() const override;
  DestinationKind Kind() const override { return DestinationKind::kCloudLogging; }
  Status Put(const Sample& sample) override;

  /// Takes entries of `log` that it has not taken yet, as many as half of the outbox has room for;
  /// after a Deliver there is room for more. `log` only ever grows. Errors of the disk; what could
  /// not be kept is kept by the next call.
  Status PutEntries(const compat::EntryLog& log);
  /// How many entries of the log were taken.
  std::size_t taken() const { return taken_; }

  Status Deliver(MonoNs deadline) override;
  Status Finish(MonoNs deadline) override;

  const OutboxLosses& losses() const { return outbox_.losses(); }
  Outbox* outbox() { return &outbox_; }

 private:
  CloudLoggingSink(const CloudLoggingOptions& options, std::string url, Outbox outbox,
                   net::GoogleAuth* auth, const Clock* clock);

  const CloudLoggingOptions options_;
  const std::string url_;
  Outbox outbox_;
  net::GoogleAuth* auth_;
  const Clock* clock_;
  gcp::EntryWriter writer_;
  std::size_t taken_ = 0;
  std::int64_t edition_ = 0;
  std::string unkept_;  // a body that the disk had no room for
};

}  // namespace headway::monitor
