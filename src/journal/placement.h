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

/// What the user says about places where the defaults are wrong (docs/environment.md).
struct PlaceRules {
  /// "network" or "local": what the file system of the data directory is. Else statfs(2) says.
  std::string file_system = {};
  /// In place of `/var/tmp/headway-<uid>`.
  std::string node_local = {};
};

/// As ExaminePlace does, unless the user has said it.
Placement ExaminePlace(const std::string& path, const PlaceRules& rules);

/// This user's directory for journals on this machine.
std::string NodeLocalDirectory(const PlaceRules& rules);

/// `wanted` itself when it is on this machine. On a network, this user's node-local directory
/// (0700), for rank 0 and un-ranked processes with `wanted`, made absolute, as destination: a
/// supervisor copies it there. Without a usable node-local directory, `wanted` again.
Place ChoosePlace(const std::string& wanted, std::int64_t rank, const PlaceRules& rules = {});

/// As ChoosePlace does, for a `wanted` that was found to be `placement`.
Place ChoosePlaceFor(Placement placement, const std::string& wanted, std::int64_t rank,
                     const PlaceRules& rules);

}  // namespace headway::journal
