#include "formats/tensorboard/run.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "base/limits.h"
#include "base/utf8.h"
#include "formats/metrics/metrics.h"
#include "formats/tensorboard/writer.h"

namespace headway::tensorboard {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 16;

std::string_view DirectoryOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string LastPartOf(std::string_view path) {
  const std::string name = ToValidUtf8(path.substr(path.rfind('/') + 1));
  return std::string(TruncateUtf8(name, limits::kNameBytes));
}

/// Finds the restarts in the files of one directory, which to TensorBoard are one run.
class RestartFinder {
 public:
  RestartFinder(const std::vector<NamedFile>& files, std::vector<Restart>* out)
      : files_(files), out_(out) {}

  void Add(std::size_t index) {
    const EventFile& file = files_[index].file;
    const auto [first, last] = std::ranges::minmax(file.scalars, {}, &Scalar::time_ns);
    const bool later = last_time_ && first.time_ns > *last_time_;
    last_time_ = std::max(last_time_.value_or(last.time_ns), last.time_ns);
    std::size_t at = 0;
    const auto take_until = [&](std::size_t end) {
      if (at == 0 && end > 0 && later) Restarted(index, file.scalars.front().step);
      for (; at < end; ++at) Take(file.tags[file.scalars[at].tag], file.scalars[at].step);
    };
    for (const SessionStart& start : file.starts) {
      take_until(start.before);
      if (started_) Restarted(index, start.step);
      started_ = true;
    }
    take_until(file.scalars.size());
  }

 private:
  void Take(const std::string& tag, std::int64_t step) {
    if (at_step_ == points_.end() || at_step_->first != step) {
      at_step_ = points_.try_emplace(points_.end(), step);
    }
    at_step_->second.push_back(&tag);
  }

  void Restarted(std::size_t index, std::int64_t step) {
    const auto from = points_.lower_bound(step);
    if (from == points_.end()) return;
    Restart restart{index, step, {}};
    for (auto point = from; point != points_.end(); ++point) {
      for (const std::string* tag : point->second) ++restart.superseded[*tag];
    }
    points_.erase(from, points_.end());
    at_step_ = points_.end();
    out_->push_back(std::move(restart));
  }

  using Points = std::map<std::int64_t, std::vector<const std::string*>>;

  const std::vector<NamedFile>& files_;
  std::vector<Restart>* out_;
  Points points_;  // those that still hold: tags by step
  Points::iterator at_step_ = points_.end();
  std::optional<std::int64_t> last_time_;
  bool started_ = false;
};

/// A metric on its way into a file.
struct Point {
  const Record* record = nullptr;
  std::int64_t step = 0;
};

class RunWriter {
 public:
  RunWriter(const RunRecords& run, const Report& report, const Sink& sink)
      : run_(run), report_(report), sink_(sink) {
    Collect();
    FindSteps();
    FindRanks();
    FindStarts();
  }

  Status Write() {
    const std::int64_t begin =
        points_.empty() ? report_.start.value_or(report_.as_of) : points_.front().record->time_ns;
    AppendVersion(begin, &buffer_);
    // The first one says nothing, wherever it stands; with this step nor does it beside other
    // files.
    if (!starts_.empty()) {
      constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
      AppendSessionStart(begin, highest_ == kMost ? kMost : highest_ + 1, &buffer_);
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const Record& record = *points_[i].record;
      if (next < starts_.size() && starts_[next].first == i) {
        AppendSessionStart(record.time_ns, starts_[next++].second, &buffer_);
      }
      AppendScalar(record.time_ns, points_[i].step, TagOf(record), std::bit_cast<double>(record.b),
                   "", &buffer_);
      if (buffer_.size() >= kChunkBytes) HEADWAY_RETURN_IF_ERROR(Flush());
    }
    AppendReport();
    return Flush();
  }

 private:
  void Collect() {
    for (const Record& record : run_.records) {
      if (record.type == RecordType::kMetric) points_.push_back({&record, record.a});
    }
    std::ranges::sort(points_, {}, [](const Point& point) {
      return std::tuple(point.record->time_ns, point.record->writer, point.record->seq);
    });
  }

  /// Gives a step to the points that have none.
  void FindSteps() {
    std::map<WriterId, std::map<std::uint64_t, std::int64_t>> steps;  // by seq
    const bool any = std::ranges::any_of(points_, [](const Point& p) { return p.step == kNoStep; });
    for (const Record& record : run_.records) {
      if (!any) break;
      if (record.type == RecordType::kStepStart) steps[record.writer][record.seq] = record.a;
    }
    for (Point& point : points_) {
      if (point.step != kNoStep) continue;
      const auto& of_writer = steps[point.record->writer];
      const auto after = of_writer.lower_bound(point.record->seq);
      point.step = after == of_writer.begin() ? 0 : std::prev(after)->second;
    }
    std::optional<std::int64_t> highest = report_.steps.last_step;
    for (const Point& point : points_) highest = std::max(highest.value_or(point.step), point.step);
    highest_ = highest.value_or(0);
  }

  void FindRanks() {
    for (const Point& point : points_) {
      const std::int64_t rank = RankOf(*point.record);
      const auto [lowest, fresh] = lowest_rank_.emplace(point.record->name, rank);
      if (!fresh) lowest->second = std::min(lowest->second, rank);
    }
  }

  /// Where an attempt began again among steps that have points.
  void FindStarts() {
    std::size_t attempt = 0;
    bool first = false;  // of its attempt
    std::int64_t highest = std::numeric_limits<std::int64_t>::min();
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const std::vector<AttemptSummary>& attempts = report_.attempts;
      while (attempt + 1 < attempts.size() &&
             attempts[attempt + 1].start <= points_[i].record->time_ns) {
        ++attempt;
        first = true;
      }
      if (std::exchange(first, false)) {
        const std::int64_t step = attempts[attempt].first_step.value_or(points_[i].step);
        if (step <= highest) starts_.emplace_back(i, step);
      }
      highest = std::max(highest, points_[i].step);
    }
  }

  std::int64_t RankOf(const Record& record) const {
    return record.writer < run_.writers.size() ? run_.writers[record.writer].rank : -1;
  }

  std::string TagOf(const Record& record) const {
    std::string tag(run_.names.Text(record.name));
    const std::int64_t rank = RankOf(record);
    if (rank != lowest_rank_.at(record.name)) tag += "/rank" + std::to_string(rank);
    return tag;
  }

  void AppendReport() {
    for (const metrics::Metric& metric : metrics::MetricsOf(report_)) {
      AppendScalar(report_.as_of, highest_, metrics::TagOf(metric), metrics::Number(metric),
                   metrics::TitleOf(metric), &buffer_);
    }
  }

  Status Flush() {
    Status status = sink_(buffer_);
    buffer_.clear();
    return status;
  }

  const RunRecords& run_;
  const Report& report_;
  const Sink& sink_;
  std::vector<Point> points_;  // in order of time
  std::int64_t highest_ = 0;   // of all steps
  std::map<NameId, std::int64_t> lowest_rank_;
  std::vector<std::pair<std::size_t, std::int64_t>> starts_;  // before which point, and their step
  std::string buffer_;
};

}  // namespace

RunRecords MakeRun(const std::vector<NamedFile>& files) {
  RunRecords run;
  for (std::size_t f = 0; f < files.size(); ++f) {
    const EventFile& file = files[f].file;
    if (file.scalars.empty()) continue;
    Writer writer;
    writer.name = LastPartOf(files[f].name);
    writer.uid = std::to_string(f) + "/" + writer.name;
    writer.event_file = true;
    const auto id = static_cast<WriterId>(run.writers.size());
    run.writers.push_back(std::move(writer));
    run.liveness.push_back(Liveness::kUnknown);
    std::vector<NameId> names;
    for (const std::string& tag : file.tags) names.push_back(run.names.Intern(tag));
    std::uint64_t seq = 0;
    for (const Scalar& scalar : file.scalars) {
      Record record;
      record.type = RecordType::kMetric;
      record.writer = id;
      record.name = names[scalar.tag];
      record.seq = seq++;
      record.time_ns = scalar.time_ns;
      record.a = scalar.step;
      record.b = std::bit_cast<std::int64_t>(scalar.value);
      run.records.push_back(record);
    }
  }
  return run;
}

std::vector<Restart> FindRestarts(const std::vector<NamedFile>& files) {
  std::vector<std::size_t> order;
  for (std::size_t f = 0; f < files.size(); ++f) {
    if (!files[f].file.scalars.empty()) order.push_back(f);
  }
  std::ranges::stable_sort(order, {},
                           [&](std::size_t f) { return files[f].file.scalars.front().time_ns; });
  std::vector<Restart> restarts;
  std::map<std::string_view, RestartFinder> finders;
  for (const std::size_t f : order) {
    finders.try_emplace(DirectoryOf(files[f].name), files, &restarts).first->second.Add(f);
  }
  return restarts;
}

Status WriteRun(const RunRecords& run, const Report& report, const Sink& sink) {
  return RunWriter(run, report, sink).Write();
}

}  // namespace headway::tensorboard
