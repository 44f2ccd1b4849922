#pragma once

#include <string>
#include <string_view>

#include "model/record.h"

/// Names of the event file's line types: the one table that reader and writer share.

namespace headway::jsonl {

/// What a line's `type` says.
struct EventType {
  RecordType type = RecordType::kNone;
  SpanKind span = SpanKind::kNone;  ///< for kSpanBegin and kSpanEnd
};

/// A line about a writer rather than by one; see reader.h.
inline constexpr std::string_view kWriterLine = "writer";

/// A line that says that the file tells of one run, whatever its attempts look like.
inline constexpr std::string_view kOneRunLine = "one_run";

/// The record behind a `type`; false for an unknown one.
bool ParseEventType(std::string_view name, EventType* type);

/// The `type` of `record`, e.g. "training_prep_start"; empty for a record without one.
std::string_view EventTypeName(const Record& record);

/// The name of a writer that has none: "rank0"; "unranked" where the rank is not known.
std::string DefaultWriterName(std::int64_t rank);

/// The number of a signal by name ("SIGTERM" or "TERM"), or 0.
int SignalNumber(std::string_view name);

}  // namespace headway::jsonl
