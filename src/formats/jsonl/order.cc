#include <algorithm>
#include <limits>
#include <span>
#include <tuple>

#include "formats/jsonl/event_set.h"

namespace headway::jsonl {
namespace {

constexpr std::int64_t kClockStepNs = 1'000'000'000;

// Differences of two times do not fit into 64 bits.
__extension__ using Wide = __int128;

Wide Magnitude(Wide value) { return value < 0 ? -value : value; }

std::int64_t Clamp(Wide value) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  if (value > kMost) return kMost;
  if (value < -Wide{kMost}) return -kMost;
  return static_cast<std::int64_t>(value);
}

/// Record indices grouped by stream, file order within each.
void GroupByStream(const EventSet& events, StreamOrder* out) {
  out->first.assign(events.streams.size() + 1, 0);
  for (const Record& record : events.records) {
    if (record.type != RecordType::kNone) ++out->first[record.writer + 1];
  }
  for (std::size_t s = 0; s < events.streams.size(); ++s) out->first[s + 1] += out->first[s];
  out->order.resize(out->first.back());
  std::vector<std::size_t> next(out->first.begin(), out->first.end() - 1);
  for (std::size_t i = 0; i < events.records.size(); ++i) {
    const Record& record = events.records[i];
    if (record.type == RecordType::kNone) continue;
    out->order[next[record.writer]++] = static_cast<RecordIndex>(i);
  }
}

/// The clock work on one stream, whose records stand in the order the process made them.
class Clocks {
 public:
  Clocks(EventSet* events, StreamOrder* out) : events_(*events), out_(*out) {}

  void Anchor(std::span<const RecordIndex> records) {
    std::vector<RecordIndex> process;
    for (const RecordIndex i : records) {
      if (events_.mono(i) == kNoTime) continue;
      if (!process.empty() && StartsAnew(process.back(), i)) {
        AnchorProcess(&process);
        process.clear();
      }
      process.push_back(i);
    }
    if (!process.empty()) AnchorProcess(&process);
  }

 private:
  Wide Offset(RecordIndex i) const { return Wide{events_.records[i].time_ns} - events_.monos[i]; }

  bool StartsAnew(RecordIndex last, RecordIndex i) const {
    if (Magnitude(Offset(i) - Offset(last)) <= kClockStepNs) return false;
    return events_.monos[i] < events_.monos[last] ||
           events_.records[i].type == RecordType::kJobStart;
  }

  void AnchorProcess(std::vector<RecordIndex>* process) {
    std::ranges::stable_sort(*process, {}, [&](RecordIndex i) { return events_.monos[i]; });
    const Wide anchor = Offset(process->front());
    Wide seen = 0;  // wall time minus ours, as last noted
    for (const RecordIndex i : *process) {
      const std::int64_t wall = events_.records[i].time_ns;
      const std::int64_t time = Clamp(anchor + events_.monos[i]);
      events_.records[i].time_ns = time;
      if (const Wide moved = Wide{wall} - time; Magnitude(moved - seen) > kClockStepNs) {
        out_.clocks.emplace(i, wall);
        seen = moved;
      }
    }
  }

  EventSet& events_;
  StreamOrder& out_;
};

/// Lines of one sequence number beyond the first, in a stream that is not ordered by it.
std::int64_t CountConflicts(const EventSet& events, std::span<const RecordIndex> records) {
  std::vector<std::int64_t> seqs;
  for (const RecordIndex i : records) {
    if (events.seqs[i] != kNoSeq) seqs.push_back(events.seqs[i]);
  }
  std::ranges::sort(seqs);
  return seqs.end() - std::unique(seqs.begin(), seqs.end());
}

template <typename Key>
void Sort(std::span<RecordIndex> records, const Key& key) {
  // Most files are in order already.
  if (!std::ranges::is_sorted(records, {}, key)) std::ranges::sort(records, {}, key);
}

}  // namespace

StreamOrder OrderStreams(EventSet* events) {
  StreamOrder out;
  GroupByStream(*events, &out);
  out.conflicts.assign(events->streams.size(), 0);
  for (std::size_t s = 0; s < events->streams.size(); ++s) {
    const std::span<RecordIndex> records(out.order.data() + out.first[s],
                                         out.first[s + 1] - out.first[s]);
    if (records.empty()) continue;
    const auto time = [&](RecordIndex i) { return events->records[i].time_ns; };
    const bool by_seq =
        std::ranges::none_of(records, [&](RecordIndex i) { return events->seq(i) == kNoSeq; });
    if (by_seq) {
      Sort(records, [&](RecordIndex i) { return std::tuple(events->seqs[i], time(i), i); });
    }
    if (!events->monos.empty()) {
      Clocks(events, &out).Anchor(records);
      if (std::ranges::none_of(records,
                               [&](RecordIndex i) { return events->monos[i] == kNoTime; })) {
        events->streams[s].writer.monotonic = true;
      }
    }
    if (!by_seq) Sort(records, [&](RecordIndex i) { return std::tuple(time(i), i); });
    if (!events->seqs.empty()) out.conflicts[s] = CountConflicts(*events, records);
  }
  return out;
}

}  // namespace headway::jsonl
