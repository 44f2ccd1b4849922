#include "cli/import_events.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/sha256.h"
#include "cli/import_files.h"
#include "journal/directory.h"
#include "journal/writer.h"
#include "runs/runs.h"

namespace headway::cli {
namespace {

// Up to so many records of a writer cost less one write call each than the mapping and the space
// for thousands of them.
constexpr std::size_t kFewRecords = 512;

std::string HexOf(const std::array<std::uint8_t, 32>& bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

std::int64_t StartOf(const RunRecords& run) {
  std::int64_t start = INT64_MAX;
  for (const Record& record : run.records) start = std::min(start, record.time_ns);
  return run.records.empty() ? 0 : start;
}

// The records of each writer in the order of their seq.
std::vector<std::vector<const Record*>> ByWriter(const RunRecords& run) {
  std::vector<std::vector<const Record*>> records(run.writers.size());
  for (const Record& record : run.records) records[record.writer].push_back(&record);
  for (std::vector<const Record*>& of_writer : records) {
    std::stable_sort(of_writer.begin(), of_writer.end(),
                     [](const Record* a, const Record* b) { return a->seq < b->seq; });
  }
  return records;
}

// Where a span's end names its begin: the begin's place among the records, which both share.
class Begins {
 public:
  void Add(std::uint64_t seq, std::int64_t place) { begins_.emplace_back(seq, place); }
  std::optional<std::int64_t> Find(std::int64_t handle) const {
    const auto seq = static_cast<std::uint64_t>(handle);
    const auto begin = std::lower_bound(
        begins_.begin(), begins_.end(), seq,
        [](const auto& entry, std::uint64_t number) { return entry.first < number; });
    if (begin == begins_.end() || begin->first != seq) return std::nullopt;
    return begin->second;
  }

 private:
  std::vector<std::pair<std::uint64_t, std::int64_t>> begins_;  // by rising seq
};

// Whether it says what the reader made of the file, which other files of the same records change.
bool IsOfTheReader(const RunRecords& run, const Record& record) {
  return record.type == RecordType::kNote && run.names.Text(record.name) == "run_name_reused";
}

// What a writer recorded, as a hash: the same however a file spelled, ordered or numbered it.
class Fingerprint {
 public:
  Fingerprint(const RunRecords& run, WriterId writer, const std::vector<const Record*>& records) {
    const Writer& from = run.writers[writer];
    for (const std::string* text : {&from.name, &from.attempt_key, &from.host}) {
      Add(std::to_string(text->size()) + ":" + *text);
    }
    const bool dead = writer < run.liveness.size() && run.liveness[writer] == Liveness::kDead;
    for (const std::int64_t number :
         {from.rank, from.world_size, from.attempt_index, from.pid, std::int64_t{from.event_file},
          std::int64_t{from.monotonic}, std::int64_t{from.supervisor}, std::int64_t{dead}}) {
      Add(std::to_string(number) + ",");
    }
    Begins begins;
    std::int64_t place = 0;
    for (const Record* record : records) {
      if (IsOfTheReader(run, *record)) continue;
      if (record->type == RecordType::kSpanBegin) begins.Add(record->seq, place);
      ++place;
      const std::string_view name = run.names.Text(record->name);
      const bool names_begin = record->type == RecordType::kSpanEnd && record->b != kNoHandle;
      const std::int64_t words[] = {
          static_cast<std::int64_t>(record->type) | static_cast<std::int64_t>(record->span) << 8 |
              static_cast<std::int64_t>(record->blocking) << 16 |
              static_cast<std::int64_t>(record->thread) << 32,
          record->time_ns, record->a,
          names_begin ? begins.Find(record->b).value_or(INT64_MAX) : record->b,
          static_cast<std::int64_t>(name.size())};
      Add({reinterpret_cast<const char*>(words), sizeof words});
      if (!name.empty()) Add(name);
    }
  }

  std::string Hex() {
    Fold();
    return HexOf(state_);
  }

 private:
  static constexpr std::size_t kFoldBytes = 1 << 16;

  void Add(std::string_view bytes) {
    pending_ += bytes;
    if (pending_.size() >= kFoldBytes) Fold();
  }
  void Fold() {
    state_ = Sha256(pending_);
    pending_.assign(reinterpret_cast<const char*>(state_.data()), state_.size());
  }

  std::array<std::uint8_t, 32> state_{};
  std::string pending_;
};

// Appends the records of one writer. A journal numbers its records anew, so that ends of spans must
// be told the new number of their begin.
void AppendAll(const RunRecords& run, const std::vector<const Record*>& records,
               journal::JournalWriter* writer) {
  Begins begins;
  for (const Record* record : records) {
    const std::string_view name = run.names.Text(record->name);
    if (record->type == RecordType::kConfig || record->type == RecordType::kStderrTail) {
      // Event files carry no payloads, but that something was said is a sign of life.
      const bool config = record->type == RecordType::kConfig;
      writer->AppendPayload(record->type, writer->Intern(name),
                            writer->ToMono(WallNs{record->time_ns}), config ? "{}" : "");
      continue;
    }
    Record copy = *record;
    if (record->type == RecordType::kSpanEnd && record->b != kNoHandle) {
      writer->Intern(name);  // may take a number
      // An end that names itself has lost its begin, and must not find another.
      copy.b = begins.Find(record->b).value_or(static_cast<std::int64_t>(writer->next_seq()));
    }
    const std::int64_t seq = writer->AppendRecord(copy, name);
    if (record->type == RecordType::kSpanBegin) begins.Add(record->seq, seq);
  }
}

// The records of a run by writer, and what each writer is called after what it recorded.
struct NamedRecords {
  std::vector<std::vector<const Record*>> records;
  std::vector<std::string> names;   // [num_writers], all different
  std::vector<std::string> sorted;  // the same
};

NamedRecords NameRecords(const RunRecords& run) {
  NamedRecords named;
  named.records = ByWriter(run);
  std::map<std::string, int> seen;
  for (WriterId w = 0; w < run.writers.size(); ++w) {
    std::string name = Fingerprint(run, w, named.records[w]).Hex();
    const int before = seen[name]++;
    if (before > 0) name += "~" + std::to_string(before);
    named.names.push_back(std::move(name));
  }
  named.sorted = named.names;
  std::sort(named.sorted.begin(), named.sorted.end());
  return named;
}

// Whether the run of that name that begins when one of these begins is another one.
Status CheckStart(const EventTarget& target, const std::vector<ImportedRun>& made) {
  // Between a recorder's opening and its first record, and between a supervisor's first record and
  // its opening.
  constexpr std::int64_t kOpeningNs = kNanosPerSecond;
  std::set<RunUid> own;
  for (const ImportedRun& run : made) own.insert(run.uid);
  const Result<std::vector<runs::Run>> known = runs::List({target.dir}, target.project);
  if (!known.ok()) return known.status();
  for (const runs::Run& run : *known) {
    if (run.name != target.run || own.contains(run.uid)) continue;
    const bool recorded = std::ranges::any_of(run.journals, [](const journal::JournalFile& file) {
      return file.header.origin != journal::Origin::kImport;
    });
    for (const ImportedRun& mine : made) {
      if (recorded && mine.start - kOpeningNs <= run.start &&
          run.start - kOpeningNs <= mine.start) {
        return {Code::kFailedPrecondition,
                "run \"" + target.run +
                    "\" was recorded here, from the same time on, and would be hidden; import "
                    "under another --run"};
      }
      if (recorded || run.start != mine.start || target.replace) continue;
      return {Code::kFailedPrecondition,
              "run \"" + target.run +
                  "\" is there already, with other or fewer records from the same time on; "
                  "use --replace to put the new data in its place, or another --run to keep both"};
    }
  }
  return OkStatus();
}

// Deletes what was imported under the name before, but for `kept`.
void RemoveOlder(const EventTarget& target, const std::set<JournalUid>& kept) {
  const auto journals = journal::ListJournals(target.dir, target.project, target.run);
  if (!journals.ok()) return;
  for (const journal::JournalFile& file : *journals) {
    if (file.header.origin != journal::Origin::kImport) continue;
    if (!kept.contains(file.header.uid)) ::unlink(file.path.c_str());
  }
}

}  // namespace

void EventText::Begin(std::string name) {
  EventSource source;
  source.name = std::move(name);
  if (!text.empty() && text.back() != '\n') text += '\n';
  source.first_offset = text.size();
  if (!sources.empty()) {
    const EventSource& last = sources.back();
    source.first_line =
        last.first_line +
        static_cast<std::uint64_t>(std::count(
            text.begin() + static_cast<std::ptrdiff_t>(last.first_offset), text.end(), '\n'));
  }
  sources.push_back(std::move(source));
}

const EventSource& EventText::SourceOf(const jsonl::Problem& problem) const {
  const EventSource* found = &sources.front();
  for (const EventSource& source : sources) {
    if (source.first_line <= problem.line) found = &source;
  }
  return *found;
}

std::string EventText::PlaceOf(const jsonl::Problem& problem) const {
  const EventSource& source = SourceOf(problem);
  return source.name + ":" + std::to_string(problem.line - source.first_line + 1) + " (byte " +
         std::to_string(problem.offset - source.first_offset) + ")";
}

Result<std::vector<ImportedRun>> WriteRuns(const std::vector<RunRecords>& runs,
                                           const EventTarget& target) {
  const std::string base = "headway-import-2\n" + std::to_string(target.project.size()) + ":" +
                           target.project + "\n" + std::to_string(target.run.size()) + ":" +
                           target.run;
  std::vector<ImportedRun> made;
  std::vector<NamedRecords> named;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    named.push_back(NameRecords(runs[r]));
    std::string key = base;
    for (const std::string& name : named.back().sorted) key += "\n" + name;
    ImportedRun run;
    run.name = target.run;
    run.project = target.project;
    run.uid = DeriveUid<RunUid>(key);
    // What was found wrong with the lines is not a record that they hold.
    run.records = static_cast<std::uint64_t>(std::ranges::count_if(
        runs[r].records, [](const Record& record) { return record.type != RecordType::kNote; }));
    run.start = StartOf(runs[r]);
    made.push_back(std::move(run));
  }
  std::set<JournalUid> there;
  const auto known = journal::ListJournals(target.dir, target.project, target.run);
  if (!known.ok()) return known.status();
  for (const journal::JournalFile& file : *known) there.insert(file.header.uid);
  HEADWAY_RETURN_IF_ERROR(CheckStart(target, made));

  std::optional<Staging> staging;  // once there is something to write
  std::vector<std::string> files;
  std::set<JournalUid> own;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const std::vector<std::vector<const Record*>>& records = named[r].records;
    made[r].unchanged = true;
    for (std::size_t w = 0; w < records.size(); ++w) {
      const Writer& from = runs[r].writers[w];
      journal::WriterOptions options;
      options.lock = false;
      journal::Header& header = options.header;
      header.uid =
          DeriveUid<JournalUid>(base + "\n" + ToHex(made[r].uid) + "\n" + named[r].names[w]);
      header.run_uid = made[r].uid;
      header.origin = journal::Origin::kImport;
      header.event_file = from.event_file;
      header.rank = from.rank;
      header.world_size = from.world_size;
      header.attempt_key = from.attempt_key;
      header.attempt_index = from.attempt_index;
      header.host = from.host;
      header.pid = from.pid;
      header.import_supervisor = from.supervisor;
      header.import_monotonic = from.monotonic;
      header.import_dead = w < runs[r].liveness.size() && runs[r].liveness[w] == Liveness::kDead;
      header.writer_name = from.name;
      header.project = target.project;
      header.run = target.run;
      header.software = "headway " HEADWAY_VERSION;
      own.insert(header.uid);
      ++made[r].journals;
      if (there.contains(header.uid)) continue;
      made[r].unchanged = false;
      if (!staging) {
        Result<Staging> place = Staging::Make(target.dir);
        if (!place.ok()) return place.status();
        staging.emplace(*std::move(place));
      }
      if (records[w].size() <= kFewRecords) options.mode = journal::WriterOptions::Mode::kWrite;
      const auto writer = journal::JournalWriter::Create(staging->path(), options);
      if (!writer.ok()) return writer.status();
      AppendAll(runs[r], records[w], writer->get());
      (*writer)->Finish();
      if ((*writer)->dropped() > 0) {
        return Status(Code::kResourceExhausted, "no space for journals below " + target.dir + ": " +
                                                    std::to_string((*writer)->dropped()) +
                                                    " records found no room; nothing was imported");
      }
      const std::string& path = (*writer)->path();
      files.push_back(path.substr(path.rfind('/') + 1));
    }
  }
  for (const std::string& file : files) {
    HEADWAY_RETURN_IF_ERROR(staging->Publish(file, target.dir, target.project, target.run));
  }
  if (target.replace) RemoveOlder(target, own);
  return made;
}

}  // namespace headway::cli
