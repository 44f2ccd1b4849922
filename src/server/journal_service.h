#pragma once

#include <headway/v1/journal_service.pb.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "base/clock.h"
#include "base/status.h"
#include "server/connect.h"
#include "store/record_store.h"

namespace headway::server {

/// What has been taken in since the server started. Any thread may read.
struct JournalCounts {
  std::atomic<std::uint64_t> journals = 0;  ///< new ones
  std::atomic<std::uint64_t> slots = 0;     ///< acknowledged, without what was there already
  std::atomic<std::uint64_t> bytes = 0;     ///< of these slots, packed as they came
};

/// JournalService of proto/: takes in journals. Any thread; pieces are kept one request at a time.
class JournalService {
 public:
  /// Both must outlive it.
  JournalService(store::RecordStore* store, const Clock* clock) : store_(store), clock_(clock) {}

  void AddTo(ConnectRouter* router);
  /// `came` is told of each run, as its journal has it, of which something was kept, and whether
  /// one of its journals has begun or ended.
  void OnRecords(std::function<void(const RunUid&, bool)> came) { on_records_ = std::move(came); }
  const JournalCounts& counts() const { return counts_; }

  Result<v1::AppendJournalsResponse> AppendJournals(const Caller& caller,
                                                    const v1::AppendJournalsRequest& request);

 private:
  Result<bool> Fits(const JournalUid& uid, const v1::JournalPiece& piece, std::uint64_t stored);

  store::RecordStore* store_;
  const Clock* clock_;
  std::mutex mutex_;  // what is there may not change between the look and the append
  /// CRC-32C of all slots of a journal, of those that have come without holes that were filled
  /// since this server started: at their ends they need not be read again.
  struct Sum {
    std::uint64_t slots = 0;
    std::uint32_t crc = 0;
  };
  std::map<JournalUid, Sum> sums_;
  JournalCounts counts_;
  std::function<void(const RunUid&, bool)> on_records_;
};

}  // namespace headway::server
