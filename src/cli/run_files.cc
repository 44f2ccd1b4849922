#include "cli/run_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/files.h"
#include "cli/text.h"
#include "journal/directory.h"
#include "journal/reader.h"
#include "transfer/carrier.h"

namespace headway::cli {
namespace {

std::string DirectoryOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Opens `<dir>/journals/<project>/<run>` as seen from a journal in it: nothing below the data
// directory may be a symbolic link.
Result<UniqueFd> OpenRunDirectory(const std::string& directory) {
  std::string base = directory;
  std::vector<std::string> components;
  for (int i = 0; i < 3; ++i) {  // journals, project, run
    components.insert(components.begin(), base.substr(base.rfind('/') + 1));
    base = DirectoryOf(base);
  }
  if (base.empty()) base = "/";
  UniqueFd fd(::open(base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.ok()) return ErrnoStatus(errno, "open directory", base);
  for (const std::string& component : components) {
    UniqueFd next(
        ::openat(fd.get(), component.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.ok()) return ErrnoStatus(errno, "open directory", directory);
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

Result<RunFacts> LearnFacts(const runs::Run& run, WallNs now) {
  Result<runs::Loaded> loaded = runs::Load(run);
  if (!loaded.ok()) return loaded.status();
  RunFacts facts;
  facts.run = run;
  ledger::Query query;
  query.now = now.ns;
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

Status RemoveRun(const runs::Run& run) {
  std::vector<journal::JournalFile> files = run.journals;
  files.insert(files.end(), run.copies.begin(), run.copies.end());
  std::set<std::string> directories;
  for (const journal::JournalFile& file : files) directories.insert(DirectoryOf(file.path));
  for (const std::string& directory : directories) {
    const Result<UniqueFd> fd = OpenRunDirectory(directory);
    if (!fd.ok()) return fd.status();
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
      if (::unlinkat(fd->get(), name.c_str(), 0) != 0 && errno != ENOENT) {
        return ErrnoStatus(errno, "delete", file.path);
      }
    }
    const Result<std::vector<std::string>> rest = ListDirectory(directory);
    if (rest.ok() && (rest->empty() || (rest->size() == 1 && rest->front() == ".lock"))) {
      ::unlinkat(fd->get(), ".lock", 0);
      ::rmdir(directory.c_str());  // fails when something has appeared meanwhile: fine
    }
  }
  return OkStatus();
}

}  // namespace headway::cli
