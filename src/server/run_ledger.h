#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "ledger/ledger.h"
#include "runs/clocks.h"
#include "runs/read_ahead.h"
#include "server/stored_journal.h"
#include "store/record_store.h"
#include "store/series_store.h"

namespace headway::server {

/// RunLedger: the account of one run, kept as its journals come in: each record is read once.
class RunLedger {
 public:
  /// All must outlive it. `points` (may be null) is given the metrics that are read, those that it
  /// does not have yet.
  RunLedger(store::RecordStore* store, store::SeriesStore* points, const Hearing& hearing,
            RunUid uid);

  /// Reads what has come since. As RecordStore; after an error the next call begins anew.
  Status Refresh();

  /// Of the last Refresh.
  ledger::Ledger* ledger() { return &*ledger_; }
  std::size_t journals() const { return known_.size(); }
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
    std::uint64_t kept = 0;  // what lies below is in the store
    std::uint64_t next = 0;  // behind the last one that was read
    bool stopped = false;    // the store takes no more of them
    std::map<NameId, Column> columns;
  };

  void Collect(const JournalUid& uid, std::span<const Record> records);
  Status KeepMetrics();
  Status KeepMetrics(const JournalUid& uid, MetricFeed* feed);
  void StartOver();
  Status Open(const StoredJournal& stored);
  void Settle();

  store::RecordStore* store_;
  store::SeriesStore* points_;
  Hearing hearing_;
  RunUid uid_;
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
  RunLedgers(store::RecordStore* store, store::SeriesStore* points, const Clock* clock)
      : store_(store), points_(points), hearing_{clock, clock->Wall().ns} {}

  /// A run's ledger up to date, for as long as this lives; others wait for it.
  class Use {
   public:
    RunLedger* operator->() const { return &entry_->run; }

   private:
    friend class RunLedgers;
    struct Entry {
      Entry(store::RecordStore* store, store::SeriesStore* points, const Hearing& hearing,
            RunUid uid)
          : run(store, points, hearing, uid) {}
      std::mutex mutex;
      RunLedger run;
    };
    explicit Use(std::shared_ptr<Entry> entry) : entry_(std::move(entry)), lock_(entry_->mutex) {}

    std::shared_ptr<Entry> entry_;
    std::unique_lock<std::mutex> lock_;
  };
  Result<Use> Take(const RunUid& uid);
  /// How many are held.
  std::size_t held() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }

 private:
  store::RecordStore* store_;
  store::SeriesStore* points_;
  Hearing hearing_;
  mutable std::mutex mutex_;  // of what follows
  std::map<RunUid, std::shared_ptr<Use::Entry>> entries_;
  std::vector<RunUid> order_;  // the one asked for last comes last
};

}  // namespace headway::server
