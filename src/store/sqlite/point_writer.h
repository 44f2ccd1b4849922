#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "series/summary.h"
#include "store/series_store.h"
#include "store/sqlite/sqlite_store.h"

/// How points get into the database: pieces, pages of summaries and frames.

namespace headway::store {

/// The labels of a series, as they are kept: each key and each value with its size before it.
std::string LabelText(const std::map<std::string, std::string>& labels);
std::map<std::string, std::string> LabelsOf(std::string_view text);

/// Something in the database can't be what was written there.
Status Damaged(const std::string& what);

/// A frame, with the ids of its series, which ascend.
struct IdFrame {
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> times;
  std::vector<std::int64_t> steps;           // empty, or [times]
  std::vector<std::vector<double>> columns;  // [ids]
};

/// Series that are not there yet, of one run, within one transaction.
class SeriesMaker {
 public:
  SeriesMaker(Connection* connection, std::int64_t run_id)
      : connection_(connection), run_id_(run_id) {}

  /// The id of the row that it makes; 0: the run has limits::kRunSeries already.
  Result<std::int64_t> Make(std::int64_t source_id, std::string_view name, std::string_view unit,
                            std::string_view labels);
  /// What those that it made take, about.
  std::int64_t bytes() const { return bytes_; }

 private:
  static constexpr std::int64_t kSummaryBytes = 128;

  Connection* connection_;
  std::int64_t run_id_;
  std::int64_t run_series_ = -1;  // not counted yet
  std::int64_t bytes_ = 0;
};

/// Points of one source on their way into the database, within one transaction.
class SqliteStore::PointWriter {
 public:
  PointWriter(Connection* connection, std::int64_t source_id, std::int64_t run_id)
      : connection_(connection), source_id_(source_id), makes_series_(connection, run_id) {}

  Status Add(const PointFrame& frame);
  /// Puts frames together where there are enough of them. How many bytes more are kept.
  Result<std::int64_t> Finish();

  /// Of the points of a frame, whose series are there, `count` as pieces.
  Status AddPieces(const IdFrame& frame, std::size_t from, std::size_t count);
  /// Adds those of a column to the summary of its series.
  Status Widen(std::int64_t id, const IdFrame& frame, std::size_t column);
  /// How many bytes more are kept so far.
  std::int64_t bytes() const { return bytes_; }

 private:
  Result<std::int64_t> FindOrMakeSeries(const SeriesKey& key);
  Status AddToPage(std::int64_t series_id, std::int64_t piece_id, const series::Summary& summary);
  Status AddFrame(const IdFrame& frame, std::size_t from, std::int64_t shape);
  Status MakeShape(std::int64_t shape, std::span<const std::int64_t> ids);
  Status Join(std::int64_t shape);

  Connection* connection_;
  std::int64_t source_id_;
  SeriesMaker makes_series_;
  std::int64_t bytes_ = 0;
  std::map<SeriesKey, std::int64_t> ids_;
  std::set<std::int64_t> shapes_;
};

}  // namespace headway::store
