#include "runs/runs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/limits.h"
#include "base/time_format.h"
#include "journal/reader.h"
#include "runs/clocks.h"
#include "runs/findings.h"
#include "runs/merge.h"
#include "runs/read_ahead.h"

namespace headway::runs {
namespace {

std::int64_t StartOf(const journal::JournalFile& file) {
  if (file.header.origin != journal::Origin::kImport) return file.header.anchor.wall.ns;
  NameTable names;
  auto reader = journal::JournalReader::Open(file.path, {.names = &names});
  if (!reader.ok()) return 0;
  std::vector<Record> first(1);
  const auto read = reader->Next(first);
  return read.ok() && *read == 1 ? first[0].time_ns : 0;
}

// The directories without those that are the same place as an earlier one.
std::vector<std::string> Distinct(const std::vector<std::string>& dirs) {
  std::vector<std::string> distinct;
  std::set<std::filesystem::path> seen;
  for (const std::string& dir : dirs) {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(dir, error);
    if (seen.insert(error ? std::filesystem::path(dir) : real).second) distinct.push_back(dir);
  }
  return distinct;
}

// A file that can't be read, and the directory in which it lies.
struct Broken {
  std::string directory;
  Status status;
};

// Those that lie where the journals of `run` do.
std::vector<Status> BrokenOf(const Run& run, const std::vector<std::string>& dirs,
                             const std::vector<Broken>& broken) {
  std::set<std::string> directories;
  for (const std::string& dir : dirs) {
    directories.insert(journal::RunDirectory(dir, run.project, run.name));
  }
  for (const auto* files : {&run.journals, &run.copies}) {
    for (const journal::JournalFile& file : *files) {
      directories.insert(file.path.substr(0, file.path.rfind('/')));
    }
  }
  std::vector<Status> mine;
  for (const Broken& one : broken) {
    if (directories.contains(one.directory)) mine.push_back(one.status);
  }
  return mine;
}

// All records of an open journal, and what is wrong with it.
Status ReadJournal(journal::JournalReader* reader, WriterId writer, bool stepped, RunRecords* all) {
  std::vector<Record> batch(1024);
  std::uint64_t dropped = 0;
  std::int64_t last_ns = 0;
  while (true) {
    const auto read = reader->Next(batch);
    if (!read.ok()) return read.status();
    if (*read == 0) break;
    for (const Record& record : std::span(batch).subspan(0, *read)) {
      if (record.type == RecordType::kDropped) {
        dropped += static_cast<std::uint64_t>(std::max<std::int64_t>(0, record.a));
      }
      last_ns = record.time_ns;
      all->records.push_back(record);
    }
  }
  for (const Record& record :
       Findings(reader->summary(), writer, dropped, last_ns, stepped, &all->names)) {
    all->records.push_back(record);
  }
  return OkStatus();
}

// All runs, or only those called `only`.
Result<std::vector<Run>> ListAll(const std::vector<std::string>& dirs, const std::string& project,
                                 const std::optional<std::string>& only,
                                 std::vector<Broken>* broken) {
  std::map<RunUid, Run> by_uid;
  std::set<JournalUid> journals_seen;
  for (const std::string& dir : Distinct(dirs)) {
    Result<std::vector<std::string>> names = std::vector<std::string>();
    if (only) {
      names->push_back(*only);
    } else {
      names = journal::ListRuns(dir, project);
    }
    if (!names.ok()) return names.status();
    for (const std::string& name : *names) {
      std::vector<Status> unreadable;
      auto journals = journal::ListJournals(dir, project, name, &unreadable);
      if (!journals.ok()) return journals.status();
      for (Status& status : unreadable) {
        broken->push_back({journal::RunDirectory(dir, project, name), std::move(status)});
      }
      for (journal::JournalFile& file : *journals) {
        Run& run = by_uid[file.header.run_uid];
        const std::int64_t start = StartOf(file);
        run.start = run.journals.empty() ? start : std::min(run.start, start);
        run.uid = file.header.run_uid;
        run.project = project;
        run.name = file.header.run;
        if (journals_seen.insert(file.header.uid).second) {
          run.journals.push_back(std::move(file));
        } else if (auto copy = journal::AddJournal(std::move(file), &run.journals)) {
          run.copies.push_back(*std::move(copy));
        }
      }
    }
  }
  std::vector<Run> runs;
  runs.reserve(by_uid.size());
  for (auto& [uid, run] : by_uid) runs.push_back(std::move(run));
  Label(&runs);
  return runs;
}

// Whether this user's `node_local` has the run.
bool LiesIn(const std::string& node_local, const std::string& project, const std::string& label) {
  struct stat info;
  // What others put where they can write is none of ours.
  if (node_local.empty() || ::lstat(node_local.c_str(), &info) != 0) return false;
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) return false;
  return Find({node_local}, project, label).ok();
}

constexpr int kCatchUps = 4;  // a job whose processes come and go all the time gets no more

// Reads on to one instant: what was recorded while the journals were read, and who has ended.
Status CatchUp(std::vector<Source>* sources, Loaded* loaded) {
  bool changed = true;
  for (int i = 0; changed && i < kCatchUps; ++i) {
    loaded->now = SystemClock::WallNow();
    loaded->live = loaded->supervised = changed = false;
    std::vector<Liveness> before;
    for (Source& source : *sources) {
      before.push_back(source.reader().liveness());
      if (before.back() == Liveness::kDead) continue;
      if (Status status = source.Refresh(); !status.ok()) loaded->problems.push_back(status);
    }
    const Bound bound = {.until =
                             std::max(loaded->now.ns, loaded->ledger.LastTime().value_or(kNoTime))};
    const Result<std::uint64_t> records = Merge(sources, bound, 0, &loaded->ledger, {});
    if (!records.ok()) return records.status();
    loaded->records += *records;
    for (std::size_t s = 0; s < sources->size(); ++s) {
      const Source& source = (*sources)[s];
      const Liveness liveness = source.reader().liveness();
      changed |= liveness != before[s];
      if (liveness != Liveness::kAlive) continue;
      loaded->live = true;
      loaded->supervised |= source.reader().header().origin == journal::Origin::kSupervisor;
    }
  }
  for (const Source& source : *sources) {
    // One whose later records wait was alive then, also if it has ended since.
    const Liveness liveness = source.exhausted() ? source.reader().liveness() : Liveness::kAlive;
    loaded->ledger.SetLiveness(source.writer(), liveness);
  }
  return OkStatus();
}

}  // namespace

void Label(std::vector<Run>* runs) {
  std::sort(runs->begin(), runs->end(), [](const Run& a, const Run& b) {
    return std::pair(a.start, a.uid) > std::pair(b.start, b.uid);
  });
  std::map<std::string, int> taken;
  for (Run& run : *runs) {
    run.label = run.name;
    if (taken[run.name]++ > 0) {
      run.label += "@" + FormatCompactTime(WallNs{run.start});
      if (taken[run.label]++ > 0) run.label += "-" + ToHex(run.uid).substr(0, 8);
    }
  }
}

Result<std::vector<Run>> List(const std::vector<std::string>& dirs, const std::string& project,
                              std::vector<Status>* problems) {
  std::vector<Broken> broken;
  auto runs = ListAll(dirs, project, std::nullopt, &broken);
  if (problems != nullptr) {
    for (Broken& one : broken) problems->push_back(std::move(one.status));
  }
  return runs;
}

Result<Run> Find(const std::vector<std::string>& dirs, const std::string& project,
                 const std::string& label, std::vector<Status>* problems,
                 const std::string& node_local) {
  std::vector<Broken> broken;
  Result<std::vector<Run>> runs = std::vector<Run>();
  // First where runs of that name lie: other ones may be thousands.
  for (const std::optional<std::string>& only :
       {std::optional(label), std::optional(label.substr(0, label.rfind('@'))),
        std::optional<std::string>()}) {
    broken.clear();
    runs = ListAll(dirs, project, only, &broken);
    if (!runs.ok()) return runs.status();
    for (Run& run : *runs) {
      if (run.label != label && ToHex(run.uid) != label) continue;
      if (problems != nullptr) *problems = BrokenOf(run, Distinct(dirs), broken);
      return std::move(run);
    }
  }
  for (const std::string& dir : Distinct(dirs)) {
    const std::string directory = journal::RunDirectory(dir, project, label);
    for (const Broken& one : broken) {
      if (one.directory != directory) continue;
      return Status(one.status.code(),
                    "run \"" + label + "\" can't be read: " + one.status.message());
    }
  }
  std::string message = "no run \"" + label + "\" in project \"" + project + "\"";
  std::string known;
  for (std::size_t i = 0; i < runs->size() && i < 5; ++i) {
    known += (i == 0 ? "" : ", ") + (*runs)[i].label;
  }
  message += runs->empty() ? "; there are no runs below " + (dirs.empty() ? "" : dirs.front())
                           : "; the newest are: " + known;
  if (!broken.empty()) {
    message += "; " + std::to_string(broken.size()) +
               (broken.size() == 1 ? " file there" : " files there") +
               " can't be read, see headway runs list";
  }
  if (LiesIn(node_local, project, label)) {
    message += "; journals of it lie in " + node_local +
               " on this machine and have not been copied: read them with --dir " + node_local;
  }
  return Status(Code::kNotFound, message);
}

Result<Loaded> Load(const Run& run, const std::function<void(double)>& progress) {
  Loaded loaded;
  std::vector<Source> sources;
  const Clocks clocks(run);
  for (const journal::JournalFile& file : run.journals) {
    const WriterId writer = loaded.ledger.AddWriter(journal::ToModelWriter(file.header));
    auto names = std::make_unique<NameTable>();
    auto reader = journal::JournalReader::Open(
        file.path,
        {.names = names.get(), .writer = writer, .anchor = clocks.AnchorOf(file.header)});
    if (!reader.ok()) {
      loaded.problems.push_back(reader.status());
      continue;
    }
    const Liveness liveness = reader->liveness();
    loaded.ledger.SetLiveness(writer, liveness);
    loaded.live |= liveness == Liveness::kAlive;
    loaded.supervised |=
        liveness == Liveness::kAlive && file.header.origin == journal::Origin::kSupervisor;
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(file.path, error);
    if (!error) loaded.bytes += size;
    if (run.journals.size() > limits::kOpenJournals) reader->Release();
    sources.emplace_back(std::move(*reader), std::move(names), writer, loaded.ledger.names());
  }
  if (sources.empty() && !loaded.problems.empty()) return loaded.problems.front();
  const Result<std::uint64_t> records = Merge(&sources, {}, loaded.bytes, &loaded.ledger, progress);
  if (!records.ok()) return records.status();
  loaded.records = *records;
  loaded.now = SystemClock::WallNow();
  if (loaded.live) HEADWAY_RETURN_IF_ERROR(CatchUp(&sources, &loaded));
  loaded.ledger.SetSupervised(loaded.supervised);
  for (const Source& source : sources) {
    const journal::ReadSummary summary = source.reader().summary();
    const bool stepped = clocks.AnchorOf(source.reader().header()).has_value();
    // Notes are of no time.
    loaded.ledger.Add(
        Findings(summary, source.writer(), source.dropped(), 0, stepped, loaded.ledger.names()));
    const Status damage = summary.Check(source.reader().path());
    if (!damage.ok()) loaded.problems.push_back(damage);
  }
  return loaded;
}

Result<RunRecords> ReadRecords(const Run& run, std::vector<Status>* problems) {
  RunRecords all;
  const Clocks clocks(run);
  for (const journal::JournalFile& file : run.journals) {
    const auto writer = static_cast<WriterId>(all.writers.size());
    const std::optional<ClockAnchor> anchor = clocks.AnchorOf(file.header);
    auto reader = journal::JournalReader::Open(
        file.path, {.names = &all.names, .writer = writer, .anchor = anchor});
    if (!reader.ok()) {
      problems->push_back(reader.status());
      continue;
    }
    all.writers.push_back(journal::ToModelWriter(file.header));
    all.liveness.push_back(reader->liveness());
    HEADWAY_RETURN_IF_ERROR(ReadJournal(&*reader, writer, anchor.has_value(), &all));
    const Status damage = reader->summary().Check(file.path);
    if (!damage.ok()) problems->push_back(damage);
  }
  if (all.writers.empty() && !problems->empty()) return problems->front();
  return all;
}

std::map<std::string, std::int64_t> AttemptsOf(const Run& run, ledger::Ledger* ledger) {
  // A writer that is known has the number it had; one that is new belongs to no attempt yet.
  std::map<std::string, WriterId> writers;
  for (const journal::JournalFile& file : run.journals) {
    writers[ToHex(file.header.uid)] = ledger->AddWriter(journal::ToModelWriter(file.header));
  }
  const std::vector<std::int64_t> numbers = ledger->AttemptsOfWriters();
  std::map<std::string, std::int64_t> attempts;
  for (const auto& [uid, writer] : writers) attempts[uid] = numbers[writer];
  return attempts;
}

}  // namespace headway::runs
