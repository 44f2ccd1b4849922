#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "store/blob_store.h"

/// The BlobStore in a directory: nothing to set up and nothing to operate.
///
/// A blob is one file, `DIR/blobs/<run uid>/<name>`, as docs/formats/blobs.md has it; what is not
/// finished lies in `DIR/blobs/unfinished/`. No symbolic link is followed below DIR. Reading never
/// waits for writing. Each Finish waits for the disk by itself.

namespace headway::store {

/// Opens the store in the directory `dir`, or makes it (mode 0700); removes what a killed server
/// had not finished. `clock` must outlive it.
///
/// FailedPrecondition: another server has it open (the message names the lock). PermissionDenied:
/// there is a symbolic link in its place, or it is another's.
Result<std::unique_ptr<BlobStore>> OpenDirectoryBlobStore(const std::string& dir,
                                                          const Clock* clock);

/// BlobStore::Check of what is kept in `dir`, which changes nothing there; a server may have it
/// open.
Result<BlobCheck> CheckDirectoryBlobs(const std::string& dir, const BlobProgress& progress = {});

/// What was copied.
struct BlobCopy {
  std::uint64_t blobs = 0;
  std::uint64_t bytes = 0;   ///< of these
  std::uint64_t linked = 0;  ///< that share their bytes on disk with the store
};

/// Copies the blobs of `dir` into the directory `target`, which may not be there yet and can take
/// the place of `DIR/blobs`; a server may have them open, and goes on. A blob is a hard link where
/// that can be, for no finished file is ever changed, else a copy. Each one is read and compared.
/// Returns once all of it is durable; a call that fails or is killed leaves no `target` (but
/// perhaps a directory beside it that ends in .part). Without a blob there will be no `target`.
/// AlreadyExists; ResourceExhausted; DataLoss: one is damaged, and nothing is kept of the copy.
Result<BlobCopy> BackUpDirectoryBlobs(const std::string& dir, const std::string& target,
                                      const BlobProgress& progress = {});

}  // namespace headway::store
