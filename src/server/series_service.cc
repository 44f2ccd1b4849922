#include "server/series_service.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "journal/format.h"
#include "model/metric.h"
#include "series/chart.h"
#include "server/series_names.h"
#include "server/stored_series.h"

namespace headway::server {
namespace {

constexpr std::size_t kRunsMost = 100;
constexpr int kLinesMost = 10'000;
constexpr std::size_t kPointsMost = 1'000'000;  // or buckets, of an answer: some 300 MB
constexpr int kQuantilesMost = 10;
constexpr std::size_t kPiecesForQuantiles = 4'096;  // some 17 million points
constexpr int kBucketsUsual = 1'000;
constexpr int kFramePoints = 65'536;

Status Bad(const std::string& what) { return {Code::kInvalidArgument, what}; }

v1::MetricClass ClassOf(const std::string& name) {
  const MetricKind* const kind = FindMetric(name);
  const MetricClass metric_class = kind == nullptr ? MetricClass::kOther : kind->metric_class;
  return static_cast<v1::MetricClass>(static_cast<int>(metric_class) + 1);
}

v1::SeriesSummary ToProto(const series::Summary& summary) {
  v1::SeriesSummary to;
  to.set_count(summary.count);
  to.set_not_finite_count(summary.count - summary.finite_count());
  if (summary.finite_count() > 0) {
    to.set_min(summary.min);
    to.set_max(summary.max);
    to.set_mean(summary.mean());
  }
  if (summary.count > 0) {
    to.set_first(summary.first);
    to.set_last(summary.last);
    to.set_min_time(summary.min_time_ns);
    to.set_max_time(summary.max_time_ns);
  }
  if (summary.min_step != kNoStep) {
    to.set_min_step(summary.min_step);
    to.set_max_step(summary.max_step);
  }
  return to;
}

using Attempts = std::map<JournalUid, std::int64_t>;

v1::Series Describe(const StoredSeries& all, const Attempts& attempts,
                    const store::SeriesRow& row) {
  v1::Series series;
  series.set_name(row.key.name);
  series.set_unit(row.key.unit);
  series.set_class_(ClassOf(row.key.name));
  series.mutable_labels()->insert(row.key.labels.begin(), row.key.labels.end());
  series.set_source(row.source);
  if (const journal::Header* const header = all.HeaderOf(row.source); header != nullptr) {
    if (header->rank >= 0) series.set_rank(header->rank);
    series.set_host(header->host);
    const auto attempt = attempts.find(header->uid);
    if (attempt != attempts.end() && attempt->second >= 0) series.set_attempt(attempt->second);
  }
  *series.mutable_summary() = ToProto(row.summary);
  return series;
}

series::PointColumns ColumnsOf(store::Points points) {
  return {std::move(points.times_ns), std::move(points.steps), std::move(points.values)};
}

}  // namespace

/// A question, looked over.
struct SeriesService::Asked {
  const v1::QuerySeriesRequest* request;
  series::Stretch stretch;  // without its offset
  bool elapsed = false;     // the axis begins with each run
  std::size_t buckets = kBucketsUsual;
};

void SeriesService::AddTo(ConnectRouter* router) {
  router->Add<v1::WritePointsRequest, v1::WritePointsResponse>(
      "headway.v1.SeriesService.WritePoints", Permission::kSeriesWrite, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return Write(caller, request); });
  router->Add<v1::ListSeriesRequest, v1::ListSeriesResponse>(
      "headway.v1.SeriesService.ListSeries", Permission::kRunsGet, Scope::kOneRun,
      [this](const Caller& caller, const auto& request) { return List(caller, request); });
  router->Add<v1::QuerySeriesRequest, v1::QuerySeriesResponse>(
      "headway.v1.SeriesService.QuerySeries", Permission::kRunsGet, Scope::kOneRun,
      [this](const Caller& caller, const auto& request) { return Query(caller, request); });
}

Result<v1::WritePointsResponse> SeriesService::Write(const Caller& caller,
                                                     const v1::WritePointsRequest& request) {
  HEADWAY_RETURN_IF_ERROR(CheckSeriesSource(request.source()));
  const Result<store::RunRow> run =
      registry_->Find(caller, ProjectOf(request.project()), request.run());
  if (!run.ok()) return run.status();
  store::PointBatch batch;
  batch.run = run->uid;
  batch.source = request.source();
  batch.first = request.sequence();
  batch.next = request.sequence() + 1;
  for (const v1::PointFrame& frame : request.frames()) {
    if (frame.times_size() > kFramePoints) {
      return Bad("a frame has at most " + std::to_string(kFramePoints) + " times");
    }
    if (frame.steps_size() != 0 && frame.steps_size() != frame.times_size()) {
      return Bad("a frame has as many steps as times, or none");
    }
    store::PointFrame& kept = batch.frames.emplace_back();
    kept.times_ns.assign(frame.times().begin(), frame.times().end());
    kept.steps.assign(frame.steps().begin(), frame.steps().end());
    for (const std::int64_t step : kept.steps) {
      if (!IsStep(step) && step != kNoStep) {
        return Bad("step " + std::to_string(step) + ": a step is from 0 to " +
                   std::to_string(kLastStep));
      }
    }
    for (const v1::PointColumn& column : frame.columns()) {
      HEADWAY_RETURN_IF_ERROR(CheckSeriesName(column.name(), column.unit()));
      HEADWAY_RETURN_IF_ERROR(CheckSeriesLabels(column.labels().size()));
      for (const auto& [key, value] : column.labels()) {
        HEADWAY_RETURN_IF_ERROR(CheckSeriesLabel(key, value));
      }
      if (column.values_size() != frame.times_size()) {
        return Bad("metric \"" + column.name() + "\" has " + std::to_string(column.values_size()) +
                   " values for " + std::to_string(frame.times_size()) + " times");
      }
      store::PointFrame::Column& to = kept.columns.emplace_back();
      to.key.name = column.name();
      to.key.unit = column.unit();
      const MetricKind* const kind = FindMetric(column.name());
      if (to.key.unit.empty() && kind != nullptr) to.key.unit = kind->unit;
      to.key.labels.insert(column.labels().begin(), column.labels().end());
      to.values.assign(column.values().begin(), column.values().end());
    }
  }
  v1::WritePointsResponse response;
  const Status status = store_->AppendPoints({&batch, 1});
  if (!status.ok() && status.code() != Code::kAborted) return status;
  if (status.ok() && on_points_) on_points_(batch.run);
  response.set_next_sequence(batch.next);
  if (status.code() == Code::kAborted) {
    const Result<std::uint64_t> position = store_->PointPosition(batch.run, batch.source);
    if (!position.ok()) return position.status();
    response.set_next_sequence(*position);
  }
  return response;
}

Result<v1::ListSeriesResponse> SeriesService::List(const Caller& caller,
                                                   const v1::ListSeriesRequest& request) {
  const Result<store::RunRow> run =
      registry_->Find(caller, ProjectOf(request.project()), request.run());
  if (!run.ok()) return run.status();
  // What its journals have got since is taken in by that.
  const Result<Attempts> attempts = ledgers_->Look(
      run->uid, [](RunLedger& found) -> Result<Attempts> { return found.Attempts(); });
  if (!attempts.ok()) return attempts.status();
  const Result<StoredSeries> stored = StoredSeries::Of(store_, run->uid);
  if (!stored.ok()) return stored.status();
  v1::ListSeriesResponse response;
  std::map<std::pair<std::string, std::string>, series::Summary> averages;
  for (const store::SeriesRow& row : stored->rows()) {
    *response.add_series() = Describe(*stored, *attempts, row);
    series::Merge(row.summary, &averages[{row.key.name, row.key.unit}]);
  }
  for (const auto& [key, summary] : averages) {
    v1::MetricAverage* const average = response.add_averages();
    average->set_name(key.first);
    average->set_unit(key.second);
    average->set_class_(ClassOf(key.first));
    *average->mutable_summary() = ToProto(summary);
  }
  return response;
}

Result<v1::QuerySeriesResponse> SeriesService::Query(const Caller& caller,
                                                     const v1::QuerySeriesRequest& request) {
  if (request.runs().empty()) return Bad("no run is asked about");
  if (static_cast<std::size_t>(request.runs_size()) > kRunsMost) {
    return Bad("at most " + std::to_string(kRunsMost) + " runs are asked about at once");
  }
  if (request.buckets() < 0 ||
      static_cast<std::size_t>(request.buckets()) > limits::kChartBuckets) {
    return Bad("buckets is 1 to " + std::to_string(limits::kChartBuckets) + ", or 0");
  }
  if (request.quantiles_size() > kQuantilesMost) {
    return Bad("at most " + std::to_string(kQuantilesMost) + " quantiles are given");
  }
  for (const double q : request.quantiles()) {
    if (!(q >= 0 && q <= 1)) return Bad("a quantile is 0 to 1");
  }
  if (!v1::SeriesAxis_IsValid(request.axis())) return Bad("there is no such axis");
  if (request.has_from() && request.has_to() && request.from() >= request.to()) {
    return Bad("from is before to");
  }
  Asked asked{.request = &request, .stretch = {}};
  asked.stretch.axis =
      request.axis() == v1::SERIES_AXIS_STEP ? series::Axis::kStep : series::Axis::kTime;
  if (request.has_from()) asked.stretch.from = request.from();
  if (request.has_to()) asked.stretch.to = request.to();
  asked.elapsed = request.axis() == v1::SERIES_AXIS_ELAPSED;
  if (request.buckets() != 0) asked.buckets = static_cast<std::size_t>(request.buckets());
  v1::QuerySeriesResponse response;
  for (const std::string& label : request.runs()) {
    const Result<store::RunRow> run = registry_->Find(caller, ProjectOf(request.project()), label);
    if (!run.ok()) return run.status();
    HEADWAY_RETURN_IF_ERROR(QueryRun(asked, *run, &response));
  }
  return response;
}

Status SeriesService::QueryRun(const Asked& asked, const store::RunRow& run,
                               v1::QuerySeriesResponse* response) {
  const v1::QuerySeriesRequest& request = *asked.request;
  Attempts attempts;
  const Result<Report> report = ledgers_->Look(run.uid, [&](RunLedger& found) -> Result<Report> {
    ledger::Query query;
    query.now = clock_->Wall().ns;
    attempts = found.Attempts();
    return found.ledger()->MakeReport(query);
  });
  HEADWAY_RETURN_IF_ERROR(report.status());
  const std::vector<series::Setback> setbacks = series::SetbacksOf(*report);
  const std::int64_t start = report->start.value_or(run.start);
  const Result<StoredSeries> stored = StoredSeries::Of(store_, run.uid);
  HEADWAY_RETURN_IF_ERROR(stored.status());

  // By line: the series that it is made of.
  std::map<std::tuple<std::string, std::string, std::map<std::string, std::string>, std::string>,
           std::vector<const store::SeriesRow*>>
      lines;
  for (const store::SeriesRow& row : stored->rows()) {
    const bool wanted = request.names().empty() ||
                        std::ranges::any_of(request.names(), [&row](const std::string& pattern) {
                          return series::MatchesName(pattern, row.key.name);
                        });
    const bool labelled = std::ranges::all_of(request.labels(), [&row](const auto& label) {
      const auto found = row.key.labels.find(label.first);
      return found != row.key.labels.end() && found->second == label.second;
    });
    if (!wanted || !labelled || row.summary.count == 0) continue;
    lines[{row.key.name, row.key.unit, row.key.labels,
           request.merge_sources() ? std::string() : row.source}]
        .push_back(&row);
  }
  if (static_cast<std::size_t>(response->lines_size()) + 2 * lines.size() > kLinesMost) {
    return Bad("that would be more than " + std::to_string(kLinesMost) +
               " lines; ask about fewer metrics or runs");
  }
  const std::size_t all_lines = static_cast<std::size_t>(response->lines_size()) + lines.size();
  if (all_lines * asked.buckets > kPointsMost) {
    return Bad(std::to_string(all_lines) + " lines with " + std::to_string(asked.buckets) +
               " buckets each would be more than " + std::to_string(kPointsMost) +
               "; ask about fewer metrics or runs, or for fewer buckets");
  }
  // All lines of a run have one axis.
  series::Summary all;
  for (const auto& [key, members] : lines) {
    for (const store::SeriesRow* const row : members) series::Merge(row->summary, &all);
  }
  series::Stretch stretch = asked.stretch;
  stretch.offset = asked.elapsed ? start : 0;
  const std::int64_t offset = stretch.offset;
  const auto range_found = series::RangeOf(stretch, asked.buckets, all);
  if (!range_found) return OkStatus();
  series::Downsampler::Range range = *range_found;

  for (const auto& [key, members] : lines) {
    std::vector<series::LineSource> parts;
    std::size_t pieces = 0;
    series::Summary summary;
    for (const store::SeriesRow* const row : members) {
      Result<store::SeriesPieces> found = stored->Read(store_, *row);
      HEADWAY_RETURN_IF_ERROR(found.status());
      pieces += found->ids.size();
      series::Merge(row->summary, &summary);
      series::LineSource& part = parts.emplace_back();
      part.summaries = std::move(found->summaries);
      part.tail = ColumnsOf(std::move(found->tail));
      part.read = [this, &stored, row,
                   ids = std::move(found->ids)](std::size_t i) -> Result<series::PointColumns> {
        Result<store::Points> points = stored->ReadPiece(store_, *row, ids[i]);
        if (!points.ok()) return points.status();
        return ColumnsOf(*std::move(points));
      };
    }
    if (!request.quantiles().empty() && pieces > kPiecesForQuantiles) {
      return {Code::kResourceExhausted,
              "quantiles of more than " + std::to_string(kPiecesForQuantiles * 4096) +
                  " points of \"" + std::get<0>(key) + "\" are asked for; narrow the range"};
    }
    // Long ones are drawn from summaries alone; a point may then be off by a quarter of a pixel.
    range.slack = pieces > 4 * range.buckets ? 0.25 : 0;
    const std::vector<double> quantiles(request.quantiles().begin(), request.quantiles().end());
    const Result<std::vector<series::Line>> drawn =
        series::DrawLines(parts, range, setbacks, quantiles);
    HEADWAY_RETURN_IF_ERROR(drawn.status());
    for (const series::Line& line : *drawn) {
      v1::SeriesLine* const out = response->add_lines();
      out->set_run(run.label);
      out->set_run_uid(ToHex(run.uid));
      store::SeriesRow shown = *members.front();
      shown.summary = summary;
      *out->mutable_series() = Describe(*stored, attempts, shown);
      if (request.merge_sources() && members.size() > 1) {
        out->mutable_series()->clear_source();
        out->mutable_series()->clear_rank();
        out->mutable_series()->clear_host();
        out->mutable_series()->clear_attempt();
      }
      out->set_wasted(line.wasted);
      out->set_from(range.from - offset);
      out->set_to(range.to - offset);
      for (const std::int64_t time : line.points.times_ns) out->add_times(time - offset);
      out->mutable_steps()->Add(line.points.steps.begin(), line.points.steps.end());
      out->mutable_values()->Add(line.points.values.begin(), line.points.values.end());
      for (std::size_t i = 0; i < line.buckets.size(); ++i) {
        if (line.buckets[i].count == 0) continue;
        v1::SeriesBucket* const bucket = out->add_buckets();
        bucket->set_index(static_cast<std::int32_t>(i));
        *bucket->mutable_summary() = ToProto(line.buckets[i]);
        bucket->mutable_summary()->set_min_time(line.buckets[i].min_time_ns - offset);
        bucket->mutable_summary()->set_max_time(line.buckets[i].max_time_ns - offset);
      }
      out->mutable_quantiles()->Add(line.quantiles.begin(), line.quantiles.end());
    }
  }
  return OkStatus();
}

}  // namespace headway::server
