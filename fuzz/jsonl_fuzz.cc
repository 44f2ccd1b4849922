#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "formats/jsonl/reader.h"
#include "formats/jsonl/test_runs.h"
#include "formats/jsonl/writer.h"

// Any bytes are an event file: reading them must give runs whose records are numbered without gaps,
// and what the writer makes of a run must read back, without a problem, as the same run.

namespace headway::jsonl {
namespace {

void CheckNumbering(const RunRecords& run) {
  std::vector<std::vector<bool>> seen(run.writers.size());
  std::vector<std::size_t> counts(run.writers.size(), 0);
  for (const Record& record : run.records) {
    HEADWAY_CHECK(record.writer < run.writers.size());
    HEADWAY_CHECK(record.time_ns != kNoTime);
    HEADWAY_CHECK(record.name < run.names.size());
    ++counts[record.writer];
  }
  for (std::size_t w = 0; w < counts.size(); ++w) seen[w].resize(counts[w]);
  for (const Record& record : run.records) {
    HEADWAY_CHECK(record.seq < counts[record.writer] && !seen[record.writer][record.seq]);
    seen[record.writer][record.seq] = true;
  }
}

void Check(std::string_view text) {
  const Result<Import> import = ReadEvents(text);
  if (!import.ok()) return;
  HEADWAY_CHECK(!import->runs.empty());
  HEADWAY_CHECK(ReadEvents(text, {.strict = true}).ok() == (import->problems_total == 0));
  for (const RunRecords& run : import->runs) {
    CheckNumbering(run);
    const std::string written = WriteToString(run);
    const Result<Import> again = ReadEvents(written, {.strict = true, .split_runs = false});
    HEADWAY_CHECK(again.ok());
    HEADWAY_CHECK(DescribeAll(again->runs.front()) == DescribeAll(run));
  }
}

}  // namespace
}  // namespace headway::jsonl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headway::jsonl::Check(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
