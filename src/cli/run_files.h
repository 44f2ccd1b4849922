#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/report.h"
#include "runs/runs.h"

/// The files of a run: how large they are, and how they go.

namespace headway::cli {

/// Bytes that the journals take on disk.
std::uint64_t DiskBytes(const runs::Run& run);

/// What a run is, for lists and for decisions about it.
struct RunFacts {
  runs::Run run;
  Report report;
  bool live = false;      ///< a process of it, or its supervisor, is alive
  bool imported = false;  ///< all of it was imported: no process can belong to it
  std::uint64_t bytes = 0;
};
Result<RunFacts> LearnFacts(const runs::Run& run, WallNs now);

/// "live", or why the run may not be deleted; empty when it may.
std::string WhyKept(const RunFacts& facts);

/// Whether pruning everything older than `cutoff` takes the run: it has ended (or was imported), no
/// process is alive, and its last sign of life lies before `cutoff`.
bool Prunable(const RunFacts& facts, std::int64_t cutoff);

/// Deletes the journals of the run, and its directory once that is empty. Follows no symbolic link.
/// Other runs of the same name stay. Takes the lock under which new journals are made.
Status RemoveRun(const runs::Run& run);

}  // namespace headway::cli
