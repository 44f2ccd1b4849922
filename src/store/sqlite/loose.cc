#include "store/sqlite/loose.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "series/bytes.h"
#include "series/columns.h"
#include "store/sqlite/point_writer.h"

/// Loose points come many series at a time and a point or two of each. What a request brings is one
/// row, a chunk: columns of series, times and values of all its points, so that it costs one
/// statement however many series it has; which series there can be stands before each column. Few
/// small chunks become one; once a source has many points in chunks, those become pieces of their
/// series. What is said of a series (`summary`) is of its pieces; its points in chunks come to that
/// when it is read.

namespace headway::store {
namespace {

constexpr std::size_t kColumn = limits::kSeriesColumn;
constexpr std::uint64_t kSmallPoints = kColumn;  // a chunk of fewer is small
constexpr std::uint64_t kSmallMost = 32;         // chunks
// Points of a source in chunks: as many as make full pieces, or, of many series, pieces that are
// long enough.
constexpr std::uint64_t kPiecePoints = 128;
constexpr std::uint64_t kChunkPointsLeast = 1 << 18;
constexpr std::uint64_t kChunkPointsMost = 1 << 22;
constexpr std::size_t kSeriesInMemory = 1'000'000;  // of all sources

/// Points of many series.
struct Columns {
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> times;
  std::vector<double> values;

  void Add(std::int64_t id, std::int64_t time, double value) {
    ids.push_back(id);
    times.push_back(time);
    values.push_back(value);
  }
};

std::string Encode(const Columns& columns) {
  std::string out;
  std::string packed;
  for (std::size_t at = 0; at < columns.ids.size(); at += kColumn) {
    const std::size_t count = std::min(kColumn, columns.ids.size() - at);
    const auto ids = std::span(columns.ids).subspan(at, count);
    const auto [least, most] = std::ranges::minmax(ids);
    series::PutVarint(&out, static_cast<std::uint64_t>(least));
    series::PutVarint(&out, static_cast<std::uint64_t>(most - least));
    series::PackSteps(ids, &packed);
    series::PutSized(&out, packed);
    series::PackTimes(std::span(columns.times).subspan(at, count), &packed);
    series::PutSized(&out, packed);
    series::PackValues(std::span(columns.values).subspan(at, count), &packed);
    series::PutSized(&out, packed);
  }
  return out;
}

// Behind what is there; `only` above 0: those of that series. False: damaged.
bool Decode(std::string_view bytes, std::int64_t only, Columns* columns) {
  series::ByteReader in(bytes);
  Columns part;
  while (in.left() > 0) {
    const std::uint64_t least = in.Varint();
    const std::uint64_t width = in.Varint();
    const std::string_view ids = in.Bytes(in.Varint());
    const std::string_view times = in.Bytes(in.Varint());
    const std::string_view values = in.Bytes(in.Varint());
    if (!in.ok()) return false;
    const bool wanted = only == 0 || static_cast<std::uint64_t>(only) - least <= width;
    if (!wanted) continue;
    if (!series::UnpackSteps(ids, &part.ids).ok()) return false;
    if (only > 0 && std::ranges::find(part.ids, only) == part.ids.end()) continue;
    if (!series::UnpackTimes(times, &part.times).ok() ||
        !series::UnpackValues(values, &part.values).ok() || part.ids.size() != part.times.size() ||
        part.ids.size() != part.values.size()) {
      return false;
    }
    if (only > 0) {
      for (std::size_t i = 0; i < part.ids.size(); ++i) {
        if (part.ids[i] == only) columns->Add(only, part.times[i], part.values[i]);
      }
      continue;
    }
    columns->ids.insert(columns->ids.end(), part.ids.begin(), part.ids.end());
    columns->times.insert(columns->times.end(), part.times.begin(), part.times.end());
    columns->values.insert(columns->values.end(), part.values.begin(), part.values.end());
  }
  return in.ok();
}

Status ReadChunks(Connection* connection, std::int64_t source_id, std::int64_t only,
                  Columns* columns) {
  Query chunks(connection, kRead, "SELECT bytes FROM loose_chunk WHERE source_id = ? ORDER BY id",
               source_id);
  while (chunks.Next()) {
    if (!Decode(chunks.Bytes(0), only, columns)) {
      return Damaged(connection->path() + ": a chunk of points");
    }
  }
  return chunks.status();
}

/// The points of each series, by time.
struct BySeries {
  explicit BySeries(const Columns& columns);

  struct One {
    std::int64_t id = 0;
    std::vector<std::int64_t> times;
    std::vector<double> values;
  };
  std::vector<One> all;  // by id
};

BySeries::BySeries(const Columns& columns) {
  std::unordered_map<std::int64_t, std::size_t> places;
  std::vector<std::uint32_t> place_of(columns.ids.size());
  std::vector<std::size_t> counts;
  for (std::size_t i = 0; i < columns.ids.size(); ++i) {
    const auto [place, is_new] = places.try_emplace(columns.ids[i], counts.size());
    if (is_new) counts.push_back(0);
    ++counts[place->second];
    place_of[i] = static_cast<std::uint32_t>(place->second);
  }
  all.resize(counts.size());
  for (const auto& [id, place] : places) {
    all[place].id = id;
    all[place].times.reserve(counts[place]);
    all[place].values.reserve(counts[place]);
  }
  for (std::size_t i = 0; i < columns.ids.size(); ++i) {
    One& one = all[place_of[i]];
    one.times.push_back(columns.times[i]);
    one.values.push_back(columns.values[i]);
  }
  for (One& one : all) {
    if (std::ranges::is_sorted(one.times)) continue;
    std::vector<std::pair<std::int64_t, double>> points;
    for (std::size_t i = 0; i < one.times.size(); ++i) {
      points.emplace_back(one.times[i], one.values[i]);
    }
    std::ranges::stable_sort(points, {}, &std::pair<std::int64_t, double>::first);
    for (std::size_t i = 0; i < points.size(); ++i) {
      std::tie(one.times[i], one.values[i]) = points[i];
    }
  }
  std::ranges::sort(all, {}, &One::id);
}

}  // namespace

LooseSource* LooseSources::Find(std::int64_t run_id, const std::string& name) {
  const auto found = sources_.find({run_id, name});
  return found == sources_.end() ? nullptr : found->second.get();
}

LooseSource* LooseSources::Keep(std::int64_t run_id, const std::string& name,
                                std::unique_ptr<LooseSource> source) {
  std::size_t all = source->series.size();
  for (const auto& [key, other] : sources_) all += other->series.size();
  if (all > kSeriesInMemory) Clear();
  return (sources_[{run_id, name}] = std::move(source)).get();
}

void LooseSources::Forget(std::int64_t run_id) {
  std::erase_if(sources_, [run_id](const auto& entry) { return entry.first.first == run_id; });
}

/// Loose points of one source on their way into the database, within one transaction.
class SqliteStore::LooseWriter {
 public:
  LooseWriter(Connection* connection, LooseSource* source, std::int64_t run_id)
      : connection_(connection),
        source_(source),
        run_id_(run_id),
        makes_series_(connection, run_id) {}

  Status Add(const LoosePoints& points, LooseOutcome* outcome);
  /// Puts chunks together where there are many. How many bytes more are kept.
  Result<std::int64_t> Finish();

 private:
  struct Late {
    std::int64_t id;
    std::int64_t time;
    double value;
    std::size_t series;  // in the request
  };

  Result<LooseSource::Series*> Make(std::string_view key, LooseOutcome* outcome);
  Status Settle(const LoosePoints& points, std::vector<Late>* late, Columns* fresh,
                LooseOutcome* outcome);
  Status Keep(const Columns& columns);
  Status JoinSmall();
  Status MakePieces();
  Status Remove(const std::vector<std::int64_t>& rows);

  Connection* connection_;
  LooseSource* source_;
  std::int64_t run_id_;
  SeriesMaker makes_series_;
  std::int64_t bytes_ = 0;
};

// nullptr: there would be too many.
Result<LooseSource::Series*> SqliteStore::LooseWriter::Make(std::string_view key,
                                                            LooseOutcome* outcome) {
  series::ByteReader in(key);
  const std::string_view name = in.Bytes(in.Varint());
  const std::string_view unit = in.Bytes(in.Varint());
  const std::string_view labels = key.substr(key.size() - in.left());
  const Result<std::int64_t> id = makes_series_.Make(source_->id, name, unit, labels);
  HEADWAY_RETURN_IF_ERROR(id.status());
  if (*id == 0) {
    if (outcome->too_many == 0) outcome->too_many_metric = name;
    return static_cast<LooseSource::Series*>(nullptr);
  }
  const LooseSource::Series made{*id, std::numeric_limits<std::int64_t>::min()};
  return &source_->series.emplace(key, made).first->second;
}

Status SqliteStore::LooseWriter::Add(const LoosePoints& points, LooseOutcome* outcome) {
  Columns fresh;
  fresh.ids.reserve(points.times_ns.size());
  fresh.times.reserve(points.times_ns.size());
  fresh.values.reserve(points.times_ns.size());
  std::vector<Late> late;
  std::size_t point = 0;
  for (std::size_t i = 0; i < points.series.size(); ++i) {
    const std::string_view key = points.KeyOf(i);
    const std::size_t end = points.series[i].point_end;
    if (point == end) continue;
    const auto known = source_->series.find(key);
    LooseSource::Series* series = known == source_->series.end() ? nullptr : &known->second;
    if (series == nullptr) {
      const Result<LooseSource::Series*> made = Make(key, outcome);
      HEADWAY_RETURN_IF_ERROR(made.status());
      series = *made;
    }
    if (series == nullptr) {
      outcome->too_many += end - point;
      point = end;
      continue;
    }
    for (; point < end; ++point) {
      const std::int64_t time = points.times_ns[point];
      if (time > series->last_time_ns) {
        fresh.Add(series->id, time, points.values[point]);
        series->last_time_ns = time;
      } else {
        late.push_back({series->id, time, points.values[point], i});
      }
    }
  }
  if (!late.empty()) HEADWAY_RETURN_IF_ERROR(Settle(points, &late, &fresh, outcome));
  outcome->kept = fresh.ids.size();
  return fresh.ids.empty() ? OkStatus() : Keep(fresh);
}

// Which of those that came late, or twice, are kept already.
Status SqliteStore::LooseWriter::Settle(const LoosePoints& points, std::vector<Late>* late,
                                        Columns* fresh, LooseOutcome* outcome) {
  struct Known {
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    std::unordered_map<std::int64_t, std::uint64_t> points;  // bits by time
  };
  std::unordered_map<std::int64_t, Known> known;  // by series
  for (const Late& one : *late) {
    Known& of_series = known[one.id];
    of_series.first = std::min(of_series.first, one.time);
    of_series.last = std::max(of_series.last, one.time);
  }
  const auto note = [](Known* of_series, std::int64_t time, double value) {
    if (time < of_series->first || time > of_series->last) return;
    of_series->points.emplace(time, std::bit_cast<std::uint64_t>(value));
  };
  Columns chunks = *fresh;
  HEADWAY_RETURN_IF_ERROR(ReadChunks(connection_, source_->id, 0, &chunks));
  for (std::size_t i = 0; i < chunks.ids.size(); ++i) {
    const auto of_series = known.find(chunks.ids[i]);
    if (of_series == known.end()) continue;
    note(&of_series->second, chunks.times[i], chunks.values[i]);
  }
  for (auto& [id, of_series] : known) {
    const Result<SeriesPieces> pieces = ReadPages(connection_, id);
    HEADWAY_RETURN_IF_ERROR(pieces.status());
    for (std::size_t i = 0; i < pieces->ids.size(); ++i) {
      const series::Summary& summary = pieces->summaries[i];
      if (summary.max_time_ns < of_series.first || summary.min_time_ns > of_series.last) continue;
      const Result<Points> piece = ReadPiece(connection_, pieces->ids[i]);
      HEADWAY_RETURN_IF_ERROR(piece.status());
      for (std::size_t k = 0; k < piece->times_ns.size(); ++k) {
        note(&of_series, piece->times_ns[k], piece->values[k]);
      }
    }
  }
  for (const Late& one : *late) {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(one.value);
    const auto [there, is_new] = known[one.id].points.emplace(one.time, bits);
    if (is_new) {
      fresh->Add(one.id, one.time, one.value);
    } else if (there->second == bits) {
      ++outcome->repeated;
    } else if (outcome->differing++ == 0) {
      series::ByteReader in(points.KeyOf(one.series));
      outcome->differing_metric = in.Bytes(in.Varint());
      outcome->differing_time_ns = one.time;
    }
  }
  return OkStatus();
}

Status SqliteStore::LooseWriter::Keep(const Columns& columns) {
  const std::string bytes = Encode(columns);
  Query insert(connection_, kWrite,
               "INSERT INTO loose_chunk (source_id, points, bytes) VALUES (?, ?, ?)", source_->id,
               static_cast<std::int64_t>(columns.ids.size()), std::string_view(bytes));
  bytes_ += static_cast<std::int64_t>(bytes.size());
  source_->points += columns.ids.size();
  if (columns.ids.size() < kSmallPoints) ++source_->small;
  return insert.Run();
}

Result<std::int64_t> SqliteStore::LooseWriter::Finish() {
  const std::uint64_t series = source_->series.size();
  const std::uint64_t most =
      std::min(std::max<std::uint64_t>(series, 1) * kColumn,
               std::clamp(series * kPiecePoints, kChunkPointsLeast, kChunkPointsMost));
  if (source_->points >= most) {
    HEADWAY_RETURN_IF_ERROR(MakePieces());
  } else if (source_->small >= kSmallMost) {
    HEADWAY_RETURN_IF_ERROR(JoinSmall());
  }
  return bytes_ + makes_series_.bytes();
}

Status SqliteStore::LooseWriter::Remove(const std::vector<std::int64_t>& rows) {
  for (const std::int64_t id : rows) {
    Query remove(connection_, kWrite, "DELETE FROM loose_chunk WHERE id = ?", id);
    HEADWAY_RETURN_IF_ERROR(remove.Run());
  }
  return OkStatus();
}

Status SqliteStore::LooseWriter::JoinSmall() {
  Columns all;
  std::vector<std::int64_t> rows;
  {
    Query small(connection_, kWrite,
                "SELECT id, bytes FROM loose_chunk WHERE source_id = ? AND points < ? ORDER BY id",
                source_->id, static_cast<std::int64_t>(kSmallPoints));
    while (small.Next()) {
      if (!Decode(small.Bytes(1), 0, &all)) return Damaged("a chunk of points");
      bytes_ -= static_cast<std::int64_t>(small.Bytes(1).size());
      rows.push_back(small.Integer(0));
    }
    HEADWAY_RETURN_IF_ERROR(small.status());
  }
  HEADWAY_RETURN_IF_ERROR(Remove(rows));
  source_->points -= all.ids.size();
  source_->small = 0;
  Columns sorted;
  for (const BySeries::One& one : BySeries(all).all) {
    for (std::size_t i = 0; i < one.times.size(); ++i) {
      sorted.Add(one.id, one.times[i], one.values[i]);
    }
  }
  return Keep(sorted);
}

Status SqliteStore::LooseWriter::MakePieces() {
  Columns all;
  std::vector<std::int64_t> rows;
  {
    Query chunks(connection_, kWrite,
                 "SELECT id, bytes FROM loose_chunk WHERE source_id = ? ORDER BY id", source_->id);
    while (chunks.Next()) {
      if (!Decode(chunks.Bytes(1), 0, &all)) return Damaged("a chunk of points");
      bytes_ -= static_cast<std::int64_t>(chunks.Bytes(1).size());
      rows.push_back(chunks.Integer(0));
    }
    HEADWAY_RETURN_IF_ERROR(chunks.status());
  }
  HEADWAY_RETURN_IF_ERROR(Remove(rows));
  source_->points = 0;
  source_->small = 0;
  BySeries sorted(all);
  // Series that were sampled together share their times.
  std::map<std::vector<std::int64_t>, std::vector<BySeries::One*>> together;
  for (BySeries::One& one : sorted.all) together[one.times].push_back(&one);
  PointWriter writer(connection_, source_->id, run_id_);
  for (auto& [times, members] : together) {
    IdFrame frame;
    frame.times = times;
    for (BySeries::One* const one : members) {
      frame.ids.push_back(one->id);
      frame.columns.push_back(std::move(one->values));
    }
    for (std::size_t i = 0; i < frame.ids.size(); ++i) {
      HEADWAY_RETURN_IF_ERROR(writer.Widen(frame.ids[i], frame, i));
    }
    for (std::size_t at = 0; at < times.size(); at += kColumn) {
      HEADWAY_RETURN_IF_ERROR(writer.AddPieces(frame, at, std::min(kColumn, times.size() - at)));
    }
  }
  bytes_ += writer.bytes();
  return OkStatus();
}

namespace {

// What the database says of a source; it is made where there is none.
Result<std::unique_ptr<LooseSource>> LoadSource(Connection* connection, std::int64_t run_id,
                                                const std::string& name) {
  auto source = std::make_unique<LooseSource>();
  {
    Query find(connection, kWrite, "SELECT id FROM point_source WHERE run_id = ? AND source = ?",
               run_id, Text{name});
    if (find.Next()) source->id = find.Integer(0);
    HEADWAY_RETURN_IF_ERROR(find.status());
  }
  if (source->id == 0) {
    Query make(connection, kWrite,
               "INSERT INTO point_source (run_id, source, position, stored_bytes) "
               "VALUES (?, ?, 0, 0)",
               run_id, Text{name});
    HEADWAY_RETURN_IF_ERROR(make.Run());
    source->id = connection->LastId();
    return source;
  }
  std::unordered_map<std::int64_t, LooseSource::Series*> by_id;
  {
    Query query(connection, kWrite,
                "SELECT id, name, unit, labels, summary FROM series WHERE source_id = ?",
                source->id);
    while (query.Next()) {
      std::string key;
      series::PutSized(&key, query.Bytes(1));
      series::PutSized(&key, query.Bytes(2));
      key += query.Bytes(3);
      std::string_view bytes = query.Bytes(4);
      const Result<series::Summary> summary = series::ParseSummary(&bytes);
      if (!summary.ok()) return Damaged(connection->path() + ": a series of " + name);
      const LooseSource::Series one{query.Integer(0), summary->max_time_ns};
      by_id[one.id] = &source->series.emplace(std::move(key), one).first->second;
    }
    HEADWAY_RETURN_IF_ERROR(query.status());
  }
  Columns columns;
  HEADWAY_RETURN_IF_ERROR(ReadChunks(connection, source->id, 0, &columns));
  for (std::size_t i = 0; i < columns.ids.size(); ++i) {
    const auto series = by_id.find(columns.ids[i]);
    if (series == by_id.end()) return Damaged(connection->path() + ": a chunk of points");
    std::int64_t& last = series->second->last_time_ns;
    last = std::max(last, columns.times[i]);
  }
  source->points = columns.ids.size();
  Query small(connection, kWrite,
              "SELECT count(*) FROM loose_chunk WHERE source_id = ? AND points < ?", source->id,
              static_cast<std::int64_t>(kSmallPoints));
  if (small.Next()) source->small = static_cast<std::uint64_t>(small.Integer(0));
  HEADWAY_RETURN_IF_ERROR(small.status());
  return source;
}

}  // namespace

// --- The store

std::vector<Result<LooseOutcome>> SqliteStore::MergePoints(std::span<const LoosePoints> all) {
  if (all.empty()) return {};
  Merging mine{.all = all};
  std::unique_lock lock(merge_mutex_);
  merges_.push_back(&mine);
  merge_done_.wait(lock, [&] { return mine.done || !merges_run_; });
  if (mine.done) return std::move(mine.outcomes);
  // One of those that wait does the work of all.
  std::vector<Merging*> turns = std::exchange(merges_, {});
  merges_run_ = true;
  lock.unlock();
  Status status(Code::kInternal, "points were not written");
  {
    // Whatever is thrown: nobody waits for ever.
    struct End {
      ~End() {
        const std::lock_guard lock(store->merge_mutex_);
        for (Merging* const turn : turns) {
          if (!status->ok()) turn->outcomes.assign(turn->all.size(), *status);
          turn->done = true;
        }
        store->merges_run_ = false;
        store->merge_done_.notify_all();
      }
      SqliteStore* store;
      const std::vector<Merging*>& turns;
      const Status* status;
    };
    const End end{this, turns, &status};
    status = Change([&]() -> Status {
      for (Merging* const turn : turns) {
        HEADWAY_RETURN_IF_ERROR(MergeEach(turn->all, &turn->outcomes));
      }
      return OkStatus();
    });
    if (!status.ok()) {
      const std::lock_guard forget(write_mutex_);
      loose_.Clear();
    }
  }
  return std::move(mine.outcomes);
}

// An error: nothing of the transaction is there.
Status SqliteStore::MergeEach(std::span<const LoosePoints> all,
                              std::vector<Result<LooseOutcome>>* outcomes) {
  for (const LoosePoints& points : all) {
    HEADWAY_RETURN_IF_ERROR(writer_->Execute("SAVEPOINT points", kWrite));
    outcomes->push_back(MergeOne(points));
    if (!outcomes->back().ok()) {
      loose_.Clear();  // it may know what is not there
      // SQLite itself has rolled all of it back.
      if (!writer_->InTransaction()) return outcomes->back().status();
      HEADWAY_RETURN_IF_ERROR(writer_->Execute("ROLLBACK TO points", kWrite));
    }
    HEADWAY_RETURN_IF_ERROR(writer_->Execute("RELEASE points", kWrite));
  }
  return OkStatus();
}

Result<LooseOutcome> SqliteStore::MergeOne(const LoosePoints& points) {
  const Result<std::int64_t> run_id = FindRunId(writer_.get(), points.run);
  HEADWAY_RETURN_IF_ERROR(run_id.status());
  std::int64_t project_id = 0;
  {
    Query run(writer_.get(), kWrite, "SELECT purged, project_id FROM run WHERE id = ?", *run_id);
    if (!run.Next()) return run.status().ok() ? NoSuch("run", points.run) : run.status();
    if (run.Integer(0) != 0) {
      return Status(Code::kFailedPrecondition,
                    "run " + ToHex(points.run) + " was deleted, with all its records");
    }
    project_id = run.Integer(1);
  }
  LooseSource* source = loose_.Find(*run_id, points.source);
  if (source == nullptr) {
    Result<std::unique_ptr<LooseSource>> loaded = LoadSource(writer_.get(), *run_id, points.source);
    HEADWAY_RETURN_IF_ERROR(loaded.status());
    source = loose_.Keep(*run_id, points.source, *std::move(loaded));
  }
  LooseOutcome outcome;
  LooseWriter writer(writer_.get(), source, *run_id);
  HEADWAY_RETURN_IF_ERROR(writer.Add(points, &outcome));
  if (outcome.kept == 0) return outcome;
  const Result<std::int64_t> bytes = writer.Finish();
  HEADWAY_RETURN_IF_ERROR(bytes.status());
  if (*bytes > 0) {
    HEADWAY_RETURN_IF_ERROR(CheckQuota(*run_id, static_cast<std::uint64_t>(*bytes)));
  }
  Query update(writer_.get(), kWrite,
               "UPDATE point_source SET stored_bytes = stored_bytes + ? WHERE id = ?", *bytes,
               source->id);
  HEADWAY_RETURN_IF_ERROR(update.Run());
  Query project(writer_.get(), kWrite,
                "UPDATE project SET stored_bytes = stored_bytes + ? WHERE id = ?", *bytes,
                project_id);
  HEADWAY_RETURN_IF_ERROR(project.Run());
  return outcome;
}

Status SqliteStore::AddLoose(Connection* connection, std::int64_t source_id, std::int64_t id,
                             Points* points) {
  Columns columns;
  HEADWAY_RETURN_IF_ERROR(ReadChunks(connection, source_id, id, &columns));
  points->times_ns.insert(points->times_ns.end(), columns.times.begin(), columns.times.end());
  points->steps.resize(points->times_ns.size(), kNoStep);
  points->values.insert(points->values.end(), columns.values.begin(), columns.values.end());
  return OkStatus();
}

Status SqliteStore::AddLoose(Connection* connection, std::int64_t run_id,
                             std::vector<SeriesRow>* rows) {
  Columns columns;
  std::vector<std::int64_t> sources;
  {
    Query query(connection, kRead, "SELECT id FROM point_source WHERE run_id = ?", run_id);
    while (query.Next()) sources.push_back(query.Integer(0));
    HEADWAY_RETURN_IF_ERROR(query.status());
  }
  for (const std::int64_t source : sources) {
    HEADWAY_RETURN_IF_ERROR(ReadChunks(connection, source, 0, &columns));
  }
  if (columns.ids.empty()) return OkStatus();
  std::unordered_map<std::int64_t, SeriesRow*> by_id;
  for (SeriesRow& row : *rows) by_id[row.id] = &row;
  for (const BySeries::One& one : BySeries(columns).all) {
    const auto row = by_id.find(one.id);
    if (row == by_id.end()) return Damaged(connection->path() + ": a chunk of points");
    series::Merge(series::Summarize(one.times, {}, one.values), &row->second->summary);
  }
  return OkStatus();
}

}  // namespace headway::store
