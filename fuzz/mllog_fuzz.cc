#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "formats/jsonl/reader.h"
#include "formats/mllog/reader.h"

// Any bytes are a result log: what is made of it must be an event file that reads without a
// problem.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const headway::mllog::Translation log = headway::mllog::Translate(text);
  HEADWAY_CHECK(log.problems_total <= log.entries);
  const auto read = headway::jsonl::ReadEvents(log.events, {});
  HEADWAY_CHECK(read.ok());
  HEADWAY_CHECK(read->problems_total == 0);
  return 0;
}
