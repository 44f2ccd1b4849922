#pragma once

#include <cstddef>

/// The limits of charts and timelines of a run's time, and of who asks for the records behind them:
/// a part of base/limits.h that few files need.

namespace headway::limits {

/// Columns of a chart or a timeline, at most and without being told.
inline constexpr int kViewColumns = 4'000;
inline constexpr int kViewColumnsUsual = 500;

/// Names of spans and phases that a chart or a timeline tells apart; those with less time are taken
/// together.
inline constexpr std::size_t kViewNames = 32;

/// Of the slowest steps of a run, those that are told.
inline constexpr int kSlowestSteps = 100;

/// Of the totals over the runs of a project: parts that are told apart, and runs that lost most.
inline constexpr int kFleetParts = 200;
inline constexpr int kFleetTop = 100;

/// Intervals of a timeline that are told one by one; where there are more, columns are.
inline constexpr std::size_t kViewIntervals = 4'000;

/// Lanes of a timeline; where there are more attempts in it, a lane has several of them.
inline constexpr std::size_t kViewLanes = 200;

/// Records that are looked at for one page of those of a range of time, some 0.5 s.
inline constexpr std::size_t kRecordsLooks = 4'000'000;

}  // namespace headway::limits
