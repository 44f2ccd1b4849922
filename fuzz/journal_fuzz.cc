// Any bytes as a journal: opened, read to the end, looked at again, payloads asked for.

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "journal/reader.h"
#include "model/name_table.h"

namespace {

// A file of this process, for readers open journals by path and follow no symbolic link.
struct Scratch {
  Scratch() {
    char name[] = "/tmp/journal-fuzz-XXXXXX";
    fd = mkstemp(name);
    path = name;
  }
  ~Scratch() { unlink(path.c_str()); }
  int fd = -1;
  std::string path;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Scratch scratch;
  if (scratch.fd < 0 || ftruncate(scratch.fd, 0) != 0) return 0;
  if (pwrite(scratch.fd, data, size, 0) != static_cast<ssize_t>(size)) return 0;
  headway::NameTable names;
  auto reader = headway::journal::JournalReader::Open(scratch.path, {.names = &names});
  if (reader.ok()) {
    std::vector<headway::Record> batch(64);
    std::vector<std::uint64_t> payloads;
    for (int pass = 0; pass < 2; ++pass) {
      while (true) {
        const auto read = reader->Next(batch);
        if (!read.ok() || *read == 0) break;
        for (std::size_t i = 0; i < *read; ++i) {
          if (batch[i].type == headway::RecordType::kConfig) payloads.push_back(batch[i].seq);
        }
      }
      reader->Refresh().IgnoreError();
    }
    for (const std::uint64_t seq : payloads) {
      const auto payload = reader->Payload(seq);
      if (payload.ok() && payload->size() > size) __builtin_trap();
    }
    if (reader->summary().records > size) __builtin_trap();
  }
  return 0;
}
