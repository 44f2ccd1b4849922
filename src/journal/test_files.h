#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/test_scratch_dir.h"
#include "journal/reader.h"
#include "journal/writer.h"

/// For tests: journals, and files as strings.

namespace headway::journal {

/// A header with every fact that a recorder knows; that of tests/golden/.
inline Header GoldenHeader() {
  Header h;
  h.uid = DeriveUid<JournalUid>("golden journal");
  h.run_uid = DeriveUid<RunUid>("golden run");
  h.boot_id = DeriveUid<BootId>("golden boot");
  h.locked = true;
  h.mapped = true;
  h.anchor = {WallNs{1'767'225'600'000'000'000}, MonoNs{1'000'000'000'000}};
  h.rank = 0;
  h.local_rank = 0;
  h.world_size = 8;
  h.attempt_index = 1;
  h.pid = 4242;
  h.tid = 4242;
  h.pid_start = 123'456;
  h.pid_namespace = 4'026'531'836;
  h.device = 64'769;
  h.inode = 131'077;
  h.project = "lm";
  h.run = "llama-7b";
  h.attempt_key = "slurm:cluster/77#1@0";
  h.host = "node1";
  h.job_id = "slurm:cluster/77";
  h.software = "headway 0.1.0";
  return h;
}

inline std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return std::move(bytes).str();
}

inline void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// A finished journal of `steps` step starts, one a second, in `dir`; its path. It says that it was
/// imported, so that a copy of it does not seem to be written still by the test's own process.
inline std::string WriteSteps(const std::string& dir, int steps) {
  FakeClock clock;
  WriterOptions options;
  options.header.origin = Origin::kImport;
  options.clock = &clock;
  auto writer = JournalWriter::Create(dir, options);
  if (!writer.ok()) std::abort();
  for (int i = 0; i < steps; ++i) {
    clock.Advance(kNanosPerSecond);
    (*writer)->Append(MetaHigh(RecordType::kStepStart, 0), (*writer)->Now(), i, 0);
  }
  return (*writer)->path();
}

/// What ReadAll makes of a file.
struct ReadResult {
  Status status;
  ReadSummary summary;
  std::vector<Record> records;
  NameTable names;
};
inline ReadResult Read(const std::string& path) {
  ReadResult result;
  Result<ReadSummary> summary = ReadAll(path, {.names = &result.names}, &result.records);
  if (summary.ok()) {
    result.summary = *std::move(summary);
  } else {
    result.status = summary.status();
  }
  return result;
}

}  // namespace headway::journal
