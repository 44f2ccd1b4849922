#include "cli/process_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "journal/directory.h"
#include "journal/liveness.h"
#include "model/attempt_key.h"

namespace headway::cli {

ProcessWatch::ProcessWatch(const SupervisedRun& run, std::int64_t number)
    : directory_(journal::RunDirectory(run.journal_dir, run.project, run.run)),
      attempt_key_(AttemptKey(run, number)),
      news_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  // A journal gets its name once it is one.
  if (news_.ok()) ::inotify_add_watch(news_.get(), directory_.c_str(), IN_MOVED_TO);
  Look();
}

void ProcessWatch::Look() {
  const Result<std::vector<std::string>> names = ListDirectory(directory_);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (!name.ends_with(journal::kFileSuffix) || known_.contains(name)) continue;
    const Result<journal::Header> header = journal::ReadHeader(JoinPath(directory_, name));
    if (!header.ok()) continue;  // it may be whole the next time
    known_.insert(name);
    const std::optional<std::uint64_t> part = AttemptPartOf(attempt_key_, header->attempt_key);
    if (!part.has_value() || header->origin != journal::Origin::kRecorder) continue;
    part_ = std::max(part_, *part);
    if (std::ranges::find(processes_, header->pid, &Process::pid) != processes_.end()) continue;
    if (UniqueFd fd = journal::OpenWriterProcess(*header); fd.ok()) {
      processes_.push_back({header->pid, std::move(fd)});
      seen_any_ = true;
    }
  }
}

void ProcessWatch::AddTo(std::vector<pollfd>* waits) const {
  waits->push_back({news_.get(), POLLIN, 0});
  for (const Process& process : processes_) waits->push_back({process.fd.get(), POLLIN, 0});
}

std::vector<std::int64_t> ProcessWatch::TakeEnded() {
  alignas(inotify_event) char events[4096];
  bool news = false;
  while (news_.ok() && ::read(news_.get(), events, sizeof events) > 0) news = true;
  if (news) Look();
  std::vector<std::int64_t> ended;
  std::erase_if(processes_, [&ended](const Process& process) {
    pollfd wait = {process.fd.get(), POLLIN, 0};
    if (::poll(&wait, 1, 0) <= 0) return false;
    ended.push_back(process.pid);
    return true;
  });
  return ended;
}

}  // namespace headway::cli
