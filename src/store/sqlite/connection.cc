#include "store/sqlite/connection.h"

#include <cerrno>

#include "base/files.h"

namespace headway::store {
namespace {

Code CodeOf(int sqlite_code, int system_error) {
  switch (sqlite_code & 0xff) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG: return Code::kResourceExhausted;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return Code::kUnavailable;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return Code::kDataLoss;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH: return Code::kPermissionDenied;
    case SQLITE_CANTOPEN:
      if (sqlite_code == SQLITE_CANTOPEN_SYMLINK) return Code::kPermissionDenied;
      return system_error == 0 ? Code::kUnavailable : ErrnoStatus(system_error, "", "").code();
    case SQLITE_IOERR:
      if (sqlite_code == SQLITE_IOERR_NOMEM) return Code::kResourceExhausted;
      // SQLite takes only ENOSPC for a full disk, not a quota and not a limit of the process.
      if (system_error == EDQUOT || system_error == EFBIG) return Code::kResourceExhausted;
      return Code::kDataLoss;
    default: return Code::kInternal;
  }
}

std::string_view AdviceFor(Code code) {
  switch (code) {
    case Code::kResourceExhausted: return "; make room, then go on";
    case Code::kUnavailable: return "; another program holds it, try again";
    case Code::kDataLoss: return "; stop, and examine the disk or restore a copy of the file";
    default: return "";
  }
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::Open(const std::string& path, int flags,
                                                     int busy_timeout_ms) {
  std::unique_ptr<Connection> connection(new Connection(path));
  // Its own mutex is not needed: whoever uses a connection holds one of ours.
  const int result = sqlite3_open_v2(
      path.c_str(), &connection->db_,
      flags | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  if (result != SQLITE_OK) return connection->Fault("open");
  sqlite3_busy_timeout(connection->db_, busy_timeout_ms);
  sqlite3_db_config(connection->db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  // The cache (16 MiB) holds the states of some ten thousand journals. The log is cut down to 64
  // MiB after a long read has let it grow.
  HEADWAY_RETURN_IF_ERROR(connection->Execute(
      "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
      "PRAGMA synchronous = FULL; PRAGMA cache_size = -16384; PRAGMA journal_size_limit = "
      "67108864",
      "open"));
  return connection;
}

Status Connection::Fault(std::string_view what) const {
  if (db_ == nullptr) return {Code::kResourceExhausted, "no memory is left for a database"};
  const int result = sqlite3_extended_errcode(db_);
  const int kind = result & 0xff;
  const int error = kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN ? SystemError() : 0;
  const Code code = CodeOf(result, error);
  std::string message = "cannot " + std::string(what) + " " + path_ + ": ";
  message += result == SQLITE_CANTOPEN_SYMLINK ? "it is a symbolic link, and none is followed there"
                                               : sqlite3_errmsg(db_);
  message += " (SQLite " + std::to_string(result);
  if (error != 0) message += ", errno " + std::to_string(error);
  message += ")";
  message += AdviceFor(code);
  return {code, std::move(message)};
}

Status Connection::Execute(const char* sql, std::string_view what) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return Fault(what);
  return OkStatus();
}

Status Connection::CopyFrom(Connection* other, int pages_at_once,
                            const std::function<void(double)>& progress) {
  sqlite3_backup* const copy = sqlite3_backup_init(db_, "main", other->db_, "main");
  if (copy == nullptr) return Fault("write to");
  int result = SQLITE_OK;
  while (result == SQLITE_OK) {
    result = sqlite3_backup_step(copy, pages_at_once);
    const int pages = sqlite3_backup_pagecount(copy);
    if (progress && pages > 0) {
      progress(static_cast<double>(pages - sqlite3_backup_remaining(copy)) / pages);
    }
  }
  sqlite3_backup_finish(copy);
  if (result == SQLITE_DONE) return OkStatus();
  return Fault("write to");
}

sqlite3_stmt* Connection::Prepare(std::string_view sql) {
  const auto known = statements_.find(sql);
  if (known != statements_.end()) return known->second.get();
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v3(db_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                     &statement, nullptr);
  if (statement != nullptr) statements_.emplace(sql, statement);
  return statement;
}

sqlite3_stmt* Connection::PrepareOnce(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v3(db_, sql.data(), static_cast<int>(sql.size()), 0, &statement, nullptr);
  return statement;
}

// The errno behind the last error. Of one in COMMIT only the file that failed knows it.
int Connection::SystemError() const {
  int error = sqlite3_system_errno(db_);
  for (const int which : {SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER}) {
    sqlite3_file* file = nullptr;
    if (error == 0 && sqlite3_file_control(db_, nullptr, which, &file) == SQLITE_OK &&
        file != nullptr && file->pMethods != nullptr) {
      file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error);
    }
  }
  return error;
}

Result<std::int64_t> ReadInteger(Connection* connection, std::string_view sql) {
  Query query(connection, "read", sql);
  if (query.Next()) return query.Integer(0);
  HEADWAY_RETURN_IF_ERROR(query.status());
  return Status(Code::kInternal,
                "no answer to \"" + std::string(sql) + "\"" + " from " + connection->path());
}

}  // namespace headway::store
