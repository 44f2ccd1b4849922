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
  const UniqueFd file(::openat(directory->get(), ToHex(uid).c_str(),
                               O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  return file.ok() ? OkStatus() : ErrnoStatus(errno, "create", JoinPath(scope_.dir, kDelivered));
}

void Carrier::ForgetDeleted() const {
  for (const std::string& uid : delivered_) {
    if (finder_.uids().contains(uid)) continue;
    ::unlink(JoinPath(JoinPath(scope_.dir, kDelivered), uid).c_str());
  }
}

Result<bool> Carrier::Round() {
  if (const auto names = ListDirectory(JoinPath(scope_.dir, kDelivered)); names.ok()) {
    delivered_ = {names->begin(), names->end()};
  }
  Status trouble = finder_.Look([this](Source source) {
    if (!IsWanted(source)) return;
    copies_.push_back(std::make_unique<JournalCopy>(std::move(source), scope_.rules));
  });
  if (trouble.ok() && !scope_.uid) ForgetDeleted();
  bool done = true;
  std::vector<std::unique_ptr<JournalCopy>> rest;
  for (std::unique_ptr<JournalCopy>& copy : copies_) {
    const Result<bool> all = copy->Update();
    Status status = all.ok() ? OkStatus() : all.status();
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
