#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/status.h"
#include "model/run_records.h"

/// Writes a run as an event file, such that reading it back gives the same ledger.
///
/// Pure but for the sink; safe from any thread. Every record type is written (see reader.h), in
/// order of (time, writer, seq), with exact `ts_ns`, and `writer`, `rank`, `attempt` and `seq`, so
/// that the reader restores each writer's order. Payloads (configs, output tails) are not part of
/// a Record and are not written. A writer of whom more is known than lines can say (host, process,
/// liveness, a monotonic clock) is described by a `writer` line at the top.

namespace headway::jsonl {

/// Takes whole lines, some 64 KiB at a time. An error ends the writing and is handed back.
using Sink = std::function<Status(std::string_view chunk)>;

struct WriteOptions {
  /// [num_writers] the attempt of each writer, -1: none, as the ledger told. Empty: from the
  /// writers themselves. Writers with equal attempt keys are one attempt, numbered by their
  /// restart counts where these tell attempts apart, else by start. A journal without a key that
  /// may lead is an attempt of its own unless it begins within the time of another such journal or
  /// within 60 s of its start; journals of other ranks without a key get none and go by time. So
  /// do writers of event files without a key.
  std::span<const std::int64_t> attempts;
};

/// Writes `run` to `sink`. Fails only with the sink's own error, or with InvalidArgument when
/// `options.attempts` is neither empty nor as long as `run.writers`.
/// Cost: linear, plus a sort where records are out of order; 4 bytes a record of memory.
Status WriteEvents(const RunRecords& run, const Sink& sink, const WriteOptions& options = {});

}  // namespace headway::jsonl
