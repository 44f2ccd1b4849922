#include "cli/daemon.h"

#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "recorder/environment.h"

namespace headway::cli {
namespace {

constexpr char kDaemon[] = "headwayd";

// Beside this program, so that both are of one build.
std::string DaemonPath() {
  std::string path(4096, '\0');
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0) return kDaemon;
  path.resize(static_cast<std::size_t>(size));
  return path.substr(0, path.rfind('/') + 1) + kDaemon;
}

}  // namespace

Result<std::string> ServerDirectory(const std::string& dir) {
  std::string data = dir;
  if (data.empty()) data = recorder::DetectEnvironment(recorder::ProcessEnvironment()).dir;
  if (data.empty()) {
    return Status(Code::kFailedPrecondition,
                  "no data directory: give --dir or set HEADWAY_DIR, for there is no HOME");
  }
  return JoinPath(data, "server");
}

Status BecomeDaemon(const std::vector<std::string>& arguments) {
  const std::string daemon = DaemonPath();
  std::vector<const char*> words = {kDaemon};
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  words.push_back(nullptr);
  ::execv(daemon.c_str(), const_cast<char* const*>(words.data()));
  if (errno == ENOENT) {
    return {Code::kUnimplemented,
            daemon + " is not there: this headway was installed without its server"};
  }
  return ErrnoStatus(errno, "start", daemon);
}

}  // namespace headway::cli
