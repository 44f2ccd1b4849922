#pragma once

#include <functional>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "formats/gcp/log_entries.h"
#include "net/google_auth.h"

namespace headway::monitor {

/// Reads the entries of a job from Google Cloud Logging with the filter of ml-goodput-measurement,
/// the oldest first, and gives each page to `take` as a JSON array of entries, which
/// cloud_logging::Translate reads. An error of `take` ends it and is returned.
///
/// Waits and tries again after 408, 429, 5xx and without a network, as long as `deadline` allows.
/// Unavailable: it did not get to the end by then; what was taken is right. PermissionDenied,
/// InvalidArgument, FailedPrecondition: the service's refusal, in its own words. Unauthenticated:
/// no credentials. InvalidArgument also: HEADWAY_LOGGING_ENDPOINT is no URL. One thread.
Status ReadLogEntries(net::GoogleAuth* auth, const Clock* clock, const gcp::JobLog& log,
                      const gcp::EntryRange& range,
                      const std::function<Status(std::string_view page)>& take, MonoNs deadline);

}  // namespace headway::monitor
