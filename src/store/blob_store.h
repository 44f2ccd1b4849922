#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/uid.h"

/// BlobStore: keeps the large files of runs, such as profiles, byte for byte, and durably.
///
/// A blob belongs to a run and has a name there; it is written once as a whole, and replaced or
/// removed as a whole. The store knows nothing of what is in it, nor whether there is such a run.
/// Every implementation passes store/blob_store_conformance.h. Any thread may call; a writer or a
/// reader is used by one thread at a time, and the store outlives it.

namespace headway::store {

/// What is known of a blob.
struct BlobInfo {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;  ///< of all its bytes
  std::int64_t time = 0;     ///< wall time at which it was finished

  friend bool operator==(const BlobInfo&, const BlobInfo&) = default;
};

/// Some of the blobs of a run.
struct BlobPage {
  std::vector<BlobInfo> blobs;  ///< by name
  std::vector<Status> damaged;  ///< DataLoss of each one of which nothing can be told
  std::string next;             ///< `after` of the next page; empty: that was all
};

/// What a check has found.
struct BlobCheck {
  std::uint64_t blobs = 0;       ///< that are sound
  std::uint64_t bytes = 0;       ///< of these
  std::uint64_t damaged = 0;     ///< that are not
  std::vector<Status> problems;  ///< DataLoss of these, `limits::kBlobProblems` at most
};

/// Called now and then with the share of the work that is done, 0..1.
using BlobProgress = std::function<void(double)>;

/// A blob that comes into being, invisible until it is finished. One that is destroyed before, or
/// whose process dies, leaves nothing.
class BlobWriter {
 public:
  virtual ~BlobWriter() = default;

  /// Adds bytes at the end. ResourceExhausted: the disk is full, or the blob exceeds
  /// `limits::kBlobBytes`. InvalidArgument: it has more bytes than were expected. After an error
  /// this and Finish go on to fail.
  virtual Status Append(std::string_view bytes) = 0;

  /// Makes the blob visible, in the place of an older one of its name, and returns once it is
  /// durable. InvalidArgument: its bytes have another checksum than `crc32c`, or are fewer than
  /// were expected. Aborted: the run's blobs were removed since it began. FailedPrecondition: it is
  /// finished. ResourceExhausted. After an error the older one is there as before; only if the disk
  /// failed at the last moment the new one may be in its place, as a whole.
  virtual Result<BlobInfo> Finish(std::optional<std::uint32_t> crc32c = std::nullopt) = 0;
};

/// A blob as it was when it was opened, whatever becomes of its name meanwhile.
class BlobReader {
 public:
  virtual ~BlobReader() = default;

  virtual const BlobInfo& info() const = 0;
  /// Bytes [offset, offset + size), cut where the blob ends. DataLoss: they are not those that were
  /// written (names where and what). Aborted: the blob was replaced or removed, and this store does
  /// not have the old one any more: open it again.
  virtual Result<std::string> Read(std::uint64_t offset, std::uint64_t size) = 0;
};

class BlobStore {
 public:
  virtual ~BlobStore() = default;

  // Each call refuses a name that CheckBlobName does.

  /// Begins a blob. Where `expected_bytes` is told, there is room for them, and it gets exactly so
  /// many. InvalidArgument: not a name. ResourceExhausted: the disk is full, or they are more than
  /// `limits::kBlobBytes`.
  virtual Result<std::unique_ptr<BlobWriter>> Begin(
      const RunUid& run, std::string_view name,
      std::optional<std::uint64_t> expected_bytes = std::nullopt) = 0;

  /// NotFound. DataLoss: it is damaged.
  virtual Result<std::unique_ptr<BlobReader>> Open(const RunUid& run, std::string_view name) = 0;
  /// As Open and BlobReader::Read.
  Result<std::string> Read(const RunUid& run, std::string_view name, std::uint64_t offset,
                           std::uint64_t size);
  /// As Open and BlobReader::info.
  virtual Result<BlobInfo> Stat(const RunUid& run, std::string_view name) = 0;

  /// The blobs of a run whose names begin with `prefix` and come after `after` (bytes count), by
  /// name; `count` at most, damaged ones too. None where there is no such run. Takes the longer the
  /// more blobs the run has. InvalidArgument: `count` is 0.
  virtual Result<BlobPage> List(const RunUid& run, std::string_view prefix, std::string_view after,
                                std::size_t count) = 0;

  /// Removes one, damaged or not, for good. NotFound.
  virtual Status Delete(const RunUid& run, std::string_view name) = 0;
  /// Removes some of the blobs of a run, and all that are being written. Returns how many bytes
  /// what is left of them takes, at least 1; at 0 there is none.
  virtual Result<std::uint64_t> DeleteRun(const RunUid& run) = 0;

  /// Bytes that the blobs of a run take, with what is kept beside each (a thousandth and 1 KiB at
  /// most). 0 where there is none.
  virtual Result<std::uint64_t> BytesOf(const RunUid& run) = 0;

  /// Reads every blob and compares it with what was noted when it was finished. Others may read
  /// and write meanwhile.
  virtual Result<BlobCheck> Check(const BlobProgress& progress = {}) = 0;
};

/// InvalidArgument unless `name` can be one of a blob: 1 to `limits::kBlobNameBytes` bytes of UTF-8
/// without control characters and invisible ones; its parts, with "/" between them, are not empty
/// and neither "." nor "..". Pure.
Status CheckBlobName(std::string_view name);

}  // namespace headway::store
