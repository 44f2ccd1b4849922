#include <sstream>
#include <utility>

#include "store/sqlite/sqlite_store.h"

namespace headway::store {

Status SqliteStore::PutRole(const RoleRow& role, const AuditRow& audit) {
  std::string permissions;
  for (const std::string& one : role.permissions) {
    permissions.append(permissions.empty() ? "" : " ").append(one);
  }
  return Change([&]() -> Status {
    Query put(writer_.get(), kWrite,
              "INSERT INTO role (name, permissions, creator, created, updated) "
              "VALUES (?1, ?2, ?3, ?4, ?5) "
              "ON CONFLICT (name) DO UPDATE SET permissions = ?2, updated = ?5",
              Text{role.name}, Text{permissions}, Text{role.creator}, role.created, role.updated);
    HEADWAY_RETURN_IF_ERROR(put.Run());
    return WriteDown(audit);
  });
}

Result<std::vector<RoleRow>> SqliteStore::ListRoles() {
  const Turn turn = TakeReader();
  Query query(turn.connection, kRead,
              "SELECT name, permissions, creator, created, updated FROM role ORDER BY name");
  std::vector<RoleRow> roles;
  while (query.Next()) {
    RoleRow role;
    role.name = query.String(0);
    std::istringstream permissions(query.String(1));
    for (std::string one; permissions >> one;) role.permissions.push_back(one);
    role.creator = query.String(2);
    role.created = query.Integer(3);
    role.updated = query.Integer(4);
    roles.push_back(std::move(role));
  }
  HEADWAY_RETURN_IF_ERROR(query.status());
  return roles;
}

Status SqliteStore::DeleteRole(std::string_view name, std::int64_t now, const AuditRow& audit) {
  return Change([&]() -> Status {
    {
      Query tokens(writer_.get(), kWrite,
                   "SELECT count(*), min(id) FROM token "
                   "WHERE role = ? AND revoked = 0 AND (expires = 0 OR expires > ?)",
                   Text{name}, now);
      if (!tokens.Next()) return tokens.status();
      if (tokens.Integer(0) > 0) {
        return {Code::kFailedPrecondition, "tokens have the role " + std::string(name) + ": " +
                                               std::to_string(tokens.Integer(0)) + ", such as " +
                                               tokens.String(1) +
                                               "; revoke them, or let them expire"};
      }
    }
    Query remove(writer_.get(), kWrite, "DELETE FROM role WHERE name = ?", Text{name});
    HEADWAY_RETURN_IF_ERROR(remove.Run());
    if (writer_->Changes() == 0) {
      return {Code::kNotFound, "there is no role " + std::string(name)};
    }
    return WriteDown(audit);
  });
}

}  // namespace headway::store
