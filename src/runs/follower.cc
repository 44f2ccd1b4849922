#include "runs/follower.h"

#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/limits.h"
#include "journal/reader.h"
#include "runs/findings.h"

namespace headway::runs {

Follower::Follower(std::vector<std::string> dirs, std::string project, std::string name)
    : dirs_(std::move(dirs)), project_(std::move(project)), name_(std::move(name)) {
  ledger_.emplace();
}

void Follower::StartOver() {
  sources_.clear();  // they refer to the ledger
  ledger_.emplace();
  known_.clear();
  leaders_.clear();
  problems_.clear();
  ++starts_;
}

Status Follower::Refresh(std::int64_t until, std::int64_t future) {
  Result<Run> found = Find(dirs_, project_, name_);
  if (!found.ok()) return found.status();
  const Clocks clocks(*found);
  bool other = !(found->uid == run_.uid);
  for (const journal::JournalFile& file : found->journals) {
    const auto known = known_.find(file.path);
    if (known == known_.end()) continue;
    other |= !SameAnchor(known->second.anchor, clocks.AnchorOf(file.header)) ||
             IsAnother(file.path, &known->second);
  }
  if (other) StartOver();
  run_ = *std::move(found);

  std::erase_if(sources_, [this](Source& source) {
    Status status = source.Refresh();
    if (status.ok()) return false;
    problems_.push_back(std::move(status));
    return true;
  });
  HEADWAY_RETURN_IF_ERROR(OpenNew(clocks));
  const bool lives = std::ranges::any_of(sources_, [](const Source& source) {
    return source.reader().liveness() == Liveness::kAlive;
  });
  const Result<std::uint64_t> records = Merge(&sources_, lives ? Bound{until, future} : Bound{},
                                              std::exchange(fresh_bytes_, 0), &*ledger_, {});
  if (!records.ok()) {
    // Where the reading stopped nobody knows.
    run_ = {};
    return records.status();
  }
  Settle();
  return OkStatus();
}

// Whether a longer copy has taken the journal's place, or it has grown since it was read to its
// end.
bool Follower::IsAnother(const std::string& path, Known* known) const {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return false;
  if (info.st_dev != known->device || info.st_ino != known->inode) return true;
  if (known->done) return info.st_size > known->size;
  known->size = info.st_size;
  return false;
}

Status Follower::OpenNew(const Clocks& clocks) {
  for (const journal::JournalFile& file : run_.journals) {
    if (known_.contains(file.path)) continue;
    const WriterId writer = ledger_->AddWriter(journal::ToModelWriter(file.header));
    const bool supervisor = file.header.origin == journal::Origin::kSupervisor;
    if (file.header.rank <= 0 && !supervisor) leaders_.insert(writer);
    auto names = std::make_unique<NameTable>();
    const std::optional<ClockAnchor> anchor = clocks.AnchorOf(file.header);
    auto reader = journal::JournalReader::Open(
        file.path, {.names = names.get(), .writer = writer, .anchor = anchor});
    Known& known = known_[file.path] = {.anchor = anchor, .supervisor = supervisor};
    struct stat info;
    if (::stat(file.path.c_str(), &info) == 0) {
      known.device = info.st_dev;
      known.inode = info.st_ino;
      known.size = info.st_size;
    }
    if (!reader.ok()) {
      problems_.push_back(reader.status());
      continue;
    }
    fresh_bytes_ += static_cast<std::uint64_t>(known.size);
    if (run_.journals.size() > limits::kOpenJournals) reader->Release();
    sources_.emplace_back(std::move(*reader), std::move(names), writer, ledger_->names());
  }
  return OkStatus();
}

// What the reading has shown: who lives, and what is wrong with what is complete.
void Follower::Settle() {
  for (const Source& source : sources_) {
    // A writer that recorded later was alive then.
    const Liveness liveness = source.exhausted() ? source.reader().liveness() : Liveness::kAlive;
    known_[source.reader().path()].liveness = liveness;
    ledger_->SetLiveness(source.writer(), liveness);
  }
  std::erase_if(sources_, [this](const Source& source) {
    if (source.reader().liveness() != Liveness::kDead || !source.exhausted()) return false;
    const bool stepped = known_[source.reader().path()].anchor.has_value();
    const journal::ReadSummary summary = source.reader().summary();
    ledger_->Add(
        Findings(summary, source.writer(), source.dropped(), 0, stepped, ledger_->names()));
    Status damage = summary.Check(source.reader().path());
    if (!damage.ok()) problems_.push_back(std::move(damage));
    known_[source.reader().path()].done = true;
    return true;
  });
  live_ = false;
  bool supervised = false;
  for (const auto& [path, known] : known_) {
    if (known.liveness != Liveness::kAlive) continue;
    live_ = true;
    supervised |= known.supervisor;
  }
  ledger_->SetSupervised(supervised);
}

}  // namespace headway::runs
