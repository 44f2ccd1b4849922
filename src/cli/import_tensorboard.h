#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "base/status.h"
#include "cli/import_events.h"
#include "cli/import_files.h"
#include "formats/tensorboard/run.h"

/// From TensorBoard event files to a run.

namespace headway::cli {

/// The event files of one call. They tell of one run.
class TensorboardImport {
 public:
  /// Reads `input` to its end. Under `strict` the first problem is a DataLoss error.
  Status Read(Input* input, bool strict);

  /// Makes the run. DataLoss when there is no scalar in any of the files; otherwise as WriteRuns.
  Result<std::vector<ImportedRun>> Write(const EventTarget& target);

  /// What was wrong, left out or superseded: warnings on standard error.
  void Tell() const;

  /// The problems as members of an array, and the restarts as a field.
  void WriteProblems(JsonWriter* json) const;
  void WriteRestarts(JsonWriter* json) const;
  std::uint64_t problems_total() const;
  std::uint64_t names_cut() const;

 private:
  EventText text_;  // the bytes, by which an import is known again
  std::vector<tensorboard::NamedFile> files_;
  std::vector<tensorboard::Restart> restarts_;
};

}  // namespace headway::cli
