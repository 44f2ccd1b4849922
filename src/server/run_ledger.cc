#include "server/run_ledger.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/limits.h"
#include "base/wrapping.h"
#include "headway/v1/store.pb.h"
#include "journal/reader.h"
#include "model/metric.h"
#include "runs/findings.h"
#include "runs/merge.h"
#include "server/zstd.h"

namespace headway::server {
namespace {

constexpr std::size_t kCollectedMost = 1 << 18;  // points that wait to be kept: 8 MiB

// What is saved: with another version it is not taken up. Records that are worth a save, for what
// goes on and when the server ends. Bytes of a state and of a page.
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kSaveLeast = 50'000;
constexpr std::uint64_t kSaveAtEnd = 5'000;
constexpr std::int64_t kBehindNs = 60 * kNanosPerSecond;      // until metrics are tried again
constexpr std::int64_t kSaveAgainNs = 600 * kNanosPerSecond;  // after one that failed
constexpr std::size_t kStateMost = std::size_t{1} << 30;
constexpr std::size_t kPageMost = std::size_t{64} << 20;

Status Misfit() { return {Code::kDataLoss, "what is saved of a ledger does not fit its journals"}; }

}  // namespace

RunLedger::RunLedger(const LedgerStores& stores, const Hearing& hearing, RunUid uid)
    : stores_(stores), hearing_(hearing), uid_(uid) {
  StartOver();
}

void RunLedger::StartOver() {
  sources_.clear();  // they refer to the ledger, and their metrics to its names
  feeds_.clear();
  collected_ = 0;
  kept_status_ = OkStatus();
  ledger_.emplace();
  if (stores_.ledgers != nullptr) ledger_->SetReadPage(PageReader());
  known_.clear();
  forget_ = false;
  behind_.reset();
  records_ = records_saved_ = 0;
}

Status RunLedger::Refresh() {
  const Result<std::vector<StoredJournal>> journals = ListStoredJournals(stores_.records, uid_);
  if (!journals.ok()) return journals.status();
  // There may be room now for what there was none.
  if (forget_ || (behind_ && hearing_.clock->Mono() - *behind_ > kBehindNs)) {
    StartOver();
  }
  if (std::exchange(fresh_, false)) GoOnFromSaved(*journals);
  bool anew = known_.size() > journals->size();
  for (const StoredJournal& one : *journals) {
    const auto known = known_.find(one.journal.identity.uid);
    if (known == known_.end()) continue;
    known->second.complete = one.journal.state.writer == Liveness::kDead;
    anew |= !runs::SameAnchor(known->second.anchor, one.anchor);
  }
  if (anew) StartOver();
  const Status status = ReadOn(*journals);
  if (!status.ok()) {
    StartOver();  // where the reading stopped nobody knows
    return status;
  }
  Settle();
  return OkStatus();
}

Status RunLedger::ReadOn(std::span<const StoredJournal> journals) {
  for (runs::Source& source : sources_) HEADWAY_RETURN_IF_ERROR(source.Refresh());
  std::uint64_t bytes = 0;
  for (const StoredJournal& one : journals) {
    if (known_.contains(one.journal.identity.uid)) continue;
    HEADWAY_RETURN_IF_ERROR(Open(one));
    bytes += one.journal.state.slots * journal::kSlotBytes;
  }
  const Result<std::uint64_t> read = runs::Merge(&sources_, {}, bytes, &*ledger_, {});
  HEADWAY_RETURN_IF_ERROR(read.status());
  records_ += *read;
  records_read_ += *read;
  return KeepMetrics();
}

Status RunLedger::Open(const StoredJournal& stored) {
  const WriterId writer = ledger_->AddWriter(journal::ToModelWriter(stored.header));
  return Open(stored, writer, nullptr, 0);
}

// `from`: where an earlier reader stood; null: at its beginning.
Status RunLedger::Open(const StoredJournal& stored, WriterId writer,
                       const journal::ReaderPlace* from, std::uint64_t dropped) {
  auto names = std::make_unique<NameTable>();
  Known known = {.anchor = stored.anchor,
                 .writer = writer,
                 .supervisor = stored.header.origin == journal::Origin::kSupervisor,
                 .complete = stored.journal.state.writer == Liveness::kDead};
  auto reader = OpenStoredJournal(stores_.records, hearing_, stored,
                                  {.names = names.get(), .writer = writer}, from);
  if (!reader.ok()) return reader.status();
  known_[stored.journal.identity.uid] = known;
  sources_.emplace_back(*std::move(reader), std::move(names), writer, ledger_->names());
  sources_.back().GoOn(dropped);
  if (stores_.points == nullptr) return OkStatus();
  const JournalUid uid = stored.header.uid;
  const Result<std::uint64_t> position = stores_.points->PointPosition(uid_, ToHex(uid));
  if (!position.ok()) return position.status();
  MetricFeed feed;
  feed.moved_by = stored.MovedBy();
  feed.kept = feed.next = *position;
  feeds_[uid] = std::move(feed);
  sources_.back().ObserveMetrics(
      [this, uid](std::span<const Record> records) { Collect(uid, records); });
  return OkStatus();
}

// --- What is saved

ledger::ReadPage RunLedger::PageReader() const {
  return [ledgers = stores_.ledgers, run = uid_](ledger::PageId id) -> Result<std::string> {
    const Result<std::string> page = ledgers->ReadLedgerPage(run, id);
    return page.ok() ? Decompress(*page, kPageMost) : page;
  };
}

// Where that is no good the journals are read from their beginnings.
void RunLedger::GoOnFromSaved(std::span<const StoredJournal> journals) {
  if (stores_.ledgers == nullptr) return;
  const Result<std::optional<std::string>> saved = stores_.ledgers->FindLedger(uid_);
  if (!saved.ok() || !saved->has_value()) return;
  if (!GoOnFrom(**saved, journals).ok()) StartOver();
}

Status RunLedger::GoOnFrom(std::string_view packed, std::span<const StoredJournal> journals) {
  const Result<std::string> state = Decompress(packed, kStateMost);
  HEADWAY_RETURN_IF_ERROR(state.status());
  v1::SavedLedger saved;
  if (!saved.ParseFromString(*state) || saved.version() != kVersion) return Misfit();
  Result<ledger::Ledger> restored = ledger::Ledger::Restore(saved.ledger(), PageReader());
  HEADWAY_RETURN_IF_ERROR(restored.status());
  ledger_.emplace(*std::move(restored));
  for (const v1::SavedLedger::Journal& one : saved.journals()) {
    const Result<JournalUid> uid = ParseUid<JournalUid>(one.uid());
    HEADWAY_RETURN_IF_ERROR(uid.status());
    const auto stored = std::ranges::find_if(journals, [&uid](const StoredJournal& candidate) {
      return candidate.journal.identity.uid == *uid;
    });
    if (stored == journals.end()) return Misfit();
    std::optional<ClockAnchor> anchor;
    if (one.has_anchor()) {
      anchor = ClockAnchor{{one.anchor().wall()}, {one.anchor().mono()}};
    }
    if (!runs::SameAnchor(anchor, stored->anchor)) return Misfit();
    if (one.complete()) {
      if (stored->journal.state.writer != Liveness::kDead) return Misfit();
      known_[*uid] = {.anchor = anchor,
                      .writer = one.writer(),
                      .liveness = Liveness::kDead,
                      .supervisor = stored->header.origin == journal::Origin::kSupervisor,
                      .complete = true};
      continue;
    }
    journal::ReaderPlace place = {
        one.next(), one.records(), one.unknown_types(), one.unknown_names(), {}, {}};
    for (int i = 0; i + 1 < one.gaps_size(); i += 2) {
      place.gaps.emplace_back(one.gaps(i), one.gaps(i + 1));
    }
    place.names.assign(one.names().begin(), one.names().end());
    HEADWAY_RETURN_IF_ERROR(Open(*stored, one.writer(), &place, one.dropped()));
  }
  records_ = records_saved_ = saved.records();
  return OkStatus();
}

Status RunLedger::SaveNowAndThen() { return Save(std::max(kSaveLeast, records_saved_ / 20)); }

Status RunLedger::Save(std::uint64_t least) {
  // What the store has no room for now is found in the journals later.
  if (stores_.ledgers == nullptr || behind_ || forget_ || records_ - records_saved_ < least ||
      hearing_.clock->Mono() < next_save_) {
    return OkStatus();
  }
  v1::SavedLedger saved;
  saved.set_version(kVersion);
  saved.set_records(records_);
  for (const auto& [uid, known] : known_) {
    v1::SavedLedger::Journal* const one = saved.add_journals();
    one->set_uid(ToHex(uid));
    one->set_writer(known.writer);
    if (known.anchor) {
      one->mutable_anchor()->set_wall(known.anchor->wall.ns);
      one->mutable_anchor()->set_mono(known.anchor->mono.ns);
    }
    const auto source = std::ranges::find_if(sources_, [&uid = uid](const runs::Source& candidate) {
      return candidate.reader().header().uid == uid;
    });
    one->set_complete(source == sources_.end());
    if (source == sources_.end()) continue;
    const journal::ReaderPlace place = source->reader().place();
    one->set_next(place.next);
    one->set_records(place.records);
    one->set_unknown_types(place.unknown_types);
    one->set_unknown_names(place.unknown_names);
    for (const auto& [begin, behind] : place.gaps) {
      one->add_gaps(begin);
      one->add_gaps(behind);
    }
    for (const std::string& name : place.names) one->add_names(name);
    one->set_dropped(source->dropped());
  }
  const Status status = Write(&saved);
  if (!status.ok()) {
    forget_ = true;  // pages that nobody keeps would count as kept
    next_save_ = hearing_.clock->Mono() + kSaveAgainNs;
    return status;
  }
  records_saved_ = records_;
  return OkStatus();
}

// With the snapshot of the ledger put into it.
Status RunLedger::Write(v1::SavedLedger* saved) {
  try {
    std::vector<store::LedgerPage> added;
    Result<ledger::Snapshot> snapshot =
        ledger_->TakeSnapshot([&added](ledger::PageId id, std::string_view bytes) -> Status {
          Result<std::string> packed = Compress(bytes);
          HEADWAY_RETURN_IF_ERROR(packed.status());
          added.push_back({id, *std::move(packed)});
          return OkStatus();
        });
    HEADWAY_RETURN_IF_ERROR(snapshot.status());
    saved->set_ledger(std::move(snapshot->head));
    const Result<std::string> packed = Compress(saved->SerializeAsString());
    HEADWAY_RETURN_IF_ERROR(packed.status());
    return stores_.ledgers->SaveLedger(uid_, *packed, added, snapshot->pages);
  } catch (const ledger::PageLost& lost) {
    return lost.status();
  }
}

std::size_t RunLedger::Release() {
  ledger_->ReleasePages();
  return ledger_->MemoryBytes();
}

std::map<JournalUid, std::int64_t> RunLedger::Attempts() {
  const std::vector<std::int64_t> numbers = ledger_->AttemptsOfWriters();
  std::map<JournalUid, std::int64_t> attempts;
  for (const auto& [uid, known] : known_) attempts.emplace(uid, numbers[known.writer]);
  return attempts;
}

void RunLedger::Collect(const JournalUid& uid, std::span<const Record> records) {
  MetricFeed& feed = feeds_[uid];
  if (feed.stopped) return;
  for (const Record& record : records) {
    if (record.type != RecordType::kMetric || record.seq < feed.kept) continue;
    MetricFeed::Column& column = feed.columns[record.name];
    column.seqs.push_back(record.seq);
    column.times.push_back(WrappingSubtract(record.time_ns, feed.moved_by));
    column.steps.push_back(record.a);
    column.values.push_back(std::bit_cast<double>(record.b));
    feed.next = record.seq + 1;
    ++collected_;
  }
  if (collected_ < kCollectedMost) return;
  const Status status = KeepMetrics();
  if (kept_status_.ok()) kept_status_ = status;
}

Status RunLedger::KeepMetrics() {
  HEADWAY_RETURN_IF_ERROR(kept_status_);
  for (auto& [uid, feed] : feeds_) {
    if (feed.columns.empty()) continue;
    HEADWAY_RETURN_IF_ERROR(KeepMetrics(uid, &feed));
    feed.columns.clear();
  }
  collected_ = 0;
  return OkStatus();
}

Status RunLedger::KeepMetrics(const JournalUid& uid, MetricFeed* feed) {
  const std::string source = ToHex(uid);
  constexpr int kTries = 10;
  for (int tries = 0; tries < kTries; ++tries) {
    store::PointBatch batch{uid_, source, feed->kept, feed->next, {}};
    for (const auto& [name, column] : feed->columns) {
      if (column.times.empty()) continue;
      const auto frame = std::ranges::find_if(batch.frames, [&](const store::PointFrame& one) {
        return one.times_ns == column.times && one.steps == column.steps;
      });
      store::PointFrame& together =
          frame != batch.frames.end() ? *frame : batch.frames.emplace_back();
      together.times_ns = column.times;
      together.steps = column.steps;
      const std::string text(ledger_->names()->Text(name));
      const MetricKind* const kind = FindMetric(text);
      together.columns.push_back(
          {{text, kind == nullptr ? std::string() : std::string(kind->unit), {}}, column.values});
    }
    const Status status = stores_.points->AppendPoints({&batch, 1});
    if (status.code() == Code::kFailedPrecondition || status.code() == Code::kNotFound ||
        status.code() == Code::kResourceExhausted) {
      // The journal has them: they are read there again later.
      feed->stopped = true;
      behind_ = hearing_.clock->Mono();
      return OkStatus();
    }
    if (status.code() != Code::kAborted) {
      if (status.ok()) feed->kept = feed->next;
      return status;
    }
    // Somebody else has read some of them.
    const Result<std::uint64_t> position = stores_.points->PointPosition(uid_, source);
    if (!position.ok()) return position.status();
    feed->kept = *position;
    feed->next = std::max(feed->next, *position);
    for (auto& [name, column] : feed->columns) {
      const auto behind = std::ranges::lower_bound(column.seqs, *position);
      const auto known = behind - column.seqs.begin();
      column.seqs.erase(column.seqs.begin(), behind);
      column.times.erase(column.times.begin(), column.times.begin() + known);
      column.steps.erase(column.steps.begin(), column.steps.begin() + known);
      column.values.erase(column.values.begin(), column.values.begin() + known);
    }
  }
  return {Code::kUnavailable, "the metrics of journal " + source + " are being read by others"};
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

// --- All of them

std::shared_ptr<RunLedgers::Entry> RunLedgers::Find(const RunUid& uid) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Entry>& kept = entries_[uid];
  if (kept == nullptr) kept = std::make_shared<Entry>(stores_, hearing_, uid);
  kept->asked = ++asked_;
  return kept;
}

void RunLedgers::SetBytes(Entry* entry, std::size_t bytes) {
  bytes_ += bytes - entry->bytes;
  entry->bytes = bytes;
}

void RunLedgers::Trim() {
  std::map<std::uint64_t, std::pair<RunUid, std::shared_ptr<Entry>>> oldest;  // by when
  {
    const std::lock_guard lock(mutex_);
    if (bytes_ <= bytes_most_ && entries_.size() <= limits::kServerLedgers) return;
    for (const auto& [uid, entry] : entries_) oldest[entry->asked] = {uid, entry};
  }
  std::size_t left = oldest.size();
  for (auto& [asked, one] : oldest) {
    auto& [uid, entry] = one;
    if (bytes_ <= bytes_most_ && left <= limits::kServerLedgers) return;
    {
      const std::unique_lock lock(entry->mutex, std::try_to_lock);
      if (!lock.owns_lock()) continue;
      entry->run.SaveNowAndThen().IgnoreError();  // then it is read from the journals
      SetBytes(entry.get(), entry->run.Release());
    }
    if (bytes_ <= bytes_most_ && left <= limits::kServerLedgers) return;
    // One that somebody uses stays, so that there never are two of a run.
    const std::lock_guard lock(mutex_);
    const auto kept = entries_.find(uid);
    if (kept == entries_.end() || kept->second.use_count() > 2) continue;
    bytes_ -= entry->bytes;
    entries_.erase(kept);
    --left;
  }
}

Status RunLedgers::SaveAll(std::chrono::nanoseconds most) {
  std::map<RunUid, std::shared_ptr<Entry>> entries;
  {
    const std::lock_guard lock(mutex_);
    entries = entries_;
  }
  const MonoNs begin = hearing_.clock->Mono();
  for (const auto& [uid, entry] : entries) {
    if (hearing_.clock->Mono() - begin > most.count()) break;
    const std::lock_guard lock(entry->mutex);
    HEADWAY_RETURN_IF_ERROR(entry->run.Save(kSaveAtEnd));
  }
  return OkStatus();
}

}  // namespace headway::server
