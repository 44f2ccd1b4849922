#include <cstring>
#include <utility>

#include "store/sqlite/sqlite_store.h"

namespace headway::store {

Status SqliteStore::AddLink(const LinkRow& link, const AuditRow& audit) {
  return Change([&]() -> Status {
    const std::string_view hash(reinterpret_cast<const char*>(link.hash.data()), link.hash.size());
    {
      Query run(writer_.get(), kWrite, "SELECT 1 FROM run WHERE uid = ? AND deleted = 0",
                link.run_uid);
      if (!run.Next()) return run.status().ok() ? NoSuch("run", link.run_uid) : run.status();
    }
    {
      Query find(writer_.get(), kWrite, "SELECT 1 FROM link WHERE id = ? OR hash = ?",
                 Text{link.id}, hash);
      if (find.Next()) return {Code::kAlreadyExists, "there is a link " + link.id + " already"};
      HEADWAY_RETURN_IF_ERROR(find.status());
    }
    Query insert(writer_.get(), kWrite,
                 "INSERT INTO link (id, hash, run_uid, project, run, view, creator, created, "
                 "expires, revoked, used) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                 Text{link.id}, hash, link.run_uid, Text{link.project}, Text{link.run},
                 Text{link.view}, Text{link.creator}, link.created, link.expires, link.revoked,
                 link.used);
    HEADWAY_RETURN_IF_ERROR(insert.Run());
    return WriteDown(audit);
  });
}

Result<std::vector<LinkRow>> SqliteStore::ListLinks() {
  const Turn turn = TakeReader();
  Query query(turn.connection, kRead,
              "SELECT id, hash, run_uid, project, run, view, creator, created, expires, revoked, "
              "used FROM link ORDER BY created, id");
  std::vector<LinkRow> links;
  while (query.Next()) {
    LinkRow link;
    link.id = query.String(0);
    const std::string_view hash = query.Bytes(1);
    if (hash.size() != link.hash.size()) {
      return Status(Code::kDataLoss, turn.connection->path() + ": link " + link.id +
                                         " is damaged; restore a copy of the file");
    }
    std::memcpy(link.hash.data(), hash.data(), hash.size());
    link.run_uid = query.UidAt<RunUid>(2);
    link.project = query.String(3);
    link.run = query.String(4);
    link.view = query.String(5);
    link.creator = query.String(6);
    link.created = query.Integer(7);
    link.expires = query.Integer(8);
    link.revoked = query.Integer(9);
    link.used = query.Integer(10);
    links.push_back(std::move(link));
  }
  HEADWAY_RETURN_IF_ERROR(query.status());
  return links;
}

Status SqliteStore::FoundLink(std::string_view id) const {
  if (writer_->Changes() > 0) return OkStatus();
  return {Code::kNotFound, "there is no link " + std::string(id)};
}

Status SqliteStore::RevokeLink(std::string_view id, std::int64_t when, const AuditRow& audit) {
  return Change([&]() -> Status {
    {
      Query find(writer_.get(), kWrite, "SELECT revoked FROM link WHERE id = ?", Text{id});
      if (find.Next() && find.Integer(0) != 0) return OkStatus();
      HEADWAY_RETURN_IF_ERROR(find.status());
    }
    Query update(writer_.get(), kWrite, "UPDATE link SET revoked = ? WHERE id = ?", when, Text{id});
    HEADWAY_RETURN_IF_ERROR(update.Run());
    HEADWAY_RETURN_IF_ERROR(FoundLink(id));
    return WriteDown(audit);
  });
}

Status SqliteStore::UseLink(std::string_view id, std::int64_t when, const AuditRow& audit) {
  return Change([&]() -> Status {
    Query update(writer_.get(), kWrite, "UPDATE link SET used = ? WHERE id = ?", when, Text{id});
    HEADWAY_RETURN_IF_ERROR(update.Run());
    HEADWAY_RETURN_IF_ERROR(FoundLink(id));
    return WriteDown(audit);
  });
}

Status SqliteStore::ForgetLinks(std::int64_t before) {
  return Change([&]() -> Status {
    Query remove(writer_.get(), kWrite, "DELETE FROM link WHERE expires < ?", before);
    return remove.Run();
  });
}

}  // namespace headway::store
