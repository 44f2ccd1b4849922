#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cli/doctor.h"
#include "cli/place.h"

/// Checks of a server, as a training job or a person here would meet it.

namespace headway::cli {

/// What was found out about it.
struct ServerEvidence {
  std::string url;
  bool token = false;   ///< there is one to show it,
  bool link = false;    ///< of a share link
  std::string project;  ///< that is meant here
  std::string version;  ///< of this headway

  Status answer;  ///< of its being asked; the rest is only there if it is OK
  std::int64_t took_ns = 0;
  std::int64_t time = 0;  ///< wall time here, in the middle of that
  std::string server_version;
  std::int64_t server_time = 0;
  std::string name, role;  ///< for whom it takes us
  std::vector<std::string> permissions;
  std::string only_project, only_run;
  std::int64_t expires = 0;                      ///< wall time; 0: never
  std::int64_t free_bytes = 0, total_bytes = 0;  ///< of its disk; both 0: not known
};

/// Asks the server of `place`; changes nothing there.
ServerEvidence GatherServerEvidence(const Place& place, std::string_view version);

/// What that means. Pure.
std::vector<Check> JudgeServer(const ServerEvidence& evidence);

}  // namespace headway::cli
