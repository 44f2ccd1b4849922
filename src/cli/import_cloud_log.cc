#include "cli/import_cloud_log.h"

#include "base/clock.h"
#include "monitor/cloud_logging_reader.h"
#include "net/google_auth.h"
#include "net/http.h"

namespace headway::cli {
namespace {

constexpr std::string_view kScheme = "cloud-logging://";
constexpr std::int64_t kDayNs = std::int64_t{86'400} * kNanosPerSecond;

}  // namespace

bool IsCloudLog(std::string_view path) { return path.starts_with(kScheme); }

Status ReadCloudLog(const std::string& path, const std::string& job,
                    const std::function<Status(std::string_view page)>& take) {
  const std::string name = path.substr(kScheme.size());
  const std::size_t slash = name.find('/');
  gcp::JobLog log;
  log.project_id = name.substr(0, slash);
  if (slash != std::string::npos) log.log_name = name.substr(slash + 1);
  log.job_name = job;
  if (log.project_id.empty() || log.log_name.empty()) {
    return {Code::kInvalidArgument,
            "\"" + path + "\" names no log: it should be cloud-logging://PROJECT/LOG"};
  }
  if (job.empty()) {
    return {Code::kInvalidArgument, "say whose entries of " + path + " to read: --run JOB"};
  }
  const Clock* const clock = &SystemClock::Get();
  const auto http = net::MakeHttpClient(clock, {.response_bytes_limit = std::size_t{256} << 20});
  net::GoogleAuth auth(http.get(), clock, net::GoogleAuthFromEnvironment());
  gcp::EntryRange range;
  range.end = clock->Wall();
  range.retention_ns = 30 * kDayNs;
  return monitor::ReadLogEntries(&auth, clock, log, range, take,
                                 clock->Mono() + 600 * kNanosPerSecond);
}

}  // namespace headway::cli
