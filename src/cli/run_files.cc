#include "cli/run_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>

#include "base/files.h"
#include "base/time_format.h"
#include "journal/directory.h"
#include "journal/liveness.h"
#include "journal/reader.h"
#include "model/text.h"
#include "transfer/carrier.h"

namespace headway::cli {
namespace {

std::string DirectoryOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Opens `<dir>/journals/<project>/<run>` as seen from a journal in it: nothing below the data
// directory may be a symbolic link (FailedPrecondition).
Result<UniqueFd> OpenRunDirectory(const std::string& directory) {
  std::string base = directory;
  std::vector<std::string> components;
  for (int i = 0; i < 3; ++i) {  // journals, project, run
    components.insert(components.begin(), base.substr(base.rfind('/') + 1));
    base = DirectoryOf(base);
  }
  if (base.empty()) base = "/";
  UniqueFd fd = OpenFile(base, O_RDONLY | O_DIRECTORY);
  if (!fd.ok()) return ErrnoStatus(errno, "open directory", base);
  std::string path = base;
  for (const std::string& component : components) {
    path = JoinPath(path, component);
    UniqueFd next = OpenFileAt(fd.get(), component, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (!next.ok()) {
      const int error = errno;
      struct stat info;
      if (::fstatat(fd.get(), component.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
          S_ISLNK(info.st_mode)) {
        return Status(Code::kFailedPrecondition,
                      path +
                          " is a symbolic link, and nothing behind one is deleted; remove the "
                          "link itself (rm), or delete the run where its files lie (--dir)");
      }
      return ErrnoStatus(error, "open directory", directory);
    }
    fd = std::move(next);
  }
  return fd;
}

// Whether the journal's process lives now, seen after the lock was taken.
bool Lives(const journal::JournalFile& file) {
  NameTable names;
  const Result<journal::JournalReader> reader =
      journal::JournalReader::Open(file.path, {.names = &names});
  return reader.ok() && reader->liveness() == Liveness::kAlive;
}

void LookAtFiles(RunFacts* facts) {
  for (const journal::JournalFile& file : facts->run.journals) {
    struct stat info;
    if (::lstat(file.path.c_str(), &info) != 0) continue;
    facts->bytes += static_cast<std::uint64_t>(info.st_blocks) * 512;
    if (!transfer::IsDelivered(file)) facts->undelivered = file.header.destination;
    facts->written =
        std::max(facts->written, info.st_mtim.tv_sec * kNanosPerSecond + info.st_mtim.tv_nsec);
  }
}

}  // namespace

Result<RunFacts> LearnFacts(const runs::Run& run) {
  Result<runs::Loaded> loaded = runs::Load(run);
  if (!loaded.ok()) return loaded.status();
  RunFacts facts;
  facts.run = run;
  ledger::Query query;
  query.now = loaded->now.ns;
  facts.report = loaded->ledger.MakeReport(query);
  facts.report.run = run.label;
  facts.report.project = run.project;
  facts.live = loaded->live || loaded->supervised;
  facts.imported =
      std::all_of(run.journals.begin(), run.journals.end(), [](const journal::JournalFile& file) {
        return file.header.origin == journal::Origin::kImport;
      });
  LookAtFiles(&facts);
  return facts;
}

void WriteRunFields(const RunFacts& facts, JsonWriter* json) {
  const Report& report = facts.report;
  json->Field("run", facts.run.label)
      .Field("name", facts.run.name)
      .Field("project", facts.run.project)
      .Field("uid", ToHex(facts.run.uid))
      .Field("state", RunStateName(report.state))
      .Field("live", facts.live)
      .Field("imported", facts.imported)
      .Field("start", FormatTime(WallNs{report.start.value_or(facts.run.start)}))
      .Field("elapsed_ns", report.elapsed_ns);
  json->Key("goodput");
  report.goodput ? json->Double(*report.goodput) : json->Null();
  json->Key("last_step");
  report.steps.last_step ? json->Int(*report.steps.last_step) : json->Null();
}

std::string WhyKept(const RunFacts& facts) {
  if (!facts.live) return {};
  return "run " + PrintableLine(facts.run.label) +
         " is alive: a process of it is running; stop it first";
}

std::int64_t LastChange(const RunFacts& facts) {
  if (facts.imported) return facts.written;
  return std::max(facts.written, facts.report.end.value_or(facts.run.start));
}

bool Prunable(const RunFacts& facts, WallNs now, std::int64_t age_ns) {
  if (facts.live) return false;
  const RunState state = facts.report.state;
  const bool ended = state == RunState::kCompleted || state == RunState::kFailed ||
                     state == RunState::kInterrupted;
  if (!ended && !facts.imported) age_ns = std::max(age_ns, kSilenceNs);
  return now.ns - LastChange(facts) > age_ns;
}

Status RemoveRun(const runs::Run& run, std::vector<Status>* problems) {
  std::vector<journal::JournalFile> files = run.journals;
  files.insert(files.end(), run.copies.begin(), run.copies.end());
  std::map<std::string, UniqueFd> directories;
  std::optional<Status> behind_link;
  for (const journal::JournalFile& file : files) {
    const std::string directory = DirectoryOf(file.path);
    if (directories.contains(directory)) continue;
    Result<UniqueFd> fd = OpenRunDirectory(directory);
    if (!fd.ok() && fd.status().code() != Code::kFailedPrecondition) return fd.status();
    if (!fd.ok() && !behind_link) behind_link = fd.status();
    directories.emplace(directory, fd.ok() ? *std::move(fd) : UniqueFd());
  }
  std::erase_if(directories, [](const auto& entry) { return !entry.second.ok(); });
  if (behind_link && directories.empty()) return *behind_link;
  // What is behind a link stays, but is no reason to keep the rest.
  if (behind_link) problems->push_back(*behind_link);
  for (const auto& [directory, fd] : directories) {
    const journal::RunLock lock = journal::RunLock::Acquire(directory);
    for (const journal::JournalFile& file : files) {
      if (DirectoryOf(file.path) == directory && Lives(file)) {
        return {Code::kFailedPrecondition,
                "a process has begun to write to " + file.path + "; nothing more is deleted"};
      }
    }
    for (const journal::JournalFile& file : files) {
      if (DirectoryOf(file.path) != directory) continue;
      const std::string name = file.path.substr(directory.size() + 1);
      if (::unlinkat(fd.get(), name.c_str(), 0) == 0 || errno == ENOENT) continue;
      const bool directory_there = errno == EISDIR;
      const Status status = ErrnoStatus(errno, "delete", file.path);
      if (!directory_there) return status;
      problems->push_back(status);  // no journal, and no reason to keep the rest
    }
    const Result<std::vector<std::string>> rest = ListDirectory(directory);
    if (rest.ok() && (rest->empty() || (rest->size() == 1 && rest->front() == ".lock"))) {
      ::unlinkat(fd.get(), ".lock", 0);
      ::rmdir(directory.c_str());  // fails when something has appeared meanwhile: fine
    }
  }
  return OkStatus();
}

Result<BrokenRun> FindBroken(const std::vector<std::string>& dirs, const std::string& project,
                             const std::string& name, WallNs now) {
  BrokenRun broken;
  for (const std::string& dir : dirs) {
    const std::string directory = journal::RunDirectory(dir, project, name);
    const Result<std::vector<std::string>> names = ListDirectory(directory);
    if (!names.ok() && names.status().code() == Code::kNotFound) continue;
    if (!names.ok()) return names.status();
    const auto readable = journal::ListJournals(dir, project, name);
    if (!readable.ok() || !readable->empty()) {
      return Status(Code::kNotFound, "there are journals of " + name + " that can be read");
    }
    for (const std::string& entry : *names) {
      const std::string path = JoinPath(directory, entry);
      struct stat info;
      if (entry.starts_with('.') || !entry.ends_with(journal::kFileSuffix)) continue;
      if (::lstat(path.c_str(), &info) != 0) continue;
      broken.files.push_back({.path = path, .header = {}});
      broken.bytes += static_cast<std::uint64_t>(info.st_blocks) * 512;
      if (!S_ISREG(info.st_mode)) continue;
      const Result<UniqueFd> fd = OpenForReading(path);
      const std::optional<bool> locked = fd.ok() ? journal::IsLocked(fd->get()) : std::nullopt;
      const std::int64_t written = info.st_mtim.tv_sec * kNanosPerSecond + info.st_mtim.tv_nsec;
      if (locked.value_or(false)) {
        return Status(Code::kFailedPrecondition,
                      path + " is being written to: a process of the run lives; stop it first");
      }
      if (!locked && written > now.ns - kSilenceNs) {
        return Status(Code::kFailedPrecondition,
                      path +
                          " can't be read, so that nobody can tell whether its process lives, "
                          "and was written to within a day; make it readable, or remove it");
      }
    }
  }
  if (broken.files.empty()) return Status(Code::kNotFound, "there are no journals of " + name);
  return broken;
}

}  // namespace headway::cli
