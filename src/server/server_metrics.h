#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "server/foreign_points.h"
#include "server/http_server.h"
#include "server/journal_service.h"
#include "server/live_hub.h"

namespace headway::server {

/// ServerMetrics: how a server itself fares, in the text format of Prometheus. Its series are a
/// fixed number, whoever calls for whatever. Any thread.
class ServerMetrics {
 public:
  /// `paths` are those that are told apart; all others count as one. The clock must outlive it.
  ServerMetrics(const std::vector<std::string>& paths, const Clock* clock);

  /// A request was answered. Some nanoseconds.
  void Count(const HttpOutcome& outcome);

  /// What others know.
  struct Others {
    const HttpStats* http = nullptr;
    const JournalCounts* journals = nullptr;
    const ForeignPointCounts* points = nullptr;
    std::size_t ledgers = 0;       ///< held in memory
    std::size_t ledger_bytes = 0;  ///< of all of them
    LiveHub::Counts live;
    std::uint64_t store_bytes = 0;  ///< its files, on disk
  };
  std::string Write(const Others& others) const;

 private:
  static constexpr double kBuckets[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                        0.25,  0.5,    1,     2.5,  5,     10,   30};
  static constexpr int kCodes[] = {200, 204, 400, 401, 403, 404, 405, 409, 413, 415,
                                   417, 429, 431, 499, 500, 501, 503, 504, 505, 0};  // 0: others
  using Number = std::atomic<std::uint64_t>;

  /// Of one path.
  struct Counts {
    std::string method;                        // as it is told
    Number codes[std::size(kCodes)] = {};      // answers
    Number buckets[std::size(kBuckets)] = {};  // of them up to so long, and longer than the last
    Number longer = 0;
    Number ns = 0;  // together
  };

  const Clock* clock_;
  MonoNs start_;
  std::map<std::string, Counts, std::less<>> by_path_;
  Counts others_;
};

}  // namespace headway::server
