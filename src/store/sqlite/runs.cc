#include <headway/v1/run_service.pb.h>
#include <headway/v1/store.pb.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/time_format.h"
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
    " WHERE point_source.run_id = run.id) + run.blob_bytes "
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
};

/// SQL and what is bound in it, in order.
struct Sql {
  std::string text;
  std::vector<FieldValue> values;

  Sql& Add(std::string_view more) {
    text += more;
    return *this;
  }
  Sql& Bind(FieldValue value) {
    text += '?';
    values.push_back(std::move(value));
    return *this;
  }
  Sql& Uid(const RunUid& uid) { return Add("x'").Add(ToHex(uid)).Add("'"); }
  void Field(std::size_t field, const std::string& key) {
    if (field < std::size(kFieldColumns)) {
      Add(kFieldColumns[field]);
      return;
    }
    Add("(SELECT value FROM run_label WHERE run_label.run_id = run.id AND run_label.key = ");
    Bind(key).Add(")");
  }
};

std::string_view SignOf(Filter::Operator op) {
  switch (op) {
    case Filter::Operator::kEqual: return " = ";
    case Filter::Operator::kUnequal: return " != ";
    case Filter::Operator::kLess: return " < ";
    case Filter::Operator::kLessEqual: return " <= ";
    case Filter::Operator::kGreater: return " > ";
    default: return " >= ";
  }
}

// True or false, never NULL: what is not known is neither this nor that.
void Ask(const Filter::Node& node, Sql* sql) {
  switch (node.op) {
    case Filter::Operator::kAnd:
    case Filter::Operator::kOr: {
      const bool both = node.op == Filter::Operator::kAnd;
      sql->Add(both ? "(1" : "(0");
      for (const Filter::Node& operand : node.operands) {
        sql->Add(both ? " AND " : " OR ");
        Ask(operand, sql);
      }
      sql->Add(")");
      return;
    }
    case Filter::Operator::kNot:
      sql->Add("(NOT ");
      Ask(node.operands.front(), sql);
      sql->Add(")");
      return;
    case Filter::Operator::kKnown:
      sql->Field(node.field, node.key);
      sql->Add(" IS NOT NULL");
      return;
    case Filter::Operator::kHas:
      sql->Add("coalesce(instr(");
      sql->Field(node.field, node.key);
      sql->Add(", ").Bind(node.value).Add(") > 0, 0)");
      return;
    default: break;
  }
  if (node.op == Filter::Operator::kEqual && node.field >= std::size(kFieldColumns)) {
    // One that an index answers.
    sql->Add("run.id IN (SELECT run_id FROM run_label WHERE key = ").Bind(node.key);
    sql->Add(" AND value = ").Bind(node.value).Add(")");
    return;
  }
  sql->Add("coalesce(");
  sql->Field(node.field, node.key);
  sql->Add(SignOf(node.op)).Bind(node.value).Add(", 0)");
}

/// One column that rows are ordered by.
struct OrderColumn {
  std::size_t field = 0;
  std::string key;
  bool descending = false;
};

std::vector<OrderColumn> ColumnsOf(const RowOrder& order) {
  std::vector<OrderColumn> columns;
  for (const RowOrder::Key& key : order.keys()) {
    columns.push_back({key.field, key.key, key.descending});
  }
  return columns;
}

FieldValue ToField(const v1::RunPageMark::Value& value) {
  switch (value.kind_case()) {
    case v1::RunPageMark::Value::kText: return value.text();
    case v1::RunPageMark::Value::kInteger: return value.integer();
    case v1::RunPageMark::Value::kReal: return value.real();
    case v1::RunPageMark::Value::KIND_NOT_SET: break;
  }
  return {};
}

v1::RunPageMark::Value ToMark(const FieldValue& field) {
  v1::RunPageMark::Value value;
  if (const auto* const text = std::get_if<std::string>(&field)) value.set_text(*text);
  if (const auto* const integer = std::get_if<std::int64_t>(&field)) value.set_integer(*integer);
  if (const auto* const real = std::get_if<double>(&field)) value.set_real(*real);
  return value;
}

// What comes behind the row of `mark`: behind it by the first column, or the same there and behind
// by the second, ... Unknown values come last, in either direction.
void AskBehind(const std::vector<OrderColumn>& columns, const v1::RunPageMark& mark,
               const RunUid& uid, Sql* sql) {
  sql->Add(" AND (0");
  for (std::size_t last = 0; last <= columns.size(); ++last) {
    sql->Add(" OR (1");
    for (std::size_t i = 0; i < last; ++i) {
      sql->Add(" AND ");
      sql->Field(columns[i].field, columns[i].key);
      sql->Add(" IS ").Bind(ToField(mark.values(static_cast<int>(i))));
    }
    if (last == columns.size()) {
      sql->Add(" AND (run.start, run.uid) < (").Bind(mark.start()).Add(", ");
      sql->Uid(uid).Add(")");
    } else {
      const FieldValue value = ToField(mark.values(static_cast<int>(last)));
      if (std::holds_alternative<std::monostate>(value)) {
        sql->Add(" AND 0");
      } else {
        sql->Add(" AND coalesce(");
        sql->Field(columns[last].field, columns[last].key);
        sql->Add(columns[last].descending ? " < " : " > ").Bind(value).Add(", 1)");
      }
    }
    sql->Add(")");
  }
  sql->Add(")");
}

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
  return row;
}

}  // namespace

// --- Projects

Result<std::vector<ProjectRow>> SqliteStore::ListProjects() {
  const Turn turn = TakeReader();
  Query query(turn.connection, kRead,
              "SELECT name, created, retention, quota, stored_bytes, (SELECT count(*) FROM run "
              "WHERE run.project_id = project.id AND run.deleted = 0) FROM project ORDER BY name");
  std::vector<ProjectRow> projects;
  while (query.Next()) {
    projects.push_back({.name = query.String(0),
                        .created = query.Integer(1),
                        .retention_ns = query.Integer(2),
                        .quota_bytes = query.Integer(3),
                        .stored_bytes = query.Integer(4),
                        .runs = query.Integer(5)});
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
    Query update(writer_.get(), kWrite, "UPDATE project SET retention = ?, quota = ? WHERE id = ?",
                 project.retention_ns, project.quota_bytes, *id);
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
  const std::vector<OrderColumn> columns = ColumnsOf(query.order);
  const auto order = [&columns](Sql* sql) {
    sql->Add(" ORDER BY ");
    for (const OrderColumn& column : columns) {
      sql->Field(column.field, column.key);
      sql->Add(column.descending ? " DESC NULLS LAST, " : " ASC NULLS LAST, ");
    }
    sql->Add("run.start DESC, run.uid DESC");
  };
  // Which they are comes first: what is shown of them is read for those of the page alone.
  Sql sql;
  sql.Add(kRunColumns).Add("WHERE run.id IN (SELECT run.id FROM run WHERE run.project_id = ");
  sql.Add("(SELECT id FROM project WHERE name = ").Bind(query.project).Add(") AND run.purged = 0");
  if (!query.deleted) sql.Add(" AND run.deleted = 0");
  if (!query.name.empty()) sql.Add(" AND run.name = ").Bind(query.name);
  if (!query.filter.root().operands.empty() || query.filter.root().op != Filter::Operator::kAnd) {
    sql.Add(" AND ");
    Ask(query.filter.root(), &sql);
  }
  if (!query.after.empty()) {
    v1::RunPageMark mark;
    const bool whole = mark.ParseFromString(query.after);
    const Result<RunUid> uid = ParseUid<RunUid>(mark.uid());
    if (!whole || !uid.ok() || mark.values_size() != static_cast<int>(columns.size())) {
      return Status(Code::kInvalidArgument, "the mark is of no page of this list");
    }
    AskBehind(columns, mark, *uid, &sql);
  }
  order(&sql);
  sql.Add(" LIMIT ").Bind(static_cast<std::int64_t>(query.count + 1)).Add(")");
  order(&sql);

  const Turn turn = TakeReader();
  const Transaction transaction(turn.connection, "BEGIN", kRead);
  HEADWAY_RETURN_IF_ERROR(transaction.status());
  RunPage page;
  std::vector<bool> named_anew;
  {
    Query rows(turn.connection, kRead, Query::Once{sql.text}, sql.values);
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
    v1::RunPageMark mark;
    for (const OrderColumn& column : columns) {
      *mark.add_values() = ToMark(RunRowValue(last, column.field, column.key));
    }
    mark.set_start(last.start);
    mark.set_uid(ToHex(last.uid));
    page.next = mark.SerializeAsString();
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
                "orchestrator = nullif(?, ''), workload = nullif(?, '') WHERE id = ?",
                Text{details.group}, Text{RunPhaseName(details.phase)}, Text{details.orchestrator},
                Text{workload}, id);
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
  if (static_cast<std::int64_t>(some.size()) == kPurgeRows) {
    Query sum(writer_.get(), kWrite,
              "SELECT coalesce(sum(state.stored_bytes), 0) FROM journal "
              "JOIN state ON state.journal_id = journal.id WHERE journal.run_id = ?",
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
        "UPDATE journal SET header = x'' WHERE run_id = ?",
        "DELETE FROM run_label WHERE run_id = ?", "DELETE FROM run_detail WHERE run_id = ?",
        "DELETE FROM stale_run WHERE run_id = ?"}) {
    Query remove(writer_.get(), kWrite, sql, id);
    HEADWAY_RETURN_IF_ERROR(remove.Run());
  }
  return OkStatus();
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
