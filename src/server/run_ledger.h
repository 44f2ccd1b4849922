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
#include "store/record_store.h"

namespace headway::server {

/// Who still counts as alive.
struct Hearing {
  const Clock* clock = nullptr;
  std::int64_t since = 0;  ///< wall time: before it this server heard nobody

  Liveness Of(const store::JournalState& state) const;
};

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

 private:
  struct Known {
    std::optional<ClockAnchor> anchor;
    Liveness liveness = Liveness::kUnknown;
    bool supervisor = false;
    bool complete = false;  // nothing will ever come
  };

  void StartOver();
  Status Open(const store::Journal& journal, const journal::Header& header,
              const runs::Clocks& clocks);
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
  /// How many are held.
  std::size_t held() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }

 private:
  store::RecordStore* store_;
  Hearing hearing_;
  mutable std::mutex mutex_;  // of what follows
  std::map<RunUid, std::shared_ptr<Use::Entry>> entries_;
  std::vector<RunUid> order_;  // the one asked for last comes last
};

}  // namespace headway::server
