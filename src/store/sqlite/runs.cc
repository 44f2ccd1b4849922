#include <headway/v1/run_service.pb.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "base/time_format.h"
#include "store/sqlite/row_sql.h"
#include "store/sqlite/sqlite_store.h"
#include "wire/run.h"

namespace headway::store {
namespace {

constexpr std::int64_t kPurgeRows = 256;  // chunks that one step of a purge removes

// What a row of a list is made of; `Row` reads it.
constexpr std::string_view kRunColumns =
    "SELECT run.id, run.uid, project.name, run.name, run.start, run.created, run.updated, "
    "run.deleted, run.purged, run.version, run.creator, run.state, run.finish, run.elapsed, "
    "run.goodput, run.attempts, run.last_step, run.summarised, run.began, "
    // Whether a newer one of the same name stands for it.
    "EXISTS (SELECT 1 FROM run AS newer WHERE newer.project_id = run.project_id "
    "AND newer.name = run.name AND newer.deleted = 0 "
    "AND (newer.start, newer.uid) > (run.start, run.uid)), "
    "(SELECT bytes FROM run_detail WHERE run_detail.run_id = run.id), "
    "(SELECT count(*) FROM journal WHERE journal.run_id = run.id), "
    "(SELECT coalesce(sum(state.stored_bytes), 0) FROM journal "
    " JOIN state ON state.journal_id = journal.id WHERE journal.run_id = run.id) + "
    "(SELECT coalesce(sum(point_source.stored_bytes), 0) FROM point_source "
    " WHERE point_source.run_id = run.id) + run.blob_bytes + run.item_bytes, "
    "(SELECT bytes FROM run_digest WHERE run_digest.run_id = run.id) "
    "FROM run JOIN project ON project.id = run.project_id ";

// By the fields of RunRowFields(); that of labels depends on the key.
constexpr std::string_view kFieldColumns[] = {
    "run.name",
    "(SELECT name FROM project WHERE id = run.project_id)",
    "run.state",
    "run.began",
    "run.elapsed",
    "run.goodput",
    "run.attempts",
    "run.finish",
    "run.last_step",
    "run.run_group",
    "run.phase",
    "run.orchestrator",
    "run.workload",
    "run.creator",
    "lower(hex(run.uid))",
    "nullif(run.created, 0)",
    "nullif(run.updated, 0)",
    "nullif(run.deleted, 0)",
    "run.accelerators",
};

constexpr RowColumns kRunRows = {
    .fields = kFieldColumns,
    .start = "run.start",
    .uid = "run.uid",
    .keyed = "(SELECT value FROM run_label WHERE run_label.run_id = run.id AND run_label.key = ",
    // One that an index answers.
    .keyed_equal = "run.id IN (SELECT run_id FROM run_label WHERE key = ",
};

std::optional<std::int64_t> Known(const Query& row, int column) {
  if (row.IsNull(column)) return std::nullopt;
  return row.Integer(column);
}

RunRow Row(const Query& query, bool* named_anew) {
  RunRow row;
  row.uid = query.UidAt<RunUid>(1);
  row.project = query.String(2);
  row.name = query.String(3);
  row.start = query.Integer(4);
  row.created = query.Integer(5);
  row.updated = query.Integer(6);
  row.deleted = query.Integer(7);
  row.purged = query.Integer(8) != 0;
  row.version = query.Integer(9);
  row.creator = query.String(10);
  for (int i = 0; i <= static_cast<int>(RunState::kInterrupted); ++i) {
    const auto state = static_cast<RunState>(i);
    if (RunStateName(state) == query.Bytes(11)) row.summary.state = state;
  }
  row.summary.end = Known(query, 12);
  row.summary.elapsed_ns = query.Integer(13);
  if (!query.IsNull(14)) row.summary.goodput = query.Real(14);
  row.summary.attempts = query.Integer(15);
  row.summary.last_step = Known(query, 16);
  row.summary.as_of = query.Integer(17);
  if (row.summary.as_of != 0) row.summary.start = query.Integer(18);
  *named_anew = query.Integer(19) != 0;
  const std::string_view bytes = query.Bytes(20);
  v1::Run details;
  if (details.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    row.details = wire::DetailsOf(details);
  }
  row.journals = query.Integer(21);
  row.stored_bytes = query.Integer(22);
  if (!query.IsNull(23)) row.digest = UnpackDigest(query.Bytes(23));
  return row;
}

// Whether all that it holds for have a label of one value: an index leads to them.
bool AsksForLabel(const Filter::Node& node) {
  if (node.op == Filter::Operator::kAnd) return std::ranges::any_of(node.operands, AsksForLabel);
  return node.op == Filter::Operator::kEqual && node.field >= std::size(kFieldColumns);
}

// Whether no index leads to the first rows: of a name, of a label, or in the order that is asked
// for where every row is taken.
bool LooksAtAll(const RunQuery& query) {
  if (!query.name.empty() || AsksForLabel(query.filter.root())) return false;
  const Filter::Node& root = query.filter.root();
  const bool every = root.op == Filter::Operator::kAnd && root.operands.empty();
  const std::vector<RowOrder::Key>& keys = query.order.keys();
  if (keys.empty()) return !every;
  if (!every || keys.front().field >= std::size(kFieldColumns)) return true;
  const std::string_view column = kFieldColumns[keys.front().field];
  return column != "run.name" && column != "run.began";
}

}  // namespace

// --- Projects

Result<std::vector<ProjectRow>> SqliteStore::ListProjects() {
  const Turn turn = TakeReader();
  Query query(turn.connection, kRead,
              "SELECT name, created, retention, quota, stored_bytes, (SELECT count(*) FROM run "
              "WHERE run.project_id = project.id AND run.deleted = 0), price, currency "
              "FROM project ORDER BY name");
  std::vector<ProjectRow> projects;
  while (query.Next()) {
    projects.push_back({.name = query.String(0),
                        .created = query.Integer(1),
                        .retention_ns = query.Integer(2),
                        .quota_bytes = query.Integer(3),
                        .stored_bytes = query.Integer(4),
                        .runs = query.Integer(5),
                        .price = query.Real(6),
                        .currency = query.String(7)});
  }
  HEADWAY_RETURN_IF_ERROR(query.status());
  return projects;
}

Result<std::int64_t> SqliteStore::FindOrMakeProject(const std::string& name, std::int64_t when) {
  {
    Query find(writer_.get(), kWrite, "SELECT id FROM project WHERE name = ?", Text{name});
    if (find.Next()) return find.Integer(0);
    HEADWAY_RETURN_IF_ERROR(find.status());
  }
  Query make(writer_.get(), kWrite, "INSERT INTO project (name, created) VALUES (?, ?)", Text{name},
             when);
  HEADWAY_RETURN_IF_ERROR(make.Run());
  return writer_->LastId();
}

Status SqliteStore::PutProject(const ProjectRow& project, const AuditRow& audit) {
  return Change([&]() -> Status {
    const Result<std::int64_t> id = FindOrMakeProject(project.name, audit.time);
    HEADWAY_RETURN_IF_ERROR(id.status());
    Query update(writer_.get(), kWrite,
                 "UPDATE project SET retention = ?, quota = ?, price = ?, currency = ? "
                 "WHERE id = ?",
                 project.retention_ns, project.quota_bytes, project.price, Text{project.currency},
                 *id);
    HEADWAY_RETURN_IF_ERROR(update.Run());
    return WriteDown(audit);
  });
}

// --- Runs

// Of an older run of a name: name@<start>, and the beginning of its uid where that is another's.
Status SqliteStore::LabelOlder(Connection* connection, RunRow* row) {
  row->label = row->name + "@" + FormatCompactTime(WallNs{row->start});
  constexpr std::int64_t kSecond = kNanosPerSecond;
  const std::int64_t second = row->start - (row->start % kSecond + kSecond) % kSecond;
  // Newer ones that began within the same second, but for the newest of all, which is the name's.
  Query newer(connection, kRead,
              "SELECT count(*) FROM run JOIN project ON project.id = run.project_id "
              "WHERE project.name = ?1 AND run.name = ?2 AND run.deleted = 0 AND run.start < ?4 "
              "AND (run.start, run.uid) > (?3, ?5) AND EXISTS (SELECT 1 FROM run AS next "
              "WHERE next.project_id = run.project_id AND next.name = run.name "
              "AND next.deleted = 0 AND (next.start, next.uid) > (run.start, run.uid))",
              Text{row->project}, Text{row->name}, row->start, second + kSecond, row->uid);
  if (newer.Next() && newer.Integer(0) > 0) row->label += "-" + ToHex(row->uid).substr(0, 8);
  return newer.status();
}

Status SqliteStore::Label(Connection* connection, bool named_anew, RunRow* row) {
  row->label = row->name;
  if (row->deleted != 0) row->label = ToHex(row->uid);
  if (row->deleted == 0 && named_anew) return LabelOlder(connection, row);
  return OkStatus();
}

Result<RunPage> SqliteStore::ListRuns(const RunQuery& query) {
  // Which they are comes first: what is shown of them is read for those of the page alone.
  RowSql sql(kRunRows);
  sql.Add(kRunColumns).Add("WHERE run.id IN (SELECT run.id FROM run WHERE run.project_id = ");
  sql.Add("(SELECT id FROM project WHERE name = ").Bind(query.project);
  // The index that has all that lists ask of runs (run_scan) begins with `purged`.
  sql.Add(LooksAtAll(query) ? ") AND run.purged = 0" : ") AND +run.purged = 0");
  if (!query.deleted) sql.Add(" AND run.deleted = 0");
  if (!query.name.empty()) sql.Add(" AND run.name = ").Bind(query.name);
  sql.Where(query.filter);
  HEADWAY_RETURN_IF_ERROR(sql.Behind(query.order, query.after));
  sql.OrderBy(query.order);
  sql.Add(" LIMIT ").Bind(static_cast<std::int64_t>(query.count + 1)).Add(")");
  sql.OrderBy(query.order);

  const Turn turn = TakeReader();
  const Transaction transaction(turn.connection, "BEGIN", kRead);
  HEADWAY_RETURN_IF_ERROR(transaction.status());
  RunPage page;
  std::vector<bool> named_anew;
  {
    Query rows(turn.connection, kRead, Query::Once{sql.text()}, sql.values());
    bool anew = false;
    while (rows.Next()) {
      page.runs.push_back(Row(rows, &anew));
      named_anew.push_back(anew);
    }
    HEADWAY_RETURN_IF_ERROR(rows.status());
  }
  const bool more = page.runs.size() > query.count;
  if (more) page.runs.pop_back();
  for (std::size_t i = 0; i < page.runs.size(); ++i) {
    HEADWAY_RETURN_IF_ERROR(Label(turn.connection, named_anew[i], &page.runs[i]));
  }
  if (more && !page.runs.empty()) {
    const RunRow& last = page.runs.back();
    page.next = PageMark(
        query.order,
        [&last](std::size_t field, std::string_view key) { return RunRowValue(last, field, key); },
        last.start, ToHex(last.uid));
  }
  return page;
}

Result<std::int64_t> SqliteStore::FindRunId(Connection* connection, const RunUid& uid) {
  Query find(connection, kRead,
             "SELECT id FROM run WHERE uid = ?1 UNION ALL "
             "SELECT run_id FROM run_alias WHERE uid = ?1 LIMIT 1",
             uid);
  if (find.Next()) return find.Integer(0);
  HEADWAY_RETURN_IF_ERROR(find.status());
  return std::int64_t{0};
}

Result<RunRow> SqliteStore::ReadRun(Connection* connection, std::int64_t id) {
  static const std::string sql = std::string(kRunColumns) + "WHERE run.id = ?";
  RunRow row;
  bool named_anew = false;
  {
    Query query(connection, kRead, sql, id);
    if (!query.Next()) {
      HEADWAY_RETURN_IF_ERROR(query.status());
      return Status(Code::kNotFound, "there is no such run");
    }
    row = Row(query, &named_anew);
  }
  HEADWAY_RETURN_IF_ERROR(Label(connection, named_anew, &row));
  return row;
}

Result<RunRow> SqliteStore::FindRun(const RunUid& uid) {
  const Turn turn = TakeReader();
  const Transaction transaction(turn.connection, "BEGIN", kRead);
  HEADWAY_RETURN_IF_ERROR(transaction.status());
  const Result<std::int64_t> id = FindRunId(turn.connection, uid);
  HEADWAY_RETURN_IF_ERROR(id.status());
  if (*id == 0) return NoSuch("run", uid);
  return ReadRun(turn.connection, *id);
}

Status SqliteStore::WriteDetails(std::int64_t id, const RunDetails& details) {
  v1::Run message;
  wire::Fill(details, &message);
  const std::string serialised = message.SerializeAsString();
  Query bytes(writer_.get(), kWrite,
              "INSERT INTO run_detail (run_id, bytes) VALUES (?1, ?2) "
              "ON CONFLICT (run_id) DO UPDATE SET bytes = ?2",
              id, std::string_view(serialised));
  HEADWAY_RETURN_IF_ERROR(bytes.Run());
  const std::string workload = details.workload.Text();
  Query columns(writer_.get(), kWrite,
                "UPDATE run SET run_group = nullif(?, ''), phase = nullif(?, ''), "
                "orchestrator = nullif(?, ''), workload = nullif(?, ''), "
                "accelerators = nullif(?, 0) WHERE id = ?",
                Text{details.group}, Text{RunPhaseName(details.phase)}, Text{details.orchestrator},
                Text{workload}, details.accelerators, id);
  HEADWAY_RETURN_IF_ERROR(columns.Run());
  Query old(writer_.get(), kWrite, "DELETE FROM run_label WHERE run_id = ?", id);
  HEADWAY_RETURN_IF_ERROR(old.Run());
  for (const auto& [key, value] : details.labels) {
    Query label(writer_.get(), kWrite,
                "INSERT INTO run_label (run_id, key, value) VALUES (?, ?, ?)", id, Text{key},
                Text{value});
    HEADWAY_RETURN_IF_ERROR(label.Run());
  }
  return OkStatus();
}

Status SqliteStore::CreateRun(const RunRow& run, const AuditRow& audit) {
  return Change([&]() -> Status {
    const Result<std::int64_t> known = FindRunId(writer_.get(), run.uid);
    HEADWAY_RETURN_IF_ERROR(known.status());
    if (*known != 0) return {Code::kAlreadyExists, "there is a run " + ToHex(run.uid)};
    const Result<std::int64_t> project = FindOrMakeProject(run.project, run.created);
    HEADWAY_RETURN_IF_ERROR(project.status());
    Query make(writer_.get(), kWrite,
               "INSERT INTO run (uid, project_id, name, start, began, created, updated, creator, "
               "state) VALUES (?1, ?2, ?3, ?4, ?4, ?4, ?4, nullif(?5, ''), ?6)",
               run.uid, *project, Text{run.name}, run.created, Text{run.creator},
               Text{RunStateName(RunState::kNotStarted)});
    HEADWAY_RETURN_IF_ERROR(make.Run());
    HEADWAY_RETURN_IF_ERROR(WriteDetails(writer_->LastId(), run.details));
    return WriteDown(audit);
  });
}

Status SqliteStore::UpdateRun(const RunUid& uid, std::int64_t version, const RunDetails& details,
                              std::int64_t when, const AuditRow& audit) {
  return Change([&]() -> Status {
    const Result<std::int64_t> id = FindRunId(writer_.get(), uid);
    HEADWAY_RETURN_IF_ERROR(id.status());
    if (*id == 0) return NoSuch("run", uid);
    Query update(writer_.get(), kWrite,
                 "UPDATE run SET version = version + 1, updated = ? WHERE id = ? AND version = ?",
                 when, *id, version);
    HEADWAY_RETURN_IF_ERROR(update.Run());
    if (writer_->Changes() == 0) {
      return {Code::kAborted, "run " + ToHex(uid) + " was changed meanwhile; read it again"};
    }
    HEADWAY_RETURN_IF_ERROR(WriteDetails(*id, details));
    return WriteDown(audit);
  });
}

Status SqliteStore::DeleteRun(const RunUid& uid, std::int64_t when, const AuditRow& audit) {
  return Change([&]() -> Status {
    const Result<std::int64_t> id = FindRunId(writer_.get(), uid);
    HEADWAY_RETURN_IF_ERROR(id.status());
    Query update(writer_.get(), kWrite,
                 "UPDATE run SET deleted = ?, version = version + 1 WHERE id = ? AND purged = 0",
                 when, *id);
    HEADWAY_RETURN_IF_ERROR(update.Run());
    if (writer_->Changes() == 0) return NoSuch("run", uid);
    if (when != 0) {
      Query links(writer_.get(), kWrite,
                  "UPDATE link SET revoked = ? WHERE revoked = 0 AND "
                  "run_uid = (SELECT uid FROM run WHERE id = ?)",
                  when, *id);
      HEADWAY_RETURN_IF_ERROR(links.Run());
    }
    return WriteDown(audit);
  });
}

Result<std::int64_t> SqliteStore::PurgeRun(const RunUid& uid) {
  std::int64_t left = 0;
  const Status status = Change([&]() -> Status {
    const Result<std::int64_t> id = FindRunId(writer_.get(), uid);
    HEADWAY_RETURN_IF_ERROR(id.status());
    Query deleted(writer_.get(), kWrite, "SELECT deleted FROM run WHERE id = ?", *id);
    if (!deleted.Next()) return deleted.status().ok() ? NoSuch("run", uid) : deleted.status();
    if (deleted.Integer(0) == 0) {
      return {Code::kFailedPrecondition, "run " + ToHex(uid) + " is not deleted"};
    }
    return PurgeSome(*id, &left);
  });
  HEADWAY_RETURN_IF_ERROR(status);
  return left;
}

Status SqliteStore::CountBlobs(const RunUid& run, std::uint64_t bytes) {
  return Change([&]() -> Status {
    const Result<std::int64_t> id = FindRunId(writer_.get(), run);
    HEADWAY_RETURN_IF_ERROR(id.status());
    Query before(writer_.get(), kWrite, "SELECT blob_bytes, purged FROM run WHERE id = ?", *id);
    if (!before.Next()) return before.status().ok() ? NoSuch("run", run) : before.status();
    const std::int64_t more = static_cast<std::int64_t>(bytes) - before.Integer(0);
    if (more > 0 && before.Integer(1) != 0) {
      return {Code::kFailedPrecondition, "run " + ToHex(run) + " was removed"};
    }
    if (more > 0) HEADWAY_RETURN_IF_ERROR(CheckQuota(*id, static_cast<std::uint64_t>(more)));
    Query update(writer_.get(), kWrite, "UPDATE run SET blob_bytes = ? WHERE id = ?",
                 static_cast<std::int64_t>(bytes), *id);
    HEADWAY_RETURN_IF_ERROR(update.Run());
    Query project(writer_.get(), kWrite,
                  "UPDATE project SET stored_bytes = stored_bytes + ? WHERE id = "
                  "(SELECT project_id FROM run WHERE id = ?)",
                  more, *id);
    return project.Run();
  });
}

Status SqliteStore::PurgeSome(std::int64_t id, std::int64_t* left) {
  // From here on nobody reads what is left of it.
  Query purged(writer_.get(), kWrite, "UPDATE run SET purged = 1 WHERE id = ?", id);
  HEADWAY_RETURN_IF_ERROR(purged.Run());
  const Result<bool> items_left = RemoveItems(id, kPurgeRows);
  HEADWAY_RETURN_IF_ERROR(items_left.status());
  struct Old {
    std::int64_t id, journal, bytes;
  };
  std::vector<Old> some;
  {
    Query chunks(writer_.get(), kWrite,
                 "SELECT chunk.id, chunk.journal_id, length(chunk.bytes) FROM journal "
                 "JOIN chunk ON chunk.journal_id = journal.id WHERE journal.run_id = ? LIMIT ?",
                 id, kPurgeRows);
    while (chunks.Next()) {
      some.push_back({chunks.Integer(0), chunks.Integer(1), chunks.Integer(2)});
    }
    HEADWAY_RETURN_IF_ERROR(chunks.status());
  }
  for (const Old& old : some) {
    Query remove(writer_.get(), kWrite, "DELETE FROM chunk WHERE id = ?", old.id);
    HEADWAY_RETURN_IF_ERROR(remove.Run());
    HEADWAY_RETURN_IF_ERROR(Account(old.journal, -old.bytes));
  }
  if (*items_left || static_cast<std::int64_t>(some.size()) == kPurgeRows) {
    Query sum(writer_.get(), kWrite,
              "SELECT coalesce(sum(state.stored_bytes), 0) + "
              "(SELECT item_bytes FROM run WHERE id = ?1) FROM journal "
              "JOIN state ON state.journal_id = journal.id WHERE journal.run_id = ?1",
              id);
    if (!sum.Next()) return sum.status();
    *left = std::max<std::int64_t>(sum.Integer(0), 1);
    return OkStatus();
  }
  *left = 0;
  HEADWAY_RETURN_IF_ERROR(RemovePoints(id));
  HEADWAY_RETURN_IF_ERROR(RemoveLedger(id));
  for (const char* const sql :
       {"DELETE FROM state WHERE journal_id IN (SELECT id FROM journal WHERE run_id = ?)",
        // That it was there is known by its uid.
        "UPDATE journal SET header = x'', node_id = 0 WHERE run_id = ?",
        "DELETE FROM run_label WHERE run_id = ?", "DELETE FROM run_detail WHERE run_id = ?",
        "DELETE FROM run_digest WHERE run_id = ?", "DELETE FROM stale_run WHERE run_id = ?"}) {
    Query remove(writer_.get(), kWrite, sql, id);
    HEADWAY_RETURN_IF_ERROR(remove.Run());
  }
  return RemoveNodes(id);
}

// --- Sums over runs

namespace {

/// Those with the largest of a value, the largest first at the end.
class Top {
 public:
  explicit Top(std::size_t most) : most_(most) {}

  void Offer(FleetSums::Wide value, std::int64_t id) {
    if (most_ == 0 || value <= 0 || (heap_.size() == most_ && value <= heap_.front().first)) return;
    if (heap_.size() == most_) {
      std::ranges::pop_heap(heap_, std::greater());
      heap_.pop_back();
    }
    heap_.emplace_back(value, id);
    std::ranges::push_heap(heap_, std::greater());
  }
  std::vector<std::int64_t> Take() {
    std::ranges::sort(heap_, std::greater());
    std::vector<std::int64_t> ids;
    for (const auto& [value, id] : heap_) ids.push_back(id);
    return ids;
  }

 private:
  std::size_t most_;
  std::vector<std::pair<FleetSums::Wide, std::int64_t>> heap_;  // the least of them first
};

bool IsLive(std::string_view state) {
  return state == RunStateName(RunState::kRunning) || state == RunStateName(RunState::kRestarting);
}

}  // namespace

Result<FleetTotals> SqliteStore::SumRuns(const FleetQuery& query) {
  RowSql sql(kRunRows);
  sql.Add("SELECT run.id, run.state, run.accelerators, run_digest.bytes, stale_run.run_id, ");
  if (query.group) {
    sql.Field(query.group->field, query.group->key);
  } else {
    sql.Add("''");
  }
  sql.Add(" FROM run LEFT JOIN run_digest ON run_digest.run_id = run.id ");
  sql.Add(
         "LEFT JOIN stale_run ON stale_run.run_id = run.id WHERE run.project_id = (SELECT id FROM "
         "project WHERE name = ")
      .Bind(query.project);
  sql.Add(") AND run.purged = 0 AND run.deleted = 0");
  if (!query.name.empty()) sql.Add(" AND run.name = ").Bind(query.name);
  sql.Where(query.filter);

  const Turn turn = TakeReader();
  const Transaction transaction(turn.connection, "BEGIN", kRead);
  HEADWAY_RETURN_IF_ERROR(transaction.status());
  FleetTotals totals;
  Top by_time(query.top);
  Top by_accelerator_time(query.top);
  {
    Query rows(turn.connection, kRead, Query::Once{sql.text()}, sql.values());
    while (rows.Next()) {
      FleetSums one;
      one.runs = 1;
      one.live = IsLive(rows.Bytes(1)) ? 1 : 0;
      const std::int64_t accelerators = rows.Integer(2);
      one.without_accelerators = accelerators == 0 ? 1 : 0;
      const std::optional<RunDigest> digest = UnpackDigest(rows.Bytes(3));
      one.undigested = digest || rows.IsNull(4) ? 0 : 1;
      if (digest) {
        for (std::size_t i = 0; i < one.ns.size(); ++i) one.ns[i] = digest->ns[i];
        one.disruptions = digest->disruptions;
        one.accelerator_ns = one.elapsed_ns() * accelerators;
        one.lost_accelerator_ns = one.lost_ns() * accelerators;
        by_time.Offer(one.lost_ns(), rows.Integer(0));
        by_accelerator_time.Offer(one.lost_accelerator_ns, rows.Integer(0));
      }
      totals.all.Add(one);
      if (query.group) totals.parts[rows.String(5)].Add(one);
    }
    HEADWAY_RETURN_IF_ERROR(rows.status());
  }
  totals.by_accelerator_time = totals.all.runs > 0 && totals.all.without_accelerators == 0;
  for (const std::int64_t id :
       (totals.by_accelerator_time ? by_accelerator_time : by_time).Take()) {
    Result<RunRow> row = ReadRun(turn.connection, id);
    HEADWAY_RETURN_IF_ERROR(row.status());
    totals.costliest.push_back(*std::move(row));
  }
  return totals;
}

// --- Summaries

Result<std::vector<StaleRun>> SqliteStore::ListStaleRuns(std::size_t count) {
  const Turn turn = TakeReader();
  Query query(turn.connection, kRead,
              "SELECT run.uid, stale_run.mark FROM stale_run JOIN run ON run.id = stale_run.run_id "
              "ORDER BY run.summarised LIMIT ?",
              static_cast<std::int64_t>(count));
  std::vector<StaleRun> stale;
  while (query.Next()) stale.push_back({query.UidAt<RunUid>(0), query.Integer(1)});
  HEADWAY_RETURN_IF_ERROR(query.status());
  return stale;
}

Status SqliteStore::SummariseRuns(std::span<const SummarisedRun> runs) {
  if (runs.empty()) return OkStatus();
  return Change([&]() -> Status {
    for (const SummarisedRun& run : runs) HEADWAY_RETURN_IF_ERROR(Summarise(run));
    return OkStatus();
  });
}

Status SqliteStore::Summarise(const SummarisedRun& run) {
  const RunSummary& summary = run.summary;
  const Result<std::int64_t> id = FindRunId(writer_.get(), run.stale.uid);
  HEADWAY_RETURN_IF_ERROR(id.status());
  {
    Query update(writer_.get(), kWrite,
                 "UPDATE run SET state = ?, finish = ?, elapsed = ?, goodput = ?, attempts = ?, "
                 "last_step = ?, summarised = ?, began = coalesce(?, start) WHERE id = ?",
                 Text{RunStateName(summary.state)}, summary.end, summary.elapsed_ns,
                 summary.goodput, summary.attempts, summary.last_step, summary.as_of, summary.start,
                 *id);
    HEADWAY_RETURN_IF_ERROR(update.Run());
  }
  if (run.digest) {
    const std::string packed = PackDigest(*run.digest);
    Query digest(writer_.get(), kWrite,
                 "INSERT INTO run_digest (run_id, bytes) SELECT id, ?2 FROM run "
                 "WHERE id = ?1 AND purged = 0 ON CONFLICT (run_id) DO UPDATE SET bytes = ?2",
                 *id, std::string_view(packed));
    HEADWAY_RETURN_IF_ERROR(digest.Run());
  }
  if (run.phase != RunPhase::kUnspecified) {
    Result<RunRow> row = ReadRun(writer_.get(), *id);
    HEADWAY_RETURN_IF_ERROR(row.status());
    if (!row->purged && row->details.phase != run.phase) {
      row->details.phase = run.phase;
      HEADWAY_RETURN_IF_ERROR(WriteDetails(*id, row->details));
      Query version(writer_.get(), kWrite, "UPDATE run SET version = version + 1 WHERE id = ?",
                    *id);
      HEADWAY_RETURN_IF_ERROR(version.Run());
    }
  }
  if (!run.settled) return OkStatus();
  Query done(writer_.get(), kWrite, "DELETE FROM stale_run WHERE run_id = ? AND mark = ?", *id,
             run.stale.mark);
  return done.Run();
}

// --- Operations

namespace {

constexpr std::string_view kOperationColumns =
    "SELECT id, verb, target, name, project, who, created, finished, progress, cancelled, error, "
    "message FROM operation ";

OperationRow OperationOf(const Query& row) {
  return {.id = row.String(0),
          .verb = row.String(1),
          .target = row.String(2),
          .name = row.String(3),
          .project = row.String(4),
          .who = row.String(5),
          .created = row.Integer(6),
          .finished = row.Integer(7),
          .progress = row.Real(8),
          .cancelled = row.Integer(9) != 0,
          .error = static_cast<Code>(row.Integer(10)),
          .message = row.String(11)};
}

Status NoOperation(std::string_view id) {
  return {Code::kNotFound, "there is no operation " + std::string(id)};
}

}  // namespace

Status SqliteStore::AddOperation(const OperationRow& operation, const AuditRow& audit) {
  return Change([&]() -> Status {
    {
      Query find(writer_.get(), kWrite, "SELECT 1 FROM operation WHERE id = ?", Text{operation.id});
      if (find.Next()) {
        return {Code::kAlreadyExists, "there is an operation " + operation.id + " already"};
      }
      HEADWAY_RETURN_IF_ERROR(find.status());
    }
    Query insert(writer_.get(), kWrite,
                 "INSERT INTO operation (id, verb, target, name, project, who, created, finished, "
                 "progress, cancelled, error, message) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                 Text{operation.id}, Text{operation.verb}, Text{operation.target},
                 Text{operation.name}, Text{operation.project}, Text{operation.who},
                 operation.created, operation.finished, operation.progress,
                 std::int64_t{operation.cancelled}, static_cast<std::int64_t>(operation.error),
                 Text{operation.message});
    HEADWAY_RETURN_IF_ERROR(insert.Run());
    return WriteDown(audit);
  });
}

Result<OperationRow> SqliteStore::FindOperation(std::string_view id) {
  static const std::string sql = std::string(kOperationColumns) + "WHERE id = ?";
  const Turn turn = TakeReader();
  Query query(turn.connection, kRead, sql, Text{id});
  if (query.Next()) return OperationOf(query);
  HEADWAY_RETURN_IF_ERROR(query.status());
  return NoOperation(id);
}

Result<std::vector<OperationRow>> SqliteStore::ListOperations(std::string_view project,
                                                              bool unfinished) {
  static const std::string sql =
      std::string(kOperationColumns) +
      "WHERE (?1 = '' OR project = ?1) AND (?2 = 0 OR finished = 0) ORDER BY created DESC, id";
  const Turn turn = TakeReader();
  Query query(turn.connection, kRead, sql, Text{project}, std::int64_t{unfinished});
  std::vector<OperationRow> rows;
  while (query.Next()) rows.push_back(OperationOf(query));
  HEADWAY_RETURN_IF_ERROR(query.status());
  return rows;
}

Status SqliteStore::FoundOperation(std::string_view id) const {
  if (writer_->Changes() > 0) return OkStatus();
  return NoOperation(id);
}

Status SqliteStore::UpdateOperation(const OperationRow& operation) {
  return Change([&]() -> Status {
    Query update(writer_.get(), kWrite,
                 "UPDATE operation SET finished = ?, progress = ?, error = ?, message = ? "
                 "WHERE id = ?",
                 operation.finished, operation.progress, static_cast<std::int64_t>(operation.error),
                 Text{operation.message}, Text{operation.id});
    HEADWAY_RETURN_IF_ERROR(update.Run());
    return FoundOperation(operation.id);
  });
}

Status SqliteStore::CancelOperation(std::string_view id, const AuditRow& audit) {
  return Change([&]() -> Status {
    Query update(writer_.get(), kWrite, "UPDATE operation SET cancelled = 1 WHERE id = ?",
                 Text{id});
    HEADWAY_RETURN_IF_ERROR(update.Run());
    HEADWAY_RETURN_IF_ERROR(FoundOperation(id));
    return WriteDown(audit);
  });
}

Status SqliteStore::DeleteOperation(std::string_view id, const AuditRow& audit) {
  return Change([&]() -> Status {
    Query remove(writer_.get(), kWrite, "DELETE FROM operation WHERE id = ?", Text{id});
    HEADWAY_RETURN_IF_ERROR(remove.Run());
    HEADWAY_RETURN_IF_ERROR(FoundOperation(id));
    return WriteDown(audit);
  });
}

}  // namespace headway::store
