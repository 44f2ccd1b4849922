#include "server/run_ledger.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/limits.h"
#include "journal/reader.h"
#include "model/metric.h"
#include "runs/findings.h"
#include "runs/merge.h"

namespace headway::server {
namespace {

constexpr std::size_t kCollectedMost = 1 << 18;  // points that wait to be kept: 8 MiB

}  // namespace

RunLedger::RunLedger(store::RecordStore* store, store::SeriesStore* points, const Hearing& hearing,
                     RunUid uid)
    : store_(store), points_(points), hearing_(hearing), uid_(uid) {
  StartOver();
}

void RunLedger::StartOver() {
  sources_.clear();  // they refer to the ledger, and their metrics to its names
  feeds_.clear();
  collected_ = 0;
  kept_status_ = OkStatus();
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
  if (status.ok()) status = KeepMetrics();
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
  if (points_ == nullptr) return OkStatus();
  const JournalUid uid = stored.header.uid;
  const Result<std::uint64_t> position = points_->PointPosition(uid_, ToHex(uid));
  if (!position.ok()) return position.status();
  MetricFeed feed;
  feed.kept = feed.next = *position;
  feeds_[uid] = std::move(feed);
  sources_.back().ObserveMetrics(
      [this, uid](std::span<const Record> records) { Collect(uid, records); });
  return OkStatus();
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
    column.times.push_back(record.time_ns);
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
    const Status status = points_->AppendPoints({&batch, 1});
    if (status.code() == Code::kFailedPrecondition || status.code() == Code::kNotFound ||
        status.code() == Code::kResourceExhausted) {
      // The journal has them; a server that has room for them reads them there.
      feed->stopped = true;
      return OkStatus();
    }
    if (status.code() != Code::kAborted) {
      if (status.ok()) feed->kept = feed->next;
      return status;
    }
    // Somebody else has read some of them.
    const Result<std::uint64_t> position = points_->PointPosition(uid_, source);
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

Result<RunLedgers::Use> RunLedgers::Take(const RunUid& uid) {
  std::shared_ptr<Use::Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Use::Entry>& kept = entries_[uid];
    if (kept == nullptr) kept = std::make_shared<Use::Entry>(store_, points_, hearing_, uid);
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
