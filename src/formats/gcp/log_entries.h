#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "ledger/compat/entry.h"

/// Writes what Cloud Logging takes and is asked: the entries of ml-goodput-measurement, one start
/// or one end each, and the filter with which it reads them. Pure.

namespace headway::gcp {

/// Where the entries of a job are.
struct JobLog {
  std::string project_id;
  std::string log_name;  ///< by custom "goodput_RUN"
  std::string job_name;
};

/// At most so many entries go into one request.
inline constexpr std::size_t kEntriesPerRequest = 500;

/// Turns the entries of a job into bodies for `entries:write`.
///
/// An entry's `insertId` comes from its contents and from how many entries of the same microsecond
/// are before it in the log, so that an entry that is sent twice is kept once, and those of one
/// microsecond come back in order. Not thread-safe.
class EntryWriter {
 public:
  explicit EntryWriter(JobLog target) : target_(std::move(target)) {}

  /// A body for up to kEntriesPerRequest entries of `log` from number `*from` on, which moves
  /// behind them; empty: there are no more. Calls must go on where the one before has ended. An
  /// entry whose time no log can hold is left out and counted.
  std::string Write(const compat::EntryLog& log, std::size_t* from);

  std::uint64_t left_out() const { return left_out_; }

 private:
  void WriteEntry(const compat::EntryLog& log, const compat::Entry& entry, std::string* body);

  JobLog target_;
  std::int64_t time_us_ = INT64_MIN;  // of the last entry
  std::uint32_t same_ = 0;            // entries of that time so far
  std::uint64_t left_out_ = 0;
};

/// Which entries to read: up to `end`, and from behind the first of these that is given.
struct EntryRange {
  std::optional<std::pair<WallNs, std::string>> after;  ///< an entry: its time and insertId
  std::optional<WallNs> start;                          ///< exclusive
  std::int64_t retention_ns = std::int64_t{7} * 86'400 * kNanosPerSecond;  ///< before `end`
  WallNs end;                                                              ///< inclusive
};

/// The filter that ml-goodput-measurement reads with. Names are escaped, so that none can widen it.
std::string EntryFilter(const JobLog& log, const EntryRange& range);

/// The body for `entries:list` that asks for what `filter` lets through, the oldest first.
/// `page_token`: from the answer before; empty at first.
std::string ListBody(const JobLog& log, std::string_view filter, std::string_view page_token);

}  // namespace headway::gcp
