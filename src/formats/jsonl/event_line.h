#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "formats/jsonl/event_set.h"
#include "formats/jsonl/line_parser.h"
#include "model/record.h"

/// The meaning of one line: from parsed fields to a record. Internal to this folder.

namespace headway::jsonl {

struct EventLine {
  Record record;          // writer, seq and name are not set
  std::string_view name;  // of the record; lives as long as the parsed line
  bool name_cut = false;  // it was longer than is kept
  bool differs = false;   // a time stands in seconds and in nanoseconds, and they are not the same
  Field differing = Field::kTs;  // which, in seconds
  std::int64_t seq = kNoSeq;
  std::int64_t mono_ns = kNoTime;
  std::int64_t attempt = -1;
  std::int64_t rank = kNoRank;
  std::string_view writer;       // empty: by rank
  bool about_writer = false;     // a `writer` line: no record
  bool one_run = false;          // a `one_run` line: no record
  std::int64_t world_size = -1;  // of a `writer` line, as the next six
  std::int64_t pid = 0;
  std::string_view host;
  bool monotonic = false;
  bool supervisor = false;
  bool journal = false;
  Liveness liveness = Liveness::kUnknown;
};

/// Reads `line` into `*out`. Returns false with `*kind` and `*sentence` set when it is a problem.
bool ReadEventLine(const ParsedLine& line, EventLine* out, ProblemKind* kind,
                   std::string* sentence);

}  // namespace headway::jsonl
