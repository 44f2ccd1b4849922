#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/jsonl/reader.h"

/// Reads what ml-goodput-measurement wrote into Cloud Logging, and Orbax beside it: JSON as
/// `gcloud logging read --format=json` prints it (one array), one entry a line, or the payloads
/// alone (the original's cache file). Each job becomes a neutral event file, which
/// jsonl::ReadEvents takes from there: one way to records.
///
/// Pure; safe from any thread. Linear in the text.

namespace headway::cloud_logging {

/// The entries of one job.
struct Job {
  std::string name;
  std::string events;  ///< a neutral event file; times digit by digit as they were written
  std::uint64_t entries = 0;
};

struct Translation {
  std::vector<Job> jobs;                 ///< in the order in which they first come
  std::vector<jsonl::Problem> problems;  ///< entries left out, in order; at most 1000
  std::uint64_t problems_total = 0;
  std::uint64_t foreign = 0;  ///< entries of other programs: they have none of the known keys
};

/// Translates `text`, the whole of a file. What can't be read is told and left out; an entry that
/// is cut off at the end of the text is a torn tail.
Translation Translate(std::string_view text);

}  // namespace headway::cloud_logging
