#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "formats/cloud_logging/reader.h"
#include "formats/jsonl/reader.h"

// Any bytes are a cloud log: what is made of it must be event files that read without a problem.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const headway::cloud_logging::Translation log = headway::cloud_logging::Translate(text);
  HEADWAY_CHECK(log.problems.size() <= log.problems_total);
  for (const headway::cloud_logging::Job& job : log.jobs) {
    const auto read = headway::jsonl::ReadEvents(job.events, {});
    HEADWAY_CHECK(read.ok());
    for (const headway::jsonl::Problem& problem : read->problems) {
      // The one thing that is judged there: how many slices fit into a record.
      HEADWAY_CHECK(problem.sentence.find("\"available\"") != std::string::npos ||
                    problem.sentence.find("\"active\"") != std::string::npos ||
                    problem.sentence.find("\"total\"") != std::string::npos);
    }
  }
  return 0;
}
