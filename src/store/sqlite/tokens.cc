#include <cstring>
#include <utility>

#include "store/sqlite/sqlite_store.h"

namespace headway::store {

Status SqliteStore::WriteDown(const AuditRow& audit) {
  Query insert(writer_.get(), kWrite,
               "INSERT INTO audit (time, who, action, what, project) VALUES (?, ?, ?, ?, ?)",
               audit.time, Text{audit.who}, Text{audit.action}, Text{audit.what},
               Text{audit.project});
  return insert.Run();
}

Status SqliteStore::Audit(const AuditRow& audit) {
  return Change([&] { return WriteDown(audit); });
}

Result<std::vector<AuditRow>> SqliteStore::ListAudit(std::int64_t before, std::size_t count,
                                                     std::string_view project) {
  const Turn turn = TakeReader();
  Query query(turn.connection, kRead,
              "SELECT number, time, who, action, what, project FROM audit "
              "WHERE (?1 = 0 OR number < ?1) AND (?2 = '' OR project = ?2) "
              "ORDER BY number DESC LIMIT ?3",
              before, Text{project}, static_cast<std::int64_t>(count));
  std::vector<AuditRow> rows;
  while (query.Next()) {
    rows.push_back({query.Integer(0), query.Integer(1), query.String(2), query.String(3),
                    query.String(4), query.String(5)});
  }
  HEADWAY_RETURN_IF_ERROR(query.status());
  return rows;
}

Status SqliteStore::AddToken(const TokenRow& token, const AuditRow& audit) {
  const std::lock_guard lock(write_mutex_);
  HEADWAY_RETURN_IF_ERROR(CheckFile());
  Transaction transaction(writer_.get(), "BEGIN IMMEDIATE", kWrite);
  HEADWAY_RETURN_IF_ERROR(transaction.status());
  const std::string_view hash(reinterpret_cast<const char*>(token.hash.data()), token.hash.size());
  {
    Query find(writer_.get(), kWrite, "SELECT 1 FROM token WHERE id = ? OR hash = ?",
               Text{token.id}, hash);
    if (find.Next()) return {Code::kAlreadyExists, "there is a token " + token.id + " already"};
    HEADWAY_RETURN_IF_ERROR(find.status());
  }
  Query insert(writer_.get(), kWrite,
               "INSERT INTO token (id, hash, name, role, project, run, created, expires, revoked) "
               "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
               Text{token.id}, hash, Text{token.name}, Text{token.role}, Text{token.project},
               Text{token.run}, token.created, token.expires, token.revoked);
  HEADWAY_RETURN_IF_ERROR(insert.Run());
  HEADWAY_RETURN_IF_ERROR(WriteDown(audit));
  return transaction.Commit();
}

Result<std::vector<TokenRow>> SqliteStore::ListTokens() {
  const Turn turn = TakeReader();
  Query query(turn.connection, kRead,
              "SELECT id, hash, name, role, project, run, created, expires, revoked FROM token "
              "ORDER BY created, id");
  std::vector<TokenRow> tokens;
  while (query.Next()) {
    TokenRow token;
    token.id = query.String(0);
    const std::string_view hash = query.Bytes(1);
    if (hash.size() != token.hash.size()) {
      return Status(Code::kDataLoss, turn.connection->path() + ": token " + token.id +
                                         " is damaged; restore a copy of the file");
    }
    std::memcpy(token.hash.data(), hash.data(), hash.size());
    token.name = query.String(2);
    token.role = query.String(3);
    token.project = query.String(4);
    token.run = query.String(5);
    token.created = query.Integer(6);
    token.expires = query.Integer(7);
    token.revoked = query.Integer(8);
    tokens.push_back(std::move(token));
  }
  HEADWAY_RETURN_IF_ERROR(query.status());
  return tokens;
}

Status SqliteStore::RevokeToken(std::string_view id, std::int64_t when, const AuditRow& audit) {
  const std::lock_guard lock(write_mutex_);
  HEADWAY_RETURN_IF_ERROR(CheckFile());
  Transaction transaction(writer_.get(), "BEGIN IMMEDIATE", kWrite);
  HEADWAY_RETURN_IF_ERROR(transaction.status());
  {
    Query find(writer_.get(), kWrite, "SELECT revoked FROM token WHERE id = ?", Text{id});
    if (!find.Next()) {
      HEADWAY_RETURN_IF_ERROR(find.status());
      return {Code::kNotFound, "there is no token " + std::string(id)};
    }
    if (find.Integer(0) != 0) return OkStatus();
  }
  Query update(writer_.get(), kWrite, "UPDATE token SET revoked = ? WHERE id = ?", when, Text{id});
  HEADWAY_RETURN_IF_ERROR(update.Run());
  HEADWAY_RETURN_IF_ERROR(WriteDown(audit));
  return transaction.Commit();
}

}  // namespace headway::store
