#include "monitor/cloud_logging_sink.h"

#include <utility>

#include "monitor/google_delivery.h"

namespace headway::monitor {

CloudLoggingSink::CloudLoggingSink(const CloudLoggingOptions& options, std::string url,
                                   Outbox outbox, net::GoogleAuth* auth, const Clock* clock)
    : options_(options),
      url_(std::move(url)),
      outbox_(std::move(outbox)),
      auth_(auth),
      clock_(clock),
      writer_(options.log) {}

Result<std::unique_ptr<CloudLoggingSink>> CloudLoggingSink::Open(const CloudLoggingOptions& options,
                                                                 net::GoogleAuth* auth,
                                                                 const Clock* clock) {
  if (options.log.project_id.empty() || options.log.log_name.empty()) {
    return Status(Code::kInvalidArgument, "Cloud Logging needs a project and the name of a log");
  }
  const Result<std::string> base =
      GoogleEndpoint("HEADWAY_LOGGING_ENDPOINT", "https://logging.googleapis.com");
  HEADWAY_RETURN_IF_ERROR(base.status());
  Result<Outbox> outbox = Outbox::Open(options.outbox_directory, clock, options.limits);
  HEADWAY_RETURN_IF_ERROR(outbox.status());
  return std::unique_ptr<CloudLoggingSink>(
      new CloudLoggingSink(options, *base + "/v2/entries:write", *std::move(outbox), auth, clock));
}

std::string CloudLoggingSink::Destination() const {
  return "the log " + options_.log.log_name + " in Cloud Logging of project " +
         options_.log.project_id;
}

Status CloudLoggingSink::Put(const Sample& sample) {
  if (sample.log == nullptr) return OkStatus();
  // Made anew: what was sent already is known by its contents, and kept once.
  if (std::exchange(edition_, sample.log_edition) != sample.log_edition) taken_ = 0;
  return PutEntries(*sample.log);
}

Status CloudLoggingSink::PutEntries(const compat::EntryLog& log) {
  while (outbox_.bytes() < options_.limits.bytes / 2 &&
         outbox_.size() < options_.limits.bodies / 2) {
    if (unkept_.empty()) unkept_ = writer_.Write(log, &taken_);
    if (unkept_.empty()) break;
    HEADWAY_RETURN_IF_ERROR(outbox_.Add(unkept_));
    unkept_.clear();
  }
  return OkStatus();
}

Status CloudLoggingSink::Deliver(MonoNs deadline) {
  return outbox_.Deliver(
      [this](const OutboxBody& body, MonoNs until) {
        return PostToGoogle(auth_, clock_, url_, "cannot write to Cloud Logging", body.text, until);
      },
      deadline);
}

Status CloudLoggingSink::Finish(MonoNs deadline) {
  outbox_.Hurry();
  return Deliver(deadline);
}

}  // namespace headway::monitor
