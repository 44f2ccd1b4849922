#include <algorithm>
#include <limits>
#include <span>
#include <tuple>

#include "formats/jsonl/event_set.h"

namespace headway::jsonl {
namespace {

constexpr std::int64_t kClockStepNs = 1'000'000'000;
// Nobody sets a clock by more while a job runs: it is another machine's, or another boot's.
constexpr std::int64_t kOtherClockNs = 86'400 * kClockStepNs;

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
    if (events_.records[i].type == RecordType::kJobStart) return true;
    const Wide moved = Magnitude(Offset(i) - Offset(last));
    return moved > kOtherClockNs ||
           (events_.monos[i] < events_.monos[last] && moved > kClockStepNs);
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

/// What people say about a run belongs to no process and to no sequence.
bool IsAnnotation(const Record& record) {
  return record.type == RecordType::kQuery || record.type == RecordType::kExclude;
}

/// Moves the records from `sequenced` on, in order of time, to where they belong among those
/// before, whose order stays: behind all that a sequence has reached by then.
void PlaceByTime(const EventSet& events, std::span<RecordIndex> records, std::size_t sequenced) {
  if (sequenced == records.size()) return;
  std::vector<RecordIndex> placed;
  placed.reserve(records.size());
  auto next = records.begin() + static_cast<std::ptrdiff_t>(sequenced);
  std::int64_t reached = kNoTime;
  for (const RecordIndex i : records.first(sequenced)) {
    reached = std::max(reached, events.records[i].time_ns);
    for (; next != records.end() && events.records[*next].time_ns < reached; ++next) {
      placed.push_back(*next);
    }
    placed.push_back(i);
  }
  placed.insert(placed.end(), next, records.end());
  std::ranges::copy(placed, records.begin());
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
    const bool by_seq = !events->seqs.empty() && std::ranges::none_of(records, [&](RecordIndex i) {
      return events->seq(i) == kNoSeq && !IsAnnotation(events->records[i]);
    });
    std::size_t sequenced = 0;  // how many have a seq, at the front
    if (by_seq) {
      const auto end = std::stable_partition(
          records.begin(), records.end(), [&](RecordIndex i) { return events->seqs[i] != kNoSeq; });
      sequenced = static_cast<std::size_t>(end - records.begin());
      Sort(records.first(sequenced),
           [&](RecordIndex i) { return std::tuple(events->seqs[i], time(i), i); });
    }
    if (!events->monos.empty()) {
      Clocks(events, &out).Anchor(records);
      if (std::ranges::none_of(records,
                               [&](RecordIndex i) { return events->monos[i] == kNoTime; })) {
        events->streams[s].writer.monotonic = true;
      }
    }
    Sort(records.subspan(sequenced), [&](RecordIndex i) { return std::tuple(time(i), i); });
    if (by_seq) PlaceByTime(*events, records, sequenced);
    if (!events->seqs.empty()) out.conflicts[s] = CountConflicts(*events, records);
  }
  return out;
}

}  // namespace headway::jsonl
