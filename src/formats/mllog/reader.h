#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/jsonl/reader.h"

/// Reads MLPerf result logs: lines with `:::MLLOG {...}`, whatever stands before that. See
/// docs/formats/mllog.md.
///
/// They become a neutral event file, which jsonl::ReadEvents takes from there:
/// * the job starts with `init_start`, else with `run_start`; up to `run_start` it is
///   training_prep;
/// * blocks (`block_start`, `block_stop`), else epochs, else the whole run are its steps, numbered
///   from 0; a first block that only ends has begun with the run. Blocks that say that they hold
///   unlike amounts of work are the productive phase "train" instead: no block is then measured by
///   the others;
/// * `eval_start` to `eval_stop` is the custom span "eval";
/// * `run_stop` ends the job, as failed unless its status is "success";
/// * numbers of `eval_accuracy`, `eval_loss`, `eval_error`, `train_loss` and `tracked_stats` are
///   metrics.
/// What several processes say alike counts once. An entry whose time is more than a year from the
/// median of all times is left out: one that is wrong would make the run decades long.
///
/// Pure; safe from any thread. Linear in the text.

namespace headway::mllog {

struct Translation {
  std::string events;                    ///< a neutral event file
  std::uint64_t entries = 0;             ///< lines that are log entries
  std::vector<jsonl::Problem> problems;  ///< entries left out, in order; at most 1000
  std::uint64_t problems_total = 0;
};

/// Translates `text`, the whole of a file. What can't be read is told and left out.
Translation Translate(std::string_view text);

}  // namespace headway::mllog
