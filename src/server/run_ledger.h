#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"
#include "base/status.h"
#include "ledger/ledger.h"
#include "runs/clocks.h"
#include "runs/read_ahead.h"
#include "server/stored_journal.h"
#include "store/ledger_store.h"
#include "store/record_store.h"
#include "store/series_store.h"

namespace headway::v1 {
class SavedLedger;
}

namespace headway::server {

/// Where the ledgers of runs read and write; all must outlive them.
struct LedgerStores {
  store::RecordStore* records = nullptr;
  store::SeriesStore* points = nullptr;   ///< gets the metrics that are read; null: nobody does
  store::LedgerStore* ledgers = nullptr;  ///< where they are saved; null: nowhere
};

/// RunLedger: the account of one run, kept as its journals come in: each record is read once, and
/// what was saved need not be read again. One thread at a time.
class RunLedger {
 public:
  RunLedger(const LedgerStores& stores, const Hearing& hearing, RunUid uid);

  /// Reads what has come since. As RecordStore; after an error the next call begins anew.
  /// ledger::PageLost: see Forget.
  Status Refresh();

  /// Of the last Refresh.
  ledger::Ledger* ledger() { return &*ledger_; }
  std::size_t journals() const { return known_.size(); }
  /// Records that it has read from journals, and not from what was saved, since it was made.
  std::uint64_t records_read() const { return records_read_; }

  /// Saves what the ledger has come to, where enough is new, so that others can go on from there.
  /// `least`: how many records are enough. After an error it begins anew.
  Status Save(std::uint64_t least);
  /// The same, if the ledger has grown by a twentieth.
  Status SaveNowAndThen();
  /// Gives back the memory of what is saved, and says how much is held then, in bytes.
  std::size_t Release();
  std::size_t MemoryBytes() const { return ledger_->MemoryBytes(); }
  /// What was saved can't be read (ledger::PageLost): the next Refresh reads the journals instead.
  void Forget() { forget_ = true; }

  /// The attempts to which the journals belong, as the report numbers them; -1: none is known.
  std::map<JournalUid, std::int64_t> Attempts();

 private:
  struct Known {
    std::optional<ClockAnchor> anchor;
    WriterId writer = 0;
    Liveness liveness = Liveness::kUnknown;
    bool supervisor = false;
    bool complete = false;  // nothing will ever come
  };

  /// The metrics of one journal on their way into series.
  struct MetricFeed {
    struct Column {
      std::vector<std::uint64_t> seqs;
      std::vector<std::int64_t> times;
      std::vector<std::int64_t> steps;
      std::vector<double> values;
    };
    std::int64_t moved_by = 0;  // the store gets the journal's own times: others may move it more
    std::uint64_t kept = 0;     // what lies below is in the store
    std::uint64_t next = 0;     // behind the last one that was read
    bool stopped = false;       // the store takes no more of them
    std::map<NameId, Column> columns;
  };

  Status ReadOn(std::span<const StoredJournal> journals);
  Status Write(v1::SavedLedger* saved);
  ledger::ReadPage PageReader() const;
  void GoOnFromSaved(std::span<const StoredJournal> journals);
  Status GoOnFrom(std::string_view packed, std::span<const StoredJournal> journals);
  void Collect(const JournalUid& uid, std::span<const Record> records);
  Status KeepMetrics();
  Status KeepMetrics(const JournalUid& uid, MetricFeed* feed);
  void StartOver();
  Status Open(const StoredJournal& stored);
  Status Open(const StoredJournal& stored, WriterId writer, const journal::ReaderPlace* from,
              std::uint64_t dropped);
  void Settle();

  LedgerStores stores_;
  Hearing hearing_;
  RunUid uid_;
  bool fresh_ = true;               // nothing was read so far, nor looked for among what is saved
  bool forget_ = false;             // what is held is no good
  std::optional<MonoNs> behind_;    // since when the store takes no more metrics of a journal
  std::uint64_t records_ = 0;       // in the ledger
  std::uint64_t records_read_ = 0;  // from journals
  std::uint64_t records_saved_ = 0;
  MonoNs next_save_;
  std::map<JournalUid, MetricFeed> feeds_;
  std::size_t collected_ = 0;  // points in all of them
  Status kept_status_;         // of those that were kept while reading
  std::optional<ledger::Ledger> ledger_;
  std::map<JournalUid, Known> known_;
  std::vector<runs::Source> sources_;  // those that may still grow
};

/// The ledgers of the runs that were asked for last. Any thread.
class RunLedgers {
 public:
  RunLedgers(const LedgerStores& stores, const Clock* clock,
             std::size_t bytes = limits::kServerLedgerBytes)
      : stores_(stores), hearing_{clock, clock->Wall().ns}, bytes_most_(bytes) {}

  /// What `ask(RunLedger&)`, a Status or a Result, says of a run's ledger that is up to date;
  /// others who ask about that run wait for it. It may be called twice: when what was saved can't
  /// be read the ledger is made anew. As RecordStore.
  template <typename Ask>
  std::invoke_result_t<Ask, RunLedger&> Look(const RunUid& uid, const Ask& ask) {
    const std::shared_ptr<Entry> entry = Find(uid);
    const std::lock_guard lock(entry->mutex);
    for (int tries = 0;; ++tries) {
      try {
        HEADWAY_RETURN_IF_ERROR(entry->run.Refresh());
        auto answer = ask(entry->run);
        SetBytes(entry.get(), entry->run.MemoryBytes());
        return answer;
      } catch (const ledger::PageLost& lost) {
        entry->run.Forget();
        if (tries > 0) return lost.status();
      }
    }
  }

  /// Brings it up to date.
  Status Refresh(const RunUid& uid) {
    return Look(uid, [](RunLedger&) -> Result<bool> { return true; }).status();
  }

  /// Gives back memory until the bound holds. Now and then, beside others.
  void Trim();
  /// Saves what is worth it, for a server that ends; stops at the first error and after `most`.
  Status SaveAll(std::chrono::nanoseconds most);

  /// How many are held, and bytes of all of them about.
  std::size_t held() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    Entry(const LedgerStores& stores, const Hearing& hearing, RunUid uid)
        : run(stores, hearing, uid) {}
    std::mutex mutex;  // of `run`
    RunLedger run;
    std::size_t bytes = 0;    // of `run`, when it was looked at last
    std::uint64_t asked = 0;  // when; guarded by the other mutex
  };

  std::shared_ptr<Entry> Find(const RunUid& uid);
  void SetBytes(Entry* entry, std::size_t bytes);

  LedgerStores stores_;
  Hearing hearing_;
  std::size_t bytes_most_;
  std::atomic<std::size_t> bytes_ = 0;
  mutable std::mutex mutex_;  // of what follows
  std::map<RunUid, std::shared_ptr<Entry>> entries_;
  std::uint64_t asked_ = 0;
};

}  // namespace headway::server
