#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/status.h"
#include "base/uid.h"
#include "journal/format.h"

/// Where journals lie, `<dir>/journals/<project>/<run>/*.hwj`, and which run a new one belongs to.

namespace headway::journal {

/// The directory of the journals of one run name (percent-encoded; need not exist).
std::string RunDirectory(std::string_view dir, std::string_view project, std::string_view run);

/// Makes that directory (0700) and opens it. Only `dir` may be or contain symbolic links.
Result<UniqueFd> MakeRunDirectory(const std::string& dir, std::string_view project,
                                  std::string_view run);

/// Names found below `dir`, sorted, each once. Empty when there is nothing yet. Names whose path
/// component was cut are read from a journal's header.
Result<std::vector<std::string>> ListProjects(const std::string& dir);
Result<std::vector<std::string>> ListRuns(const std::string& dir, const std::string& project);

/// The header of the journal at `path`. As DecodeHeader, OpenForReading.
Result<Header> ReadHeader(const std::string& path);

struct JournalFile {
  std::string path;
  Header header;
};

/// The journals of a run name, by anchor time and then path. Files that are no readable journals
/// are left out and described in `*problems` (may be null).
Result<std::vector<JournalFile>> ListJournals(const std::string& dir, const std::string& project,
                                              const std::string& run,
                                              std::vector<Status>* problems = nullptr);

/// Adds `file` to `*journals` unless it is there: a journal and its copies are one journal, and of
/// them the file that its writer made counts, else the longest. Returns the one that does not
/// count.
std::optional<JournalFile> AddJournal(JournalFile file, std::vector<JournalFile>* journals);

enum class Resume : std::uint8_t { kAuto, kMust, kNever };

/// "auto", "must" or "never".
Result<Resume> ParseResume(std::string_view text);

struct RunRequest {
  std::vector<std::string> dirs;  ///< looked through for earlier journals
  std::string project;
  std::string run;
  Resume resume = Resume::kAuto;
  std::string job_id;       ///< "slurm:cluster/123"; empty: none
  std::string attempt_key;  ///< of the new journal; empty: not known
  std::int64_t attempt_index = -1;
  std::optional<RunUid> run_uid;  ///< given by a supervisor: settles it
  std::int64_t rank = -1;
  std::int64_t world_size = -1;
  WallNs now;
};

struct RunChoice {
  RunUid uid;
  bool continued = false;  ///< there are journals of an earlier attempt here
};

inline constexpr std::int64_t kLatecomerNs = 600 * kNanosPerSecond;

/// The run uid that a new journal gets, by the rules of `docs/runs.md`:
/// a given uid; else `never`: a new one; else `must`: the newest run of that name,
/// FailedPrecondition if there is none and no restarted job names it; else the uid derived from
/// project, run name and job id; else the newest run of that name, unless it ended cleanly
/// (EndedCleanly: an end after a notice is none) and this process is no latecomer to it; else a new
/// one. Imported runs are never continued. A latecomer is a rank of which the run has seen fewer
/// starts than of another rank of a world of the same size, within `kLatecomerNs` of the latest
/// start: ranks of a short job need not all begin before the first one ends. Call it under a
/// RunLock when several processes of one machine may start at once.
Result<RunChoice> ChooseRun(const RunRequest& request);

/// The uid of the run `run` of `project` in the job `job_id`: the same wherever it lands.
RunUid RunUidOfJob(std::string_view project, std::string_view run, std::string_view job_id);

/// Held by a process between choosing a run and creating its journal. Released when destroyed.
class RunLock {
 public:
  /// Waits at most about two seconds for others; then goes on without, for a recorder never hangs.
  static RunLock Acquire(const std::string& run_directory);

 private:
  UniqueFd fd_;
};

}  // namespace headway::journal
