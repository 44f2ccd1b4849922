#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/import_events.h"
#include "cli/import_files.h"

namespace headway::cli {

struct JournalTarget {
  std::string dir;
  std::optional<std::string> project;  ///< nothing: as its header says
  std::optional<std::string> run;
  bool strict = false;  ///< damage to its records is an error, and nothing is copied
};

/// Copies a journal below `target.dir`, under the name that it or `target` says; under another name
/// or project than its own it becomes part of a run of its own. A journal that is there already is
/// left alone unless the new copy holds more. Damage to its records is appended to
/// `*problems`; DataLoss when it is no journal at all.
Result<ImportedRun> CopyJournal(Input* input, const JournalTarget& target,
                                std::vector<Status>* problems);

}  // namespace headway::cli
