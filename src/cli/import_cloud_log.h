#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace headway::cli {

/// Whether `path` names a log in Google Cloud Logging, "cloud-logging://PROJECT/LOG", and no file.
bool IsCloudLog(std::string_view path);

/// Reads the entries of `job` in that log, as far back as 30 days, and gives each page, a JSON
/// array, to `take`. Gives up after ten minutes. InvalidArgument: no project or no log in `path`,
/// or no job. Errors of monitor::ReadLogEntries.
Status ReadCloudLog(const std::string& path, const std::string& job,
                    const std::function<Status(std::string_view page)>& take);

}  // namespace headway::cli
