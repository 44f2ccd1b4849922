#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "journal/format.h"
#include "model/record.h"

namespace headway::journal {

/// The bytes of one journal, wherever they lie. One thread at a time.
class JournalBytes {
 public:
  virtual ~JournalBytes() = default;

  /// How many there are now.
  virtual Result<std::uint64_t> Size() = 0;
  /// Reads up to `size` bytes from `offset` on; fewer only at the end.
  virtual Result<std::size_t> ReadAt(void* data, std::size_t size, std::uint64_t offset) = 0;
  /// Whether the process that writes them lives.
  virtual Result<Liveness> Probe(const Header& header) = 0;
  /// Gives back what is held open, until the next read.
  virtual void Release() = 0;
};

/// Those of a file. As OpenForReading; after a Release reading fails with Unavailable when the file
/// was replaced meanwhile.
Result<std::unique_ptr<JournalBytes>> OpenJournalFile(const std::string& path);

}  // namespace headway::journal
