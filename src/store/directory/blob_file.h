#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/uid.h"
#include "store/blob_store.h"

/// One blob in one file, as docs/formats/blobs.md has it: its bytes, and then what is noted of it.

namespace headway::store {

/// Each block of a blob has a checksum of its own, so that a part of it can be read and trusted.
inline constexpr std::uint64_t kBlobBlockBytes = 256 << 10;

/// What stands behind the bytes of a blob.
struct BlobTrailer {
  RunUid run;
  BlobInfo info;
  std::vector<std::uint32_t> blocks;  ///< CRC-32C of each
};

std::string EncodeBlobTrailer(const BlobTrailer& trailer);

/// The trailer of the open file `fd`. DataLoss: it is no whole blob, or damaged.
Result<BlobTrailer> ReadBlobTrailer(int fd, const std::string& path);

/// Bytes [offset, offset + size), cut where the blob ends, compared with the checksums of the
/// blocks that they lie in. DataLoss names the file and the first block that differs.
Result<std::string> ReadBlobBytes(int fd, const BlobTrailer& trailer, std::uint64_t offset,
                                  std::uint64_t size, const std::string& path);

/// The DataLoss of a file that is no sound blob.
Status DamagedBlob(const std::string& path, const std::string& how);

}  // namespace headway::store
