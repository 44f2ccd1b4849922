#include "daemon/backup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/uid.h"
#include "store/sqlite/record_store.h"

namespace headway {
namespace {

Status AlreadyThere(const std::string& path) {
  return {Code::kAlreadyExists, path + " is there already; name another file"};
}

// Once the blobs are in their place.
Status Publish(const std::string& part, const std::string& target) {
  if (::link(part.c_str(), target.c_str()) != 0) {
    return errno == EEXIST ? AlreadyThere(target) : ErrnoStatus(errno, "make", target);
  }
  const std::size_t slash = target.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : target.substr(0, slash + 1);
  const UniqueFd directory = OpenFile(parent, O_RDONLY | O_DIRECTORY);
  if (directory.ok() && ::fsync(directory.get()) == 0) return OkStatus();
  return ErrnoStatus(errno, "write", target);
}

}  // namespace

std::string DatabaseIn(const std::string& dir) { return JoinPath(dir, "records.sqlite"); }

std::string BlobsBeside(const std::string& target) { return target + ".blobs"; }

Result<BackedUp> BackUpServer(const std::string& dir, const std::string& target,
                              const std::function<void(double)>& progress) {
  struct stat info;
  for (const std::string& path : {target, BlobsBeside(target)}) {
    if (::lstat(path.c_str(), &info) == 0) return AlreadyThere(path);
  }
  // Under a name of its own until the blobs, of which it may speak, are there.
  const std::string part = target + "." + ToHex(RandomUid<BasicUid<struct PartTag>>()) + ".part";
  const Result<std::uint64_t> bytes = store::BackUpSqliteStore(DatabaseIn(dir), part, progress);
  if (!bytes.ok()) return bytes.status();
  const Result<store::BlobCopy> blobs =
      store::BackUpDirectoryBlobs(dir, BlobsBeside(target), progress);
  const Status status = blobs.ok() ? Publish(part, target) : blobs.status();
  ::unlink(part.c_str());
  HEADWAY_RETURN_IF_ERROR(status);
  return BackedUp{.bytes = *bytes, .blobs = *blobs};
}

Result<store::BlobCheck> CheckServer(const std::string& dir,
                                     const std::function<void(double)>& progress) {
  HEADWAY_RETURN_IF_ERROR(store::CheckSqliteStore(DatabaseIn(dir), progress));
  return store::CheckDirectoryBlobs(dir, progress);
}

}  // namespace headway
