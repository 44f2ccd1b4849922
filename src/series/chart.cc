#include "series/chart.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace headway::series {
namespace {

constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max();

enum class Part : std::uint8_t { kKept, kWasted, kBoth };

// Which of a piece's points were lost again.
Part PartOf(const Summary& summary, std::span<const Setback> setbacks) {
  Part part = Part::kKept;
  for (const Setback& setback : setbacks) {
    const bool none = summary.min_time_ns >= setback.before || summary.max_step == kNoStep ||
                      summary.max_step < setback.step;
    if (none) continue;
    const bool all = summary.max_time_ns < setback.before && summary.stepless_count == 0 &&
                     summary.min_step >= setback.step;
    if (all) return Part::kWasted;
    part = Part::kBoth;
  }
  return part;
}

bool IsWasted(std::int64_t time, std::int64_t step, std::span<const Setback> setbacks) {
  return step != kNoStep && std::ranges::any_of(setbacks, [&](const Setback& setback) {
           return time < setback.before && step >= setback.step;
         });
}

void Append(const PointColumns& from, std::size_t i, PointColumns* to) {
  to->times_ns.push_back(from.times_ns[i]);
  to->steps.push_back(from.steps[i]);
  to->values.push_back(from.values[i]);
}

// By time, each once.
void SortOut(PointColumns* points) {
  std::vector<std::size_t> order(points->times_ns.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [points](std::size_t i) {
    return std::tuple(points->times_ns[i], points->steps[i],
                      std::bit_cast<std::uint64_t>(points->values[i]));
  };
  std::ranges::stable_sort(order, {}, key);
  PointColumns sorted;
  for (std::size_t n = 0; n < order.size(); ++n) {
    if (n > 0 && key(order[n]) == key(order[n - 1])) continue;
    Append(*points, order[n], &sorted);
  }
  *points = std::move(sorted);
}

class Drawing {
 public:
  Drawing(const Downsampler::Range& range, std::span<const Setback> setbacks,
          std::vector<Downsampler> charts, bool sketch)
      : range_(range), setbacks_(setbacks), charts_(std::move(charts)), sketch_(sketch) {}

  Status Add(const LineSource& source) {
    for (std::size_t i = 0; i < source.summaries.size(); ++i) {
      const Summary& summary = source.summaries[i];
      if (Beside(summary)) continue;
      const Part part = PartOf(summary, setbacks_);
      if (!sketch_ && part != Part::kBoth && ChartOf(part)->Add(summary)) continue;
      Result<PointColumns> points = source.read(i);
      if (!points.ok()) return points.status();
      AddPoints(*points);
    }
    AddPoints(source.tail);
    return OkStatus();
  }

  // The points of what has few, once all are known to be few.
  Status Collect(const LineSource& source, std::vector<PointColumns>* parts) {
    for (std::size_t i = 0; i < source.summaries.size(); ++i) {
      if (Beside(source.summaries[i])) continue;
      Result<PointColumns> points = source.read(i);
      if (!points.ok()) return points.status();
      Split(*points, parts);
    }
    Split(source.tail, parts);
    return OkStatus();
  }

  std::uint64_t Count(std::size_t part) const {
    std::uint64_t count = 0;
    for (const Summary& bucket : charts_[part].buckets()) count += bucket.count;
    return count;
  }
  std::span<const Summary> buckets(std::size_t part) const { return charts_[part].buckets(); }
  const QuantileSketch& sketch(std::size_t part) const { return sketches_[part]; }

 private:
  Downsampler* ChartOf(Part part) { return &charts_[part == Part::kWasted ? 1 : 0]; }

  bool Beside(const Summary& summary) const {
    if (range_.axis == Axis::kTime) {
      return summary.max_time_ns < range_.from || summary.min_time_ns >= range_.to;
    }
    return summary.max_step == kNoStep || summary.max_step < range_.from ||
           summary.min_step >= range_.to;
  }
  bool Inside(const PointColumns& points, std::size_t i) const {
    const std::int64_t at = range_.axis == Axis::kTime ? points.times_ns[i] : points.steps[i];
    return at >= range_.from && at < range_.to &&
           (range_.axis == Axis::kTime || points.steps[i] != kNoStep);
  }

  void Split(const PointColumns& points, std::vector<PointColumns>* parts) const {
    for (std::size_t i = 0; i < points.times_ns.size(); ++i) {
      if (!Inside(points, i)) continue;
      const bool wasted = IsWasted(points.times_ns[i], points.steps[i], setbacks_);
      Append(points, i, &(*parts)[wasted ? 1 : 0]);
    }
  }

  void AddPoints(const PointColumns& points) {
    if (points.times_ns.empty()) return;
    std::vector<PointColumns> parts(2);
    Split(points, &parts);
    for (std::size_t part = 0; part < 2; ++part) {
      charts_[part].Add(parts[part].times_ns, parts[part].steps, parts[part].values);
      if (sketch_) sketches_[part].Add(parts[part].values);
    }
  }

  Downsampler::Range range_;
  std::span<const Setback> setbacks_;
  std::vector<Downsampler> charts_;
  bool sketch_;
  QuantileSketch sketches_[2];
};

}  // namespace

std::vector<Setback> SetbacksOf(const Report& report) {
  std::vector<Setback> setbacks;
  for (const Disruption& disruption : report.disruptions) {
    if (disruption.resumed_from) {
      setbacks.push_back({disruption.time + 1, *disruption.resumed_from});
    }
  }
  for (const Rollback& rollback : report.rollbacks) {
    setbacks.push_back({rollback.time, rollback.to});
  }
  return setbacks;
}

bool MatchesName(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return name == pattern;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

std::optional<Downsampler::Range> RangeOf(const Stretch& stretch, std::size_t buckets,
                                          const Summary& all) {
  const bool steps = stretch.axis == Axis::kStep;
  if (all.count == 0 || (steps && all.max_step == kNoStep)) return std::nullopt;
  const auto shifted = [&stretch](std::int64_t at) {
    std::int64_t sum;
    if (!__builtin_add_overflow(at, stretch.offset, &sum)) return sum;
    return at > 0 ? kLatest : std::numeric_limits<std::int64_t>::min();
  };
  const std::int64_t first = steps ? all.min_step : all.min_time_ns;
  const std::int64_t last = steps ? all.max_step : all.max_time_ns;
  Downsampler::Range range;
  range.axis = stretch.axis;
  range.buckets = buckets;
  range.from = stretch.from ? shifted(*stretch.from) : first;
  range.to = stretch.to ? shifted(*stretch.to) : std::min(last, kLatest - 1) + 1;
  if (range.from >= range.to) return std::nullopt;
  return range;
}

Result<std::vector<Line>> DrawLines(std::span<const LineSource> sources,
                                    const Downsampler::Range& range,
                                    std::span<const Setback> setbacks,
                                    std::span<const double> quantiles) {
  std::vector<Downsampler> charts;
  for (int part = 0; part < 2; ++part) {
    Result<Downsampler> chart = Downsampler::Make(range);
    if (!chart.ok()) return chart.status();
    charts.push_back(*std::move(chart));
  }
  Drawing drawing(range, setbacks, std::move(charts), !quantiles.empty());
  for (const LineSource& source : sources) HEADWAY_RETURN_IF_ERROR(drawing.Add(source));
  const std::uint64_t total = drawing.Count(0) + drawing.Count(1);
  std::vector<PointColumns> parts(2);
  if (total > 0 && total <= range.buckets) {
    for (const LineSource& source : sources) {
      HEADWAY_RETURN_IF_ERROR(drawing.Collect(source, &parts));
    }
  }
  std::vector<Line> lines;
  for (std::size_t part = 0; part < 2; ++part) {
    Line line;
    line.wasted = part == 1;
    line.count = drawing.Count(part);
    if (line.count == 0) continue;
    if (total <= range.buckets) {
      line.points = std::move(parts[part]);
      SortOut(&line.points);
    } else {
      line.buckets.assign(drawing.buckets(part).begin(), drawing.buckets(part).end());
    }
    for (const double q : quantiles) line.quantiles.push_back(drawing.sketch(part).Quantile(q));
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace headway::series
