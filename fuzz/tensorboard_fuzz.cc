#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/tensorboard/framing.h"
#include "formats/tensorboard/run.h"

// Any bytes are an event file. After a first byte of 'F' they are the data of records (a byte of
// length, then so many) that are put into sound frames: nobody hits upon a checksum by chance.

namespace {

using headway::tensorboard::EventFile;
using headway::tensorboard::MaskedCrc;

void AppendNumber(std::uint64_t value, std::size_t size, std::string* out) {
  for (std::size_t i = 0; i < size; ++i) *out += static_cast<char>(value >> (8 * i) & 0xff);
}

std::string Framed(std::string_view rest) {
  std::string file;
  while (!rest.empty()) {
    const std::size_t size = static_cast<std::uint8_t>(rest.front());
    const std::string_view data = rest.substr(1, size);
    rest.remove_prefix(std::min(rest.size(), 1 + size));
    std::string length;
    AppendNumber(data.size(), 8, &length);
    file += length;
    AppendNumber(MaskedCrc(length), 4, &file);
    file += data;
    AppendNumber(MaskedCrc(data), 4, &file);
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.starts_with('F')) bytes = Framed(std::string_view(bytes).substr(1));
  const EventFile file = headway::tensorboard::ReadEventFile(bytes);
  HEADWAY_CHECK(file.problems.size() == file.problems_total || file.problems.size() == 1000);
  HEADWAY_CHECK(file.end <= bytes.size());
  for (const auto& problem : file.problems) HEADWAY_CHECK(problem.offset < bytes.size());
  for (const auto& scalar : file.scalars) HEADWAY_CHECK(scalar.tag < file.tags.size());
  for (const auto& start : file.starts) HEADWAY_CHECK(start.before <= file.scalars.size());

  // What is read of it can be read again, but for what a file can't tell (no step, wide numbers).
  const std::vector<headway::tensorboard::NamedFile> files = {{"a", file}, {"b", file}};
  for (const auto& restart : headway::tensorboard::FindRestarts(files)) {
    HEADWAY_CHECK(!restart.superseded.empty());
  }
  const headway::RunRecords run = headway::tensorboard::MakeRun(files);
  HEADWAY_CHECK(run.records.size() == 2 * file.scalars.size());
  // A time within a microsecond of what int64 can hold may be rounded to beyond it.
  constexpr std::int64_t kFar = 9'000'000'000'000'000'000;
  for (const auto& scalar : file.scalars) {
    if (scalar.time_ns > kFar || scalar.time_ns < -kFar) return 0;
  }
  std::string written;
  const auto sink = [&written](std::string_view chunk) {
    written += chunk;
    return headway::OkStatus();
  };
  HEADWAY_CHECK(headway::tensorboard::WriteRun(run, headway::Report(), sink).ok());
  const EventFile again = headway::tensorboard::ReadEventFile(written);
  HEADWAY_CHECK(again.problems_total == 0 && again.other_values == 0);
  HEADWAY_CHECK(again.scalars.size() > run.records.size());
  return 0;
}
