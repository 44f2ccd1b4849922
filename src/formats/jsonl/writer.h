#pragma once

#include <functional>
#include <string_view>

#include "base/status.h"
#include "model/run_records.h"

/// Writes a run as an event file, such that reading it back gives the same ledger.
///
/// Pure but for the sink; safe from any thread. Every record type is written (see reader.h), in
/// order of (time, writer, seq), with exact `ts_ns`, and `writer`, `rank`, `attempt` and `seq`, so
/// that the reader restores each writer's order. Attempts are those of the ledger, by their
/// restart counts if these tell them apart, else by its numbers; writers of event files of which it
/// finds the attempts itself get none. Payloads (configs, output tails) are not part of a Record
/// and are not written. A writer of whom more is known than lines can say (host, process, liveness,
/// a monotonic clock) is described by a `writer` line at the top, and a run that might be taken for
/// several of one name by `one_run`.

namespace headway::jsonl {

/// Takes whole lines, some 64 KiB at a time. An error ends the writing and is handed back.
using Sink = std::function<Status(std::string_view chunk)>;

/// Writes `run` to `sink`. Fails only with the sink's own error.
/// Cost: that of a ledger of the run, and a sort where records are out of order.
Status WriteEvents(const RunRecords& run, const Sink& sink);

}  // namespace headway::jsonl
