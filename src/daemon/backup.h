#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "store/blob_store.h"
#include "store/directory/blob_store.h"

/// What a server keeps, copied and looked through: its database, and the blobs beside it.

namespace headway {

/// Where the database lies in the server's directory `dir`.
std::string DatabaseIn(const std::string& dir);

struct BackedUp {
  std::uint64_t bytes = 0;  ///< of the copy of the database
  store::BlobCopy blobs;
};

/// Where the blobs of the copy `target` lie.
std::string BlobsBeside(const std::string& target);

/// Copies the database of `dir` to the file `target` and its blobs to BlobsBeside(target), where it
/// has any; a server may have them open. Neither may be there yet. The blobs are those that the
/// copied database knows of, but for what was removed meanwhile, and perhaps later ones. `target`
/// comes into being last, when all of it is durable and found sound. A call that is killed leaves
/// no `target` (but perhaps the blobs, or what ends in .part). AlreadyExists; NotFound;
/// ResourceExhausted; DataLoss.
Result<BackedUp> BackUpServer(const std::string& dir, const std::string& target,
                              const std::function<void(double)>& progress);

/// Looks whether all of that is sound. DataLoss: the database is not; blobs that are damaged are in
/// what is returned.
Result<store::BlobCheck> CheckServer(const std::string& dir,
                                     const std::function<void(double)>& progress);

}  // namespace headway
