// Any bytes as a journal: opened, read to the end, looked at again, payloads asked for.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "journal/reader.h"
#include "model/name_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int fd = memfd_create("journal", MFD_CLOEXEC);
  if (fd < 0) return 0;
  if (write(fd, data, size) != static_cast<ssize_t>(size)) {
    close(fd);
    return 0;
  }
  headway::NameTable names;
  auto reader = headway::journal::JournalReader::Open("/proc/self/fd/" + std::to_string(fd),
                                                      {.names = &names});
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
  close(fd);
  return 0;
}
