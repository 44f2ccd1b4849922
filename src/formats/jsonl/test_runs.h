#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "formats/jsonl/reader.h"
#include "formats/jsonl/schema.h"
#include "formats/jsonl/writer.h"
#include "model/run_records.h"

/// What the tests of this folder (and its fuzzer) share: a run as text, to compare and to read.

namespace headway::jsonl {

using Strings = std::vector<std::string>;

/// Whether `part` stands in `text`.
inline bool Holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// One line a record, by (writer, seq): "uid seq type a b name blocking thread @time", numbers that
/// mean nothing left out.
inline Strings Describe(const RunRecords& run) {
  std::vector<Record> records = run.records;
  std::ranges::sort(records, [](const Record& x, const Record& y) {
    return std::pair(x.writer, x.seq) < std::pair(y.writer, y.seq);
  });
  Strings lines;
  for (const Record& r : records) {
    std::string line = run.writers[r.writer].uid + " " + std::to_string(r.seq) + " ";
    line.append(EventTypeName(r));
    if (r.a != 0 && r.a != kNoStep) line += " a=" + std::to_string(r.a);
    if (r.b != 0 && r.b != kNoHandle && r.b != kNoTime) line += " b=" + std::to_string(r.b);
    if (r.name != 0) line.append(" ").append(run.names.Text(r.name));
    if (r.blocking == Blocking::kYes) line += " blocking";
    if (r.blocking == Blocking::kNo) line += " overlapped";
    if (r.thread != 0) line += " thread=" + std::to_string(r.thread);
    lines.push_back(line + " @" + std::to_string(r.time_ns));
  }
  return lines;
}

/// Every value of a writer that a file can carry.
inline std::string DescribeWriter(const RunRecords& run, std::size_t w) {
  const Writer& x = run.writers[w];
  const auto live = static_cast<int>(run.liveness.empty() ? Liveness::kUnknown : run.liveness[w]);
  return x.uid + " name=" + x.name + " rank=" + std::to_string(x.rank) + " key=" + x.attempt_key +
         " index=" + std::to_string(x.attempt_index) + " world=" + std::to_string(x.world_size) +
         " host=" + x.host + " pid=" + std::to_string(x.pid) + (x.monotonic ? " monotonic" : "") +
         (x.event_file ? " file" : "") + " live=" + std::to_string(live);
}

/// Both of the above, with each record in full.
inline Strings DescribeAll(const RunRecords& run) {
  Strings lines = Describe(run);
  for (const Record& r : run.records) {
    lines.push_back(std::to_string(r.writer) + "/" + std::to_string(r.seq) + " " +
                    std::to_string(r.a) + " " + std::to_string(r.b) + " " +
                    std::to_string(static_cast<int>(r.span)));
  }
  std::ranges::sort(lines);
  for (std::size_t w = 0; w < run.writers.size(); ++w) lines.push_back(DescribeWriter(run, w));
  return lines;
}

inline std::string WriteToString(const RunRecords& run) {
  std::string text;
  const Status status = WriteEvents(run, [&](std::string_view chunk) {
    text.append(chunk);
    return OkStatus();
  });
  HEADWAY_CHECK(status.ok());
  return text;
}

}  // namespace headway::jsonl
