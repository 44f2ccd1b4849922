#pragma once

#include <poll.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "cli/attempt_journal.h"

namespace headway::cli {

/// ProcessWatch: sees the processes that record into one attempt end, at the instant they do, also
/// those that a shell or a launcher started.
///
/// They are found by their journals: as these appear, where the kernel tells (inotify), else when
/// Look is called. One that ends before that is not seen, nor is one in a process namespace of its
/// own.
class ProcessWatch {
 public:
  ProcessWatch() = default;
  ProcessWatch(const SupervisedRun& run, std::int64_t number);

  /// Finds who has begun to record since. Reads the names in the run's directory on this machine,
  /// and the header of each journal once.
  void Look();

  /// Adds what poll(2) has to wait for.
  void AddTo(std::vector<pollfd>* waits) const;
  /// After that wait: the processes that have ended, each told once.
  std::vector<std::int64_t> TakeEnded();
  /// Whether all that have recorded, and were seen, have ended.
  bool all_ended() const { return seen_any_ && processes_.empty(); }
  /// The attempt's newest part (model/attempt_key.h): above 0 once a launcher below has started
  /// over.
  std::uint64_t part() const { return part_; }

 private:
  struct Process {
    std::int64_t pid = 0;
    UniqueFd fd;
  };

  std::string directory_;
  std::string attempt_key_;
  UniqueFd news_;                // inotify: something was put into the directory
  std::set<std::string> known_;  // journals by name
  std::vector<Process> processes_;
  bool seen_any_ = false;
  std::uint64_t part_ = 0;
};

}  // namespace headway::cli
