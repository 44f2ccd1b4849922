#include "runs/findings.h"

#include <string_view>

namespace headway::runs {

std::vector<Record> Findings(const journal::ReadSummary& summary, WriterId writer,
                             std::uint64_t dropped_recorded, std::int64_t time_ns, bool stepped,
                             NameTable* names) {
  std::vector<Record> findings;
  std::uint64_t seq = summary.end_seq + 1;
  auto note = [&](std::string_view code, std::uint64_t count) {
    if (count == 0) return;
    Record record;
    record.type = RecordType::kNote;
    record.writer = writer;
    record.name = names->Intern(code);
    record.seq = seq++;
    record.time_ns = time_ns;
    record.a = static_cast<std::int64_t>(count);
    findings.push_back(record);
  };
  note("torn_tail", summary.torn_tail ? 1 : 0);
  note("journal_hole", summary.tombstones);
  note("journal_damage", summary.corrupt + (summary.damaged_counter ? 1 : 0));
  note("unknown_type", summary.unknown_types);
  note("clock_step", stepped ? 1 : 0);
  if (summary.dropped > dropped_recorded && summary.last_drop_ns != kNoTime) {
    // The process ended before there was space again to say so itself.
    Record record;
    record.type = RecordType::kDropped;
    record.writer = writer;
    record.seq = seq++;
    record.time_ns = summary.last_drop_ns;
    record.a = static_cast<std::int64_t>(summary.dropped - dropped_recorded);
    record.b = summary.first_drop_ns;
    findings.push_back(record);
  }
  return findings;
}

}  // namespace headway::runs
