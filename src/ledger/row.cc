#include "ledger/row.h"

#include <algorithm>

namespace headway::ledger {
void AddRow(const Row& row, std::int64_t from, std::int64_t to, Sums* sums) {
  const std::int64_t end = row.end();
  if (from <= row.begin && to >= end) {
    AddRow(row, sums);
    return;
  }
  std::int64_t at = row.begin;
  for (const Slice& slice : row.slices) {
    if (IsOverlapped(slice.code)) {
      sums->overlapped +=
          std::max<std::int64_t>(0, std::min(to, at + slice.ns) - std::max(from, at));
    }
    at += slice.ns;
  }
  ForEachPiece(row, [&](const Piece& piece) {
    const std::int64_t ns = std::min(to, piece.end) - std::max(from, piece.begin);
    if (ns <= 0) return;
    sums->Add(piece.bucket, ns);
    if (piece.loading_taken) sums->overlapped -= ns;
    if (piece.retainable && !row.is_step) sums->outside += ns;
  });
  if (row.begin >= from && row.begin < to) {
    sums->slow += row.slow;
    if (row.is_step && row.complete) sums->steps += 1;
  }
}

void AddRow(const Row& row, const RowMeasures& measures, Sums* sums) {
  if (measures.fixed != 0) {
    for (const Slice& slice : row.slices) {
      if (IsWork(slice.code)) continue;
      sums->Add(BucketIn(slice.code), slice.ns);
      if (KindOf(slice.code) == SliceKind::kRetainable) sums->outside += slice.ns;
    }
  }
  sums->overlapped += measures.overlapped - row.loading;
  if (measures.labels) {
    ForEachPiece(row, [&](const Piece& piece) {
      if (piece.retainable) sums->Add(piece.bucket, piece.end - piece.begin);
    });
  } else {
    sums->Add(BucketOf(Category::kProductive), measures.work - row.loading - row.extra);
  }
  if (row.loading != 0) sums->Add(BucketOf(Category::kDataLoading), row.loading);
  switch (row.extra_kind) {
    case Row::Extra::kNone: break;
    case Row::Extra::kStartup: sums->Add(BucketOf(Category::kProgramStartup), row.extra); break;
    case Row::Extra::kStall: sums->Add(BucketOf(Category::kStepStall), row.extra); break;
    case Row::Extra::kRecovery:
      sums->Add(BucketOf(Category::kInfrastructureRecovery), row.extra);
      break;
  }
  sums->slow += row.slow;
  if (row.is_step && row.complete) sums->steps += 1;
}

void RowWalk::Pass(const Row& row, Sums* sums) {
  To(row.begin, *sums);
  if (done() || next() >= row.end()) {
    AddRow(row, sums);
    return;
  }
  ForEachPiece(row, [this, sums](const Piece& piece) {
    std::int64_t at = piece.begin;
    while (!done() && next() < piece.end) {
      sums->Add(piece.bucket, next() - at);
      at = next();
      To(at, *sums);
    }
    sums->Add(piece.bucket, piece.end - at);
  });
}

}  // namespace headway::ledger
