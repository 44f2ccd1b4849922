#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "server/stored_journal.h"
#include "store/store.h"

namespace headway::server {

/// The series of a run as the store keeps them, and what the journals say that they are from. The
/// store has the times that each journal gives itself; where its clock was stepped since, its
/// points are moved when they are read, as all else that it recorded. Plain values.
class StoredSeries {
 public:
  /// As SeriesStore; DataLoss: the header of a journal is damaged.
  static Result<StoredSeries> Of(store::Store* store, const RunUid& run);

  /// By name, source and labels; summaries are as of where the points were moved to.
  const std::vector<store::SeriesRow>& rows() const { return rows_; }
  /// Null: the source is no journal of the run.
  const journal::Header* HeaderOf(const std::string& source) const;

  /// Its pieces and what came last, and a piece, moved. As SeriesStore.
  Result<store::SeriesPieces> Read(store::Store* store, const store::SeriesRow& row) const;
  Result<store::Points> ReadPiece(store::Store* store, const store::SeriesRow& row,
                                  std::int64_t id) const;

 private:
  std::int64_t MovedBy(const std::string& source) const;

  std::vector<store::SeriesRow> rows_;
  std::map<std::string, StoredJournal> journals_;  // by the source
};

}  // namespace headway::server
