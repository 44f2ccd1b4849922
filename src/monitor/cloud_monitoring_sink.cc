#include "monitor/cloud_monitoring_sink.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/files.h"
#include "base/percent.h"
#include "formats/gcp/accelerator.h"
#include "monitor/google_delivery.h"

namespace headway::monitor {
namespace {

constexpr const char* kLastFile = "last-point";
constexpr std::int64_t kSpacingNs = 5 * kNanosPerSecond;  // between points of a series

gcp::Values ValuesOf(const Sample& sample, std::optional<std::int64_t> only) {
  gcp::Values values;
  if (only.value_or(0) == 0) {
    if (sample.figures) values.figures = &*sample.figures;
    values.efficiency = sample.efficiency;
    values.ideal_step_s = sample.ideal_step_s;
    values.deviation_s = sample.deviation_s;
  }
  for (const WindowSample& window : sample.windows) {
    if (only.value_or(window.seconds) != window.seconds) continue;
    values.windows.push_back(
        {window.seconds, window.figures ? &*window.figures : nullptr, window.efficiency});
  }
  return values;
}

// Whether the service refuses points because it has them, or later ones.
bool IsThereAlready(const Delivery& delivery) {
  const std::string& words = delivery.status.message();
  return delivery.fate == Delivery::Fate::kRefused &&
         delivery.status.code() == Code::kInvalidArgument &&
         (words.find("must be written in order") != std::string::npos ||
          words.find("written more frequently") != std::string::npos);
}

}  // namespace

void Complete(const net::GoogleMachine& machine, CloudMonitoringOptions* options) {
  if (options->project_id.empty()) options->project_id = machine.project_id;
  gcp::Workload& workload = options->workload;
  if (workload.location.empty()) workload.location = machine.zone;
  if (workload.accelerator_type.empty() || workload.accelerator_type == "UNKNOWN") {
    workload.accelerator_type = gcp::AcceleratorOf(machine.machine_type);
  }
}

CloudMonitoringSink::CloudMonitoringSink(const CloudMonitoringOptions& options, std::string url,
                                         Outbox outbox, net::GoogleAuth* auth, const Clock* clock)
    : options_(options),
      url_(std::move(url)),
      outbox_(std::move(outbox)),
      auth_(auth),
      clock_(clock) {}

Result<std::unique_ptr<CloudMonitoringSink>> CloudMonitoringSink::Open(
    const CloudMonitoringOptions& options, net::GoogleAuth* auth, const Clock* clock) {
  if (options.project_id.empty() || options.workload.location.empty()) {
    return Status(Code::kInvalidArgument,
                  "Cloud Monitoring needs a project and a location; away from Google Cloud they "
                  "must be named");
  }
  const Result<std::string> base =
      GoogleEndpoint("HEADWAY_MONITORING_ENDPOINT", "https://monitoring.googleapis.com");
  HEADWAY_RETURN_IF_ERROR(base.status());
  Result<Outbox> outbox = Outbox::Open(options.outbox_directory, clock, options.limits);
  HEADWAY_RETURN_IF_ERROR(outbox.status());
  std::unique_ptr<CloudMonitoringSink> sink(new CloudMonitoringSink(
      options, *base + "/v3/projects/" + PercentEncode(options.project_id) + "/timeSeries",
      *std::move(outbox), auth, clock));
  sink->before_ = ReadLast(options.outbox_directory, clock->Wall());
  return sink;
}

std::string DestinationOf(const CloudMonitoringOptions& options) {
  return "Cloud Monitoring of project " + options.project_id + ", workload " +
         options.workload.workload_id + " in " + options.workload.location;
}

std::string CloudMonitoringSink::Destination() const { return DestinationOf(options_); }

// The next process, which may follow within seconds, is to keep the distance, too.
WallNs CloudMonitoringSink::ReadLast(const std::string& directory, WallNs now) {
  const UniqueFd file = OpenFile(JoinPath(directory, kLastFile), O_RDONLY | O_NOFOLLOW);
  std::array<char, 32> text{};
  const ssize_t size = file.ok() ? ::read(file.get(), text.data(), text.size()) : -1;
  WallNs last;
  if (size > 0) std::from_chars(text.data(), text.data() + size, last.ns);
  return last <= now + kSpacingNs ? last : WallNs{};
}

void CloudMonitoringSink::NoteLast(const std::string& directory, WallNs last) {
  const UniqueFd file =
      OpenFile(JoinPath(directory, kLastFile), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
  const std::string text = std::to_string(last.ns);
  if (file.ok()) (void)!::write(file.get(), text.data(), text.size());
}

Status CloudMonitoringSink::Put(const Sample& sample) {
  const WallNs time{sample.time_ns};
  std::vector<gcp::Point> points;
  for (gcp::Series& series : gcp::SeriesOf(options_.workload, ValuesOf(sample, options_.only))) {
    const std::string key = series.Key();
    WallNs& last = LastOf(key);
    if (time - last < kSpacingNs) {
      held_.insert_or_assign(key, gcp::Point{std::move(series), time});
      continue;
    }
    held_.erase(key);
    last = time;
    points.push_back({std::move(series), time});
  }
  return Keep(points);
}

Status CloudMonitoringSink::Release(WallNs now) {
  std::vector<gcp::Point> points;
  for (auto held = held_.begin(); held != held_.end();) {
    WallNs& last = LastOf(held->first);
    if (now - last < kSpacingNs) {
      ++held;
      continue;
    }
    last = std::max(held->second.time, last + kSpacingNs);
    points.push_back({std::move(held->second.series), last});
    held = held_.erase(held);
  }
  return Keep(points);
}

Status CloudMonitoringSink::Keep(const std::vector<gcp::Point>& points) {
  Status first;
  if (!points.empty()) {
    WallNs latest = points.front().time;
    for (const gcp::Point& point : points) latest = std::max(latest, point.time);
    NoteLast(options_.outbox_directory, latest);
  }
  for (const std::string& body : gcp::CreateBodies(options_.workload, points)) {
    Status status = outbox_.Add(body);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

Status CloudMonitoringSink::Deliver(MonoNs deadline) {
  const Status kept = Release(clock_->Wall());
  const Status sent = outbox_.Deliver(
      [this](const OutboxBody& body, MonoNs until) {
        Delivery delivery =
            PostToGoogle(auth_, clock_, url_, "cannot write to Cloud Monitoring", body.text, until);
        return body.maybe_sent && IsThereAlready(delivery) ? Delivery{} : delivery;
      },
      deadline);
  return kept.ok() ? sent : kept;
}

Status CloudMonitoringSink::Finish(MonoNs deadline) {
  const Status kept = Release(clock_->Wall() + kSpacingNs);
  outbox_.Hurry();
  const Status sent = Deliver(deadline);
  return kept.ok() ? sent : kept;
}

}  // namespace headway::monitor
