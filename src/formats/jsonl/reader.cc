#include "formats/jsonl/reader.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/limits.h"
#include "formats/jsonl/event_line.h"
#include "formats/jsonl/event_set.h"
#include "formats/jsonl/hash_index.h"
#include "formats/jsonl/line_parser.h"
#include "formats/jsonl/schema.h"

namespace headway::jsonl {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr int kLooksLimit = 16;  // at earlier lines, before an index pays
constexpr std::size_t kShortestLine = 20;
constexpr std::size_t kSampleBytes = std::size_t{64} << 10;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view Trim(std::string_view line) {
  while (!line.empty() && IsSpace(line.back())) line.remove_suffix(1);
  while (!line.empty() && IsSpace(line.front())) line.remove_prefix(1);
  return line;
}

std::uint32_t Hash(std::string_view text) {
  const std::size_t hash = std::hash<std::string_view>()(text);
  return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

/// Finds the stream a line belongs to.
class StreamTable {
 public:
  explicit StreamTable(std::vector<Stream>* streams) : streams_(*streams) {}

  /// The index of the line's stream, a new one if need be; limits::kEventWriters when there are too
  /// many.
  std::size_t Find(const EventLine& line) {
    // Most lines belong where the line before does.
    if (last_ < aliases_.size() && aliases_[last_].Says(line)) return aliases_[last_].stream;
    const std::uint32_t hash = Hash(line.writer) ^ Mix(line.attempt) ^ Mix(~line.rank);
    const auto fresh = static_cast<std::uint32_t>(aliases_.size());
    const std::uint32_t known =
        index_.FindOrAdd(hash, fresh, [&](std::uint32_t i) { return aliases_[i].Says(line); });
    last_ = known == HashIndex::kNone ? fresh : known;
    if (known == HashIndex::kNone) {
      const std::size_t stream = Resolve(line);
      aliases_.push_back({line.attempt, line.rank, std::string(line.writer), stream});
    }
    return aliases_[last_].stream;
  }

 private:
  /// What lines say of their writer, word for word.
  struct Alias {
    std::int64_t attempt = -1;
    std::int64_t rank = kNoRank;
    std::string writer;
    std::size_t stream = 0;

    bool Says(const EventLine& line) const {
      return attempt == line.attempt && rank == line.rank && writer == line.writer;
    }
  };

  static std::uint32_t Mix(std::int64_t value) {
    const std::uint64_t mixed = static_cast<std::uint64_t>(value) * 0x9e3779b97f4a7c15;
    return static_cast<std::uint32_t>(mixed >> 32);
  }

  std::size_t Resolve(const EventLine& line) {
    const std::string name = line.writer.empty()
                                 ? DefaultWriterName(line.rank == kNoRank ? 0 : line.rank)
                                 : std::string(line.writer);
    const auto [found, fresh] =
        by_key_.emplace(std::to_string(line.attempt) + '/' + name, streams_.size());
    if (found->second >= limits::kEventWriters) return limits::kEventWriters;
    if (fresh) {
      Stream stream;
      stream.writer.name = name;
      stream.writer.attempt_index = line.attempt;
      stream.writer.event_file = true;
      streams_.push_back(std::move(stream));
    }
    Stream& stream = streams_[found->second];
    if (line.rank != kNoRank && (stream.rank == kNoRank || line.rank < stream.rank)) {
      stream.rank = line.rank;
    }
    return found->second;
  }

  std::vector<Stream>& streams_;
  std::unordered_map<std::string, std::size_t> by_key_;
  std::vector<Alias> aliases_;
  HashIndex index_;  // into aliases_
  std::size_t last_ = SIZE_MAX;
};

/// From text to an EventSet: lines, problems, duplicates.
class FileReader {
 public:
  FileReader(std::string_view text, const Options& options)
      : text_(text), options_(options), table_(&events_.streams) {}

  Status Read() {
    Reserve();
    std::size_t at = text_.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
    while (at < text_.size()) {
      const std::size_t newline = text_.find('\n', at);
      const bool last = newline == std::string_view::npos;
      ++line_number_;
      line_offset_ = at;
      const std::string_view line = text_.substr(at, (last ? text_.size() : newline) - at);
      HEADWAY_RETURN_IF_ERROR(ReadLine(Trim(line), last));
      at = last ? text_.size() : newline + 1;
    }
    AssignAttempts();
    FinishStreams();
    SortStreams();
    return OkStatus();
  }

  EventSet TakeEvents() { return std::move(events_); }
  void TakeProblems(Import* import) {
    import->problems = std::move(problems_);
    import->problems_total = problems_total_;
    import->names_cut = names_cut_;
    import->times_differ = times_differ_;
  }

 private:
  struct Source {
    std::size_t offset = 0;
    std::uint32_t length = 0;
  };
  struct InsertId {
    std::string_view id;
    RecordIndex record = 0;
  };

  /// Makes room for about as many lines as the beginning of the text lets expect.
  void Reserve() {
    const std::string_view sample = text_.substr(0, kSampleBytes);
    const auto lines = static_cast<std::size_t>(std::ranges::count(sample, '\n')) + 1;
    const std::size_t bytes_a_line = std::max(kShortestLine, sample.size() / lines);
    events_.records.reserve(text_.size() / bytes_a_line + 1);
    sources_.reserve(text_.size() / bytes_a_line + 1);
  }

  Status ReadLine(std::string_view line, bool last) {
    if (line.empty()) return OkStatus();
    if (line.size() > limits::kEventLineBytes) {
      return Skip(ProblemKind::kBadLine, "the line is longer than 16 MiB");
    }
    const auto offset = static_cast<std::size_t>(line.data() - text_.data());
    if (!parser_.Parse(line, text_.size() - offset, &parsed_)) {
      const bool torn = last && parser_.not_json();
      return Skip(torn ? ProblemKind::kTornTail : ProblemKind::kBadLine, parser_.problem());
    }
    EventLine event;
    ProblemKind kind = ProblemKind::kBadLine;
    std::string sentence;
    if (!ReadEventLine(parsed_, &event, &kind, &sentence)) return Skip(kind, std::move(sentence));
    if (event.one_run) {
      events_.one_run = true;
      return OkStatus();
    }
    std::string_view insert_id;
    if (!ReadInsertId(&insert_id)) {
      return Skip(ProblemKind::kBadLine, "the field \"insert_id\" must be a string or a number");
    }
    const std::size_t stream = table_.Find(event);
    if (stream >= limits::kEventWriters) {
      return Status(Code::kResourceExhausted,
                    options_.source + " has more than 2^20 writers; split it");
    }
    if (event.about_writer) {
      Describe(event, &events_.streams[stream]);
      return OkStatus();
    }
    if (events_.records.size() >= limits::kEventLines) {
      return Status(Code::kResourceExhausted,
                    options_.source + " has more than 2^32 - 2 lines; split it");
    }
    const std::int64_t time_ns = event.record.time_ns;
    const bool fresh = parsed_.Has(Field::kInsertId) ? TakeIdentified(insert_id, time_ns, line)
                                                     : TakeUnidentified(time_ns, line);
    if (event.name_cut) Warn(&names_cut_);
    if (event.differs) {
      Warn(&times_differ_);
      const std::string seconds(FieldName(event.differing));
      if (options_.strict) {
        return Refused("the fields \"" + seconds + "\" and \"" + seconds +
                       "_ns\" differ by more than 1 ms");
      }
    }
    if (fresh) {
      sources_.push_back({offset, static_cast<std::uint32_t>(line.size())});
      Add(event, static_cast<WriterId>(stream));
    }
    return OkStatus();
  }

  bool ReadInsertId(std::string_view* id) const {
    if (!parsed_.Has(Field::kInsertId)) return true;
    const Value& value = parsed_[Field::kInsertId];
    *id = value.text;
    return value.kind == ValueKind::kString || value.kind == ValueKind::kNumber;
  }

  std::string_view Line(RecordIndex i) const {
    return text_.substr(sources_[i].offset, sources_[i].length);
  }

  /// Whether a line without an id stands here for the first time. A repeat has its original's time,
  /// so lines in order of time need no more than a look at those of the same time.
  bool TakeUnidentified(std::int64_t time_ns, std::string_view line) {
    const std::vector<Record>& records = events_.records;
    if (time_ns > latest_ns_) {
      latest_ns_ = time_ns;
      return true;
    }
    std::size_t at = records.size();
    if (time_ns == latest_ns_) {
      for (int looks = 0; at > 0 && looks < kLooksLimit; ++looks, --at) {
        if (records[at - 1].time_ns < time_ns && in_order_) return true;
        if (Line(static_cast<RecordIndex>(at - 1)) == line) return false;
      }
      if (at == 0) return true;
    } else {
      in_order_ = false;
    }
    for (; indexed_ < records.size(); ++indexed_) {
      const std::string_view earlier = Line(static_cast<RecordIndex>(indexed_));
      lines_.FindOrAdd(Hash(earlier), static_cast<std::uint32_t>(indexed_),
                       [](std::uint32_t) { return false; });
    }
    // Not entered yet: the line gets its place with the next catching up.
    return lines_.Find(Hash(line), [&](std::uint32_t i) { return Line(i) == line; }) ==
           HashIndex::kNone;
  }

  /// Whether the line is the one to keep of its id so far; one kept before goes.
  bool TakeIdentified(std::string_view id, std::int64_t time_ns, std::string_view line) {
    if (time_ns < latest_ns_) in_order_ = false;
    latest_ns_ = std::max(latest_ns_, time_ns);
    const auto next = static_cast<RecordIndex>(events_.records.size());
    const std::uint32_t known =
        ids_.FindOrAdd(Hash(id), static_cast<std::uint32_t>(insert_ids_.size()),
                       [&](std::uint32_t i) { return insert_ids_[i].id == id; });
    if (known == HashIndex::kNone) {
      insert_ids_.push_back({Kept(id), next});
      return true;
    }
    Record& kept = events_.records[insert_ids_[known].record];
    if (std::pair(kept.time_ns, Line(insert_ids_[known].record)) <= std::pair(time_ns, line)) {
      return false;
    }
    kept.type = RecordType::kNone;
    insert_ids_[known].record = next;
    return true;
  }

  /// `id` as a view that outlives the line.
  std::string_view Kept(std::string_view id) {
    const std::less<const char*> before;
    const char* end = text_.data() + text_.size();
    if (!before(id.data(), text_.data()) && before(id.data(), end)) return id;
    return id_copies_.emplace_back(id);
  }

  void Add(const EventLine& event, WriterId stream) {
    Record record = event.record;
    record.writer = stream;
    record.name = Name(event.name);
    const std::size_t count = events_.records.size();
    events_.records.push_back(record);
    Column(event.seq, kNoSeq, count, &events_.seqs);
    Column(event.mono_ns, kNoTime, count, &events_.monos);
  }

  /// Appends to a column that is only there once a line has had a value for it.
  static void Column(std::int64_t value, std::int64_t none, std::size_t count,
                     std::vector<std::int64_t>* column) {
    if (column->empty() && value == none) return;
    if (column->empty()) column->assign(count, none);
    column->push_back(value);
  }

  NameId Name(std::string_view name) {
    if (name.empty()) return 0;
    if (name != last_name_) {
      last_name_ = name;
      last_name_id_ = events_.names.Intern(name);
    }
    return last_name_id_;
  }

  static void Describe(const EventLine& event, Stream* stream) {
    // Of several lines about one writer the greatest counts, whichever comes first.
    const auto said = std::tuple(event.world_size, event.pid, event.host, event.monotonic,
                                 event.supervisor, !event.journal, event.liveness);
    const Writer& known = stream->writer;
    if (stream->told && said <= std::tuple(known.world_size, known.pid, known.host, known.monotonic,
                                           known.supervisor, known.event_file, stream->liveness)) {
      return;
    }
    stream->told = true;
    stream->writer.world_size = event.world_size;
    stream->writer.pid = event.pid;
    stream->writer.host = event.host;
    stream->writer.monotonic = event.monotonic;
    stream->writer.supervisor = event.supervisor;
    stream->writer.event_file = !event.journal;
    stream->liveness = event.liveness;
  }

  void Warn(Warned* warned) const {
    if (warned->lines++ > 0) return;
    warned->line = line_number_;
    warned->offset = line_offset_;
  }

  Status Refused(const std::string& sentence) const {
    return {Code::kDataLoss, options_.source + ":" + std::to_string(line_number_) + ": " +
                                 sentence + " (byte offset " + std::to_string(line_offset_) + ")"};
  }

  Status Skip(ProblemKind kind, std::string sentence) {
    if (options_.strict) return Refused(sentence);
    ++problems_total_;
    if (problems_.size() < options_.problems_limit) {
      problems_.push_back({kind, line_number_, line_offset_, std::move(sentence)});
    }
    const std::size_t before = events_.records.size();
    std::vector<ProblemRun>& runs = events_.problem_runs;
    // Between two records there are at most as many entries as kinds, however many lines.
    for (auto run = runs.rbegin(); run != runs.rend() && run->records_before == before; ++run) {
      if (run->kind != kind) continue;
      ++run->count;
      return OkStatus();
    }
    runs.push_back({before, kind, 1});
    return OkStatus();
  }

  /// Where some lines name their attempt, a line that does not belongs to the one that opened last
  /// before it (to the first, before any), as a line of the same writer.
  void AssignAttempts() {
    std::map<std::int64_t, std::int64_t> begin_of;  // attempt -> time of its first record
    bool unassigned = false;
    auto speaks = [](const Record& record) {
      return record.type != RecordType::kNone && record.type != RecordType::kQuery &&
             record.type != RecordType::kExclude && record.type != RecordType::kNote;
    };
    for (const Record& record : events_.records) {
      if (!speaks(record)) continue;
      const std::int64_t attempt = events_.streams[record.writer].writer.attempt_index;
      unassigned |= attempt < 0;
      if (attempt < 0) continue;
      const auto [found, fresh] = begin_of.emplace(attempt, record.time_ns);
      if (!fresh) found->second = std::min(found->second, record.time_ns);
    }
    if (begin_of.empty() || !unassigned) return;
    std::set<std::pair<std::int64_t, std::int64_t>> opened;  // (time, attempt)
    for (const auto& [attempt, time] : begin_of) opened.emplace(time, attempt);
    std::map<std::pair<std::int64_t, std::string>, WriterId> stream_of;
    for (std::size_t s = 0; s < events_.streams.size(); ++s) {
      const Writer& writer = events_.streams[s].writer;
      stream_of.emplace(std::pair(writer.attempt_index, writer.name), static_cast<WriterId>(s));
    }
    for (Record& record : events_.records) {
      const std::size_t from = record.writer;
      if (!speaks(record) || events_.streams[from].writer.attempt_index >= 0) continue;
      auto next = opened.upper_bound({record.time_ns, std::numeric_limits<std::int64_t>::max()});
      if (next != opened.begin()) --next;
      const auto [found, fresh] =
          stream_of.emplace(std::pair(next->second, events_.streams[from].writer.name),
                            static_cast<WriterId>(events_.streams.size()));
      if (fresh) {
        Stream stream = events_.streams[from];  // a copy: the vector grows
        stream.writer.attempt_index = next->second;
        events_.streams.push_back(std::move(stream));
      }
      record.writer = found->second;
      Stream& to = events_.streams[found->second];
      to.told |= events_.streams[from].told;
      events_.streams[from].told = false;
      const std::int64_t said = events_.streams[from].rank;
      if (said != kNoRank && (to.rank == kNoRank || said < to.rank)) to.rank = said;
    }
  }

  /// Settles what a stream's own lines left open.
  void FinishStreams() {
    std::unordered_map<std::string_view, std::int64_t> rank_by_name;
    for (const Stream& stream : events_.streams) {
      if (stream.rank == kNoRank) continue;
      const auto [found, fresh] = rank_by_name.emplace(stream.writer.name, stream.rank);
      if (!fresh && stream.rank < found->second) found->second = stream.rank;
    }
    for (Stream& stream : events_.streams) {
      Writer& writer = stream.writer;
      const auto found = rank_by_name.find(writer.name);
      // A line without `rank` is rank 0's, unless it names a writer: then nobody said its rank.
      const std::int64_t unsaid = writer.name == DefaultWriterName(0) ? 0 : -1;
      const std::int64_t otherwise = found == rank_by_name.end() ? unsaid : found->second;
      writer.rank = stream.rank == kNoRank ? otherwise : stream.rank;
      const std::string attempt =
          writer.attempt_index < 0 ? "" : std::to_string(writer.attempt_index);
      writer.uid = attempt + '/' + writer.name;
      if (!attempt.empty()) writer.attempt_key = "attempt:" + attempt;
    }
  }

  /// Writers as the ledger orders them, so that nothing depends on whose line came first.
  void SortStreams() {
    std::vector<Stream>& streams = events_.streams;
    std::vector<WriterId> sorted(streams.size());
    for (std::size_t s = 0; s < sorted.size(); ++s) sorted[s] = static_cast<WriterId>(s);
    const auto key = [&streams](WriterId s) {
      const Writer& writer = streams[s].writer;
      return std::tuple(writer.attempt_index, writer.rank, std::string_view(writer.name));
    };
    if (std::ranges::is_sorted(sorted, {}, key)) return;
    std::ranges::sort(sorted, {}, key);
    std::vector<Stream> in_order;
    std::vector<WriterId> place(streams.size());
    in_order.reserve(streams.size());
    for (const WriterId s : sorted) {
      place[s] = static_cast<WriterId>(in_order.size());
      in_order.push_back(std::move(streams[s]));
    }
    streams = std::move(in_order);
    for (Record& record : events_.records) record.writer = place[record.writer];
  }

  std::string_view text_;
  const Options& options_;
  EventSet events_;
  StreamTable table_;
  LineParser parser_;
  ParsedLine parsed_;
  std::vector<Source> sources_;  // [num_records]
  HashIndex lines_;              // into sources_, by text
  std::size_t indexed_ = 0;      // how many of sources_ are in it
  std::int64_t latest_ns_ = kNoTime;
  bool in_order_ = true;  // no line so far was earlier than one before it
  HashIndex ids_;         // into insert_ids_
  std::vector<InsertId> insert_ids_;
  std::deque<std::string> id_copies_;
  std::string last_name_;
  NameId last_name_id_ = 0;
  std::vector<Problem> problems_;
  std::uint64_t problems_total_ = 0;
  Warned names_cut_;
  Warned times_differ_;
  std::uint64_t line_number_ = 0;
  std::uint64_t line_offset_ = 0;
};

}  // namespace

std::string_view ProblemCode(ProblemKind kind) {
  switch (kind) {
    case ProblemKind::kBadLine: return "bad_line";
    case ProblemKind::kUnknownType: return "unknown_type";
    case ProblemKind::kTornTail: return "torn_tail";
  }
  return "";
}

Result<Import> ReadEvents(std::string_view text, const Options& options) {
  Import import;
  EventSet events;
  {
    FileReader reader(text, options);
    HEADWAY_RETURN_IF_ERROR(reader.Read());
    reader.TakeProblems(&import);
    events = reader.TakeEvents();
  }
  const StreamOrder order = OrderStreams(&events);
  std::vector<RunCut> cuts;
  if (options.split_runs && !events.one_run) cuts = FindRunCuts(events, order);
  import.runs = BuildRuns(std::move(events), order, cuts);
  return import;
}

}  // namespace headway::jsonl
