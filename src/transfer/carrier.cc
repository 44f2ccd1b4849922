#include "transfer/carrier.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "journal/liveness.h"

namespace headway::transfer {
namespace {

constexpr const char* kDelivered = "delivered";

bool IsSupervisors(const JournalCopy& copy) {
  return copy.source().header.origin == journal::Origin::kSupervisor;
}

}  // namespace

bool IsDelivered(const journal::JournalFile& file) {
  if (file.header.destination.empty()) return true;
  // <dir>/journals/<project>/<run>/<file>
  std::string dir = file.path;
  for (int i = 0; i < 4; ++i) dir.resize(std::min(dir.size(), dir.rfind('/')));
  if (dir == file.header.destination) return true;
  const std::string note = JoinPath(JoinPath(dir, kDelivered), ToHex(file.header.uid));
  return ::access(note.c_str(), F_OK) == 0;
}

bool Carrier::IsWanted(const Source& source) const {
  if (source.header.destination.empty() || source.header.destination == scope_.dir) return false;
  if (delivered_.contains(ToHex(source.header.uid))) return false;
  return scope_.uid || journal::ProbeLiveness(source.fd.get(), source.header) != Liveness::kAlive;
}

Status Carrier::NoteDelivered(const JournalUid& uid) const {
  const Result<UniqueFd> directory = MakeAndOpenDirectory(scope_.dir, {kDelivered});
  if (!directory.ok()) return directory.status();
  const UniqueFd file =
      OpenFileAt(directory->get(), ToHex(uid), O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);
  return file.ok() ? OkStatus() : ErrnoStatus(errno, "create", JoinPath(scope_.dir, kDelivered));
}

void Carrier::ForgetDeleted() const {
  for (const std::string& uid : delivered_) {
    if (finder_.uids().contains(uid)) continue;
    ::unlink(JoinPath(JoinPath(scope_.dir, kDelivered), uid).c_str());
  }
}

// Says first how far supervisors have come, and then looks for the journals of those that they
// watch: each of these is there when its end is.
Status Carrier::LookForJournals() {
  Status trouble;
  const auto keep_first = [&trouble](Status status) {
    if (trouble.ok()) trouble = std::move(status);
  };
  const auto note_ends = [this, &keep_first](std::size_t first) {
    for (std::size_t i = first; i < copies_.size(); ++i) {
      if (IsSupervisors(*copies_[i])) keep_first(copies_[i]->NoteEnd());
    }
  };
  const auto look = [this] {
    return finder_.Look([this](Source source) {
      if (!IsWanted(source)) return;
      copies_.push_back(std::make_unique<JournalCopy>(std::move(source), scope_.rules));
    });
  };
  note_ends(0);
  const std::size_t known = copies_.size();
  keep_first(look());
  if (copies_.size() > known) {
    note_ends(known);
    keep_first(look());
  }
  std::stable_partition(copies_.begin(), copies_.end(),
                        [](const auto& copy) { return !IsSupervisors(*copy); });
  return trouble;
}

Result<bool> Carrier::Round() {
  if (const auto names = ListDirectory(JoinPath(scope_.dir, kDelivered)); names.ok()) {
    delivered_ = {names->begin(), names->end()};
  }
  Status trouble = LookForJournals();
  if (trouble.ok() && !scope_.uid) ForgetDeleted();
  bool done = true;
  std::vector<std::unique_ptr<JournalCopy>> rest;
  std::set<std::string> held;  // runs whose supervisors must wait
  for (std::unique_ptr<JournalCopy>& copy : copies_) {
    const std::string run = ToHex(copy->source().header.run_uid);
    if (IsSupervisors(*copy) && (held.contains(run) || !copy->end_is_noted())) {
      done = false;
      rest.push_back(std::move(copy));
      continue;
    }
    const Result<bool> all = copy->Update();
    Status status = all.ok() ? OkStatus() : all.status();
    // What lies in a copy's place will lie there for long.
    if (!status.ok() && status.code() != Code::kAlreadyExists) held.insert(run);
    if (all.ok() && *all) {
      status = NoteDelivered(copy->source().header.uid);
      if (status.ok()) continue;
    }
    // Of a writer that can't be seen from here no more is expected either.
    done = done && copy->quiet() && status.ok();
    if (trouble.ok()) trouble = status;
    rest.push_back(std::move(copy));
  }
  copies_ = std::move(rest);
  if (!trouble.ok()) return trouble;
  return done;
}

}  // namespace headway::transfer
