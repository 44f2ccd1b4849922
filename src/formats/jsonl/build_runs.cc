#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "formats/jsonl/event_set.h"

namespace headway::jsonl {
namespace {

/// Streams as the ledger sees them: by (rank, attempt, name), unknown rank last.
std::vector<std::size_t> WriterOrder(const std::vector<Stream>& streams) {
  std::vector<std::size_t> sorted(streams.size());
  for (std::size_t s = 0; s < sorted.size(); ++s) sorted[s] = s;
  std::ranges::sort(sorted, {}, [&](std::size_t s) {
    const Writer& writer = streams[s].writer;
    return std::tuple(writer.rank < 0, writer.rank, writer.attempt_index,
                      std::string_view(writer.name));
  });
  return sorted;
}

/// Puts one run together.
struct RunBuilder {
  RunRecords run;
  std::vector<Record> clocks;
  std::vector<std::uint64_t> next_seq;  // [num_writers]
  std::vector<std::int64_t> last_time;  // [num_writers]: of the last record
  std::size_t stream = SIZE_MAX;        // the one its last writer stands for
  std::map<ProblemKind, std::int64_t> problems;

  WriterId WriterFor(std::size_t s, const Stream& from) {
    if (stream != s) {
      stream = s;
      run.writers.push_back(from.writer);
      run.liveness.push_back(from.liveness);
      next_seq.push_back(0);
      last_time.push_back(kNoTime);
    }
    return static_cast<WriterId>(run.writers.size() - 1);
  }

  void Note(WriterId writer, std::string_view code, std::int64_t count) {
    Record note;
    note.type = RecordType::kNote;
    note.writer = writer;
    note.name = run.names.Intern(code);
    note.seq = next_seq[writer]++;
    note.time_ns = last_time[writer];
    note.a = count;
    run.records.push_back(note);
  }

  /// Notes about the run as a whole go to its first writer with a record.
  void NoteAll(bool reused) {
    if (problems.empty() && !reused) return;
    auto found = std::ranges::find_if(next_seq, [](std::uint64_t n) { return n > 0; });
    if (found == next_seq.end()) {
      // Nothing but unreadable lines: someone has to say so.
      Writer file;
      file.name = "file";
      file.uid = '/' + file.name;  // as of a writer without an attempt
      file.event_file = true;
      run.writers.push_back(file);
      run.liveness.push_back(Liveness::kUnknown);
      next_seq.push_back(0);
      last_time.push_back(0);
      found = next_seq.end() - 1;
    }
    const auto writer = static_cast<WriterId>(found - next_seq.begin());
    for (const auto& [kind, count] : problems) Note(writer, ProblemCode(kind), count);
    if (reused) Note(writer, "run_name_reused", 1);
  }
};

class Builder {
 public:
  Builder(EventSet events, const StreamOrder& order, const std::vector<RunCut>& cuts)
      : events_(std::move(events)), order_(order), cuts_(cuts), builders_(cuts.size() + 1) {}

  std::vector<RunRecords> Build() {
    if (!cuts_.empty()) run_of_.assign(events_.records.size(), 0);
    for (const std::size_t s : WriterOrder(events_.streams)) NumberStream(s);
    CountProblems();
    if (cuts_.empty()) {
      TakeAll();
    } else {
      Distribute();
    }
    return Finish();
  }

 private:
  struct Conflict {
    std::size_t run = 0;
    WriterId writer = 0;
    std::int64_t count = 0;
  };

  std::size_t RunOf(std::size_t s, std::size_t at, const Record& record) const {
    const auto first =
        record.type == RecordType::kExclude
            ? std::ranges::upper_bound(cuts_, record.a, {}, &RunCut::time_ns)
            : std::ranges::upper_bound(cuts_, at, {}, [&](const RunCut& c) { return c.first[s]; });
    return static_cast<std::size_t>(first - cuts_.begin());
  }

  void NumberStream(std::size_t s) {
    const Stream& stream = events_.streams[s];
    const std::size_t begin = order_.first[s];
    const std::size_t end = order_.first[s + 1];
    if (begin == end && stream.told) builders_.front().WriterFor(s, stream);
    bool handles = false;
    std::size_t run = 0;
    for (std::size_t at = begin; at < end; ++at) {
      const RecordIndex i = order_.order[at];
      Record& record = events_.records[i];
      if (!cuts_.empty()) run_of_[i] = static_cast<std::uint32_t>(run = RunOf(s, at, record));
      RunBuilder& builder = builders_[run];
      record.writer = builder.WriterFor(s, stream);
      std::uint64_t& seq = builder.next_seq[record.writer];
      if (!order_.clocks.empty()) {
        if (const auto clock = order_.clocks.find(i); clock != order_.clocks.end()) {
          Record step;
          step.type = RecordType::kClock;
          step.writer = record.writer;
          step.seq = seq++;
          step.time_ns = record.time_ns;
          step.a = clock->second;
          builder.clocks.push_back(step);
        }
      }
      record.seq = seq++;
      std::int64_t& last_time = builder.last_time[record.writer];
      if (record.type != RecordType::kExclude || last_time == kNoTime) last_time = record.time_ns;
      if (record.type == RecordType::kExclude) ExcludeLater(run, s, record);
      handles = handles || (record.type == RecordType::kSpanEnd && record.b != kNoHandle);
    }
    if (handles) ResolveHandles(begin, end);
    if (order_.conflicts[s] > 0) {
      const WriterId writer = events_.records[order_.order[end - 1]].writer;
      conflicts_.push_back({run, writer, order_.conflicts[s]});
    }
  }

  /// An exclusion that reaches into later runs holds in each of them.
  void ExcludeLater(std::size_t run, std::size_t s, Record record) {
    for (; run < cuts_.size(); ++run) {
      if (record.b != kNoTime && record.b <= cuts_[run].time_ns) return;
      RunBuilder& builder = builders_[run + 1];
      Record copy = record;
      copy.writer = builder.WriterFor(s, events_.streams[s]);
      copy.seq = builder.next_seq[copy.writer]++;
      copy.name = builder.run.names.Intern(events_.names.Text(record.name));
      builder.run.records.push_back(copy);
    }
  }

  std::uint32_t RunOfRecord(RecordIndex i) const { return run_of_.empty() ? 0 : run_of_[i]; }

  /// From the file's numbers to ours. An end whose begin is not there names itself, which no begin
  /// can match: it stays without one.
  void ResolveHandles(std::size_t begin, std::size_t end) {
    std::vector<std::pair<std::int64_t, RecordIndex>> begins;  // the file's number, the begin
    for (std::size_t at = begin; at < end; ++at) {
      const RecordIndex i = order_.order[at];
      if (events_.records[i].type == RecordType::kSpanBegin && events_.seq(i) != kNoSeq) {
        begins.emplace_back(events_.seq(i), i);
      }
    }
    std::ranges::stable_sort(begins, {}, [](const auto& entry) { return entry.first; });
    for (std::size_t at = begin; at < end; ++at) {
      const RecordIndex i = order_.order[at];
      Record& record = events_.records[i];
      if (record.type != RecordType::kSpanEnd || record.b == kNoHandle) continue;
      const auto found = std::ranges::lower_bound(begins, record.b, {},
                                                  [](const auto& entry) { return entry.first; });
      const bool here = found != begins.end() && found->first == record.b &&
                        RunOfRecord(found->second) == RunOfRecord(i);
      record.b = static_cast<std::int64_t>(here ? events_.records[found->second].seq : record.seq);
    }
  }

  /// A line that could not be read counts in the run of the record before it.
  void CountProblems() {
    for (const ProblemRun& problem : events_.problem_runs) {
      std::size_t run = 0;
      for (std::size_t i = problem.records_before; i > 0 && !run_of_.empty(); --i) {
        if (events_.records[i - 1].type == RecordType::kNone) continue;
        run = run_of_[i - 1];
        break;
      }
      builders_[run].problems[problem.kind] += problem.count;
    }
  }

  void TakeAll() {
    RunRecords& run = builders_.front().run;
    run.names = std::move(events_.names);
    run.records = std::move(events_.records);
    std::erase_if(run.records, [](const Record& r) { return r.type == RecordType::kNone; });
  }

  void Distribute() {
    std::vector<std::unordered_map<NameId, NameId>> names(builders_.size());
    for (std::size_t i = 0; i < events_.records.size(); ++i) {
      Record record = events_.records[i];
      if (record.type == RecordType::kNone) continue;
      RunRecords& run = builders_[run_of_[i]].run;
      if (record.name != 0) {
        const auto [found, fresh] = names[run_of_[i]].emplace(record.name, 0);
        if (fresh) found->second = run.names.Intern(events_.names.Text(record.name));
        record.name = found->second;
      }
      run.records.push_back(record);
    }
  }

  std::vector<RunRecords> Finish() {
    std::vector<RunRecords> runs;
    for (const Conflict& c : conflicts_) builders_[c.run].Note(c.writer, "seq_conflict", c.count);
    for (RunBuilder& builder : builders_) {
      RunRecords& run = builder.run;
      run.records.insert(run.records.end(), builder.clocks.begin(), builder.clocks.end());
      builder.NoteAll(!cuts_.empty());
      if (std::ranges::all_of(run.liveness, [](Liveness l) { return l == Liveness::kUnknown; })) {
        run.liveness.clear();
      }
      runs.push_back(std::move(run));
    }
    return runs;
  }

  EventSet events_;
  const StreamOrder& order_;
  const std::vector<RunCut>& cuts_;
  std::vector<RunBuilder> builders_;   // [num_cuts + 1]
  std::vector<std::uint32_t> run_of_;  // [num_records], or empty: one run
  std::vector<Conflict> conflicts_;
};

}  // namespace

std::vector<RunRecords> BuildRuns(EventSet events, const StreamOrder& order,
                                  const std::vector<RunCut>& cuts) {
  return Builder(std::move(events), order, cuts).Build();
}

}  // namespace headway::jsonl
