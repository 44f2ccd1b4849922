#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "store/directory/blob_store.h"
#include "store/directory/blob_tree.h"

namespace headway::store {
namespace {

Result<BlobDirectory> MakeDirectoryIn(const BlobDirectory& parent, const std::string& name) {
  if (::mkdirat(parent.fd.get(), name.c_str(), 0700) != 0) {
    return ErrnoStatus(errno, "make directory", parent.Of(name));
  }
  return OpenDirectoryIn(parent, name);
}

Status CopyBytes(const OpenBlob& blob, const BlobDirectory& to, const std::string& file,
                 BlobProgressOf* progress) {
  const std::string path = to.Of(file);
  const UniqueFd fd = OpenFileAt(to.fd.get(), file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!fd.ok()) return ErrnoStatus(errno, "make", path);
  HEADWAY_RETURN_IF_ERROR(ReadBlobFile(
      blob, progress, [&](std::string_view piece) { return WriteAll(fd.get(), piece, path); }));
  HEADWAY_RETURN_IF_ERROR(WriteAll(fd.get(), EncodeBlobTrailer(blob.trailer), path));
  if (::fdatasync(fd.get()) != 0) return ErrnoStatus(errno, "write", path);
  return OkStatus();
}

// A link to the open file `fd`, whatever its name leads to by now. False where there can be none.
bool Link(int fd, const BlobDirectory& to, const std::string& file) {
  const std::string open = "/proc/self/fd/" + std::to_string(fd);
  return ::linkat(AT_FDCWD, open.c_str(), to.fd.get(), file.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

class BackUp {
 public:
  BackUp(const BlobDirectory& from, const BlobProgress& progress, std::uint64_t total)
      : from_(from), progress_(progress, total) {}

  Result<BlobCopy> Into(const BlobDirectory& to) {
    const Status status =
        ForEachRun(from_,
                   [&](const RunUid& uid, const BlobDirectory& run,
                       const std::vector<BlobEntry>& entries) -> Status {
                     const Result<BlobDirectory> made = MakeDirectoryIn(to, ToHex(uid));
                     if (!made.ok()) return made.status();
                     for (const BlobEntry& entry : entries) {
                       const Result<OpenBlob> blob = OpenBlobFile(run, uid, entry.file);
                       if (!blob.ok() && blob.status().code() == Code::kNotFound)
                         continue;  // just removed
                       if (!blob.ok()) return blob.status();
                       HEADWAY_RETURN_IF_ERROR(CopyOne(*blob, *made, entry.file));
                     }
                     return Sync(*made);
                   });
    HEADWAY_RETURN_IF_ERROR(status);
    HEADWAY_RETURN_IF_ERROR(Sync(to));
    return copy_;
  }

 private:
  Status CopyOne(const OpenBlob& blob, const BlobDirectory& to, const std::string& file) {
    if (Link(blob.fd.get(), to, file)) {
      ++copy_.linked;
      HEADWAY_RETURN_IF_ERROR(
          ReadBlobFile(blob, &progress_, [](std::string_view) { return OkStatus(); }));
    } else {
      HEADWAY_RETURN_IF_ERROR(CopyBytes(blob, to, file, &progress_));
    }
    ++copy_.blobs;
    copy_.bytes += blob.trailer.info.bytes;
    return OkStatus();
  }

  const BlobDirectory& from_;
  BlobProgressOf progress_;
  BlobCopy copy_;
};

// Of what this program has made: directories of runs with files in them.
void Remove(const BlobDirectory& parent, const std::string& name) {
  const Result<BlobDirectory> directory = OpenDirectoryIn(parent, name);
  if (!directory.ok()) return;
  const auto names = NamesIn(*directory);
  if (!names.ok()) return;
  for (const std::string& uid : *names) {
    const Result<BlobDirectory> run = OpenDirectoryIn(*directory, uid);
    const auto entries = run.ok() ? BlobsIn(*run) : Result<std::vector<BlobEntry>>(run.status());
    if (!entries.ok()) continue;
    for (const BlobEntry& entry : *entries) ::unlinkat(run->fd.get(), entry.file.c_str(), 0);
    ::unlinkat(directory->fd.get(), uid.c_str(), AT_REMOVEDIR);
  }
  ::unlinkat(parent.fd.get(), name.c_str(), AT_REMOVEDIR);
}

}  // namespace

Result<BlobCheck> CheckDirectoryBlobs(const std::string& dir, const BlobProgress& progress) {
  const Result<BlobDirectory> blobs = OpenBlobs(dir);
  if (!blobs.ok() && blobs.status().code() == Code::kNotFound) return BlobCheck();
  if (!blobs.ok()) return blobs.status();
  return CheckBlobs(*blobs, progress);
}

Result<BlobCopy> BackUpDirectoryBlobs(const std::string& dir, const std::string& target,
                                      const BlobProgress& progress) {
  const std::size_t slash = target.rfind('/');
  const std::string name = slash == std::string::npos ? target : target.substr(slash + 1);
  if (name.empty() || name == "." || name == "..") {
    return Status(Code::kInvalidArgument, "\"" + target + "\" names no directory for a copy");
  }
  BlobDirectory parent = {.path = slash == std::string::npos ? "." : target.substr(0, slash + 1),
                          .fd = {}};
  parent.fd = OpenFile(parent.path, O_RDONLY | O_DIRECTORY);
  if (!parent.fd.ok()) return ErrnoStatus(errno, "open directory", parent.path);
  const auto exists = [&target] {
    return Status(Code::kAlreadyExists, target + " is there already; name another file");
  };
  struct stat info;
  if (::fstatat(parent.fd.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) return exists();

  const Result<BlobDirectory> blobs = OpenBlobs(dir);
  if (!blobs.ok() && blobs.status().code() == Code::kNotFound) return BlobCopy();
  if (!blobs.ok()) return blobs.status();
  const Result<std::uint64_t> total = BytesIn(*blobs);
  if (!total.ok()) return total.status();
  if (*total == 0) return BlobCopy();

  const std::string part = name + "." + ToHex(RandomUid<BasicUid<struct PartTag>>()) + ".part";
  const Result<BlobDirectory> to = MakeDirectoryIn(parent, part);
  if (!to.ok()) return to.status();
  Result<BlobCopy> copied = BackUp(*blobs, progress, *total).Into(*to);
  // An empty directory that came into being meanwhile is replaced, and no harm is done.
  if (copied.ok() &&
      ::renameat(parent.fd.get(), part.c_str(), parent.fd.get(), name.c_str()) != 0) {
    copied = errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR
                 ? exists()
                 : ErrnoStatus(errno, "make", target);
  }
  if (!copied.ok()) {
    Remove(parent, part);
    if (copied.status().code() == Code::kDataLoss) {
      return Status(Code::kDataLoss, copied.status().message() + "; nothing is kept of the copy");
    }
    return copied.status();
  }
  HEADWAY_RETURN_IF_ERROR(Sync(parent));
  if (progress) progress(1);
  return copied;
}

}  // namespace headway::store
