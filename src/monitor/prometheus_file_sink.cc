#include "monitor/prometheus_file_sink.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/uid.h"
#include "formats/prometheus/writer.h"

namespace headway::monitor {
namespace {

constexpr std::string_view kSuffix = ".prom";

// Not synced to the disk: after a power loss the next sample brings the file back.
Status Replace(int fd, std::string_view text, const std::string& temporary,
               const std::string& path) {
  HEADWAY_RETURN_IF_ERROR(WriteAll(fd, text, path));
  if (::fchmod(fd, 0644) != 0) return ErrnoStatus(errno, "open to others", path);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return ErrnoStatus(errno, "replace", path);
  return OkStatus();
}

}  // namespace

Result<PrometheusFileSink> PrometheusFileSink::Open(std::string path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view name = std::string_view(path).substr(slash == path.npos ? 0 : slash + 1);
  if (!name.ends_with(kSuffix) || name == kSuffix) {
    return Status(Code::kInvalidArgument,
                  "the file for node_exporter is called \"" + path +
                      "\", but its textfile collector reads only files that end in .prom");
  }
  const std::string directory = slash == path.npos ? "." : path.substr(0, slash + 1);
  struct stat info;
  if (::stat(directory.c_str(), &info) != 0) {
    Status status = ErrnoStatus(errno, "open", directory);
    return Status(status.code(), status.message() +
                                     "; name a file in the directory that node_exporter is given "
                                     "as --collector.textfile.directory");
  }
  if (!S_ISDIR(info.st_mode)) return ErrnoStatus(ENOTDIR, "open", directory);
  return PrometheusFileSink(std::move(path));
}

Status PrometheusFileSink::Put(const Sample& sample) {
  latest_.Take(sample);
  const metrics::RunMetrics run = latest_.Get();
  const std::string temporary =
      path_ + "." + uid_internal::ToHex(uid_internal::Random()).substr(0, 16) + ".tmp";
  const UniqueFd fd = OpenFile(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!fd.ok()) return ErrnoStatus(errno, "create", temporary);
  Status status = Replace(fd.get(), prometheus::WriteText({&run, 1}), temporary, path_);
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

}  // namespace headway::monitor
