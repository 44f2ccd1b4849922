#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "formats/gcp/time_series.h"
#include "monitor/outbox.h"
#include "monitor/sink.h"
#include "net/google_auth.h"

namespace headway::monitor {

struct CloudMonitoringOptions {
  std::string project_id;
  gcp::Workload workload;
  std::string outbox_directory;  ///< for what waits; of this sink alone
  /// Which numbers of a sample: 0: those of the whole run; else those of the latest stretch of so
  /// many seconds. Absent: all.
  std::optional<std::int64_t> only;
  OutboxLimits limits;  ///< Cloud Monitoring takes no point that is older than a day
};

/// Fills in what is empty: project, location (the zone), accelerator type.
void Complete(const net::GoogleMachine& machine, CloudMonitoringOptions* options);

/// For people: "Cloud Monitoring of project p, workload job in us-central1-a".
std::string DestinationOf(const CloudMonitoringOptions& options);

/// Sends samples to Google Cloud Monitoring: see formats/gcp/time_series.h for what they become.
/// What can't be sent now waits on disk, with its times.
///
/// The service takes a point of a series every five seconds. A value that comes earlier takes the
/// place of the one that waits and is sent when its time has come; that of the last sample gets a
/// time of up to five seconds later than it was taken. What another process sends of the same
/// series counts, too, so there must be one sink at a time: see PartsSink.
class CloudMonitoringSink final : public Sink {
 public:
  /// Makes the outbox. `auth` and `clock` must outlive the sink. No network. InvalidArgument: no
  /// project, no location, or HEADWAY_MONITORING_ENDPOINT is no URL. Other errors: Outbox::Open.
  static Result<std::unique_ptr<CloudMonitoringSink>> Open(const CloudMonitoringOptions& options,
                                                           net::GoogleAuth* auth,
                                                           const Clock* clock);

  std::string Destination() const override;
  DestinationKind Kind() const override { return DestinationKind::kCloudMonitoring; }
  Status Put(const Sample& sample) override;
  /// Errors: why something waits (Unavailable, Unauthenticated, PermissionDenied for a 401), or was
  /// refused for good, which doesn't keep later ones from being sent.
  Status Deliver(MonoNs deadline) override;
  Status Finish(MonoNs deadline) override;

  const OutboxLosses& losses() const { return outbox_.losses(); }
  Outbox* outbox() { return &outbox_; }

 private:
  CloudMonitoringSink(const CloudMonitoringOptions& options, std::string url, Outbox outbox,
                      net::GoogleAuth* auth, const Clock* clock);

  static WallNs ReadLast(const std::string& directory, WallNs now);
  static void NoteLast(const std::string& directory, WallNs last);

  /// Keeps the values that were held back and whose time has come by `now`.
  Status Release(WallNs now);
  Status Keep(const std::vector<gcp::Point>& points);
  WallNs& LastOf(const std::string& key) { return last_.try_emplace(key, before_).first->second; }

  const CloudMonitoringOptions options_;
  const std::string url_;
  Outbox outbox_;
  net::GoogleAuth* auth_;
  const Clock* clock_;
  WallNs before_;                           // of the last point of an earlier process, whichever
  std::map<std::string, WallNs> last_;      // by key of series: time of its last point
  std::map<std::string, gcp::Point> held_;  // too early for a point of its own
};

}  // namespace headway::monitor
