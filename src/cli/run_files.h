#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "base/status.h"
#include "model/report.h"
#include "runs/runs.h"

/// The files of a run: how large they are, and how they go.

namespace headway::cli {

/// What a run is, for lists and for decisions about it.
struct RunFacts {
  runs::Run run;
  Report report;
  bool live = false;      ///< a process of it, or its supervisor, is alive
  bool imported = false;  ///< all of it was imported: no process can belong to it
  /// Where journals of it have still to be copied to, see transfer/carrier.h; empty: nowhere.
  std::string undelivered;
  std::uint64_t bytes = 0;   ///< that its journals take on disk
  std::int64_t written = 0;  ///< wall time at which one of their files was last written to
};
Result<RunFacts> LearnFacts(const runs::Run& run);

/// The fields that a run has in every list and by itself: what it is, how it stands, its figures.
void WriteRunFields(const RunFacts& facts, JsonWriter* json);

/// "live", or why the run may not be deleted; empty when it may.
std::string WhyKept(const RunFacts& facts);

/// How long a run may be silent before it counts as ended where nobody can see whether its
/// processes live: they may be on another machine.
inline constexpr std::int64_t kSilenceNs = 24 * 3600 * kNanosPerSecond;

/// Where a run's age counts from: its last record or the time at which its files came here,
/// whichever is later. Of imported data only the latter: they may tell of any time.
std::int64_t LastChange(const RunFacts& facts);

/// Whether pruning what is older than `age_ns` takes the run at `now`, delivered or not: no process
/// of it is alive, its last change is older than that, and it has ended, was imported, or has been
/// silent for `kSilenceNs`.
bool Prunable(const RunFacts& facts, WallNs now, std::int64_t age_ns);

/// Deletes the journals of the run, and its directory once that is empty. Follows no symbolic link:
/// what is behind one stays and is told in `*problems`, or FailedPrecondition when that is all
/// there is. Other runs of the same name stay. Takes the lock under which new journals are made.
Status RemoveRun(const runs::Run& run, std::vector<Status>* problems);

/// The journals of a run of which none can be read.
struct BrokenRun {
  std::vector<journal::JournalFile> files;  ///< their headers say nothing
  std::uint64_t bytes = 0;                  ///< that they take on disk
};
/// What lies under the name of such a run. NotFound when it is none. FailedPrecondition while one
/// of the files is locked by its process, or may be: it can't be opened and was written to within
/// `kSilenceNs`.
Result<BrokenRun> FindBroken(const std::vector<std::string>& dirs, const std::string& project,
                             const std::string& name, WallNs now);

}  // namespace headway::cli
