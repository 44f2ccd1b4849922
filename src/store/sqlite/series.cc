#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/limits.h"
#include "base/sha256.h"
#include "series/bytes.h"
#include "series/columns.h"
#include "series/summary.h"
#include "store/sqlite/point_writer.h"

/// Points come a few at a time, and are kept so at first: a frame is one row, whatever number of
/// series it has. Once a source has some frames of one shape (the same series), they become one
/// frame; once that has filled columns, each column becomes a piece of its series, which can be
/// read without those that were recorded beside it. The summaries of a series' pieces lie together,
/// 64 to a page, so that a chart of any length reads few rows. Loose points are in loose.cc.

namespace headway::store {
namespace {

constexpr std::size_t kColumn = limits::kSeriesColumn;
constexpr std::int64_t kFramesMost = 32;  // of one shape
constexpr std::size_t kPageMost = 64;     // summaries

std::string EncodeFrame(const IdFrame& frame) {
  std::string out;
  std::string packed;
  series::PutVarint(&out, frame.ids.size());
  for (const std::int64_t id : frame.ids) series::PutVarint(&out, static_cast<std::uint64_t>(id));
  series::PackTimes(frame.times, &packed);
  series::PutSized(&out, packed);
  packed.clear();
  if (!frame.steps.empty()) series::PackSteps(frame.steps, &packed);
  series::PutSized(&out, packed);
  for (const std::vector<double>& column : frame.columns) {
    series::PackValues(column, &packed);
    series::PutSized(&out, packed);
  }
  return out;
}

// `only` above 0: the column of that series alone.
Status DecodeFrame(std::string_view bytes, std::int64_t only, IdFrame* frame) {
  series::ByteReader in(bytes);
  const std::uint64_t count = in.Varint();
  if (count > in.left()) return Damaged("a frame of points");
  frame->ids.resize(count);
  for (std::int64_t& id : frame->ids) id = static_cast<std::int64_t>(in.Varint());
  const std::string_view times = in.Bytes(in.Varint());
  const std::string_view steps = in.Bytes(in.Varint());
  if (!in.ok()) return Damaged("a frame of points");
  HEADWAY_RETURN_IF_ERROR(series::UnpackTimes(times, &frame->times));
  frame->steps.clear();
  if (!steps.empty()) HEADWAY_RETURN_IF_ERROR(series::UnpackSteps(steps, &frame->steps));
  if (!frame->steps.empty() && frame->steps.size() != frame->times.size()) {
    return Damaged("a frame of points");
  }
  frame->columns.assign(count, {});
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string_view values = in.Bytes(in.Varint());
    if (!in.ok()) return Damaged("a frame of points");
    if (only > 0 && frame->ids[i] != only) continue;
    HEADWAY_RETURN_IF_ERROR(series::UnpackValues(values, &frame->columns[i]));
    if (frame->columns[i].size() != frame->times.size()) return Damaged("a frame of points");
  }
  return OkStatus();
}

// Which series they are, in a number.
std::int64_t ShapeOf(std::span<const std::int64_t> ids) {
  const std::string_view bytes(reinterpret_cast<const char*>(ids.data()), ids.size_bytes());
  const auto hash = Sha256(bytes);
  std::int64_t shape;
  std::memcpy(&shape, hash.data(), sizeof shape);
  return shape;
}

std::span<const std::int64_t> Cut(const std::vector<std::int64_t>& all, std::size_t from,
                                  std::size_t count) {
  if (all.empty()) return {};
  return std::span(all).subspan(from, count);
}

}  // namespace

std::string LabelText(const std::map<std::string, std::string>& labels) {
  std::string text;
  for (const auto& [key, value] : labels) {
    series::PutSized(&text, key);
    series::PutSized(&text, value);
  }
  return text;
}

std::map<std::string, std::string> LabelsOf(std::string_view text) {
  std::map<std::string, std::string> labels;
  series::ByteReader in(text);
  while (in.left() > 0) {
    const std::string key(in.Bytes(in.Varint()));
    const std::string value(in.Bytes(in.Varint()));
    if (in.ok()) labels[key] = value;
  }
  return labels;
}

Status Damaged(const std::string& what) {
  return {Code::kDataLoss, what + " is damaged; examine the disk, and restore a copy of the file"};
}

Result<std::int64_t> SeriesMaker::Make(std::int64_t source_id, std::string_view name,
                                       std::string_view unit, std::string_view labels) {
  if (run_series_ < 0) {
    Query count(connection_, kWrite,
                "SELECT count(*) FROM point_source JOIN series ON series.source_id = "
                "point_source.id WHERE point_source.run_id = ?",
                run_id_);
    if (!count.Next()) return count.status();
    run_series_ = count.Integer(0);
  }
  if (run_series_ >= static_cast<std::int64_t>(limits::kRunSeries)) return 0;
  std::string empty;
  series::AppendSummary({}, &empty);
  Query make(connection_, kWrite,
             "INSERT INTO series (source_id, name, unit, labels, summary) VALUES (?, ?, ?, ?, ?)",
             source_id, Text{name}, Text{unit}, labels, std::string_view(empty));
  HEADWAY_RETURN_IF_ERROR(make.Run());
  ++run_series_;
  // Its row, and what it is found by.
  bytes_ += static_cast<std::int64_t>(2 * (name.size() + unit.size() + labels.size()));
  bytes_ += kSummaryBytes;
  return connection_->LastId();
}

Result<std::int64_t> SqliteStore::PointWriter::FindOrMakeSeries(const SeriesKey& key) {
  const auto known = ids_.find(key);
  if (known != ids_.end()) return known->second;
  const std::string labels = LabelText(key.labels);
  std::int64_t id = 0;
  {
    Query find(connection_, kWrite,
               "SELECT id FROM series WHERE source_id = ? AND name = ? AND unit = ? AND labels = ?",
               source_id_, Text{key.name}, Text{key.unit}, std::string_view(labels));
    if (find.Next()) id = find.Integer(0);
    HEADWAY_RETURN_IF_ERROR(find.status());
  }
  if (id == 0) {
    const Result<std::int64_t> made = makes_series_.Make(source_id_, key.name, key.unit, labels);
    HEADWAY_RETURN_IF_ERROR(made.status());
    if (*made == 0) {
      return Status(Code::kResourceExhausted, "the run has " + std::to_string(limits::kRunSeries) +
                                                  " series already; metric \"" + key.name +
                                                  "\" would be one more");
    }
    id = *made;
  }
  ids_.emplace(key, id);
  return id;
}

// The summary of all points of a series.
Status SqliteStore::PointWriter::Widen(std::int64_t id, const IdFrame& frame, std::size_t column) {
  series::Summary all;
  {
    Query find(connection_, kWrite, "SELECT summary FROM series WHERE id = ?", id);
    if (!find.Next()) return find.status();
    std::string_view bytes = find.Bytes(0);
    const Result<series::Summary> summary = series::ParseSummary(&bytes);
    if (!summary.ok()) return summary.status();
    all = *summary;
  }
  series::Merge(series::Summarize(frame.times, frame.steps, frame.columns[column]), &all);
  std::string bytes;
  series::AppendSummary(all, &bytes);
  Query update(connection_, kWrite, "UPDATE series SET summary = ? WHERE id = ?",
               std::string_view(bytes), id);
  return update.Run();
}

Status SqliteStore::PointWriter::Add(const PointFrame& frame) {
  if (frame.times_ns.empty() || frame.columns.empty()) return OkStatus();
  IdFrame ids;
  ids.times = frame.times_ns;
  ids.steps = frame.steps;
  std::vector<std::pair<std::int64_t, const PointFrame::Column*>> columns;
  for (const PointFrame::Column& column : frame.columns) {
    const Result<std::int64_t> id = FindOrMakeSeries(column.key);
    HEADWAY_RETURN_IF_ERROR(id.status());
    columns.emplace_back(*id, &column);
  }
  std::ranges::sort(columns, {}, [](const auto& column) { return column.first; });
  for (const auto& [id, column] : columns) {
    // One series twice in a frame has two values at each time; the later ones are frames of their
    // own.
    if (!ids.ids.empty() && ids.ids.back() == id) {
      PointFrame again{frame.times_ns, frame.steps, {*column}};
      HEADWAY_RETURN_IF_ERROR(Add(again));
      continue;
    }
    ids.ids.push_back(id);
    ids.columns.push_back(column->values);
  }
  for (std::size_t i = 0; i < ids.ids.size(); ++i) {
    HEADWAY_RETURN_IF_ERROR(Widen(ids.ids[i], ids, i));
  }
  std::size_t at = 0;
  for (; ids.times.size() - at >= kColumn; at += kColumn) {
    HEADWAY_RETURN_IF_ERROR(AddPieces(ids, at, kColumn));
  }
  if (at == ids.times.size()) return OkStatus();
  const std::int64_t shape = ShapeOf(ids.ids);
  if (shapes_.insert(shape).second) HEADWAY_RETURN_IF_ERROR(MakeShape(shape, ids.ids));
  return AddFrame(ids, at, shape);
}

Status SqliteStore::PointWriter::MakeShape(std::int64_t shape, std::span<const std::int64_t> ids) {
  {
    Query find(connection_, kWrite, "SELECT 1 FROM point_shape WHERE series_id = ? AND shape = ?",
               ids.front(), shape);
    if (find.Next()) return OkStatus();
    HEADWAY_RETURN_IF_ERROR(find.status());
  }
  for (const std::int64_t id : ids) {
    Query insert(connection_, kWrite, "INSERT INTO point_shape (series_id, shape) VALUES (?, ?)",
                 id, shape);
    HEADWAY_RETURN_IF_ERROR(insert.Run());
  }
  return OkStatus();
}

Status SqliteStore::PointWriter::AddFrame(const IdFrame& frame, std::size_t from,
                                          std::int64_t shape) {
  IdFrame rest;
  const IdFrame* kept = &frame;
  if (from > 0) {
    rest.ids = frame.ids;
    rest.times.assign(frame.times.begin() + static_cast<std::ptrdiff_t>(from), frame.times.end());
    if (!frame.steps.empty()) {
      rest.steps.assign(frame.steps.begin() + static_cast<std::ptrdiff_t>(from), frame.steps.end());
    }
    for (const std::vector<double>& column : frame.columns) {
      rest.columns.emplace_back(column.begin() + static_cast<std::ptrdiff_t>(from), column.end());
    }
    kept = &rest;
  }
  const std::string bytes = EncodeFrame(*kept);
  Query insert(connection_, kWrite,
               "INSERT INTO point_frame (source_id, shape, points, bytes) VALUES (?, ?, ?, ?)",
               source_id_, shape, static_cast<std::int64_t>(kept->times.size()),
               std::string_view(bytes));
  bytes_ += static_cast<std::int64_t>(bytes.size());
  return insert.Run();
}

Status SqliteStore::PointWriter::AddPieces(const IdFrame& frame, std::size_t from,
                                           std::size_t count) {
  const auto times = Cut(frame.times, from, count);
  const auto steps = Cut(frame.steps, from, count);
  std::string packed_times;
  std::string packed_steps;
  series::PackTimes(times, &packed_times);
  if (!steps.empty()) series::PackSteps(steps, &packed_steps);
  Query axis(connection_, kWrite,
             "INSERT INTO point_axis (source_id, times, steps) VALUES (?, ?, ?)", source_id_,
             std::string_view(packed_times), std::string_view(packed_steps));
  HEADWAY_RETURN_IF_ERROR(axis.Run());
  const std::int64_t axis_id = connection_->LastId();
  bytes_ += static_cast<std::int64_t>(packed_times.size() + packed_steps.size());
  std::string packed;
  for (std::size_t i = 0; i < frame.ids.size(); ++i) {
    const auto values = std::span(frame.columns[i]).subspan(from, count);
    series::PackValues(values, &packed);
    Query piece(connection_, kWrite,
                "INSERT INTO point_piece (series_id, axis_id, bytes) VALUES (?, ?, ?)",
                frame.ids[i], axis_id, std::string_view(packed));
    HEADWAY_RETURN_IF_ERROR(piece.Run());
    bytes_ += static_cast<std::int64_t>(packed.size());
    HEADWAY_RETURN_IF_ERROR(
        AddToPage(frame.ids[i], connection_->LastId(), series::Summarize(times, steps, values)));
  }
  return OkStatus();
}

Status SqliteStore::PointWriter::AddToPage(std::int64_t series_id, std::int64_t piece_id,
                                           const series::Summary& summary) {
  std::int64_t page_id = 0;
  std::string bytes;
  std::size_t pieces = 0;
  {
    Query last(connection_, kWrite,
               "SELECT id, pieces, bytes FROM piece_page WHERE series_id = ? "
               "ORDER BY id DESC LIMIT 1",
               series_id);
    if (last.Next() && last.Integer(1) < static_cast<std::int64_t>(kPageMost)) {
      page_id = last.Integer(0);
      pieces = static_cast<std::size_t>(last.Integer(1));
      bytes = last.String(2);
    }
    HEADWAY_RETURN_IF_ERROR(last.status());
  }
  const std::size_t before = bytes.size();
  series::PutVarint(&bytes, static_cast<std::uint64_t>(piece_id));
  series::AppendSummary(summary, &bytes);
  bytes_ += static_cast<std::int64_t>(bytes.size() - before);
  if (page_id == 0) {
    Query insert(connection_, kWrite,
                 "INSERT INTO piece_page (series_id, pieces, bytes) VALUES (?, 1, ?)", series_id,
                 std::string_view(bytes));
    return insert.Run();
  }
  Query update(connection_, kWrite, "UPDATE piece_page SET pieces = ?, bytes = ? WHERE id = ?",
               static_cast<std::int64_t>(pieces + 1), std::string_view(bytes), page_id);
  return update.Run();
}

Result<std::int64_t> SqliteStore::PointWriter::Finish() {
  for (const std::int64_t shape : shapes_) {
    std::int64_t frames = 0;
    std::int64_t points = 0;
    {
      Query count(connection_, kWrite,
                  "SELECT count(*), coalesce(sum(points), 0) FROM point_frame "
                  "WHERE source_id = ? AND shape = ?",
                  source_id_, shape);
      if (count.Next()) {
        frames = count.Integer(0);
        points = count.Integer(1);
      }
      HEADWAY_RETURN_IF_ERROR(count.status());
    }
    if (frames < kFramesMost && points < static_cast<std::int64_t>(kColumn)) continue;
    if (frames > 1 || points >= static_cast<std::int64_t>(kColumn)) {
      HEADWAY_RETURN_IF_ERROR(Join(shape));
    }
  }
  return bytes_ + makes_series_.bytes();
}

// The frames of one shape into pieces, and what is left into one frame.
Status SqliteStore::PointWriter::Join(std::int64_t shape) {
  IdFrame all;
  std::vector<std::int64_t> rows;
  {
    Query frames(connection_, kWrite,
                 "SELECT id, bytes FROM point_frame WHERE source_id = ? AND shape = ? ORDER BY id",
                 source_id_, shape);
    IdFrame one;
    while (frames.Next()) {
      HEADWAY_RETURN_IF_ERROR(DecodeFrame(frames.Bytes(1), 0, &one));
      bytes_ -= static_cast<std::int64_t>(frames.Bytes(1).size());
      rows.push_back(frames.Integer(0));
      if (all.ids.empty()) {
        all = std::move(one);
        one = {};
        continue;
      }
      if (one.ids != all.ids) return Damaged("a frame of points");
      // Where some have steps, none of the others has one.
      if (all.steps.empty() && !one.steps.empty()) all.steps.assign(all.times.size(), kNoStep);
      if (one.steps.empty() && !all.steps.empty()) one.steps.assign(one.times.size(), kNoStep);
      all.times.insert(all.times.end(), one.times.begin(), one.times.end());
      all.steps.insert(all.steps.end(), one.steps.begin(), one.steps.end());
      for (std::size_t i = 0; i < all.columns.size(); ++i) {
        all.columns[i].insert(all.columns[i].end(), one.columns[i].begin(), one.columns[i].end());
      }
    }
    HEADWAY_RETURN_IF_ERROR(frames.status());
  }
  for (const std::int64_t id : rows) {
    Query remove(connection_, kWrite, "DELETE FROM point_frame WHERE id = ?", id);
    HEADWAY_RETURN_IF_ERROR(remove.Run());
  }
  std::size_t at = 0;
  for (; all.times.size() - at >= kColumn; at += kColumn) {
    HEADWAY_RETURN_IF_ERROR(AddPieces(all, at, kColumn));
  }
  return at == all.times.size() ? OkStatus() : AddFrame(all, at, shape);
}

// --- The store

Result<std::uint64_t> SqliteStore::PointPosition(const RunUid& run, std::string_view source) {
  const Turn turn = TakeReader();
  const Result<std::int64_t> run_id = FindRunId(turn.connection, run);
  HEADWAY_RETURN_IF_ERROR(run_id.status());
  Query query(turn.connection, kRead,
              "SELECT position FROM point_source WHERE run_id = ? AND source = ?", *run_id,
              Text{source});
  if (query.Next()) return static_cast<std::uint64_t>(query.Integer(0));
  HEADWAY_RETURN_IF_ERROR(query.status());
  return std::uint64_t{0};
}

Status SqliteStore::AppendPoints(std::span<const PointBatch> batches) {
  if (batches.empty()) return OkStatus();
  return Change([&]() -> Status {
    for (const PointBatch& batch : batches) HEADWAY_RETURN_IF_ERROR(WritePoints(batch));
    return OkStatus();
  });
}

Status SqliteStore::WritePoints(const PointBatch& batch) {
  const Result<std::int64_t> run_id = FindRunId(writer_.get(), batch.run);
  HEADWAY_RETURN_IF_ERROR(run_id.status());
  std::int64_t project_id = 0;
  {
    Query run(writer_.get(), kWrite, "SELECT purged, project_id FROM run WHERE id = ?", *run_id);
    if (!run.Next()) return run.status().ok() ? NoSuch("run", batch.run) : run.status();
    if (run.Integer(0) != 0) {
      return {Code::kFailedPrecondition,
              "run " + ToHex(batch.run) + " was deleted, with all its records"};
    }
    project_id = run.Integer(1);
  }
  std::int64_t source_id = 0;
  std::uint64_t position = 0;
  {
    Query find(writer_.get(), kWrite,
               "SELECT id, position FROM point_source WHERE run_id = ? AND source = ?", *run_id,
               Text{batch.source});
    if (find.Next()) {
      source_id = find.Integer(0);
      position = static_cast<std::uint64_t>(find.Integer(1));
    }
    HEADWAY_RETURN_IF_ERROR(find.status());
  }
  if (batch.first != position) {
    return {Code::kAborted, "the points of source \"" + batch.source + "\" are kept up to " +
                                std::to_string(position) + ", and these begin at " +
                                std::to_string(batch.first)};
  }
  if (source_id == 0) {
    Query make(writer_.get(), kWrite,
               "INSERT INTO point_source (run_id, source, position, stored_bytes) "
               "VALUES (?, ?, 0, 0)",
               *run_id, Text{batch.source});
    HEADWAY_RETURN_IF_ERROR(make.Run());
    source_id = writer_->LastId();
  }
  PointWriter points(writer_.get(), source_id, *run_id);
  for (const PointFrame& frame : batch.frames) HEADWAY_RETURN_IF_ERROR(points.Add(frame));
  const Result<std::int64_t> bytes = points.Finish();
  HEADWAY_RETURN_IF_ERROR(bytes.status());
  if (*bytes > 0) {
    HEADWAY_RETURN_IF_ERROR(CheckQuota(*run_id, static_cast<std::uint64_t>(*bytes)));
  }
  Query update(writer_.get(), kWrite,
               "UPDATE point_source SET position = ?, stored_bytes = stored_bytes + ? "
               "WHERE id = ?",
               static_cast<std::int64_t>(batch.next), *bytes, source_id);
  HEADWAY_RETURN_IF_ERROR(update.Run());
  Query project(writer_.get(), kWrite,
                "UPDATE project SET stored_bytes = stored_bytes + ? WHERE id = ?", *bytes,
                project_id);
  return project.Run();
}

// Of a run that is being purged.
Status SqliteStore::RemovePoints(std::int64_t run_id) {
  loose_.Forget(run_id);
  Query project(writer_.get(), kWrite,
                "UPDATE project SET stored_bytes = stored_bytes - (SELECT "
                "coalesce(sum(stored_bytes), 0) FROM point_source WHERE run_id = ?1) "
                "WHERE id = (SELECT project_id FROM run WHERE id = ?1)",
                run_id);
  HEADWAY_RETURN_IF_ERROR(project.Run());
  for (const char* const sql :
       {"DELETE FROM point_piece WHERE series_id IN (SELECT series.id FROM series JOIN "
        "point_source ON point_source.id = series.source_id WHERE point_source.run_id = ?)",
        "DELETE FROM piece_page WHERE series_id IN (SELECT series.id FROM series JOIN "
        "point_source ON point_source.id = series.source_id WHERE point_source.run_id = ?)",
        "DELETE FROM point_shape WHERE series_id IN (SELECT series.id FROM series JOIN "
        "point_source ON point_source.id = series.source_id WHERE point_source.run_id = ?)",
        "DELETE FROM point_frame WHERE source_id IN "
        "(SELECT id FROM point_source WHERE run_id = ?)",
        "DELETE FROM loose_chunk WHERE source_id IN "
        "(SELECT id FROM point_source WHERE run_id = ?)",
        "DELETE FROM point_axis WHERE source_id IN (SELECT id FROM point_source WHERE run_id = ?)",
        "DELETE FROM series WHERE source_id IN (SELECT id FROM point_source WHERE run_id = ?)",
        "DELETE FROM point_source WHERE run_id = ?"}) {
    Query remove(writer_.get(), kWrite, sql, run_id);
    HEADWAY_RETURN_IF_ERROR(remove.Run());
  }
  return OkStatus();
}

Result<std::vector<SeriesRow>> SqliteStore::ListSeries(const RunUid& run) {
  const Turn turn = TakeReader();
  const Transaction transaction(turn.connection, "BEGIN", kRead);
  HEADWAY_RETURN_IF_ERROR(transaction.status());
  const Result<std::int64_t> run_id = FindRunId(turn.connection, run);
  HEADWAY_RETURN_IF_ERROR(run_id.status());
  Query query(turn.connection, kRead,
              "SELECT series.id, point_source.source, series.name, series.unit, series.labels, "
              "series.summary FROM point_source JOIN series ON series.source_id = point_source.id "
              "WHERE point_source.run_id = ? ORDER BY series.name, point_source.source, "
              "series.labels",
              *run_id);
  std::vector<SeriesRow> rows;
  while (query.Next()) {
    SeriesRow row;
    row.id = query.Integer(0);
    row.source = query.String(1);
    row.key = {query.String(2), query.String(3), LabelsOf(query.Bytes(4))};
    std::string_view bytes = query.Bytes(5);
    const Result<series::Summary> summary = series::ParseSummary(&bytes);
    if (!summary.ok())
      return Damaged(turn.connection->path() + ": metric \"" + row.key.name + "\"");
    row.summary = *summary;
    rows.push_back(std::move(row));
  }
  HEADWAY_RETURN_IF_ERROR(query.status());
  HEADWAY_RETURN_IF_ERROR(AddLoose(turn.connection, *run_id, &rows));
  return rows;
}

Result<SeriesPieces> SqliteStore::ReadPages(Connection* connection, std::int64_t id) {
  SeriesPieces found;
  const auto damaged = [&] {
    return Damaged(connection->path() + ": series " + std::to_string(id));
  };
  Query pages(connection, kRead,
              "SELECT pieces, bytes FROM piece_page WHERE series_id = ? ORDER BY id", id);
  while (pages.Next()) {
    std::string_view bytes = pages.Bytes(1);
    for (std::int64_t i = pages.Integer(0); i > 0; --i) {
      series::ByteReader in(bytes);
      found.ids.push_back(static_cast<std::int64_t>(in.Varint()));
      if (!in.ok()) return damaged();
      bytes.remove_prefix(bytes.size() - in.left());
      const Result<series::Summary> summary = series::ParseSummary(&bytes);
      if (!summary.ok()) return damaged();
      found.summaries.push_back(*summary);
    }
  }
  HEADWAY_RETURN_IF_ERROR(pages.status());
  return found;
}

Result<SeriesPieces> SqliteStore::ReadSeries(std::int64_t id) {
  const Turn turn = TakeReader();
  const Transaction transaction(turn.connection, "BEGIN", kRead);
  HEADWAY_RETURN_IF_ERROR(transaction.status());
  const auto damaged = [&] {
    return Damaged(turn.connection->path() + ": series " + std::to_string(id));
  };
  std::int64_t source_id = 0;
  {
    Query series(turn.connection, kRead, "SELECT source_id FROM series WHERE id = ?", id);
    if (!series.Next()) {
      HEADWAY_RETURN_IF_ERROR(series.status());
      return Status(Code::kNotFound, "there is no series " + std::to_string(id));
    }
    source_id = series.Integer(0);
  }
  Result<SeriesPieces> pages = ReadPages(turn.connection, id);
  HEADWAY_RETURN_IF_ERROR(pages.status());
  SeriesPieces found = *std::move(pages);
  Query frames(turn.connection, kRead,
               "SELECT point_frame.bytes FROM point_shape JOIN point_frame ON "
               "point_frame.source_id = ? AND point_frame.shape = point_shape.shape "
               "WHERE point_shape.series_id = ? ORDER BY point_frame.id",
               source_id, id);
  IdFrame frame;
  while (frames.Next()) {
    if (!DecodeFrame(frames.Bytes(0), id, &frame).ok()) return damaged();
    const auto at = std::ranges::find(frame.ids, id);
    if (at == frame.ids.end()) return damaged();
    const std::vector<double>& values =
        frame.columns[static_cast<std::size_t>(at - frame.ids.begin())];
    Points& tail = found.tail;
    tail.times_ns.insert(tail.times_ns.end(), frame.times.begin(), frame.times.end());
    if (frame.steps.empty()) {
      tail.steps.insert(tail.steps.end(), frame.times.size(), kNoStep);
    } else {
      tail.steps.insert(tail.steps.end(), frame.steps.begin(), frame.steps.end());
    }
    tail.values.insert(tail.values.end(), values.begin(), values.end());
  }
  HEADWAY_RETURN_IF_ERROR(frames.status());
  HEADWAY_RETURN_IF_ERROR(AddLoose(turn.connection, source_id, id, &found.tail));
  return found;
}

Result<Points> SqliteStore::ReadPiece(std::int64_t id) {
  const Turn turn = TakeReader();
  return ReadPiece(turn.connection, id);
}

Result<Points> SqliteStore::ReadPiece(Connection* connection, std::int64_t id) {
  Query query(connection, kRead,
              "SELECT point_axis.times, point_axis.steps, point_piece.bytes FROM point_piece "
              "JOIN point_axis ON point_axis.id = point_piece.axis_id WHERE point_piece.id = ?",
              id);
  if (!query.Next()) {
    HEADWAY_RETURN_IF_ERROR(query.status());
    return Status(Code::kNotFound, "there is no piece " + std::to_string(id));
  }
  Points points;
  const bool sound =
      series::UnpackTimes(query.Bytes(0), &points.times_ns).ok() &&
      (query.Bytes(1).empty() || series::UnpackSteps(query.Bytes(1), &points.steps).ok()) &&
      series::UnpackValues(query.Bytes(2), &points.values).ok();
  if (points.steps.empty()) points.steps.assign(points.times_ns.size(), kNoStep);
  if (!sound || points.steps.size() != points.times_ns.size() ||
      points.values.size() != points.times_ns.size()) {
    return Damaged(connection->path() + ": piece " + std::to_string(id));
  }
  return points;
}

}  // namespace headway::store
