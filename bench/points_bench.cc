// Points in the embedded store: how fast they are taken in, durably, what they take, and how long a
// chart of very many of them takes.
//
// Usage: points_bench DIRECTORY [POINTS]
// A line of JSON each: {"row": ..., "value": ...}.

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "series/chart.h"
#include "store/sqlite/record_store.h"

namespace headway {
namespace {

constexpr std::size_t kFrame = 1 << 20;
constexpr std::size_t kRowPoints = 2'000'000;  // as rows: the rest would only take longer
constexpr std::size_t kPixels = 1000;
constexpr int kRounds = 9;

double SecondsSince(MonoNs begin) {
  return static_cast<double>(SystemClock::MonoNow() - begin) / 1e9;
}

void Print(const char* row, double value) {
  std::printf("{\"row\": \"%s\", \"value\": %.6g}\n", row, value);
  std::fflush(stdout);
}

// A utilisation in per cent, each ten seconds and some milliseconds.
struct Sampler {
  std::mt19937_64 random{1};
  std::int64_t time = 1'700'000'000'000'000'000;
  int level = 50;

  void Fill(std::size_t count, store::PointFrame* frame) {
    frame->times_ns.clear();
    std::vector<double>& values = frame->columns[0].values;
    values.clear();
    for (std::size_t i = 0; i < count; ++i) {
      time += 10'000'000'000 + static_cast<std::int64_t>(random() % 2'000) * 1'000;
      level = std::clamp(level + static_cast<int>(random() % 5) - 2, 0, 100);
      frame->times_ns.push_back(time);
      values.push_back(level);
    }
  }
};

void Check(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "points_bench: %s\n", status.ToString().c_str());
  std::exit(1);
}

struct Rows {
  double written = 0;  // points a second
  double read = 0;
};

Rows MeasureRows(const std::string& path, const store::PointFrame& frame) {
  sqlite3* db = nullptr;
  sqlite3_open(path.c_str(), &db);
  sqlite3_exec(db,
               "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
               "CREATE TABLE point (series INTEGER, time INTEGER, value REAL);"
               "CREATE INDEX point_by_time ON point (series, time)",
               nullptr, nullptr, nullptr);
  sqlite3_stmt* insert = nullptr;
  sqlite3_prepare_v2(db, "INSERT INTO point VALUES (1, ?, ?)", -1, &insert, nullptr);
  const MonoNs begin = SystemClock::MonoNow();
  sqlite3_exec(db, "BEGIN", nullptr, nullptr, nullptr);
  for (std::size_t i = 0; i < frame.times_ns.size(); ++i) {
    sqlite3_bind_int64(insert, 1, frame.times_ns[i]);
    sqlite3_bind_double(insert, 2, frame.columns[0].values[i]);
    sqlite3_step(insert);
    sqlite3_reset(insert);
  }
  sqlite3_exec(db, "COMMIT", nullptr, nullptr, nullptr);
  const auto points = static_cast<double>(frame.times_ns.size());
  Rows rows;
  rows.written = points / SecondsSince(begin);
  sqlite3_finalize(insert);
  sqlite3_stmt* select = nullptr;
  sqlite3_prepare_v2(db, "SELECT time, value FROM point WHERE series = 1 ORDER BY time", -1,
                     &select, nullptr);
  const MonoNs again = SystemClock::MonoNow();
  double most = 0;
  std::int64_t last = 0;
  while (sqlite3_step(select) == SQLITE_ROW) {
    last = std::max<std::int64_t>(last, sqlite3_column_int64(select, 0));
    most = std::max(most, sqlite3_column_double(select, 1));
  }
  if (last != frame.times_ns.back() || most <= 0) std::exit(1);
  rows.read = points / SecondsSince(again);
  sqlite3_finalize(select);
  sqlite3_close(db);
  return rows;
}

int Run(const std::string& directory, std::size_t points) {
  const std::string path = JoinPath(directory, "points.sqlite");
  auto opened = store::OpenSqliteStore(path, {});
  Check(opened.status());
  const std::unique_ptr<store::Store> store = *std::move(opened);
  store::RunRow run;
  run.uid = RandomUid<RunUid>();
  run.project = "p";
  run.name = "r";
  Check(store->CreateRun(run, {}));

  Sampler sampler;
  store::PointBatch batch{run.uid, "node", 0, 0, {}};
  batch.frames.resize(1);
  batch.frames[0].columns.push_back({{"gpu_utilization", "%", {}}, {}});
  double taken = 0;
  for (std::size_t done = 0; done < points; done += kFrame) {
    sampler.Fill(std::min(kFrame, points - done), &batch.frames[0]);
    batch.first = batch.next++;
    const MonoNs begin = SystemClock::MonoNow();
    Check(store->AppendPoints({&batch, 1}));
    taken += SecondsSince(begin);
  }
  const double rate = static_cast<double>(points) / taken;
  Print("points_rate", rate / 1e6);
  Print("points_stored",
        static_cast<double>(store->FindRun(run.uid)->stored_bytes) / static_cast<double>(points));
  sampler.Fill(std::min(kRowPoints, points), &batch.frames[0]);
  const Rows rows = MeasureRows(JoinPath(directory, "rows.sqlite"), batch.frames[0]);
  Print("points_rows", rate / rows.written);

  const store::SeriesRow row = store->ListSeries(run.uid)->at(0);
  const auto draw = [&](std::int64_t from, std::int64_t to) {
    const MonoNs begin = SystemClock::MonoNow();
    auto pieces = store->ReadSeries(row.id);
    Check(pieces.status());
    series::LineSource source;
    source.summaries = std::move(pieces->summaries);
    source.tail = {pieces->tail.times_ns, pieces->tail.steps, pieces->tail.values};
    source.read = [&](std::size_t i) -> Result<series::PointColumns> {
      Result<store::Points> read = store->ReadPiece(pieces->ids[i]);
      if (!read.ok()) return read.status();
      return series::PointColumns{read->times_ns, read->steps, read->values};
    };
    series::Downsampler::Range range;
    range.from = from;
    range.to = to;
    range.buckets = kPixels;
    range.slack = source.summaries.size() > 4 * kPixels ? 0.25 : 0;
    const auto lines = series::DrawLines({&source, 1}, range, {}, {});
    Check(lines.status());
    if (lines->size() != 1) std::exit(1);
    return SecondsSince(begin);
  };
  const auto median = [&](std::int64_t from, std::int64_t to) {
    std::vector<double> all;
    for (int i = 0; i < kRounds; ++i) all.push_back(draw(from, to));
    std::ranges::sort(all);
    return all[kRounds / 2];
  };
  const std::int64_t from = row.summary.min_time_ns;
  const std::int64_t to = row.summary.max_time_ns + 1;
  const double chart = median(from, to);
  Print("points_chart_ms", 1000 * chart);
  const std::int64_t width = (to - from) / 100;
  Print("points_zoom_ms", 1000 * median(from + 50 * width, from + 51 * width));

  // The same out of the points themselves.
  const MonoNs begin = SystemClock::MonoNow();
  auto pieces = store->ReadSeries(row.id);
  Check(pieces.status());
  std::vector<double> most(kPixels, 0);
  for (const std::int64_t id : pieces->ids) {
    const auto read = store->ReadPiece(id);
    Check(read.status());
    for (std::size_t i = 0; i < read->values.size(); ++i) {
      const auto pixel = static_cast<std::size_t>(static_cast<double>(read->times_ns[i] - from) /
                                                  static_cast<double>(to - from) * kPixels);
      most[pixel] = std::max(most[pixel], read->values[i]);
    }
  }
  Print("points_chart_all", SecondsSince(begin) / chart);
  Print("points_chart", static_cast<double>(points) / rows.read / chart);

  // The metrics of eight devices, taken together.
  run.uid = RandomUid<RunUid>();
  Check(store->CreateRun(run, {}));
  constexpr std::size_t kTimes = 100'000;
  store::PointBatch together{run.uid, "node", 0, 1, {}};
  together.frames.resize(1);
  store::PointFrame frame;
  frame.columns.resize(1);
  for (int series = 0; series < 64; ++series) {
    Sampler other;
    other.random.seed(static_cast<std::uint64_t>(series));
    other.Fill(kTimes, &frame);
    if (series == 0) together.frames[0].times_ns = frame.times_ns;
    together.frames[0].columns.push_back(
        {{"gpu_utilization", "%", {{"device", std::to_string(series)}}}, frame.columns[0].values});
  }
  Check(store->AppendPoints({&together, 1}));
  Print("points_together", static_cast<double>(store->FindRun(run.uid)->stored_bytes) /
                               static_cast<double>(64 * kTimes));
  return 0;
}

}  // namespace
}  // namespace headway

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: points_bench DIRECTORY [POINTS]\n");
    return 2;
  }
  const std::size_t points = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 100'000'000;
  return headway::Run(arguments[1], points);
}
