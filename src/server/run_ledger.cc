#include "server/run_ledger.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/limits.h"
#include "journal/bytes.h"
#include "journal/reader.h"
#include "runs/findings.h"
#include "runs/merge.h"
#include "runs/runs.h"

namespace headway::server {
namespace {

/// A journal as the store keeps it.
class StoredBytes : public journal::JournalBytes {
 public:
  StoredBytes(store::RecordStore* store, const Hearing& hearing, const store::Journal& journal)
      : store_(store), hearing_(hearing), journal_(journal) {}

  Result<std::uint64_t> Size() override { return journal::SlotOffset(journal_.state.slots); }

  Result<std::size_t> ReadAt(void* data, std::size_t size, std::uint64_t offset) override {
    auto* out = static_cast<char*>(data);
    std::size_t done = 0;
    while (done < size && offset < journal::kHeaderBytes) {
      const std::size_t count = std::min<std::size_t>(size - done, journal::kHeaderBytes - offset);
      std::string head = journal_.identity.header;
      head.resize(journal::kHeaderBytes, '\0');
      std::copy_n(journal_.state.counters.data(),
                  std::min(journal_.state.counters.size(), head.size() - journal::kLiveOffset),
                  head.data() + journal::kLiveOffset);
      std::memcpy(out + done, head.data() + offset, count);
      done += count;
      offset += count;
    }
    if (done == size) return done;
    const std::uint64_t first = (offset - journal::kHeaderBytes) / journal::kSlotBytes;
    std::uint64_t skip = (offset - journal::kHeaderBytes) % journal::kSlotBytes;
    for (std::uint64_t slot = first; done < size; ++slot, skip = 0) {
      const Result<std::string_view> slots = From(slot);
      if (!slots.ok()) return slots.status();
      if (slots->size() <= skip) break;
      const std::size_t count = std::min(size - done, slots->size() - skip);
      std::memcpy(out + done, slots->data() + skip, count);
      done += count;
      slot += (skip + count) / journal::kSlotBytes - 1;
    }
    return done;
  }

  /// Also looks at what is there now: a reader does so before it reads on.
  Result<Liveness> Probe(const journal::Header&) override {
    Result<store::Journal> now = store_->FindJournal(journal_.identity.uid);
    if (!now.ok()) return now.status();
    journal_ = *std::move(now);
    window_.clear();  // holes may have been filled
    return hearing_.Of(journal_.state);
  }

  void Release() override { std::string().swap(window_); }

 private:
  static constexpr std::uint64_t kWindowSlots = 16'384;  // some chunks of the store

  // The kept slots from `slot` on, some of them; nothing behind the end.
  Result<std::string_view> From(std::uint64_t slot) {
    const std::uint64_t behind = window_begin_ + window_.size() / journal::kSlotBytes;
    if (window_.empty() || slot < window_begin_ || slot >= behind) {
      Result<std::string> slots = store_->ReadSlots(journal_.identity.uid, slot, kWindowSlots);
      if (!slots.ok()) return slots.status();
      window_ = *std::move(slots);
      window_begin_ = slot;
    }
    return std::string_view(window_).substr((slot - window_begin_) * journal::kSlotBytes);
  }

  store::RecordStore* store_;
  Hearing hearing_;
  store::Journal journal_;
  std::string window_;  // what was read last
  std::uint64_t window_begin_ = 0;
};

Result<journal::Header> HeaderOf(const store::Journal& journal) {
  return journal::DecodeHeader(reinterpret_cast<const std::byte*>(journal.identity.header.data()),
                               journal.identity.header.size(),
                               "journal " + ToHex(journal.identity.uid));
}

}  // namespace

Liveness Hearing::Of(const store::JournalState& state) const {
  const std::int64_t silence = clock->Wall().ns - std::max(state.heard, since);
  const bool gone = silence > limits::kServerSilenceSeconds * kNanosPerSecond;
  return state.writer == Liveness::kAlive && gone ? Liveness::kDead : state.writer;
}

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
  const Result<std::vector<store::Journal>> journals = store_->ListJournals(uid_);
  if (!journals.ok()) return journals.status();
  runs::Run run;
  for (const store::Journal& journal : *journals) {
    Result<journal::Header> header = HeaderOf(journal);
    if (!header.ok()) return header.status();
    run.journals.push_back({{}, *std::move(header)});
  }
  const runs::Clocks clocks(run);
  bool anew = known_.size() > journals->size();
  for (std::size_t i = 0; i < journals->size(); ++i) {
    const auto known = known_.find((*journals)[i].identity.uid);
    if (known == known_.end()) continue;
    known->second.complete = (*journals)[i].state.writer == Liveness::kDead;
    anew |= !runs::SameAnchor(known->second.anchor, clocks.AnchorOf(run.journals[i].header));
  }
  if (anew) StartOver();
  Status status;
  for (runs::Source& source : sources_) {
    if (status.ok()) status = source.Refresh();
  }
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < journals->size() && status.ok(); ++i) {
    const store::Journal& journal = (*journals)[i];
    if (known_.contains(journal.identity.uid)) continue;
    status = Open(journal, run.journals[i].header, clocks);
    bytes += journal.state.slots * journal::kSlotBytes;
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

Status RunLedger::Open(const store::Journal& journal, const journal::Header& header,
                       const runs::Clocks& clocks) {
  const WriterId writer = ledger_->AddWriter(journal::ToModelWriter(header));
  auto names = std::make_unique<NameTable>();
  Known known = {.anchor = clocks.AnchorOf(header),
                 .supervisor = header.origin == journal::Origin::kSupervisor,
                 .complete = journal.state.writer == Liveness::kDead};
  auto reader = journal::JournalReader::Open(
      std::make_unique<StoredBytes>(store_, hearing_, journal), "journal " + ToHex(header.uid),
      {.names = names.get(), .writer = writer, .anchor = known.anchor});
  if (!reader.ok()) return reader.status();
  known_[journal.identity.uid] = known;
  sources_.emplace_back(*std::move(reader), std::move(names), writer, ledger_->names());
  return OkStatus();
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
