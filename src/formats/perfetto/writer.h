#pragma once

#include <cstdint>
#include <string>

#include "model/report.h"

/// Writes a run as a trace in the JSON form of Chrome's trace events, which the Perfetto UI and
/// chrome://tracing open.
///
/// A lane for each attempt holds the partition, one below it the steps, and one at the top the time
/// when no attempt was alive, with a mark for each disruption and rollback. Times are microseconds
/// with three decimals, from the run's start on, so that no nanosecond is lost to a double; the
/// start itself is in the metadata.

namespace headway::perfetto {

class TraceWriter {
 public:
  /// Appends to `*out`, which must outlive the writer and may be emptied between calls. `report`:
  /// of the run; it names the attempts, disruptions and rollbacks.
  TraceWriter(const Report& report, std::string* out);

  void Add(const TimelineInterval& interval);
  void Add(const StepSummary& step);
  /// Ends the file. The last call.
  void Finish();

 private:
  void Lane(std::int64_t lane, const std::string& name);
  void Mark(const char* name, std::int64_t time, const std::string& arguments);
  /// Begins an event.
  void Begin(const char* phase, std::int64_t lane, std::int64_t time);
  void Time(const char* key, std::int64_t ns);

  std::string* out_;
  std::int64_t start_ = 0;
  bool any_ = false;
};

}  // namespace headway::perfetto
