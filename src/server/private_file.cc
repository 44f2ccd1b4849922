#include "server/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/uid.h"

namespace headway::server {

Status CreatePrivateFile(const std::string& path, std::string_view content) {
  const std::string aside = path + "." + ToHex(RandomUid<BasicUid<struct AsideTag>>());
  UniqueFd fd = OpenFile(aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!fd.ok()) return ErrnoStatus(errno, "create", aside);
  Status status = WriteAll(fd.get(), content, aside);
  if (status.ok() && ::fsync(fd.get()) != 0) status = ErrnoStatus(errno, "write", aside);
  // Not over one that another start has made meanwhile.
  if (status.ok() && ::link(aside.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus(errno, "create", path);
  }
  ::unlink(aside.c_str());
  return status;
}

Status CheckPrivate(int fd, const std::string& path, std::string_view holds) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return ErrnoStatus(errno, "examine", path);
  if ((info.st_mode & 077) == 0 && info.st_uid == ::geteuid()) return OkStatus();
  return {Code::kPermissionDenied, path + " " + std::string(holds) +
                                       ", and others may read it: chmod 600, or remove it, and a "
                                       "new one is made"};
}

}  // namespace headway::server
