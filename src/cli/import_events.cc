#include "cli/import_events.h"

#include <unistd.h>

#include <algorithm>
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

// Appends the records of one writer. A journal numbers its records anew, so that ends of spans must
// be told the new number of their begin.
void AppendAll(const RunRecords& run, const std::vector<const Record*>& records,
               journal::JournalWriter* writer) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> begins;  // seq here, seq in the journal
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
      const auto wanted = static_cast<std::uint64_t>(record->b);
      const auto begin = std::lower_bound(
          begins.begin(), begins.end(), wanted,
          [](const auto& entry, std::uint64_t number) { return entry.first < number; });
      writer->Intern(name);  // may take a number
      // An end that names itself has lost its begin, and must not find another.
      copy.b = begin != begins.end() && begin->first == wanted
                   ? begin->second
                   : static_cast<std::int64_t>(writer->next_seq());
    }
    const std::int64_t seq = writer->AppendRecord(copy, name);
    if (record->type == RecordType::kSpanBegin) begins.emplace_back(record->seq, seq);
  }
}

Status CheckStart(const EventTarget& target, const std::vector<ImportedRun>& made) {
  std::set<RunUid> own;
  for (const ImportedRun& run : made) own.insert(run.uid);
  const Result<std::vector<runs::Run>> known = runs::List({target.dir}, target.project);
  if (!known.ok()) return known.status();
  for (const runs::Run& run : *known) {
    if (run.name != target.run || own.contains(run.uid)) continue;
    for (const ImportedRun& mine : made) {
      if (run.start != mine.start) continue;
      return {Code::kFailedPrecondition,
              "run \"" + target.run +
                  "\" is there already, with other data from the same time on; "
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

Result<std::vector<ImportedRun>> WriteRuns(const EventText& events,
                                           const std::vector<RunRecords>& runs,
                                           const EventTarget& target) {
  const std::string base = "headway-import-1\n" + std::to_string(target.project.size()) + ":" +
                           target.project + "\n" + std::to_string(target.run.size()) + ":" +
                           target.run + "\n" + HexOf(Sha256(events.text));
  std::vector<ImportedRun> made;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    ImportedRun run;
    run.name = target.run;
    run.project = target.project;
    run.uid = DeriveUid<RunUid>(base + "\n" + std::to_string(r));
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
  if (!target.replace) HEADWAY_RETURN_IF_ERROR(CheckStart(target, made));

  std::optional<Staging> staging;  // once there is something to write
  std::vector<std::string> files;
  std::set<JournalUid> own;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const std::vector<std::vector<const Record*>> records = ByWriter(runs[r]);
    made[r].unchanged = true;
    for (std::size_t w = 0; w < records.size(); ++w) {
      const Writer& from = runs[r].writers[w];
      journal::WriterOptions options;
      options.lock = false;
      journal::Header& header = options.header;
      header.uid =
          DeriveUid<JournalUid>(base + "\n" + std::to_string(r) + "\n" + std::to_string(w));
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
