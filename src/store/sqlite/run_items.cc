#include "store/run_items.h"

#include <utility>

#include "store/sqlite/row_sql.h"
#include "store/sqlite/sqlite_store.h"

namespace headway::store {
namespace {

// What a row is made of; `Row` reads it.
constexpr std::string_view kItemColumns =
    "SELECT run_item.uid, run_item.kind, run.uid, project.name, run.name, run_item.start, "
    "run_item.finish, run_item.type, run_item.level, run_item.name, run_item.attempt, "
    "run_item.found, run_item.bytes, run_item.creator, run_item.created, run_item.updated, "
    "run_item.version FROM run_item JOIN run ON run.id = run_item.run_id "
    "JOIN project ON project.id = run_item.project_id ";

std::string_view SqlOf(ItemColumn column) {
  switch (column) {
    case ItemColumn::kType: return "run_item.type";
    case ItemColumn::kLevel: return "run_item.level";
    case ItemColumn::kStart: return "run_item.start";
    case ItemColumn::kEnd: return "run_item.finish";
    case ItemColumn::kName: return "run_item.name";
    case ItemColumn::kAttempt: return "run_item.attempt";
    case ItemColumn::kRun: return "(SELECT name FROM run WHERE run.id = run_item.run_id)";
    case ItemColumn::kFound: return "run_item.found";
    case ItemColumn::kCreated: return "run_item.created";
    case ItemColumn::kUpdated: return "run_item.updated";
    case ItemColumn::kUid: break;
  }
  return "lower(hex(run_item.uid))";
}

std::optional<std::int64_t> Known(const Query& row, int column) {
  if (row.IsNull(column)) return std::nullopt;
  return row.Integer(column);
}

ItemRow Row(const Query& query) {
  return {.uid = query.UidAt<ItemUid>(0),
          .kind = static_cast<ItemKind>(query.Integer(1)),
          .run_uid = query.UidAt<RunUid>(2),
          .project = query.String(3),
          .run = query.String(4),
          .start = query.Integer(5),
          .end = Known(query, 6),
          .type = query.String(7),
          .level = Known(query, 8),
          .name = query.String(9),
          .attempt = Known(query, 10),
          .found = query.Bytes(11) == "true",
          .bytes = query.String(12),
          .creator = query.String(13),
          .created = query.Integer(14),
          .updated = query.Integer(15),
          .version = query.Integer(16)};
}

std::string_view FoundText(const ItemRow& item) { return item.found ? "true" : "false"; }

std::int64_t SizeOf(std::string_view bytes) { return static_cast<std::int64_t>(bytes.size()); }

}  // namespace

Status SqliteStore::AccountItems(std::int64_t run_id, std::int64_t items, std::int64_t bytes) {
  Query run(writer_.get(), kWrite,
            "UPDATE run SET items = items + ?, item_bytes = item_bytes + ? WHERE id = ?", items,
            bytes, run_id);
  HEADWAY_RETURN_IF_ERROR(run.Run());
  Query project(writer_.get(), kWrite,
                "UPDATE project SET stored_bytes = stored_bytes + ? WHERE id = "
                "(SELECT project_id FROM run WHERE id = ?)",
                bytes, run_id);
  return project.Run();
}

Status SqliteStore::CreateItem(const ItemRow& item, std::int64_t most, const AuditRow& audit) {
  return Change([&]() -> Status {
    const Result<std::int64_t> run_id = FindRunId(writer_.get(), item.run_uid);
    HEADWAY_RETURN_IF_ERROR(run_id.status());
    {
      Query run(writer_.get(), kWrite, "SELECT items FROM run WHERE id = ? AND purged = 0",
                *run_id);
      if (!run.Next()) return run.status().ok() ? NoSuch("run", item.run_uid) : run.status();
      Query find(writer_.get(), kWrite, "SELECT 1 FROM run_item WHERE uid = ?", item.uid);
      if (find.Next()) {
        return {Code::kAlreadyExists, "there is an item " + ToHex(item.uid) + " already"};
      }
      HEADWAY_RETURN_IF_ERROR(find.status());
      if (run.Integer(0) >= most) {
        return {Code::kResourceExhausted, "run " + ToHex(item.run_uid) + " has " +
                                              std::to_string(run.Integer(0)) +
                                              " events, profiles and targets, and may have " +
                                              std::to_string(most) + "; delete some"};
      }
    }
    HEADWAY_RETURN_IF_ERROR(CheckQuota(*run_id, item.bytes.size()));
    Query insert(
        writer_.get(), kWrite,
        "INSERT INTO run_item (uid, kind, run_id, project_id, start, finish, type, level, name, "
        "attempt, found, version, creator, created, updated, bytes) VALUES (?1, ?2, ?3, "
        "(SELECT project_id FROM run WHERE id = ?3), ?4, ?5, nullif(?6, ''), ?7, nullif(?8, ''), "
        "?9, ?10, 1, nullif(?11, ''), ?12, ?12, ?13)",
        item.uid, static_cast<std::int64_t>(item.kind), *run_id, item.start, item.end,
        Text{item.type}, item.level, Text{item.name}, item.attempt, Text{FoundText(item)},
        Text{item.creator}, item.created, std::string_view(item.bytes));
    HEADWAY_RETURN_IF_ERROR(insert.Run());
    HEADWAY_RETURN_IF_ERROR(AccountItems(*run_id, 1, SizeOf(item.bytes)));
    return WriteDown(audit);
  });
}

Result<ItemRow> SqliteStore::FindItem(ItemKind kind, const ItemUid& uid) {
  static const std::string sql =
      std::string(kItemColumns) + "WHERE run_item.uid = ? AND run_item.kind = ? AND run.purged = 0";
  const Turn turn = TakeReader();
  const auto number = static_cast<std::int64_t>(kind);
  Query query(turn.connection, kRead, sql, uid, number);
  if (query.Next()) return Row(query);
  HEADWAY_RETURN_IF_ERROR(query.status());
  return NoSuch("item", uid);
}

Result<ItemPage> SqliteStore::ListItems(const ItemQuery& query) {
  std::vector<std::string_view> fields;
  for (std::size_t i = 0; i < ItemFields(query.kind).size(); ++i) {
    fields.push_back(SqlOf(ColumnOf(query.kind, i)));
  }
  // Which they are comes first: the bytes are read for those of the page alone.
  RowSql sql({.fields = fields, .start = "run_item.start", .uid = "run_item.uid"});
  sql.Add(kItemColumns).Add("WHERE run_item.id IN (SELECT run_item.id FROM run_item WHERE ");
  if (query.run) {
    sql.Add("run_item.run_id = (SELECT id FROM run WHERE uid = x'").Add(ToHex(*query.run));
    sql.Add("' AND purged = 0)");
  } else {
    sql.Add("run_item.project_id = (SELECT id FROM project WHERE name = ").Bind(query.project);
    sql.Add(") AND EXISTS (SELECT 1 FROM run WHERE run.id = run_item.run_id AND run.deleted = 0");
    if (!query.run_name.empty()) sql.Add(" AND run.name = ").Bind(query.run_name);
    sql.Add(")");
  }
  sql.Add(" AND run_item.kind = ").Bind(static_cast<std::int64_t>(query.kind));
  sql.Where(query.filter);
  HEADWAY_RETURN_IF_ERROR(sql.Behind(query.order, query.after));
  sql.OrderBy(query.order);
  sql.Add(" LIMIT ").Bind(static_cast<std::int64_t>(query.count + 1)).Add(")");
  sql.OrderBy(query.order);

  const Turn turn = TakeReader();
  ItemPage page;
  Query rows(turn.connection, kRead, Query::Once{sql.text()}, sql.values());
  bool more = false;
  std::size_t bytes = 0;
  while (!more && rows.Next()) {
    more = page.items.size() == query.count || bytes >= query.bytes;
    if (more) break;
    page.items.push_back(Row(rows));
    bytes += page.items.back().bytes.size();
  }
  HEADWAY_RETURN_IF_ERROR(rows.status());
  if (!more || page.items.empty()) return page;
  const ItemRow& last = page.items.back();
  page.next = PageMark(
      query.order, [&last](std::size_t field, std::string_view) { return ItemValue(last, field); },
      last.start, ToHex(last.uid));
  return page;
}

Status SqliteStore::UpdateItem(const ItemRow& item, const AuditRow& audit) {
  return Change([&]() -> Status {
    const Result<OldItem> old = FindOld(item.kind, item.uid, item.version);
    HEADWAY_RETURN_IF_ERROR(old.status());
    const std::int64_t more = SizeOf(item.bytes) - old->bytes;
    if (more > 0) {
      HEADWAY_RETURN_IF_ERROR(CheckQuota(old->run_id, static_cast<std::uint64_t>(more)));
    }
    Query update(writer_.get(), kWrite,
                 "UPDATE run_item SET start = ?, finish = ?, type = nullif(?, ''), level = ?, "
                 "name = nullif(?, ''), attempt = ?, found = ?, updated = ?, bytes = ?, "
                 "version = version + 1 WHERE id = ?",
                 item.start, item.end, Text{item.type}, item.level, Text{item.name}, item.attempt,
                 Text{FoundText(item)}, item.updated, std::string_view(item.bytes), old->id);
    HEADWAY_RETURN_IF_ERROR(update.Run());
    HEADWAY_RETURN_IF_ERROR(AccountItems(old->run_id, 0, more));
    return WriteDown(audit);
  });
}

Status SqliteStore::DeleteItem(ItemKind kind, const ItemUid& uid, std::int64_t version,
                               const AuditRow& audit) {
  return Change([&]() -> Status {
    const Result<OldItem> old = FindOld(kind, uid, version);
    HEADWAY_RETURN_IF_ERROR(old.status());
    Query remove(writer_.get(), kWrite, "DELETE FROM run_item WHERE id = ?", old->id);
    HEADWAY_RETURN_IF_ERROR(remove.Run());
    HEADWAY_RETURN_IF_ERROR(AccountItems(old->run_id, -1, -old->bytes));
    return WriteDown(audit);
  });
}

Result<SqliteStore::OldItem> SqliteStore::FindOld(ItemKind kind, const ItemUid& uid,
                                                  std::int64_t version) {
  const auto number = static_cast<std::int64_t>(kind);
  Query find(writer_.get(), kWrite,
             "SELECT run_item.id, run_item.run_id, length(run_item.bytes), run_item.version "
             "FROM run_item JOIN run ON run.id = run_item.run_id "
             "WHERE run_item.uid = ? AND run_item.kind = ? AND run.purged = 0",
             uid, number);
  if (!find.Next()) {
    HEADWAY_RETURN_IF_ERROR(find.status());
    return NoSuch("item", uid);
  }
  if (find.Integer(3) != version) {
    return Status(Code::kAborted, "item " + ToHex(uid) + " was changed meanwhile; read it again");
  }
  return OldItem{find.Integer(0), find.Integer(1), find.Integer(2)};
}

Result<bool> SqliteStore::RemoveItems(std::int64_t run_id, std::int64_t count) {
  std::int64_t items = 0;
  std::int64_t bytes = 0;
  {
    Query sum(writer_.get(), kWrite,
              "SELECT count(*), coalesce(sum(length(bytes)), 0) FROM (SELECT bytes FROM run_item "
              "WHERE run_id = ? ORDER BY kind, start, uid LIMIT ?)",
              run_id, count);
    if (!sum.Next()) return sum.status();
    items = sum.Integer(0);
    bytes = sum.Integer(1);
  }
  if (items == 0) return false;
  Query remove(writer_.get(), kWrite,
               "DELETE FROM run_item WHERE id IN (SELECT id FROM run_item WHERE run_id = ? "
               "ORDER BY kind, start, uid LIMIT ?)",
               run_id, count);
  HEADWAY_RETURN_IF_ERROR(remove.Run());
  HEADWAY_RETURN_IF_ERROR(AccountItems(run_id, -items, -bytes));
  return items == count;
}

}  // namespace headway::store
