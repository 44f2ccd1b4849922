#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/uid.h"
#include "series/summary.h"
#include "store/loose_points.h"

/// SeriesStore: the points of metrics, by run, and durably.
///
/// A source is whoever records: a journal, or a program that sends points. Its points come in
/// order of a position, which it counts itself; what lies below the one that is kept is there.
/// The sources of loose points count nothing; their names are not those of others.
/// Any thread may call; calls that write take turns.

namespace headway::store {

/// What tells the series of a source apart.
struct SeriesKey {
  std::string name;
  std::string unit;
  std::map<std::string, std::string> labels;

  friend auto operator<=>(const SeriesKey&, const SeriesKey&) = default;
};

/// Points that were taken together: they have their times and steps in common.
struct PointFrame {
  struct Column {
    SeriesKey key;
    std::vector<double> values;  // [times]
  };
  std::vector<std::int64_t> times_ns;
  std::vector<std::int64_t> steps;  // [times], or empty: none has a step
  std::vector<Column> columns;
};

/// What a source has recorded in [first, next).
struct PointBatch {
  RunUid run;
  std::string source;
  std::uint64_t first = 0;
  std::uint64_t next = 0;
  std::vector<PointFrame> frames;
};

struct SeriesRow {
  std::int64_t id = 0;
  std::string source;
  SeriesKey key;
  series::Summary summary;  ///< of all its points
};

/// Points of one series.
struct Points {
  std::vector<std::int64_t> times_ns;
  std::vector<std::int64_t> steps;  // kNoStep where one has none
  std::vector<double> values;
};

/// A series as it is kept: pieces, each of which can be read by its id, and what came last.
struct SeriesPieces {
  std::vector<std::int64_t> ids;
  std::vector<series::Summary> summaries;  // [ids]
  Points tail;
};

class SeriesStore {
 public:
  virtual ~SeriesStore() = default;

  /// Up to where the points of a source are kept; 0 for one that is not known.
  virtual Result<std::uint64_t> PointPosition(const RunUid& run, std::string_view source) = 0;
  /// Writes all of it or nothing, and returns once it is durable. Aborted: a batch does not begin
  /// where its source's points end. NotFound: there is no such run. FailedPrecondition: it was
  /// purged, or its project may keep no more. ResourceExhausted: the disk is full, or the run has
  /// limits::kRunSeries series.
  virtual Status AppendPoints(std::span<const PointBatch> batches) = 0;
  /// Writes those that are not kept yet, and returns once they are durable; calls that wait for
  /// each other share a commit. Errors as of AppendPoints (never Aborted), of each of `all` on its
  /// own: then none of its points is written.
  virtual std::vector<Result<LooseOutcome>> MergePoints(std::span<const LoosePoints> all) = 0;

  /// The series of a run, by name, source and labels.
  virtual Result<std::vector<SeriesRow>> ListSeries(const RunUid& run) = 0;
  /// NotFound; DataLoss: what is kept is damaged, which the message says.
  virtual Result<SeriesPieces> ReadSeries(std::int64_t id) = 0;
  virtual Result<Points> ReadPiece(std::int64_t id) = 0;
};

}  // namespace headway::store
