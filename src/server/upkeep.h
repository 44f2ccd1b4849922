#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/status.h"
#include "server/run_ledger.h"
#include "store/blob_store.h"
#include "store/store.h"

namespace headway::server {

/// Upkeep: what a server does without being asked: it finds out how runs stand whose records have
/// grown or whose processes have fallen silent, and where they are, removes what was deleted, and
/// ends what a project keeps no longer. Any thread.
class Upkeep {
 public:
  /// All must outlive it. `log` (may be empty) is told what the operator should know.
  Upkeep(store::Store* store, store::BlobStore* blobs, RunLedgers* ledgers, const Clock* clock,
         std::function<void(const Status&)> log);
  ~Upkeep();
  Upkeep(const Upkeep&) = delete;
  Upkeep& operator=(const Upkeep&) = delete;

  /// `changed` is told of each run that stands otherwise than before, or is not there any more.
  void OnChange(std::function<void(const RunUid&)> changed) { on_change_ = std::move(changed); }

  /// A thread does it from now on, once a second, or sooner when it is told to.
  void Start();
  /// Does now what there is to do.
  Status Pass();

  /// Removes a deleted run, with all its records and blobs, in the background. Returns the
  /// operation that does so; a second call the same one.
  Result<std::string> Purge(const store::RunRow& run, const std::string& who);
  /// There is something to do.
  void Wake();
  /// The next pass looks how this run stands, also if it grows.
  void Hurry(const RunUid& run);

 private:
  struct Growth {
    std::int64_t mark = 0;
    MonoNs since;  // when it was first seen to have grown
  };

  void TellOfChange(const RunUid& run) const {
    if (on_change_) on_change_(run);
  }
  Status Summarise();
  /// Whether what comes in of it should have the processor first.
  bool Waits(const store::StaleRun& run, const std::set<RunUid>& hurried,
             std::map<RunUid, Growth>* growing) const;
  Status Place();
  Status Retire();
  Status GiveBackRoom();
  Status Work();
  Status WorkOn(store::OperationRow operation);
  /// Removes some of the blobs of a run, and returns how many bytes are left.
  Result<std::int64_t> RemoveBlobs(const RunUid& run);
  void Run();

  store::Store* store_;
  store::BlobStore* blobs_;
  RunLedgers* ledgers_;
  const Clock* clock_;
  std::function<void(const Status&)> log_;
  std::function<void(const RunUid&)> on_change_;
  std::optional<MonoNs> retired_;     // when it was looked at last what is to be ended
  std::map<RunUid, Growth> growing_;  // runs that were stale at the last pass, and waited

  std::mutex pass_mutex_;  // one pass at a time
  std::mutex mutex_;       // of what follows
  std::condition_variable woken_;
  std::set<RunUid> hurried_;
  bool wake_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace headway::server
