#include "journal/directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <map>

#include "journal/liveness.h"
#include "journal/reader.h"

namespace headway::journal {
namespace {

constexpr std::string_view kJournals = "journals";

Result<Header> HeaderOf(int fd, const std::string& path) {
  std::array<std::byte, kHeaderBytes> bytes;
  const Result<std::size_t> got = ReadAt(fd, bytes.data(), bytes.size(), 0, path);
  if (!got.ok()) return got.status();
  return DecodeHeader(bytes.data(), *got, path);
}

// Names of the entries of `path`, nothing when it does not exist.
Result<std::vector<std::string>> ListIfThere(const std::string& path) {
  Result<std::vector<std::string>> names = ListDirectory(path);
  if (!names.ok() && names.status().code() == Code::kNotFound) return std::vector<std::string>();
  return names;
}

// A directory that someone has copied under a name of his own is called as its journals say.
void SortUnique(std::vector<std::string>* names) {
  std::sort(names->begin(), names->end());
  names->erase(std::unique(names->begin(), names->end()), names->end());
}

bool IsJournalName(std::string_view name) {
  return name.size() > kFileSuffix.size() && name.ends_with(kFileSuffix) && name.front() != '.';
}

// The header of some journal in `directory`, for the names that a path component can't hold.
std::optional<Header> AnyHeader(const std::string& directory) {
  const Result<std::vector<std::string>> names = ListIfThere(directory);
  if (!names.ok()) return std::nullopt;
  for (const std::string& name : *names) {
    if (!IsJournalName(name)) continue;
    const std::string path = JoinPath(directory, name);
    const Result<UniqueFd> fd = OpenForReading(path);
    if (!fd.ok()) continue;
    Result<Header> header = HeaderOf(fd->get(), path);
    if (header.ok()) return *std::move(header);
  }
  return std::nullopt;
}

// Whether this is the file that its writer made, and not a copy of it; and how long it is.
std::pair<bool, std::int64_t> StandingOf(const JournalFile& file) {
  struct stat info;
  if (::lstat(file.path.c_str(), &info) != 0) return {false, -1};
  return {static_cast<std::uint64_t>(info.st_dev) == file.header.device &&
              static_cast<std::uint64_t>(info.st_ino) == file.header.inode,
          info.st_size};
}

struct KnownRun {
  RunUid uid;
  WallNs newest;
  std::vector<const JournalFile*> journals;  // by time
};

// The newest run among `journals`, none when there is none that was recorded live.
std::optional<KnownRun> NewestRun(const std::vector<JournalFile>& journals) {
  std::vector<KnownRun> runs;
  for (const JournalFile& file : journals) {
    if (file.header.origin == Origin::kImport) continue;
    auto run = std::find_if(runs.begin(), runs.end(), [&file](const KnownRun& known) {
      return known.uid == file.header.run_uid;
    });
    if (run == runs.end()) run = runs.insert(runs.end(), {file.header.run_uid, {}, {}});
    run->newest = std::max(run->newest, file.header.anchor.wall);
    run->journals.push_back(&file);
  }
  const auto newest =
      std::max_element(runs.begin(), runs.end(),
                       [](const KnownRun& a, const KnownRun& b) { return a.newest < b.newest; });
  if (newest == runs.end()) return std::nullopt;
  return *newest;
}

bool RunEndedCleanly(const KnownRun& run) {
  // The last lead decides; a supervisor that came later may know more.
  const JournalFile* lead = nullptr;
  const JournalFile* supervisor = nullptr;
  for (const JournalFile* file : run.journals) {
    if (file->header.origin == Origin::kSupervisor) {
      supervisor = file;
    } else if (lead == nullptr || file->header.rank <= 0 || lead->header.rank > 0) {
      lead = file;
    }
  }
  for (const JournalFile* file : {lead, supervisor}) {
    if (file == nullptr) continue;
    const Result<bool> clean = EndedCleanly(file->path);
    if (clean.ok() && *clean) return true;
    if (file == supervisor || supervisor == nullptr) continue;
    // A supervisor's word counts for the attempt that it watched only.
    if (supervisor->header.attempt_key != lead->header.attempt_key) break;
  }
  return false;
}

// See ChooseRun.
bool IsLatecomer(const KnownRun& run, const RunRequest& request) {
  if (request.rank < 0 || request.world_size <= 1) return false;
  if (run.newest < request.now - kLatecomerNs) return false;
  std::map<std::int64_t, int> starts;  // by rank
  int most = 0;
  for (const JournalFile* file : run.journals) {
    if (file->header.rank < 0 || file->header.world_size != request.world_size) continue;
    most = std::max(most, ++starts[file->header.rank]);
  }
  return starts[request.rank] < most;
}

}  // namespace

Result<Header> ReadHeader(const std::string& path) {
  const Result<UniqueFd> fd = OpenForReading(path);
  if (!fd.ok()) return fd.status();
  return HeaderOf(fd->get(), path);
}

std::string RunDirectory(std::string_view dir, std::string_view project, std::string_view run) {
  return JoinPath(JoinPath(JoinPath(dir, kJournals), MakePathComponent(project)),
                  MakePathComponent(run));
}

Result<UniqueFd> MakeRunDirectory(const std::string& dir, std::string_view project,
                                  std::string_view run) {
  return MakeAndOpenDirectory(
      dir, {std::string(kJournals), MakePathComponent(project), MakePathComponent(run)});
}

Result<std::vector<std::string>> ListProjects(const std::string& dir) {
  const std::string root = JoinPath(dir, kJournals);
  const Result<std::vector<std::string>> components = ListIfThere(root);
  if (!components.ok()) return components.status();
  std::vector<std::string> names;
  for (const std::string& component : *components) {
    if (std::optional<std::string> name = ParsePathComponent(component)) {
      names.push_back(*std::move(name));
      continue;
    }
    const std::string directory = JoinPath(root, component);
    const Result<std::vector<std::string>> runs = ListIfThere(directory);
    if (!runs.ok()) continue;
    for (const std::string& run : *runs) {
      if (const std::optional<Header> header = AnyHeader(JoinPath(directory, run))) {
        names.push_back(header->project);
        break;
      }
    }
  }
  SortUnique(&names);
  return names;
}

Result<std::vector<std::string>> ListRuns(const std::string& dir, const std::string& project) {
  const std::string root = JoinPath(JoinPath(dir, kJournals), MakePathComponent(project));
  const Result<std::vector<std::string>> components = ListIfThere(root);
  if (!components.ok()) return components.status();
  std::vector<std::string> names;
  for (const std::string& component : *components) {
    if (std::optional<std::string> name = ParsePathComponent(component)) {
      names.push_back(*std::move(name));
    } else if (const std::optional<Header> header = AnyHeader(JoinPath(root, component))) {
      names.push_back(header->run);
    }
  }
  SortUnique(&names);
  return names;
}

Result<std::vector<JournalFile>> ListJournals(const std::string& dir, const std::string& project,
                                              const std::string& run,
                                              std::vector<Status>* problems) {
  const std::string directory = RunDirectory(dir, project, run);
  const Result<std::vector<std::string>> names = ListIfThere(directory);
  if (!names.ok()) return names.status();
  std::vector<JournalFile> files;
  for (const std::string& name : *names) {
    if (!IsJournalName(name)) continue;
    const std::string path = JoinPath(directory, name);
    const Result<UniqueFd> fd = OpenForReading(path);
    Result<Header> header = fd.ok() ? HeaderOf(fd->get(), path) : Result<Header>(fd.status());
    if (header.ok()) {
      files.push_back({path, *std::move(header)});
    } else if (problems != nullptr) {
      problems->push_back(header.status());
    }
  }
  std::stable_sort(files.begin(), files.end(), [](const JournalFile& a, const JournalFile& b) {
    return a.header.anchor.wall < b.header.anchor.wall;
  });
  return files;
}

std::optional<JournalFile> AddJournal(JournalFile file, std::vector<JournalFile>* journals) {
  const auto same = std::find_if(
      journals->begin(), journals->end(),
      [&file](const JournalFile& known) { return known.header.uid == file.header.uid; });
  if (same == journals->end()) {
    journals->push_back(std::move(file));
    return std::nullopt;
  }
  if (StandingOf(file) > StandingOf(*same)) std::swap(file, *same);
  return file;
}

Result<Resume> ParseResume(std::string_view text) {
  if (text.empty() || text == "auto") return Resume::kAuto;
  if (text == "must") return Resume::kMust;
  if (text == "never") return Resume::kNever;
  return Status(Code::kInvalidArgument,
                "resume is \"auto\", \"must\" or \"never\", not \"" + std::string(text) + "\"");
}

RunUid RunUidOfJob(std::string_view project, std::string_view run, std::string_view job_id) {
  // Lengths keep ("a", "bc") and ("ab", "c") apart. Part of the format: agents derive the same.
  std::string text = "headway-run-1";
  for (const std::string_view part : {project, run, job_id}) {
    text += "\n" + std::to_string(part.size()) + ":" + std::string(part);
  }
  return DeriveUid<RunUid>(text);
}

Result<RunChoice> ChooseRun(const RunRequest& request) {
  std::vector<JournalFile> journals;
  for (const std::string& dir : request.dirs) {
    Result<std::vector<JournalFile>> found = ListJournals(dir, request.project, request.run);
    if (!found.ok()) continue;  // an unreadable place holds nothing that could be continued
    for (JournalFile& file : *found) AddJournal(std::move(file), &journals);
  }
  // The supervisor and other ranks of the same attempt may have begun already.
  const auto is_earlier = [&request](const Header& header) {
    return request.attempt_key.empty() || header.attempt_key != request.attempt_key ||
           (header.rank == request.rank && header.origin == Origin::kRecorder);
  };
  const auto has_earlier = [&](RunUid uid) {
    return std::any_of(journals.begin(), journals.end(), [&](const JournalFile& file) {
      return file.header.run_uid == uid && is_earlier(file.header);
    });
  };
  if (request.run_uid.has_value()) {
    return RunChoice{*request.run_uid, has_earlier(*request.run_uid)};
  }
  if (request.resume == Resume::kNever) return RunChoice{RandomUid<RunUid>(), false};
  const bool has_job = !request.job_id.empty();
  const RunUid of_job = RunUidOfJob(request.project, request.run, request.job_id);
  const std::optional<KnownRun> newest = NewestRun(journals);
  if (request.resume == Resume::kMust) {
    if (newest.has_value()) return RunChoice{newest->uid, true};
    if (has_job && request.attempt_index > 0) return RunChoice{of_job, false};
    return Status(Code::kFailedPrecondition, "there is no run \"" + request.run +
                                                 "\" of project \"" + request.project +
                                                 "\" to resume here; use resume=auto to begin one");
  }
  if (has_job) return RunChoice{of_job, has_earlier(of_job)};
  if (newest.has_value() && (!RunEndedCleanly(*newest) || IsLatecomer(*newest, request))) {
    return RunChoice{newest->uid, true};
  }
  return RunChoice{RandomUid<RunUid>(), false};
}

RunLock RunLock::Acquire(const std::string& run_directory) {
  RunLock lock;
  const std::string path = JoinPath(run_directory, ".lock");
  lock.fd_ = OpenFile(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!lock.fd_.ok()) return lock;
  for (int tries = 0; tries < 200; ++tries) {
    if (::flock(lock.fd_.get(), LOCK_EX | LOCK_NB) == 0) return lock;
    if (errno != EWOULDBLOCK && errno != EINTR) break;
    const timespec pause = {0, 10'000'000};
    ::nanosleep(&pause, nullptr);
  }
  lock.fd_.Reset();
  return lock;
}

}  // namespace headway::journal
