#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/uid.h"
#include "journal/directory.h"
#include "ledger/ledger.h"
#include "model/run_records.h"

/// Runs on disk: which there are below a data directory, and one of them as a ledger. Only reads.

namespace headway::runs {

/// One run: all journals with its uid.
struct Run {
  std::string project;
  std::string name;   ///< as recorded
  std::string label;  ///< `name` for the newest run of that name, else `name@<start>`
  RunUid uid;
  std::int64_t start = 0;  ///< wall time of its first journal's anchor or record
  std::vector<journal::JournalFile> journals;  ///< by start
  /// Copies of them elsewhere: nobody reads those, but they belong to the run.
  std::vector<journal::JournalFile> copies;
};

/// Puts runs of one project in order, newest first, and gives each its label.
void Label(std::vector<Run>* runs);

/// The runs of `project` below the directories, newest first. What can't be read is told in
/// `*problems` (may be null) and left out.
Result<std::vector<Run>> List(const std::vector<std::string>& dirs, const std::string& project,
                              std::vector<Status>* problems = nullptr);

/// The run called `label`: a name (its newest run), `name@<start>` or the uid in hex. NotFound
/// names the newest ones; a name of which there are journals, but none that can be read, is an
/// error with their code (DataLoss: damaged). `*problems` (may be null) gets what can't be read
/// where this run's journals lie; other runs' files are no concern here. When there is no such run
/// but `node_local` has one, this user's directory for journals of this machine, the message says
/// so: they may have been copied to none of the directories.
Result<Run> Find(const std::vector<std::string>& dirs, const std::string& project,
                 const std::string& label, std::vector<Status>* problems = nullptr,
                 const std::string& node_local = {});

/// A run's journals read into a ledger.
struct Loaded {
  ledger::Ledger ledger;
  /// The instant of what is here: all that was recorded until then has been read, and who is alive
  /// was so then.
  WallNs now;
  bool live = false;        ///< one of its processes is alive
  bool supervised = false;  ///< its supervisor is alive and may restart it
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;       ///< of the journals
  std::vector<Status> problems;  ///< damage found in journals, with file and offset
};

/// Reads all journals of `run`, also while they are being written. `progress` (may be empty) is
/// called now and then with the share done.
Result<Loaded> Load(const Run& run, const std::function<void(double)>& progress = {});

/// The attempts of the journals of `run`, by their uids, whose account `ledger` is; -1: not known.
std::map<std::string, std::int64_t> AttemptsOf(const Run& run, ledger::Ledger* ledger);

/// The records themselves, journal by journal, with what Load adds about damage. What can't be read
/// is told in `*problems` and left out.
Result<RunRecords> ReadRecords(const Run& run, std::vector<Status>* problems);

}  // namespace headway::runs
