#include "store/directory/blob_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "base/blob_limits.h"
#include "base/crc32c.h"

namespace headway::store {
namespace {

constexpr std::uint64_t kPieceBytes = 4 * kBlobBlockBytes;

}  // namespace

Result<BlobDirectory> OpenDirectoryIn(const BlobDirectory& parent, const std::string& name) {
  BlobDirectory directory = {.path = parent.Of(name), .fd = {}};
  directory.fd =
      OpenFileAt(parent.fd.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK);
  if (directory.fd.ok()) return directory;
  const int error = errno;
  struct stat info;
  if (::fstatat(parent.fd.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
      !S_ISDIR(info.st_mode)) {
    return Status(Code::kPermissionDenied,
                  "cannot open directory " + directory.path +
                      ": it is a symbolic link or a file; put a directory in its place");
  }
  return ErrnoStatus(error, "open directory", directory.path);
}

Result<BlobDirectory> OpenBlobs(const std::string& dir) {
  const BlobDirectory parent = {.path = dir, .fd = OpenFile(dir, O_RDONLY | O_DIRECTORY)};
  if (!parent.fd.ok()) return ErrnoStatus(errno, "open directory", dir);
  return OpenDirectoryIn(parent, std::string(kBlobs));
}

Result<BlobDirectory> OpenRunBlobs(const BlobDirectory& blobs, const RunUid& run) {
  return OpenDirectoryIn(blobs, ToHex(run));
}

Result<std::vector<std::string>> NamesIn(const BlobDirectory& directory) {
  struct Closer {
    void operator()(DIR* d) const { ::closedir(d); }
  };
  // A descriptor of its own: where others that share one read a directory, each misses something.
  UniqueFd fd = OpenFileAt(directory.fd.get(), ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  const std::unique_ptr<DIR, Closer> open(fd.ok() ? ::fdopendir(fd.get()) : nullptr);
  if (open == nullptr) return ErrnoStatus(errno, "list", directory.path);
  fd.Release();  // closed with the directory
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* const entry = ::readdir(open.get());
    if (entry == nullptr) break;
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  if (errno != 0) return ErrnoStatus(errno, "list", directory.path);
  return names;
}

Result<std::vector<BlobEntry>> BlobsIn(const BlobDirectory& run) {
  Result<std::vector<std::string>> names = NamesIn(run);
  if (!names.ok()) return names.status();
  std::vector<BlobEntry> entries;
  entries.reserve(names->size());
  for (std::string& name : *names) {
    struct stat info;
    if (::fstatat(run.fd.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;  // removed meanwhile
      return ErrnoStatus(errno, "examine", run.Of(name));
    }
    if (!S_ISDIR(info.st_mode)) {
      entries.push_back({std::move(name), static_cast<std::uint64_t>(info.st_size)});
    }
  }
  return entries;
}

Status ForEachRun(const BlobDirectory& blobs, const RunVisitor& visit) {
  const Result<std::vector<std::string>> names = NamesIn(blobs);
  if (!names.ok()) return names.status();
  std::vector<RunUid> runs;
  for (const std::string& name : *names) {
    const Result<RunUid> uid = ParseUid<RunUid>(name);
    if (uid.ok() && ToHex(*uid) == name) runs.push_back(*uid);
  }
  std::sort(runs.begin(), runs.end());
  for (const RunUid& uid : runs) {
    const Result<BlobDirectory> run = OpenRunBlobs(blobs, uid);
    if (!run.ok() && run.status().code() == Code::kNotFound) continue;  // removed meanwhile
    if (!run.ok()) return run.status();
    const Result<std::vector<BlobEntry>> entries = BlobsIn(*run);
    if (!entries.ok()) return entries.status();
    if (!entries->empty()) HEADWAY_RETURN_IF_ERROR(visit(uid, *run, *entries));
  }
  return OkStatus();
}

Result<std::uint64_t> BytesIn(const BlobDirectory& blobs) {
  std::uint64_t bytes = 0;
  HEADWAY_RETURN_IF_ERROR(ForEachRun(
      blobs, [&](const RunUid&, const BlobDirectory&, const std::vector<BlobEntry>& entries) {
        for (const BlobEntry& entry : entries) bytes += entry.size;
        return OkStatus();
      }));
  return bytes;
}

Result<OpenBlob> OpenBlobFile(const BlobDirectory& run, const RunUid& uid,
                              const std::string& file) {
  OpenBlob blob = {.path = run.Of(file), .fd = {}, .trailer = {}};
  // O_NONBLOCK: opening a FIFO that someone put there must not hang.
  blob.fd = OpenFileAt(run.fd.get(), file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!blob.fd.ok()) {
    if (errno != ELOOP && errno != ENXIO) return ErrnoStatus(errno, "open", blob.path);
    return DamagedBlob(blob.path, "it is not a regular file");
  }
  struct stat info;
  if (::fstat(blob.fd.get(), &info) != 0) return ErrnoStatus(errno, "examine", blob.path);
  if (!S_ISREG(info.st_mode)) return DamagedBlob(blob.path, "it is not a regular file");
  Result<BlobTrailer> trailer = ReadBlobTrailer(blob.fd.get(), blob.path);
  if (!trailer.ok()) return trailer.status();
  blob.trailer = *std::move(trailer);
  const BlobInfo& told = blob.trailer.info;
  if (blob.trailer.run != uid || MakePathComponent(told.name) != file) {
    return DamagedBlob(blob.path,
                       "it holds the blob \"" + told.name + "\" of run " + ToHex(blob.trailer.run));
  }
  return blob;
}

Status ReadBlobFile(const OpenBlob& blob, BlobProgressOf* progress,
                    const std::function<Status(std::string_view)>& take) {
  const BlobInfo& told = blob.trailer.info;
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0; at < told.bytes; at += kPieceBytes) {
    const Result<std::string> piece =
        ReadBlobBytes(blob.fd.get(), blob.trailer, at, kPieceBytes, blob.path);
    if (!piece.ok()) return piece.status();
    crc = Crc32c(piece->data(), piece->size(), crc);
    HEADWAY_RETURN_IF_ERROR(take(*piece));
    progress->Add(piece->size());
  }
  if (crc == told.crc32c) return OkStatus();
  return DamagedBlob(blob.path, "its bytes have another checksum than was noted");
}

Status Sync(const BlobDirectory& directory) {
  if (::fsync(directory.fd.get()) == 0) return OkStatus();
  return ErrnoStatus(errno, "write", directory.path);
}

Result<BlobCheck> CheckBlobs(const BlobDirectory& blobs, const BlobProgress& progress) {
  const Result<std::uint64_t> total = BytesIn(blobs);
  if (!total.ok()) return total.status();
  BlobProgressOf done(progress, *total);
  BlobCheck check;
  HEADWAY_RETURN_IF_ERROR(ForEachRun(blobs, [&](const RunUid& uid, const BlobDirectory& run,
                                                const std::vector<BlobEntry>& entries) {
    for (const BlobEntry& entry : entries) {
      const Result<OpenBlob> blob = OpenBlobFile(run, uid, entry.file);
      const Status status =
          blob.ok() ? ReadBlobFile(*blob, &done, [](std::string_view) { return OkStatus(); })
                    : blob.status();
      if (status.ok()) {
        ++check.blobs;
        check.bytes += blob->trailer.info.bytes;
      } else if (status.code() != Code::kNotFound) {  // removed meanwhile
        ++check.damaged;
        if (check.problems.size() < limits::kBlobProblems) check.problems.push_back(status);
      }
    }
    return OkStatus();
  }));
  if (progress) progress(1);
  return check;
}

}  // namespace headway::store
