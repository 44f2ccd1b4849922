#include "server/run_ledger.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "journal/reader.h"
#include "runs/findings.h"
#include "runs/merge.h"

namespace headway::server {

RunLedger::RunLedger(store::RecordStore* store, const Hearing& hearing, RunUid uid)
    : store_(store), hearing_(hearing), uid_(uid) {
  StartOver();
}

void RunLedger::StartOver() {
  sources_.clear();  // they refer to the ledger
  ledger_.emplace();
  known_.clear();
}

Status RunLedger::Refresh() {
  const Result<std::vector<StoredJournal>> journals = ListStoredJournals(store_, uid_);
  if (!journals.ok()) return journals.status();
  bool anew = known_.size() > journals->size();
  for (const StoredJournal& one : *journals) {
    const auto known = known_.find(one.journal.identity.uid);
    if (known == known_.end()) continue;
    known->second.complete = one.journal.state.writer == Liveness::kDead;
    anew |= !runs::SameAnchor(known->second.anchor, one.anchor);
  }
  if (anew) StartOver();
  Status status;
  for (runs::Source& source : sources_) {
    if (status.ok()) status = source.Refresh();
  }
  std::uint64_t bytes = 0;
  for (const StoredJournal& one : *journals) {
    if (!status.ok()) break;
    if (known_.contains(one.journal.identity.uid)) continue;
    status = Open(one);
    bytes += one.journal.state.slots * journal::kSlotBytes;
  }
  if (status.ok()) {
    status = runs::Merge(&sources_, {}, bytes, &*ledger_, {}).status();
  }
  if (!status.ok()) {
    StartOver();  // where the reading stopped nobody knows
    return status;
  }
  Settle();
  return OkStatus();
}

Status RunLedger::Open(const StoredJournal& stored) {
  const WriterId writer = ledger_->AddWriter(journal::ToModelWriter(stored.header));
  auto names = std::make_unique<NameTable>();
  Known known = {.anchor = stored.anchor,
                 .writer = writer,
                 .supervisor = stored.header.origin == journal::Origin::kSupervisor,
                 .complete = stored.journal.state.writer == Liveness::kDead};
  auto reader =
      OpenStoredJournal(store_, hearing_, stored, {.names = names.get(), .writer = writer});
  if (!reader.ok()) return reader.status();
  known_[stored.journal.identity.uid] = known;
  sources_.emplace_back(*std::move(reader), std::move(names), writer, ledger_->names());
  return OkStatus();
}

std::map<JournalUid, std::int64_t> RunLedger::Attempts() {
  const std::vector<std::int64_t> numbers = ledger_->AttemptsOfWriters();
  std::map<JournalUid, std::int64_t> attempts;
  for (const auto& [uid, known] : known_) attempts.emplace(uid, numbers[known.writer]);
  return attempts;
}

void RunLedger::Settle() {
  for (runs::Source& source : sources_) {
    source.Release();
    const Liveness liveness = source.reader().liveness();
    known_[source.reader().header().uid].liveness = liveness;
    ledger_->SetLiveness(source.writer(), liveness);
  }
  std::erase_if(sources_, [this](const runs::Source& source) {
    const Known& known = known_[source.reader().header().uid];
    // One that was only silent may go on.
    if (!known.complete) return false;
    const bool stepped = known.anchor.has_value();
    ledger_->Add(runs::Findings(source.reader().summary(), source.writer(), source.dropped(), 0,
                                stepped, ledger_->names()));
    return true;
  });
  const bool supervised = std::ranges::any_of(known_, [](const auto& entry) {
    return entry.second.supervisor && entry.second.liveness == Liveness::kAlive;
  });
  ledger_->SetSupervised(supervised);
}

Result<RunLedgers::Use> RunLedgers::Take(const RunUid& uid) {
  std::shared_ptr<Use::Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Use::Entry>& kept = entries_[uid];
    if (kept == nullptr) kept = std::make_shared<Use::Entry>(store_, hearing_, uid);
    entry = kept;
    std::erase(order_, uid);
    order_.push_back(uid);
    if (order_.size() > limits::kServerLedgers) {
      entries_.erase(order_.front());
      order_.erase(order_.begin());
    }
  }
  Use use(std::move(entry));
  HEADWAY_RETURN_IF_ERROR(use->Refresh());
  return use;
}

}  // namespace headway::server
