#include "server/stored_series.h"

#include <utility>

#include "base/wrapping.h"

namespace headway::server {
namespace {

void Move(std::int64_t ns, store::Points* points) {
  if (ns == 0) return;
  for (std::int64_t& time : points->times_ns) time = WrappingAdd(time, ns);
}

}  // namespace

Result<StoredSeries> StoredSeries::Of(store::Store* store, const RunUid& run) {
  StoredSeries series;
  Result<std::vector<store::SeriesRow>> rows = store->ListSeries(run);
  if (!rows.ok()) return rows.status();
  Result<std::vector<StoredJournal>> journals = ListStoredJournals(store, run);
  if (!journals.ok()) return journals.status();
  for (StoredJournal& one : *journals) {
    std::string source = ToHex(one.journal.identity.uid);
    series.journals_.emplace(std::move(source), std::move(one));
  }
  series.rows_ = *std::move(rows);
  for (store::SeriesRow& row : series.rows_) {
    series::Move(series.MovedBy(row.source), &row.summary);
  }
  return series;
}

const journal::Header* StoredSeries::HeaderOf(const std::string& source) const {
  const auto journal = journals_.find(source);
  return journal == journals_.end() ? nullptr : &journal->second.header;
}

std::int64_t StoredSeries::MovedBy(const std::string& source) const {
  const auto journal = journals_.find(source);
  return journal == journals_.end() ? 0 : journal->second.MovedBy();
}

Result<store::SeriesPieces> StoredSeries::Read(store::Store* store,
                                               const store::SeriesRow& row) const {
  Result<store::SeriesPieces> pieces = store->ReadSeries(row.id);
  if (!pieces.ok()) return pieces;
  const std::int64_t moved_by = MovedBy(row.source);
  for (series::Summary& summary : pieces->summaries) series::Move(moved_by, &summary);
  Move(moved_by, &pieces->tail);
  return pieces;
}

Result<store::Points> StoredSeries::ReadPiece(store::Store* store, const store::SeriesRow& row,
                                              std::int64_t id) const {
  Result<store::Points> points = store->ReadPiece(id);
  if (points.ok()) Move(MovedBy(row.source), &*points);
  return points;
}

}  // namespace headway::server
