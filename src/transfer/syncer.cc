#include "transfer/syncer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "journal/liveness.h"

namespace headway::transfer {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{64} << 10;

// The name of a new file is kept by its directory.
Status SyncDirectoryOf(const std::string& path) {
  const std::string directory = path.substr(0, path.rfind('/'));
  const UniqueFd fd = OpenFile(directory, O_RDONLY | O_DIRECTORY);
  if (!fd.ok() || ::fsync(fd.get()) != 0) return ErrnoStatus(errno, "flush", directory);
  return OkStatus();
}

}  // namespace

// Looks at what lies behind the last known end, no further than the first block of zeros.
bool Syncer::HasGrown(Entry* entry) {
  const int fd = entry->source.fd.get();
  const Result<std::uint64_t> size = FileSize(fd, entry->source.path);
  std::uint64_t drops = 0;
  const Result<std::size_t> live =
      ReadAt(fd, &drops, sizeof drops, journal::kLiveDroppedOffset, entry->source.path);
  bool grown = !size.ok() || *size != entry->size || !live.ok() || drops != entry->drops;
  entry->size = size.ok() ? *size : 0;
  entry->drops = drops;
  std::string block;
  for (std::uint64_t at = std::max<std::uint64_t>(entry->end, journal::kHeaderBytes);;) {
    block.resize(kBlockBytes);
    const Result<std::size_t> got = ReadAt(fd, block.data(), block.size(), at, entry->source.path);
    if (!got.ok()) return true;
    block.resize(*got);
    const std::size_t last = block.find_last_not_of('\0');
    if (last == std::string::npos) return grown;
    grown = true;
    at += last + 1;
    entry->end = at;
  }
}

Result<bool> Syncer::Round() {
  Status trouble =
      finder_.Look([this](Source source) { entries_.emplace_back().source = std::move(source); });
  bool done = true;
  std::erase_if(entries_, [&](Entry& entry) {
    // Life first, then the file: what a dead writer has left is all there then.
    const bool dead =
        journal::ProbeLiveness(entry.source.fd.get(), entry.source.header) != Liveness::kAlive;
    done = done && dead;
    // Records that fill a hole change nothing that HasGrown sees; at the end they are kept as well.
    const bool grown = HasGrown(&entry) || dead;
    if (entry.synced && !grown) return false;
    Status status = entry.synced ? OkStatus() : SyncDirectoryOf(entry.source.path);
    if (::fdatasync(entry.source.fd.get()) != 0) {
      status = ErrnoStatus(errno, "flush", entry.source.path);
    }
    entry.synced = status.ok();
    if (status.ok()) return dead;
    done = false;
    if (trouble.ok()) trouble = status;
    entry.end = 0;
    return false;
  });
  if (!trouble.ok()) return trouble;
  return done;
}

}  // namespace headway::transfer
