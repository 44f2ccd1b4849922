#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/uid.h"
#include "formats/jsonl/reader.h"

/// From event files to journals.

namespace headway::cli {

struct EventSource {
  std::string name;
  std::uint64_t first_line = 1;  ///< in the whole text, from 1
  std::uint64_t first_offset = 0;
};

/// All event files of one call, one after the other: they tell of one job.
struct EventText {
  std::string text;
  std::vector<EventSource> sources;

  /// Begins another file: what follows is appended to `text`.
  void Begin(std::string name);
  /// "FILE:LINE" of a line of the whole text.
  std::string PlaceOf(const jsonl::Problem& problem) const;
  /// The file, the line within it and the byte offset within it.
  const EventSource& SourceOf(const jsonl::Problem& problem) const;
};

/// A run that an import made, or found made already.
struct ImportedRun {
  std::string name;
  std::string project;
  RunUid uid;
  std::uint64_t journals = 0;
  std::uint64_t records = 0;
  std::int64_t start = 0;
  bool unchanged = false;  ///< it was all there
  JournalUid journal;      ///< of a journal that was copied
};

struct EventTarget {
  std::string dir;
  std::string project;
  std::string run;
  bool replace = false;
};

/// Writes `runs` as journals. Equal records under an equal name give equal uids, however a file
/// spells them, so that what is there already is left alone. FailedPrecondition when a
/// recorded run of the same start has the name, or other data of it was imported under the name
/// before and `replace` is not set; ResourceExhausted
/// when the disk is full: then nothing has changed.
Result<std::vector<ImportedRun>> WriteRuns(const std::vector<RunRecords>& runs,
                                           const EventTarget& target);

}  // namespace headway::cli
