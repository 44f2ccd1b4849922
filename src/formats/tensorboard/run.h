#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/tensorboard/reader.h"
#include "model/report.h"
#include "model/run_records.h"

/// Between event files and runs. Pure; safe from any thread.

namespace headway::tensorboard {

struct NamedFile {
  std::string name;  ///< its path; the writer is called by the last part of it
  EventFile file;
};

/// The scalars as metrics, each file a writer of its own, in the order of `files`. Nothing is left
/// out: points that a restart supersedes are history of an earlier attempt. A file without a scalar
/// is no writer.
RunRecords MakeRun(const std::vector<NamedFile>& files);

/// Training that goes on from a step that was there before. Points recorded earlier whose step is
/// not lower are superseded, whatever their tag.
struct Restart {
  std::size_t file = 0;  ///< index into the files
  std::int64_t step = 0;
  std::map<std::string, std::uint64_t> superseded;  ///< points by tag; at least one
};

/// Where the training of `files` went on from an earlier step, in order of time.
///
/// A file takes up a restart when all of its points are later than all points of the files before
/// it and its first step is not above the highest of them. Files that alternate are several
/// writers of one attempt and no restart. A session log START, but for the first one, is a restart
/// at its step, as TensorBoard has it; within a file nothing else is.
std::vector<Restart> FindRestarts(const std::vector<NamedFile>& files);

/// Takes whole records, some 64 KiB at a time. An error ends the writing and is handed back.
using Sink = std::function<Status(std::string_view chunk)>;

/// Writes one event file: the metrics of `run` in order of time, and then the numbers of `report`,
/// at the highest step there is and the time the report is as of.
///
/// The tag of a metric is its name. Where several ranks recorded one of that name, it belongs to
/// the lowest of them, and the others have `/rank<N>` behind it; writers without a rank count as
/// one. A metric without a step has that of the training step that ran, else 0. Where an attempt
/// began again at or below a step that has points, a session log START tells so, by which
/// TensorBoard shows the later points only; all of them are in the file.
///
/// Fails only with the sink's own error. Cost: a sort of the metrics.
Status WriteRun(const RunRecords& run, const Report& report, const Sink& sink);

}  // namespace headway::tensorboard
