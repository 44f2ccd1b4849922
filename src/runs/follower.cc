#include "runs/follower.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/limits.h"
#include "journal/reader.h"
#include "runs/findings.h"

namespace headway::runs {
namespace {

bool Same(const std::optional<ClockAnchor>& a, const std::optional<ClockAnchor>& b) {
  if (!a || !b) return !a && !b;
  return a->wall == b->wall && a->mono == b->mono;
}

}  // namespace

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

Status Follower::Refresh(std::int64_t until) {
  Result<Run> found = Find(dirs_, project_, name_);
  if (!found.ok()) return found.status();
  const Clocks clocks(*found);
  bool other = !(found->uid == run_.uid);
  for (const journal::JournalFile& file : found->journals) {
    const auto known = known_.find(file.path);
    other |= known != known_.end() && !Same(known->second.anchor, clocks.AnchorOf(file.header));
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
  const Result<std::uint64_t> records =
      Merge(&sources_, lives ? until : kNoBound, std::exchange(fresh_bytes_, 0), &*ledger_, {});
  if (!records.ok()) {
    // Where the reading stopped nobody knows.
    run_ = {};
    return records.status();
  }
  Settle();
  return OkStatus();
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
    known_[file.path] = {anchor, Liveness::kUnknown, supervisor};
    if (!reader.ok()) {
      problems_.push_back(reader.status());
      continue;
    }
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(file.path, error);
    if (!error) fresh_bytes_ += size;
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
