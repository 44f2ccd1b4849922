#include "transfer/source.h"

#include <sys/stat.h>

#include <utility>

#include "journal/directory.h"

namespace headway::transfer {

// Numbers of devices may change with a reboot.
bool IsOriginal(const Source& source) {
  struct stat info;
  return source.header.origin != journal::Origin::kImport && ::fstat(source.fd.get(), &info) == 0 &&
         static_cast<std::uint64_t>(info.st_ino) == source.header.inode;
}

Result<Source> OpenSource(const std::string& path) {
  Source source;
  source.path = path;
  Result<UniqueFd> fd = OpenForReading(path);
  if (!fd.ok()) return fd.status();
  source.fd = *std::move(fd);
  const Result<std::size_t> got =
      ReadAt(source.fd.get(), source.bytes.data(), source.bytes.size(), 0, path);
  if (!got.ok()) return got.status();
  Result<journal::Header> header = journal::DecodeHeader(source.bytes.data(), *got, path);
  if (!header.ok()) return header.status();
  source.header = *std::move(header);
  return source;
}

Status SourceFinder::LookInto(const std::string& project, const std::string& run,
                              const std::function<void(Source)>& found) {
  const std::string directory = journal::RunDirectory(scope_.dir, project, run);
  const Result<std::vector<std::string>> names = ListDirectory(directory);
  if (!names.ok()) {
    return names.status().code() == Code::kNotFound ? OkStatus() : names.status();
  }
  for (const std::string& name : *names) {
    if (!name.ends_with(journal::kFileSuffix) || name.front() == '.') continue;
    if (!scope_.file.empty() && name != scope_.file) continue;
    const std::string path = JoinPath(directory, name);
    if (known_.contains(path)) continue;
    Result<Source> source = OpenSource(path);
    if (!source.ok()) {
      if (source.status().code() != Code::kNotFound) unreadable_.push_back(source.status());
      continue;
    }
    known_.insert(path);
    uids_.insert(ToHex(source->header.uid));
    if (scope_.uid && source->header.run_uid != *scope_.uid) continue;
    if (scope_.foreign || IsOriginal(*source)) {
      found(*std::move(source));
    } else {
      ++left_out_;
    }
  }
  return OkStatus();
}

Status SourceFinder::Look(const std::function<void(Source)>& found) {
  unreadable_.clear();
  if (scope_.uid) return LookInto(scope_.project, scope_.run, found);
  const Result<std::vector<std::string>> projects = journal::ListProjects(scope_.dir);
  if (!projects.ok()) return projects.status();
  for (const std::string& project : *projects) {
    if (!scope_.project.empty() && project != scope_.project) continue;
    const Result<std::vector<std::string>> runs = journal::ListRuns(scope_.dir, project);
    if (!runs.ok()) return runs.status();
    for (const std::string& run : *runs) {
      HEADWAY_RETURN_IF_ERROR(LookInto(project, run, found));
    }
  }
  return OkStatus();
}

}  // namespace headway::transfer
