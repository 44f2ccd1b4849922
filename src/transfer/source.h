#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/status.h"
#include "base/uid.h"
#include "journal/format.h"
#include "journal/placement.h"
#include "model/record.h"

/// Journals of this machine as a supervisor looks after them. Only reads; never locks, so that no
/// writer notices.

namespace headway::transfer {

/// While its writer lives, what lies behind so much that was never written is left for later: it is
/// reserved space, nearly always.
inline constexpr std::uint64_t kQuietSlots = (std::uint64_t{1} << 20) / journal::kSlotBytes;

/// Whether nothing of the slot was ever written.
inline bool IsZero(const journal::Slot& slot) {
  return (slot.meta | static_cast<std::uint64_t>(slot.time) | static_cast<std::uint64_t>(slot.a) |
          static_cast<std::uint64_t>(slot.b)) == 0;
}

/// Which journals a supervisor looks after.
struct Scope {
  journal::PlaceRules rules = {};
  std::string dir = {};  ///< data directory that this machine's journals lie in
  // One run; without a uid: every run of the project, or of every project.
  std::string project = {};
  std::string run = {};
  std::optional<RunUid> uid = {};
  std::string file = {};  ///< of a run: only the journal of this name
  bool foreign = false;   ///< also what was imported, and copies of journals
};

/// An open journal of this machine.
struct Source {
  std::string path;
  UniqueFd fd;
  std::array<std::byte, journal::kHeaderBytes> bytes;  ///< of the header, as they were when opened
  journal::Header header;

  std::string name() const { return path.substr(path.rfind('/') + 1); }
};

/// Whether it is the file that a process of this machine made: no copy, and not imported.
bool IsOriginal(const Source& source);

/// As JournalReader::Open.
Result<Source> OpenSource(const std::string& path);

/// Hands out the journals of a scope, each once, as they appear.
class SourceFinder {
 public:
  explicit SourceFinder(Scope scope) : scope_(std::move(scope)) {}

  /// Looks again. What can't be opened is tried again the next time. Copies and imports are no
  /// journals of this machine, and not handed out unless the scope says so. An error says which
  /// directory can't be listed.
  Status Look(const std::function<void(Source)>& found);

  /// Uids of all journals there are, as of the last Look without a run's uid in its scope.
  const std::set<std::string>& uids() const { return uids_; }

  /// Why journals could not be opened in the last Look, such as a damaged header: of each the file
  /// and what is wrong with it. A writer's journal has its name only once its header is written.
  const std::vector<Status>& unreadable() const { return unreadable_; }

  /// Copies and imports that were found so far and not handed out.
  std::size_t left_out() const { return left_out_; }

 private:
  Status LookInto(const std::string& project, const std::string& run,
                  const std::function<void(Source)>& found);

  Scope scope_;
  std::set<std::string> known_;  // paths
  std::set<std::string> uids_;
  std::vector<Status> unreadable_;
  std::size_t left_out_ = 0;
};

}  // namespace headway::transfer
