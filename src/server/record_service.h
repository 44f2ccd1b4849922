#pragma once

#include <headway/v1/record_service.pb.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "server/connect.h"
#include "server/record_follower.h"
#include "server/record_times.h"
#include "server/run_registry.h"
#include "server/stored_journal.h"
#include "store/record_store.h"

namespace headway::server {

/// RecordService of proto/. Any thread.
///
/// A page goes on where the one before has ended without reading anything again, for some of those
/// who ask at a time, and for some of those who follow a run.
class RecordService {
 public:
  /// All must outlive it.
  RecordService(RunRegistry* registry, store::RecordStore* store, const Clock* clock);
  ~RecordService();

  void AddTo(ConnectRouter* router);

  Result<v1::ListRecordsResponse> ListRecords(const Caller& caller,
                                              const v1::ListRecordsRequest& request);

  /// How many readers wait for their next page.
  std::size_t waiting();
  /// How many of them follow a run.
  std::size_t following();

 private:
  class Cursor;

  Result<v1::ListRecordsResponse> FollowRecords(const RunUid& run, std::size_t size,
                                                const v1::ListRecordsRequest& request);
  /// The one that waits at that token, or a new one there.
  Result<std::unique_ptr<Cursor>> Take(const RunUid& run, const std::optional<TimeRange>& range,
                                       const std::string& token);

  RunRegistry* registry_;
  store::RecordStore* store_;
  Hearing hearing_;
  KnownTimes times_;
  std::mutex mutex_;                                        // of what follows
  std::vector<std::unique_ptr<Cursor>> waiting_;            // the one that was used last comes last
  std::vector<std::unique_ptr<RecordFollower>> following_;  // likewise
};

}  // namespace headway::server
