#include "store/directory/blob_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/blob_limits.h"
#include "base/crc32c.h"
#include "base/files.h"
#include "store/directory/blob_tree.h"

namespace headway::store {
namespace {

// Beside the directories of runs; neither looks like the uid of one.
constexpr char kUnfinished[] = "unfinished";
constexpr char kLock[] = ".lock";
constexpr std::string_view kPart = ".part";

using PartUid = BasicUid<struct PartTag>;

bool IsPart(std::string_view name) {
  if (!name.ends_with(kPart)) return false;
  name.remove_suffix(kPart.size());
  const Result<PartUid> uid = ParseUid<PartUid>(name);
  return uid.ok() && ToHex(*uid) == name;
}

Status NoSuchBlob(const RunUid& run, std::string_view name) {
  return {Code::kNotFound, "there is no blob \"" + std::string(name) + "\" of run " + ToHex(run)};
}

class DirectoryBlobStore;

class DirectoryBlobWriter final : public BlobWriter {
 public:
  DirectoryBlobWriter(DirectoryBlobStore* store, const RunUid& run, std::string_view name,
                      std::optional<std::uint64_t> expected, std::string file, UniqueFd fd);
  DirectoryBlobWriter(const DirectoryBlobWriter&) = delete;
  DirectoryBlobWriter& operator=(const DirectoryBlobWriter&) = delete;
  ~DirectoryBlobWriter() override;

  Status Append(std::string_view bytes) override;
  Result<BlobInfo> Finish(std::optional<std::uint32_t> crc32c) override;

  const RunUid& run() const { return trailer_.run; }
  const std::string& file() const { return file_; }
  // Within the store's lock.
  void Abort() { aborted_ = true; }
  bool aborted() const { return aborted_; }

 private:
  Status Take(std::string_view bytes);
  Status WriteBlock(std::string_view block);
  Status Complete(std::optional<std::uint32_t> crc32c);

  DirectoryBlobStore* store_;
  BlobTrailer trailer_;
  std::optional<std::uint64_t> expected_;
  std::string file_;  // among what is unfinished
  UniqueFd fd_;
  std::string path_;
  std::string block_;  // the last one, while it is not full
  Status status_;      // why nothing more can be done
  bool aborted_ = false;
};

class DirectoryBlobReader final : public BlobReader {
 public:
  explicit DirectoryBlobReader(OpenBlob blob) : blob_(std::move(blob)) {}

  const BlobInfo& info() const override { return blob_.trailer.info; }
  Result<std::string> Read(std::uint64_t offset, std::uint64_t size) override {
    return ReadBlobBytes(blob_.fd.get(), blob_.trailer, offset, size, blob_.path);
  }

 private:
  OpenBlob blob_;
};

class DirectoryBlobStore final : public BlobStore {
 public:
  DirectoryBlobStore(BlobDirectory blobs, BlobDirectory unfinished, UniqueFd lock,
                     const Clock* clock)
      : lock_(std::move(lock)),
        blobs_(std::move(blobs)),
        unfinished_(std::move(unfinished)),
        clock_(clock) {}

  Result<std::unique_ptr<BlobWriter>> Begin(const RunUid& run, std::string_view name,
                                            std::optional<std::uint64_t> expected) override;
  Result<std::unique_ptr<BlobReader>> Open(const RunUid& run, std::string_view name) override;
  Result<BlobInfo> Stat(const RunUid& run, std::string_view name) override;
  Result<BlobPage> List(const RunUid& run, std::string_view prefix, std::string_view after,
                        std::size_t count) override;
  Status Delete(const RunUid& run, std::string_view name) override;
  Result<std::uint64_t> DeleteRun(const RunUid& run) override;
  Result<std::uint64_t> BytesOf(const RunUid& run) override;
  Result<BlobCheck> Check(const BlobProgress& progress) override {
    return CheckBlobs(blobs_, progress);
  }

  std::string PathOf(const DirectoryBlobWriter& writer) const {
    return unfinished_.Of(writer.file());
  }
  std::int64_t Now() const { return clock_->Wall().ns; }
  void Enter(DirectoryBlobWriter* writer);
  void Leave(DirectoryBlobWriter* writer);
  /// The file of `writer` becomes the blob `name`.
  Status Publish(const DirectoryBlobWriter& writer, std::string_view name);

 private:
  Result<OpenBlob> Find(const RunUid& run, std::string_view name);

  UniqueFd lock_;
  BlobDirectory blobs_;
  BlobDirectory unfinished_;
  const Clock* clock_;
  std::mutex mutex_;  // of what follows, and of whether a run has a directory
  std::set<DirectoryBlobWriter*> writers_;
};

// --- Writing

DirectoryBlobWriter::DirectoryBlobWriter(DirectoryBlobStore* store, const RunUid& run,
                                         std::string_view name,
                                         std::optional<std::uint64_t> expected, std::string file,
                                         UniqueFd fd)
    : store_(store), expected_(expected), file_(std::move(file)), fd_(std::move(fd)) {
  trailer_.run = run;
  trailer_.info.name = name;
  path_ = store_->PathOf(*this);
  store_->Enter(this);
}

DirectoryBlobWriter::~DirectoryBlobWriter() { store_->Leave(this); }

Status DirectoryBlobWriter::Append(std::string_view bytes) {
  if (status_.ok()) status_ = Take(bytes);
  return status_;
}

Status DirectoryBlobWriter::Take(std::string_view bytes) {
  const std::uint64_t before = trailer_.info.bytes + block_.size();
  if (expected_ && bytes.size() > *expected_ - before) {
    return {Code::kInvalidArgument, "blob \"" + trailer_.info.name + "\" was to have " +
                                        std::to_string(*expected_) + " bytes, and has more"};
  }
  if (bytes.size() > limits::kBlobBytes - before) {
    return {Code::kResourceExhausted, "blob \"" + trailer_.info.name + "\" has more than " +
                                          std::to_string(limits::kBlobBytes) + " bytes"};
  }
  while (!bytes.empty()) {
    const std::size_t room = kBlobBlockBytes - block_.size();
    const std::string_view some = bytes.substr(0, room);
    bytes.remove_prefix(some.size());
    if (some.size() == kBlobBlockBytes) {
      HEADWAY_RETURN_IF_ERROR(WriteBlock(some));
      continue;
    }
    block_ += some;
    if (block_.size() < kBlobBlockBytes) continue;
    HEADWAY_RETURN_IF_ERROR(WriteBlock(block_));
    block_.clear();
  }
  return OkStatus();
}

Status DirectoryBlobWriter::WriteBlock(std::string_view block) {
  HEADWAY_RETURN_IF_ERROR(WriteAll(fd_.get(), block, path_));
  const std::uint32_t crc = Crc32c(block.data(), block.size());
  trailer_.blocks.push_back(crc);
  trailer_.info.crc32c = Crc32cOfBoth(trailer_.info.crc32c, crc, block.size());
  trailer_.info.bytes += block.size();
  return OkStatus();
}

Result<BlobInfo> DirectoryBlobWriter::Finish(std::optional<std::uint32_t> crc32c) {
  if (status_.ok()) status_ = Complete(crc32c);
  HEADWAY_RETURN_IF_ERROR(status_);
  status_ = {Code::kFailedPrecondition, "blob \"" + trailer_.info.name + "\" is finished"};
  return trailer_.info;
}

Status DirectoryBlobWriter::Complete(std::optional<std::uint32_t> crc32c) {
  if (!block_.empty()) HEADWAY_RETURN_IF_ERROR(WriteBlock(block_));
  const BlobInfo& info = trailer_.info;
  if (expected_ && info.bytes != *expected_) {
    return {Code::kInvalidArgument, "blob \"" + info.name + "\" was to have " +
                                        std::to_string(*expected_) + " bytes, and has " +
                                        std::to_string(info.bytes)};
  }
  if (crc32c && info.crc32c != *crc32c) {
    return {Code::kInvalidArgument, "blob \"" + info.name +
                                        "\" has another checksum than was told: not all of it "
                                        "came as it was sent; send it again"};
  }
  trailer_.info.time = store_->Now();
  HEADWAY_RETURN_IF_ERROR(WriteAll(fd_.get(), EncodeBlobTrailer(trailer_), path_));
  if (::fdatasync(fd_.get()) != 0) return ErrnoStatus(errno, "write", path_);
  return store_->Publish(*this, info.name);
}

void DirectoryBlobStore::Enter(DirectoryBlobWriter* writer) {
  const std::lock_guard lock(mutex_);
  writers_.insert(writer);
}

void DirectoryBlobStore::Leave(DirectoryBlobWriter* writer) {
  {
    const std::lock_guard lock(mutex_);
    writers_.erase(writer);
  }
  // Of a finished one it has another name.
  ::unlinkat(unfinished_.fd.get(), writer->file().c_str(), 0);
}

Result<std::unique_ptr<BlobWriter>> DirectoryBlobStore::Begin(
    const RunUid& run, std::string_view name, std::optional<std::uint64_t> expected) {
  HEADWAY_RETURN_IF_ERROR(CheckBlobName(name));
  if (expected.value_or(0) > limits::kBlobBytes) {
    return Status(Code::kResourceExhausted,
                  "a blob of " + std::to_string(*expected) + " bytes is too large; at most " +
                      std::to_string(limits::kBlobBytes) + " are allowed");
  }
  std::string file = ToHex(RandomUid<PartUid>()) + std::string(kPart);
  const std::string path = unfinished_.Of(file);
  UniqueFd fd =
      OpenFileAt(unfinished_.fd.get(), file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!fd.ok()) return ErrnoStatus(errno, "make", path);
  const int raw = fd.get();
  auto writer = std::make_unique<DirectoryBlobWriter>(this, run, name, expected, std::move(file),
                                                      std::move(fd));
  // Where the file system can't, the disk may turn out to be full later.
  if (expected.value_or(0) > 0 &&
      ::fallocate(raw, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(*expected)) != 0 &&
      errno != EOPNOTSUPP && errno != ENOSYS && errno != EINTR) {
    return ErrnoStatus(errno, "write", path);
  }
  return std::unique_ptr<BlobWriter>(std::move(writer));
}

Status DirectoryBlobStore::Publish(const DirectoryBlobWriter& writer, std::string_view name) {
  const std::string file = MakePathComponent(name);
  std::optional<BlobDirectory> run;
  {
    const std::lock_guard lock(mutex_);
    if (writer.aborted()) {
      return {Code::kAborted, "the blobs of run " + ToHex(writer.run()) + " were removed"};
    }
    // What is kept in a directory that nobody finds any more is not kept.
    if (!IsAt(blobs_.fd.get(), blobs_.path)) {
      return {Code::kUnavailable, blobs_.path + " was removed or replaced; restart the server"};
    }
    const std::string directory = ToHex(writer.run());
    const bool made = ::mkdirat(blobs_.fd.get(), directory.c_str(), 0700) == 0;
    if (!made && errno != EEXIST) return ErrnoStatus(errno, "make", blobs_.Of(directory));
    Result<BlobDirectory> opened = OpenRunBlobs(blobs_, writer.run());
    if (!opened.ok()) return opened.status();
    run = *std::move(opened);
    // Each time, for the disk may have failed the last time.
    HEADWAY_RETURN_IF_ERROR(Sync(blobs_));
    if (::renameat(unfinished_.fd.get(), writer.file().c_str(), run->fd.get(), file.c_str()) != 0) {
      return ErrnoStatus(errno, "make", run->Of(file));
    }
  }
  return Sync(*run);
}

// --- Reading

Result<OpenBlob> DirectoryBlobStore::Find(const RunUid& run, std::string_view name) {
  HEADWAY_RETURN_IF_ERROR(CheckBlobName(name));
  const Result<BlobDirectory> directory = OpenRunBlobs(blobs_, run);
  Result<OpenBlob> blob = directory.ok() ? OpenBlobFile(*directory, run, MakePathComponent(name))
                                         : Result<OpenBlob>(directory.status());
  if (!blob.ok() && blob.status().code() == Code::kNotFound) return NoSuchBlob(run, name);
  return blob;
}

Result<std::unique_ptr<BlobReader>> DirectoryBlobStore::Open(const RunUid& run,
                                                             std::string_view name) {
  Result<OpenBlob> blob = Find(run, name);
  if (!blob.ok()) return blob.status();
  return std::unique_ptr<BlobReader>(std::make_unique<DirectoryBlobReader>(*std::move(blob)));
}

Result<BlobInfo> DirectoryBlobStore::Stat(const RunUid& run, std::string_view name) {
  Result<OpenBlob> blob = Find(run, name);
  if (!blob.ok()) return blob.status();
  return std::move(blob->trailer.info);
}

Result<BlobPage> DirectoryBlobStore::List(const RunUid& run, std::string_view prefix,
                                          std::string_view after, std::size_t count) {
  if (count == 0) return Status(Code::kInvalidArgument, "a page of no blobs can't be asked for");
  BlobPage page;
  const Result<BlobDirectory> directory = OpenRunBlobs(blobs_, run);
  if (!directory.ok() && directory.status().code() == Code::kNotFound) return page;
  if (!directory.ok()) return directory.status();
  const Result<std::vector<std::string>> files = NamesIn(*directory);
  if (!files.ok()) return files.status();
  struct Named {
    std::string name;
    const std::string* file;
  };
  std::vector<Named> found;
  for (const std::string& file : *files) {
    std::optional<std::string> name = ParsePathComponent(file);
    if (!name) {
      // It was too long for a name of a file, and stands in it; a damaged one is called as its
      // file.
      const Result<OpenBlob> blob = OpenBlobFile(*directory, run, file);
      name = blob.ok() ? blob->trailer.info.name : file;
    }
    if (name->starts_with(prefix) && *name > after) found.push_back({*std::move(name), &file});
  }
  const auto by_name = [](const Named& a, const Named& b) { return a.name < b.name; };
  const std::size_t some = std::min(count, found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(some), found.end(),
                    by_name);
  if (some < found.size()) page.next = found[some - 1].name;
  found.resize(some);
  for (const Named& one : found) {
    Result<OpenBlob> blob = OpenBlobFile(*directory, run, *one.file);
    if (blob.ok()) {
      page.blobs.push_back(std::move(blob->trailer.info));
    } else if (blob.status().code() == Code::kDataLoss) {
      page.damaged.push_back(blob.status());
    } else if (blob.status().code() != Code::kNotFound) {  // removed meanwhile
      return blob.status();
    }
  }
  return page;
}

Result<std::uint64_t> DirectoryBlobStore::BytesOf(const RunUid& run) {
  const Result<BlobDirectory> directory = OpenRunBlobs(blobs_, run);
  if (!directory.ok() && directory.status().code() == Code::kNotFound) return std::uint64_t{0};
  if (!directory.ok()) return directory.status();
  const Result<std::vector<BlobEntry>> entries = BlobsIn(*directory);
  if (!entries.ok()) return entries.status();
  std::uint64_t bytes = 0;
  for (const BlobEntry& entry : *entries) bytes += entry.size;
  return bytes;
}

// --- Removing

Status DirectoryBlobStore::Delete(const RunUid& run, std::string_view name) {
  HEADWAY_RETURN_IF_ERROR(CheckBlobName(name));
  const Result<BlobDirectory> directory = OpenRunBlobs(blobs_, run);
  if (!directory.ok() && directory.status().code() == Code::kNotFound) return NoSuchBlob(run, name);
  if (!directory.ok()) return directory.status();
  const std::string file = MakePathComponent(name);
  if (::unlinkat(directory->fd.get(), file.c_str(), 0) != 0) {
    return errno == ENOENT ? NoSuchBlob(run, name)
                           : ErrnoStatus(errno, "remove", directory->Of(file));
  }
  return Sync(*directory);
}

Result<std::uint64_t> DirectoryBlobStore::DeleteRun(const RunUid& run) {
  const std::lock_guard lock(mutex_);
  for (DirectoryBlobWriter* const writer : writers_) {
    if (writer->run() == run) writer->Abort();
  }
  const Result<BlobDirectory> directory = OpenRunBlobs(blobs_, run);
  if (!directory.ok() && directory.status().code() == Code::kNotFound) return std::uint64_t{0};
  if (!directory.ok()) return directory.status();
  const Result<std::vector<BlobEntry>> entries = BlobsIn(*directory);
  if (!entries.ok()) return entries.status();
  std::uint64_t left = 0;
  std::size_t removed = 0;
  for (const BlobEntry& entry : *entries) {
    if (removed == limits::kBlobsRemovedAtOnce) {
      left += std::max<std::uint64_t>(entry.size, 1);
      continue;
    }
    if (::unlinkat(directory->fd.get(), entry.file.c_str(), 0) != 0 && errno != ENOENT) {
      return ErrnoStatus(errno, "remove", directory->Of(entry.file));
    }
    ++removed;
  }
  if (left > 0) return left;
  // What someone else has put there stays, and the directory with it.
  if (::unlinkat(blobs_.fd.get(), ToHex(run).c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT &&
      errno != ENOTEMPTY && errno != EEXIST) {
    return ErrnoStatus(errno, "remove", directory->path);
  }
  HEADWAY_RETURN_IF_ERROR(Sync(*directory));
  HEADWAY_RETURN_IF_ERROR(Sync(blobs_));
  return std::uint64_t{0};
}

}  // namespace

Result<std::unique_ptr<BlobStore>> OpenDirectoryBlobStore(const std::string& dir,
                                                          const Clock* clock) {
  BlobDirectory blobs = {.path = JoinPath(dir, kBlobs), .fd = {}};
  Result<UniqueFd> made = MakeAndOpenDirectory(dir, {std::string(kBlobs)});
  if (!made.ok()) return made.status();
  blobs.fd = *std::move(made);
  UniqueFd lock = OpenFileAt(blobs.fd.get(), kLock, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!lock.ok()) return ErrnoStatus(errno, "open", blobs.Of(kLock));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, "lock", blobs.Of(kLock));
    return Status(Code::kFailedPrecondition, "another server has " + blobs.path +
                                                 " open: it holds " + blobs.Of(kLock) +
                                                 "; end it, or name another directory");
  }
  if (::mkdirat(blobs.fd.get(), kUnfinished, 0700) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, "make directory", blobs.Of(kUnfinished));
  }
  Result<BlobDirectory> unfinished = OpenDirectoryIn(blobs, kUnfinished);
  if (!unfinished.ok()) return unfinished.status();
  const Result<std::vector<std::string>> names = NamesIn(*unfinished);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (!IsPart(name)) continue;
    if (::unlinkat(unfinished->fd.get(), name.c_str(), 0) != 0 && errno != ENOENT &&
        errno != EISDIR && errno != EPERM) {
      return ErrnoStatus(errno, "remove", unfinished->Of(name));
    }
  }
  return std::unique_ptr<BlobStore>(std::make_unique<DirectoryBlobStore>(
      std::move(blobs), *std::move(unfinished), std::move(lock), clock));
}

}  // namespace headway::store
