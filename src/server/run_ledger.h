#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "ledger/ledger.h"
#include "runs/clocks.h"
#include "runs/read_ahead.h"
#include "server/stored_journal.h"
#include "store/record_store.h"

namespace headway::server {

/// RunLedger: the account of one run, kept as its journals come in: each record is read once.
class RunLedger {
 public:
  /// `store` and the clock must outlive it.
  RunLedger(store::RecordStore* store, const Hearing& hearing, RunUid uid);

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

  void StartOver();
  Status Open(const StoredJournal& stored);
  void Settle();

  store::RecordStore* store_;
  Hearing hearing_;
  RunUid uid_;
  std::optional<ledger::Ledger> ledger_;
  std::map<JournalUid, Known> known_;
  std::vector<runs::Source> sources_;  // those that may still grow
};

/// The ledgers of the runs that were asked for last. Any thread.
class RunLedgers {
 public:
  RunLedgers(store::RecordStore* store, const Clock* clock)
      : store_(store), hearing_{clock, clock->Wall().ns} {}

  /// A run's ledger up to date, for as long as this lives; others wait for it.
  class Use {
   public:
    RunLedger* operator->() const { return &entry_->run; }

   private:
    friend class RunLedgers;
    struct Entry {
      Entry(store::RecordStore* store, const Hearing& hearing, RunUid uid)
          : run(store, hearing, uid) {}
      std::mutex mutex;
      RunLedger run;
    };
    explicit Use(std::shared_ptr<Entry> entry) : entry_(std::move(entry)), lock_(entry_->mutex) {}

    std::shared_ptr<Entry> entry_;
    std::unique_lock<std::mutex> lock_;
  };
  Result<Use> Take(const RunUid& uid);

 private:
  store::RecordStore* store_;
  Hearing hearing_;
  std::mutex mutex_;  // of what follows
  std::map<RunUid, std::shared_ptr<Use::Entry>> entries_;
  std::vector<RunUid> order_;  // the one asked for last comes last
};

}  // namespace headway::server
