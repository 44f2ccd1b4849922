#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "ledger/bucket.h"

namespace headway::ledger {

/// What the machine saw in a stretch of an attempt: what was active, and for how long.
///
/// `code` packs the kind (2 bits), what loading was active (2 bits) and a bucket: the blocking
/// span's, or the productive phase's that names productive time.
struct Slice {
  std::uint32_t code = 0;
  std::int64_t ns = 0;

  template <typename Ar>
  void Persist(Ar& ar);
};

enum class SliceKind : std::uint32_t {
  kWork = 0,        // inside a step, nothing blocks
  kWorkLoad = 1,    // the same, while overlappable loading is active
  kFixed = 2,       // belongs to its bucket whatever happens later
  kRetainable = 3,  // a productive phase outside of steps: can be wasted later
};

/// Loading beside whatever the slice is.
enum class LoadState : std::uint32_t {
  kNone = 0,
  kActive = 1,   // overlappable or blocking
  kPassive = 2,  // some that never takes time, and perhaps other
};

inline constexpr std::uint32_t SliceCode(SliceKind kind, LoadState load, BucketId bucket) {
  return static_cast<std::uint32_t>(kind) | static_cast<std::uint32_t>(load) << 2 | bucket << 4;
}
inline SliceKind KindOf(std::uint32_t code) { return static_cast<SliceKind>(code & 3u); }
inline LoadState LoadIn(std::uint32_t code) { return static_cast<LoadState>(code >> 2 & 3u); }
inline bool PassiveLoad(std::uint32_t code) { return LoadIn(code) == LoadState::kPassive; }
inline BucketId BucketIn(std::uint32_t code) { return code >> 4; }
inline bool IsWork(std::uint32_t code) { return (code & 2u) == 0; }

/// Persists what a slice's code says.
template <typename Ar>
void PersistCode(Ar& ar, std::uint32_t& code) {
  ar(code);
  if (!ar.Check(BucketIn(code) < ar.scope().buckets->size())) code = 0;
}

template <typename Ar>
void Slice::Persist(Ar& ar) {
  PersistCode(ar, code);
  ar(ns);
}

/// One stretch of an attempt: a step interval, or the time between two of them. Rows tile the
/// attempt. The split of a step's work time is `loading` + `extra` + the productive rest; `extra`
/// is program_startup (a first step: before the productive part), step_stall or
/// infrastructure_recovery (after it).
struct Row {
  enum class Extra : std::uint8_t { kNone, kStartup, kStall, kRecovery };

  std::int64_t begin = 0;  // net time
  std::int64_t index = 0;  // step number, counted on over resets; meaningless without `is_step`
  std::int64_t loading = 0;
  std::int64_t extra = 0;
  std::int64_t slow = 0;
  Extra extra_kind = Extra::kNone;
  bool is_step = false;
  bool first = false;  // a first step: docs/accounting.md, section 6
  bool complete = false;
  std::span<const Slice> slices;

  std::int64_t Length() const {
    std::int64_t length = 0;
    for (const Slice& slice : slices) length += slice.ns;
    return length;
  }
  std::int64_t end() const { return begin + Length(); }

  /// Without its slices.
  template <typename Ar>
  void Persist(Ar& ar) {
    ar(begin, index, loading, extra, slow);
    ar.Enum(extra_kind, Extra::kRecovery);
    ar(is_step, first, complete);
  }
};

/// The measures of a step that its split is computed from, and the ones its statistics need.
struct RowMeasures {
  std::int64_t work = 0;          // w
  std::int64_t load_in_work = 0;  // d
  std::int64_t load_total = 0;    // loading of any kind, blocking or not
  std::int64_t overlapped = 0;    // loading that is nowhere charged, if none of d is
  std::int64_t fixed = 0;         // what is not work
  bool labels = false;            // named phases inside the work

  template <typename Ar>
  void Persist(Ar& ar) {
    ar(work, load_in_work, load_total, overlapped, fixed, labels);
  }
};

/// Whether loading of any kind is active.
inline bool IsLoading(std::uint32_t code) {
  return LoadIn(code) != LoadState::kNone ||
         (KindOf(code) == SliceKind::kFixed && BucketIn(code) == BucketOf(Category::kDataLoading));
}

/// Loading that runs beside something else: never an instant that is itself data_loading.
inline bool IsOverlapped(std::uint32_t code) {
  if (KindOf(code) == SliceKind::kFixed) {
    return PassiveLoad(code) && BucketIn(code) != BucketOf(Category::kDataLoading);
  }
  return PassiveLoad(code) || KindOf(code) == SliceKind::kWorkLoad;
}

inline RowMeasures Measure(std::span<const Slice> slices) {
  RowMeasures measures;
  for (const Slice& slice : slices) {
    const std::uint32_t code = slice.code;
    if (IsWork(code)) {
      measures.work += slice.ns;
      if (KindOf(code) == SliceKind::kWorkLoad) measures.load_in_work += slice.ns;
      measures.labels |= BucketIn(code) != 0;
    } else {
      measures.fixed += slice.ns;
    }
    if (IsLoading(code)) {
      measures.load_total += slice.ns;
      if (IsOverlapped(code)) measures.overlapped += slice.ns;
    }
  }
  return measures;
}

/// Part of a row: [begin, end) in net time. `retainable` parts are productive unless wasted.
struct Piece {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  BucketId bucket = 0;
  bool retainable = false;
  bool loading_taken = false;  // overlappable loading that was charged as data_loading
};

/// Calls `emit(const Piece&)` for the row's parts in order, empty ones left out, and
/// `overlap(ns_begin, ns_end)` is not needed: see OverlappedIn.
template <typename Emit>
void ForEachPiece(const Row& row, Emit&& emit) {
  std::int64_t work = 0;
  std::int64_t load = 0;
  for (const Slice& slice : row.slices) {
    if (!IsWork(slice.code)) continue;
    work += slice.ns;
    if (KindOf(slice.code) == SliceKind::kWorkLoad) load += slice.ns;
  }
  // Loading that stays overlapped comes first; the last `row.loading` of it is data_loading.
  std::int64_t load_kept = load - row.loading;
  std::int64_t lead = row.extra_kind == Row::Extra::kStartup ? row.extra : 0;
  std::int64_t productive = work - row.loading - row.extra;
  const BucketId tail_bucket =
      BucketOf(row.extra_kind == Row::Extra::kRecovery ? Category::kInfrastructureRecovery
                                                       : Category::kStepStall);
  std::int64_t at = row.begin;
  auto put = [&](std::int64_t ns, BucketId bucket, bool retainable, bool taken) {
    if (ns > 0) emit(Piece{at, at + ns, bucket, retainable, taken});
    at += ns;
  };
  auto put_work = [&](std::int64_t ns, BucketId label) {
    const std::int64_t startup = ns < lead ? ns : lead;
    put(startup, BucketOf(Category::kProgramStartup), false, false);
    lead -= startup;
    ns -= startup;
    const std::int64_t progress = ns < productive ? ns : productive;
    put(progress, label, true, false);
    productive -= progress;
    put(ns - progress, tail_bucket, false, false);
  };
  for (const Slice& slice : row.slices) {
    switch (KindOf(slice.code)) {
      case SliceKind::kWork: put_work(slice.ns, BucketIn(slice.code)); break;
      case SliceKind::kWorkLoad: {
        const std::int64_t kept = slice.ns < load_kept ? slice.ns : load_kept;
        put_work(kept, BucketIn(slice.code));
        load_kept -= kept;
        put(slice.ns - kept, BucketOf(Category::kDataLoading), false, true);
        break;
      }
      case SliceKind::kFixed: put(slice.ns, BucketIn(slice.code), false, false); break;
      case SliceKind::kRetainable: put(slice.ns, BucketIn(slice.code), true, false); break;
    }
  }
}

/// Adds the row's parts within [from, to) (net time) to `sums`; retainable time goes to its
/// productive bucket. `steps` counts when the row begins within.
void AddRow(const Row& row, std::int64_t from, std::int64_t to, Sums* sums);
/// The same for the whole row, faster.
void AddRow(const Row& row, const RowMeasures& measures, Sums* sums);
inline void AddRow(const Row& row, Sums* sums) { AddRow(row, Measure(row.slices), sums); }

/// Many instants of net time on the way through rows, in ascending order: calls `visit(i, sums)`
/// for instants[i] with the sums of what lies before it. Of them only `ns` counts. The instants
/// must outlive it.
class RowWalk {
 public:
  using Visit = std::function<void(std::size_t, const Sums&)>;

  RowWalk(std::span<const std::int64_t> instants, Visit visit)
      : instants_(instants), visit_(std::move(visit)) {}

  bool done() const { return at_ == instants_.size(); }
  std::size_t visited() const { return at_; }
  /// The next one; not when it is done.
  std::int64_t next() const { return instants_[at_]; }
  /// Visits those up to `net`, before which `sums` lie.
  void To(std::int64_t net, const Sums& sums) {
    while (!done() && next() <= net) visit_(at_++, sums);
  }
  /// Visits those before the row's end, and adds the row to `*sums`, the sums of what lies before
  /// it. O(slices + instants in it).
  void Pass(const Row& row, Sums* sums);

 private:
  std::span<const std::int64_t> instants_;
  Visit visit_;
  std::size_t at_ = 0;
};

}  // namespace headway::ledger
