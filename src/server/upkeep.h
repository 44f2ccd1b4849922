#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/status.h"
#include "server/run_ledger.h"
#include "store/store.h"

namespace headway::server {

/// Upkeep: what a server does without being asked: it finds out how runs stand whose records have
/// grown or whose processes have fallen silent, removes what was deleted, and ends what a project
/// keeps no longer. Any thread.
class Upkeep {
 public:
  /// All must outlive it. `log` (may be empty) is told what the operator should know.
  Upkeep(store::Store* store, RunLedgers* ledgers, const Clock* clock,
         std::function<void(const Status&)> log);
  ~Upkeep();
  Upkeep(const Upkeep&) = delete;
  Upkeep& operator=(const Upkeep&) = delete;

  /// A thread does it from now on, once a second, or sooner when it is told to.
  void Start();
  /// Does now what there is to do.
  Status Pass();

  /// Removes a deleted run, with all its records, in the background. Returns the operation that
  /// does so; a second call the same one.
  Result<std::string> Purge(const store::RunRow& run, const std::string& who);
  /// There is something to do.
  void Wake();

 private:
  struct Growth {
    std::int64_t mark = 0;
    MonoNs since;  // when it was first seen to have grown
  };

  Status Summarise();
  /// Whether what comes in of it should have the processor first.
  bool Waits(const store::StaleRun& run, std::map<RunUid, Growth>* growing) const;
  Status Retire();
  Status Work();
  Status WorkOn(store::OperationRow operation);
  void Run();

  store::Store* store_;
  RunLedgers* ledgers_;
  const Clock* clock_;
  std::function<void(const Status&)> log_;
  std::optional<MonoNs> retired_;     // when it was looked at last what is to be ended
  std::map<RunUid, Growth> growing_;  // runs that were stale at the last pass, and waited

  std::mutex pass_mutex_;  // one pass at a time
  std::mutex mutex_;       // of what follows
  std::condition_variable woken_;
  bool wake_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace headway::server
