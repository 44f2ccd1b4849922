#include "cli/export_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/uid.h"

namespace headway::cli {

Result<ExportFile> ExportFile::Open(const std::string& path, Output* out) {
  ExportFile file;
  file.path_ = path;
  if (path.empty()) {
    file.out_ = out;
    return file;
  }
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    file.fd_ = OpenFile(path, O_WRONLY | O_NOCTTY);
    if (!file.fd_.ok()) return ErrnoStatus(errno, "open", path);
    return file;
  }
  std::string temporary =
      path + "." + uid_internal::ToHex(uid_internal::Random()).substr(0, 16) + ".tmp";
  file.fd_ = OpenFile(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
  if (!file.fd_.ok()) return ErrnoStatus(errno, "create", path);
  file.temporary_ = std::move(temporary);
  return file;
}

Result<ExportFile> ExportFile::Create(const std::string& path) {
  ExportFile file;
  file.path_ = path;
  file.fd_ = OpenFile(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
  if (!file.fd_.ok()) return ErrnoStatus(errno, "create", path);
  file.temporary_ = path;
  return file;
}

ExportFile::~ExportFile() {
  if (fd_.ok() && !temporary_.empty()) ::unlink(temporary_.c_str());
}

Status ExportFile::Write(std::string_view data) {
  if (out_ != nullptr) {
    *out_ << data;
    if (out_->closed()) return {Code::kCancelled, "nobody reads any more"};
    return OkStatus();
  }
  while (!data.empty()) {
    const ssize_t wrote = ::write(fd_.get(), data.data(), data.size());
    if (wrote < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, "write", path_);
    }
    data.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return OkStatus();
}

Status ExportFile::Commit() {
  if (out_ != nullptr) return OkStatus();
  if (temporary_.empty()) {
    fd_.Reset();
    return OkStatus();
  }
  if (temporary_ != path_ && ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return ErrnoStatus(errno, "replace", path_);
  }
  fd_.Reset();
  return OkStatus();
}

}  // namespace headway::cli
