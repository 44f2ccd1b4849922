#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/status.h"
#include "base/uid.h"
#include "store/blob_store.h"
#include "store/directory/blob_file.h"

/// The files of blobs, for those who read them. No symbolic link is followed. Any thread.

namespace headway::store {

inline constexpr std::string_view kBlobs = "blobs";

/// An open directory, and what it is called.
struct BlobDirectory {
  std::string path;
  UniqueFd fd;

  std::string Of(const std::string& name) const { return JoinPath(path, name); }
};

/// A file that is a blob by its name.
struct BlobEntry {
  std::string file;
  std::uint64_t size = 0;  ///< of the file
};

/// An open blob.
struct OpenBlob {
  std::string path;
  UniqueFd fd;
  BlobTrailer trailer;
};

/// `DIR/blobs`. NotFound.
Result<BlobDirectory> OpenBlobs(const std::string& dir);
/// That of a run, NotFound where there is none.
Result<BlobDirectory> OpenRunBlobs(const BlobDirectory& blobs, const RunUid& run);
/// The directory `name` in `parent`; NotFound; PermissionDenied: it is a link.
Result<BlobDirectory> OpenDirectoryIn(const BlobDirectory& parent, const std::string& name);

/// The names in it, in no order, but those that begin with a dot.
Result<std::vector<std::string>> NamesIn(const BlobDirectory& directory);
/// The blobs of a run, in no order.
Result<std::vector<BlobEntry>> BlobsIn(const BlobDirectory& run);

/// Calls `visit` with each run that has blobs, by uid, until it fails.
using RunVisitor = std::function<Status(const RunUid&, const BlobDirectory& run,
                                        const std::vector<BlobEntry>& entries)>;
Status ForEachRun(const BlobDirectory& blobs, const RunVisitor& visit);
/// Bytes of all their files.
Result<std::uint64_t> BytesIn(const BlobDirectory& blobs);

/// What is in the file `file` of the run `uid`. NotFound; DataLoss, also where it is the blob of
/// another name or run.
Result<OpenBlob> OpenBlobFile(const BlobDirectory& run, const RunUid& uid, const std::string& file);

/// Bytes read or written of how many there are to be.
class BlobProgressOf {
 public:
  BlobProgressOf(const BlobProgress& progress, std::uint64_t total)
      : progress_(progress), total_(total) {}
  void Add(std::uint64_t bytes) {
    done_ += bytes;
    if (progress_ && total_ > 0) {
      progress_(static_cast<double>(done_ < total_ ? done_ : total_) / static_cast<double>(total_));
    }
  }

 private:
  const BlobProgress& progress_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
};

/// Reads all of it, piece by piece, and gives `take` each one. DataLoss.
Status ReadBlobFile(const OpenBlob& blob, BlobProgressOf* progress,
                    const std::function<Status(std::string_view)>& take);

/// What CheckDirectoryBlobs does, of an open directory.
Result<BlobCheck> CheckBlobs(const BlobDirectory& blobs, const BlobProgress& progress);

/// Has the disk keep what was done in a directory.
Status Sync(const BlobDirectory& directory);

}  // namespace headway::store
