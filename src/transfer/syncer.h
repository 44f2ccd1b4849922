#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "transfer/source.h"

/// Syncer: asks the disk to keep the journals of a run on this machine, those that have grown.
///
/// Journals are opened for reading only, which is enough for fdatasync(2). What it costs a writer:
/// the first record on a page after that is a page fault.

namespace headway::transfer {

class Syncer {
 public:
  explicit Syncer(Scope scope) : finder_(std::move(scope)) {}

  /// One round. True: no writer is alive, and all is kept. An error is the first of the round; the
  /// other journals were synced all the same.
  Result<bool> Round();

 private:
  struct Entry {
    Source source;
    std::uint64_t end = 0;   // in bytes: behind the last one known that is not zero
    std::uint64_t size = 0;  // of the file
    std::uint64_t drops = 0;
    bool synced = false;
  };

  static bool HasGrown(Entry* entry);

  SourceFinder finder_;
  std::vector<Entry> entries_;
};

}  // namespace headway::transfer
