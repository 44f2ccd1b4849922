#pragma once

#include <cstdint>
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
  bool strict = false;  ///< damage, holes and a torn tail are errors, and nothing is copied
};

/// Something about a journal that is read all the same.
struct JournalProblem {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string code;      ///< a note's: "torn_tail", "journal_hole", "journal_damage"
  std::string sentence;  ///< with the byte, without the file
};

/// Copies a journal below `target.dir`, under the name that it or `target` says; under another name
/// or project than its own it becomes part of a run of its own. A journal that is there already is
/// left alone unless the new copy holds more. What can't be read of its records is appended
/// to `*problems`; DataLoss when it is no journal at all.
Result<ImportedRun> CopyJournal(Input* input, const JournalTarget& target,
                                std::vector<JournalProblem>* problems);

}  // namespace headway::cli
