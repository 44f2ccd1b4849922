#include "cli/metric_lines.h"

#ifdef HEADWAY_REMOTE

#include <headway/v1/series_service.pb.h>

#include <algorithm>
#include <bit>

#include "cli/server_call.h"
#include "model/metric.h"
#include "model/report.h"
#include "series/chart.h"

namespace headway::cli {
namespace {

template <typename T>
std::optional<T> Get(bool has, T value) {
  return has ? std::optional<T>(value) : std::nullopt;
}

MetricFacts FactsOf(const v1::SeriesSummary& from) {
  return {.count = from.count(),
          .not_finite = from.not_finite_count(),
          .min = Get(from.has_min(), from.min()),
          .max = Get(from.has_max(), from.max()),
          .mean = Get(from.has_mean(), from.mean()),
          .first = Get(from.has_first(), from.first()),
          .last = Get(from.has_last(), from.last()),
          .min_time = from.min_time(),
          .max_time = from.max_time(),
          .min_step = Get(from.has_min_step(), from.min_step()),
          .max_step = Get(from.has_max_step(), from.max_step())};
}

MetricFacts FactsOf(const series::Summary& from, std::int64_t offset = 0) {
  const bool finite = from.finite_count() > 0;
  const bool stepped = from.min_step != kNoStep;
  return {.count = from.count,
          .not_finite = from.count - from.finite_count(),
          .min = Get(finite, from.min),
          .max = Get(finite, from.max),
          .mean = Get(finite, from.mean()),
          .first = Get(from.count > 0, from.first),
          .last = Get(from.count > 0, from.last),
          .min_time = from.min_time_ns - offset,
          .max_time = from.max_time_ns - offset,
          .min_step = Get(stepped, from.min_step),
          .max_step = Get(stepped, from.max_step)};
}

MetricInfo InfoOf(const v1::Series& from) {
  MetricInfo info;
  info.name = from.name();
  info.unit = from.unit();
  info.metric_class = v1::MetricClass_IsValid(from.class_()) && from.class_() != 0
                          ? std::string(MetricClassName(
                                static_cast<MetricClass>(static_cast<int>(from.class_()) - 1)))
                          : std::string(MetricClassName(MetricClass::kOther));
  info.labels.insert(from.labels().begin(), from.labels().end());
  info.source = from.source();
  info.host = from.host();
  info.rank = Get(from.has_rank(), from.rank());
  info.attempt = Get(from.has_attempt(), from.attempt());
  info.facts = FactsOf(from.summary());
  return info;
}

bool Matches(const std::vector<std::string>& patterns, std::string_view name) {
  return patterns.empty() || std::ranges::any_of(patterns, [name](const std::string& pattern) {
           return series::MatchesName(pattern, name);
         });
}

/// A run's metrics as its journals have them.
struct LocalMetrics {
  struct Series {
    MetricInfo info;
    series::Summary summary;
    series::PointColumns points;
  };
  std::vector<Series> series;  // by name, then source
  std::vector<series::Setback> setbacks;
  std::int64_t start = 0;

  static Result<LocalMetrics> Read(const Context& context, Place* place, const std::string& label) {
    Result<OpenRun> open = Open(context, place, label);
    if (!open.ok()) return open.status();
    ledger::Query query;
    query.now = open->loaded.now.ns;
    const Report report = MakeReport(&*open, query);
    std::vector<Status> problems;
    const Result<RunRecords> records = runs::ReadRecords(open->run, &problems);
    if (!records.ok()) return records.status();
    std::map<std::string, std::int64_t> attempts =
        runs::AttemptsOf(open->run, &open->loaded.ledger);
    LocalMetrics metrics;
    metrics.start = report.start.value_or(open->run.start);
    metrics.setbacks = series::SetbacksOf(report);
    std::map<std::tuple<std::string, std::string, WriterId>, series::PointColumns> columns;
    for (const Record& record : records->records) {
      if (record.type != RecordType::kMetric) continue;
      const Writer& writer = records->writers[record.writer];
      series::PointColumns& points =
          columns[{std::string(records->names.Text(record.name)), writer.uid, record.writer}];
      points.times_ns.push_back(record.time_ns);
      points.steps.push_back(record.a);
      points.values.push_back(std::bit_cast<double>(record.b));
    }
    for (auto& [key, points] : columns) {
      Series& one = metrics.series.emplace_back();
      const Writer& writer = records->writers[std::get<2>(key)];
      one.info.name = std::get<0>(key);
      const MetricKind* const kind = FindMetric(one.info.name);
      if (kind != nullptr) one.info.unit = kind->unit;
      one.info.metric_class =
          MetricClassName(kind == nullptr ? MetricClass::kOther : kind->metric_class);
      one.info.source = writer.uid;
      one.info.host = writer.host;
      one.info.rank = Get(writer.rank >= 0, writer.rank);
      const std::int64_t attempt = attempts[writer.uid];
      one.info.attempt = Get(attempt >= 0, attempt);
      one.summary = series::Summarize(points.times_ns, points.steps, points.values);
      one.info.facts = FactsOf(one.summary);
      one.points = std::move(points);
    }
    return metrics;
  }
};

Result<std::vector<MetricLine>> QueryLocal(const Context& context, Place* place,
                                           const std::string& run, const MetricQuestion& question) {
  Result<LocalMetrics> metrics = LocalMetrics::Read(context, place, run);
  if (!metrics.ok()) return metrics.status();
  series::Summary all;
  for (const LocalMetrics::Series& one : metrics->series) {
    if (Matches(question.names, one.info.name)) series::Merge(one.summary, &all);
  }
  const std::int64_t offset = question.axis == "elapsed" ? metrics->start : 0;
  const auto range =
      series::RangeOf({.axis = question.axis == "step" ? series::Axis::kStep : series::Axis::kTime,
                       .from = question.from,
                       .to = question.to,
                       .offset = offset},
                      question.buckets, all);
  std::vector<MetricLine> lines;
  if (!range) return lines;
  for (LocalMetrics::Series& one : metrics->series) {
    if (!Matches(question.names, one.info.name)) continue;
    series::LineSource source;
    source.tail = std::move(one.points);
    const auto drawn = series::DrawLines({&source, 1}, *range, metrics->setbacks, {});
    if (!drawn.ok()) return drawn.status();
    for (const series::Line& line : *drawn) {
      MetricLine& out = lines.emplace_back();
      out.info = one.info;
      out.wasted = line.wasted;
      out.from = range->from - offset;
      out.to = range->to - offset;
      out.times = line.points.times_ns;
      for (std::int64_t& time : out.times) time -= offset;
      out.steps = line.points.steps;
      out.values = line.points.values;
      for (std::size_t i = 0; i < line.buckets.size(); ++i) {
        if (line.buckets[i].count == 0) continue;
        out.buckets.emplace_back(i, FactsOf(line.buckets[i], offset));
      }
    }
  }
  return lines;
}

}  // namespace

Result<std::vector<MetricInfo>> ListMetrics(const Context& context, Place* place,
                                            const std::string& run) {
  HEADWAY_RETURN_IF_ERROR(ResolveServer(place));
  std::vector<MetricInfo> all;
  if (place->server.empty()) {
    Result<LocalMetrics> metrics = LocalMetrics::Read(context, place, run);
    if (!metrics.ok()) return metrics.status();
    for (LocalMetrics::Series& one : metrics->series) all.push_back(std::move(one.info));
    return all;
  }
  v1::ListSeriesRequest request;
  request.set_project(place->project);
  request.set_run(run);
  v1::ListSeriesResponse response;
  HEADWAY_RETURN_IF_ERROR(CallServer(*place, "SeriesService.ListSeries", request, &response));
  for (const v1::Series& series : response.series()) all.push_back(InfoOf(series));
  return all;
}

Result<std::vector<MetricLine>> QueryMetrics(const Context& context, Place* place,
                                             const std::string& run,
                                             const MetricQuestion& question) {
  HEADWAY_RETURN_IF_ERROR(ResolveServer(place));
  if (place->server.empty()) return QueryLocal(context, place, run, question);
  v1::QuerySeriesRequest request;
  request.set_project(place->project);
  request.add_runs(run);
  for (const std::string& name : question.names) request.add_names(name);
  request.set_axis(question.axis == "step"      ? v1::SERIES_AXIS_STEP
                   : question.axis == "elapsed" ? v1::SERIES_AXIS_ELAPSED
                                                : v1::SERIES_AXIS_TIME);
  if (question.from) request.set_from(*question.from);
  if (question.to) request.set_to(*question.to);
  request.set_buckets(static_cast<std::int32_t>(question.buckets));
  v1::QuerySeriesResponse response;
  HEADWAY_RETURN_IF_ERROR(CallServer(*place, "SeriesService.QuerySeries", request, &response));
  std::vector<MetricLine> lines;
  for (const v1::SeriesLine& line : response.lines()) {
    MetricLine& out = lines.emplace_back();
    out.info = InfoOf(line.series());
    out.wasted = line.wasted();
    out.from = line.from();
    out.to = line.to();
    out.times.assign(line.times().begin(), line.times().end());
    out.steps.assign(line.steps().begin(), line.steps().end());
    out.values.assign(line.values().begin(), line.values().end());
    for (const v1::SeriesBucket& bucket : line.buckets()) {
      out.buckets.emplace_back(static_cast<std::size_t>(bucket.index()), FactsOf(bucket.summary()));
    }
  }
  return lines;
}

}  // namespace headway::cli

#else

namespace headway::cli {

Result<std::vector<MetricInfo>> ListMetrics(const Context&, Place*, const std::string&) {
  return NoServersBuilt();
}
Result<std::vector<MetricLine>> QueryMetrics(const Context&, Place*, const std::string&,
                                             const MetricQuestion&) {
  return NoServersBuilt();
}

}  // namespace headway::cli

#endif
