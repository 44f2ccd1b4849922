#include "server/stored_journal.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "base/limits.h"
#include "base/wrapping.h"
#include "journal/bytes.h"
#include "runs/clocks.h"
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
  Result<Liveness> Probe(const journal::Header& header) override {
    Result<store::Journal> now = store_->FindJournal(journal_.identity.uid);
    if (!now.ok()) return now.status();
    journal_ = *std::move(now);
    window_.clear();  // holes may have been filled
    return hearing_.Of(journal_.state, header);
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
  const bool gone = state.heard < AliveSince();
  return state.writer == Liveness::kAlive && gone ? Liveness::kDead : state.writer;
}

Liveness Hearing::Of(const store::JournalState& state, const journal::Header& header) const {
  if (header.origin != journal::Origin::kImport) return Of(state);
  return header.import_dead ? Liveness::kDead : Liveness::kUnknown;
}

std::int64_t Hearing::AliveSince() const {
  const std::int64_t last =
      clock->Wall().ns - limits::kServerSilenceSeconds * std::int64_t{kNanosPerSecond};
  // One that has just started has not had the time to hear of anybody.
  return last <= since ? std::numeric_limits<std::int64_t>::min() : last;
}

std::int64_t StoredJournal::MovedBy() const {
  if (!anchor) return 0;
  const auto to_wall = [](const ClockAnchor& clock) {
    return WrappingSubtract(clock.wall.ns, clock.mono.ns);
  };
  return WrappingSubtract(to_wall(*anchor), to_wall(header.anchor));
}

Result<std::vector<StoredJournal>> ListStoredJournals(store::RecordStore* store,
                                                      const RunUid& uid) {
  Result<std::vector<store::Journal>> journals = store->ListJournals(uid);
  if (!journals.ok()) return journals.status();
  std::vector<StoredJournal> listed;
  runs::Run run;
  for (store::Journal& journal : *journals) {
    Result<journal::Header> header = HeaderOf(journal);
    if (!header.ok()) return header.status();
    run.journals.push_back({{}, *header});
    listed.push_back({std::move(journal), *std::move(header), {}});
  }
  const runs::Clocks clocks(run);
  for (StoredJournal& one : listed) one.anchor = clocks.AnchorOf(one.header);
  return listed;
}

Result<journal::JournalReader> OpenStoredJournal(store::RecordStore* store, const Hearing& hearing,
                                                 const StoredJournal& journal,
                                                 journal::ReaderOptions options,
                                                 const journal::ReaderPlace* from) {
  options.anchor = journal.anchor;
  return journal::JournalReader::Open(
      std::make_unique<StoredBytes>(store, hearing, journal.journal),
      "journal " + ToHex(journal.header.uid), options, from);
}

}  // namespace headway::server
