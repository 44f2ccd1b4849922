#pragma once

#include <cstdint>
#include <string>

/// Which file systems a journal can be mapped on.

namespace headway::journal {

/// How a file system treats a journal.
enum class Placement : std::uint8_t {
  kMapped,   ///< reservations hold: the journal is written through a mapping
  kLocal,    ///< on this machine, but reservations may not hold: write calls
  kNetwork,  ///< on another machine: not a place for a live journal
};

/// By statfs(2) of `path` or of its nearest parent that exists.
Placement ExaminePlace(const std::string& path);

/// Where the journal of a process should be written.
struct Place {
  std::string dir;          ///< below which the journal lies
  std::string destination;  ///< what the user asked for, when that is elsewhere; else empty
};

/// `wanted` itself when it is on this machine. On a network, this user's node-local directory
/// (`/var/tmp/headway-<uid>`, 0700), for rank 0 and un-ranked processes with `wanted` as
/// destination: a supervisor or child copies it there. Without a usable node-local directory,
/// `wanted` again. `node_local` replaces the default, for tests.
Place ChoosePlace(const std::string& wanted, std::int64_t rank,
                  const std::string& node_local = std::string());

/// As ChoosePlace does, for a `wanted` that was found to be `placement`.
Place ChoosePlaceFor(Placement placement, const std::string& wanted, std::int64_t rank,
                     const std::string& node_local);

}  // namespace headway::journal
