#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/report.h"
#include "series/downsampler.h"
#include "series/quantile_sketch.h"
#include "series/summary.h"

namespace headway::series {

/// Steps from `step` on that were recorded before `before` were lost again: the run went back.
struct Setback {
  std::int64_t before = 0;
  std::int64_t step = 0;
};

/// What a run went back behind, as its report has it.
std::vector<Setback> SetbacksOf(const Report& report);

/// Whether a metric is asked for by `pattern`: its name, or the beginning of it and a "*".
bool MatchesName(std::string_view pattern, std::string_view name);

/// Points of one series, in columns; steps may be kNoStep.
struct PointColumns {
  std::vector<std::int64_t> times_ns;
  std::vector<std::int64_t> steps;
  std::vector<double> values;
};

/// One line of a chart: what was kept of a series, or what was lost again. Either the points
/// themselves, by time, where they are not more than the chart has buckets, or the buckets.
struct Line {
  bool wasted = false;
  std::uint64_t count = 0;
  PointColumns points;
  std::vector<Summary> buckets;  // empty where there are points
  std::vector<double> quantiles;
};

/// The part of an axis that is asked for, counted from `offset` on (such as a run's start, where
/// the axis is the time since that); without `from` or `to` as far as there are points.
struct Stretch {
  Axis axis = Axis::kTime;
  std::optional<std::int64_t> from, to;
  std::int64_t offset = 0;
};

/// Where that is on the axis, [from, to), for a chart of the points behind `all`. Nothing: no
/// points can lie there.
std::optional<Downsampler::Range> RangeOf(const Stretch& stretch, std::size_t buckets,
                                          const Summary& all);

/// What a line is made of: pieces, whose points are read only where that has to be.
struct LineSource {
  std::vector<Summary> summaries;                         // of the pieces
  std::function<Result<PointColumns>(std::size_t)> read;  // a piece
  PointColumns tail;
};

/// What was kept of the series in `sources`, drawn as one line, and what of it was lost again, as
/// another: those of them that have points. Quantiles read all points. Errors: those of `read`;
/// InvalidArgument: as Downsampler::Make. A point that is there twice (time, step and value alike)
/// is shown once where points are shown.
Result<std::vector<Line>> DrawLines(std::span<const LineSource> sources,
                                    const Downsampler::Range& range,
                                    std::span<const Setback> setbacks,
                                    std::span<const double> quantiles);

}  // namespace headway::series
