#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "base/uid.h"
#include "model/filter.h"

/// SQLite as values and Status. One thread at a time for each connection and what belongs to it.

namespace headway::store {

/// Bound as text; a string_view is bound as a blob.
struct Text {
  std::string_view value;
};

/// One connection to one database file.
class Connection {
 public:
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    statements_.clear();
    sqlite3_close(db_);
  }

  /// `flags` are those of sqlite3_open_v2. No symbolic link is followed.
  static Result<std::unique_ptr<Connection>> Open(const std::string& path, int flags,
                                                  int busy_timeout_ms);

  /// Why the last call failed, which was to do `what` to the file.
  Status Fault(std::string_view what) const;

  /// Statements without parameters and results.
  Status Execute(const char* sql, std::string_view what);

  /// Makes this database one with the same content as `other`, some pages at a time. `progress`,
  /// which may be null, is told the share that is done.
  Status CopyFrom(Connection* other, int pages_at_once,
                  const std::function<void(double)>& progress);

  /// A statement that is not kept: sqlite3_finalize it. nullptr: see Fault.
  sqlite3_stmt* PrepareOnce(std::string_view sql);
  /// The kept statement of `sql`, which must live as long as the connection. nullptr: see Fault.
  sqlite3_stmt* Prepare(std::string_view sql);

  bool InTransaction() const { return sqlite3_get_autocommit(db_) == 0; }
  std::int64_t LastId() const { return sqlite3_last_insert_rowid(db_); }
  /// How many rows the last statement changed.
  std::int64_t Changes() const { return sqlite3_changes64(db_); }
  const std::string& path() const { return path_; }

 private:
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  explicit Connection(std::string path) : path_(std::move(path)) {}

  int SystemError() const;

  std::string path_;
  sqlite3* db_ = nullptr;
  std::map<std::string_view, std::unique_ptr<sqlite3_stmt, Finalizer>> statements_;
};

/// One execution of a statement. What is bound must live as long as the query.
class Query {
 public:
  template <typename... Values>
  Query(Connection* connection, std::string_view what, std::string_view sql,
        const Values&... values)
      : connection_(connection), what_(what), statement_(connection->Prepare(sql)) {
    int column = 0;
    if (statement_ == nullptr || !(... && (Bind(++column, values) == SQLITE_OK))) {
      status_ = connection_->Fault(what_);
    }
  }
  /// A statement that was made for this one time.
  struct Once {
    std::string_view sql;
  };
  Query(Connection* connection, std::string_view what, const Once& once,
        std::span<const FieldValue> values)
      : connection_(connection),
        what_(what),
        statement_(connection->PrepareOnce(once.sql)),
        once_(true) {
    int column = 0;
    bool bound = statement_ != nullptr;
    for (const FieldValue& value : values) {
      bound = bound && Bind(++column, value) == SQLITE_OK;
    }
    if (!bound) status_ = connection_->Fault(what_);
  }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query() {
    if (once_) sqlite3_finalize(statement_);
    if (once_ || statement_ == nullptr) return;
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }

  /// Whether there is a further row. If not: status() says whether that is the end or an error.
  bool Next() {
    if (!status_.ok()) return false;
    const int result = sqlite3_step(statement_);
    if (result == SQLITE_ROW) return true;
    if (result != SQLITE_DONE) status_ = connection_->Fault(what_);
    return false;
  }
  /// Runs a statement that has no rows.
  Status Run() {
    while (Next()) {
    }
    return status_;
  }
  const Status& status() const { return status_; }

  std::int64_t Integer(int column) const { return sqlite3_column_int64(statement_, column); }
  double Real(int column) const { return sqlite3_column_double(statement_, column); }
  bool IsNull(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  /// Of text or a blob; until the next row.
  std::string_view Bytes(int column) const {
    const void* const data = sqlite3_column_blob(statement_, column);
    if (data == nullptr) return {};
    return {static_cast<const char*>(data),
            static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }
  std::string String(int column) const { return std::string(Bytes(column)); }
  template <typename Uid>
  Uid UidAt(int column) const {
    Uid uid;
    const std::string_view bytes = Bytes(column);
    if (bytes.size() == uid.bytes.size()) std::memcpy(uid.bytes.data(), bytes.data(), bytes.size());
    return uid;
  }

 private:
  int Bind(int column, std::int64_t value) { return sqlite3_bind_int64(statement_, column, value); }
  int Bind(int column, double value) { return sqlite3_bind_double(statement_, column, value); }
  template <typename T>
  int Bind(int column, const std::optional<T>& value) {
    return value ? Bind(column, *value) : sqlite3_bind_null(statement_, column);
  }
  int Bind(int column, const FieldValue& value) {
    if (const auto* const text = std::get_if<std::string>(&value)) return Bind(column, Text{*text});
    if (const auto* const integer = std::get_if<std::int64_t>(&value))
      return Bind(column, *integer);
    if (const auto* const real = std::get_if<double>(&value)) return Bind(column, *real);
    return sqlite3_bind_null(statement_, column);
  }
  // A null pointer would be NULL, not something empty.
  int Bind(int column, std::string_view blob) {
    return sqlite3_bind_blob64(statement_, column, blob.empty() ? "" : blob.data(), blob.size(),
                               SQLITE_STATIC);
  }
  int Bind(int column, const Text& text) {
    const std::string_view value = text.value;
    return sqlite3_bind_text64(statement_, column, value.empty() ? "" : value.data(), value.size(),
                               SQLITE_STATIC, SQLITE_UTF8);
  }
  template <typename Tag>
  int Bind(int column, const BasicUid<Tag>& uid) {
    return sqlite3_bind_blob64(statement_, column, uid.bytes.data(), uid.bytes.size(),
                               SQLITE_STATIC);
  }

  Connection* connection_;
  std::string_view what_;
  sqlite3_stmt* statement_;
  bool once_ = false;
  Status status_;
};

/// Rolled back unless committed.
class Transaction {
 public:
  Transaction(Connection* connection, const char* begin, std::string_view what)
      : connection_(connection), what_(what) {
    RollBack();  // of an earlier one, if that could not be
    status_ = connection_->Execute(begin, what_);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() { RollBack(); }

  const Status& status() const { return status_; }
  Status Commit() { return connection_->Execute("COMMIT", what_); }

 private:
  // SQLite has rolled back some errors by itself.
  void RollBack() {
    if (connection_->InTransaction()) connection_->Execute("ROLLBACK", what_).IgnoreError();
  }

  Connection* connection_;
  std::string_view what_;
  Status status_;
};

/// The one number that `sql` answers with.
Result<std::int64_t> ReadInteger(Connection* connection, std::string_view sql);

}  // namespace headway::store
