#include "store/sqlite/record_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <map>
#include <utility>

#include "packing/slots.h"
#include "store/sqlite/sqlite_store.h"

namespace headway::store {
namespace {

constexpr std::int64_t kApplicationId = 0x68647779;  // "hdwy"

// Each step is one transaction and brings the schema from version i to i + 1. A step that was
// released never changes.
constexpr const char* kSchemaSteps[] = {
    // What changes with each batch is apart from the header: a batch rewrites one small row.
    R"(CREATE TABLE project (
         id INTEGER PRIMARY KEY,
         name TEXT NOT NULL UNIQUE
       ) STRICT;
       CREATE TABLE run (
         id INTEGER PRIMARY KEY,
         uid BLOB NOT NULL UNIQUE,
         project_id INTEGER NOT NULL REFERENCES project (id),
         name TEXT NOT NULL,
         start INTEGER NOT NULL
       ) STRICT;
       CREATE INDEX run_by_start ON run (project_id, start, uid);
       CREATE TABLE journal (
         id INTEGER PRIMARY KEY,
         uid BLOB NOT NULL UNIQUE,
         run_id INTEGER NOT NULL REFERENCES run (id),
         start INTEGER NOT NULL,
         header BLOB NOT NULL
       ) STRICT;
       CREATE INDEX journal_of_run ON journal (run_id, start, uid);
       CREATE TABLE state (
         journal_id INTEGER PRIMARY KEY REFERENCES journal (id),
         slots INTEGER NOT NULL,
         counters BLOB NOT NULL,
         writer INTEGER NOT NULL,
         heard INTEGER NOT NULL,
         stored_bytes INTEGER NOT NULL
       ) STRICT;
       CREATE TABLE chunk (
         id INTEGER PRIMARY KEY,
         journal_id INTEGER NOT NULL REFERENCES journal (id),
         first_slot INTEGER NOT NULL,
         slots INTEGER NOT NULL,
         codec INTEGER NOT NULL,
         bytes BLOB NOT NULL
       ) STRICT;
       CREATE INDEX chunk_by_slot ON chunk (journal_id, first_slot, slots);)",
    R"(CREATE TABLE token (
         id TEXT PRIMARY KEY,
         hash BLOB NOT NULL UNIQUE,
         name TEXT NOT NULL,
         role TEXT NOT NULL,
         project TEXT NOT NULL,
         run TEXT NOT NULL,
         created INTEGER NOT NULL,
         expires INTEGER NOT NULL,
         revoked INTEGER NOT NULL
       ) STRICT;
       CREATE TABLE audit (
         number INTEGER PRIMARY KEY AUTOINCREMENT,
         time INTEGER NOT NULL,
         who TEXT NOT NULL,
         action TEXT NOT NULL,
         what TEXT NOT NULL,
         project TEXT NOT NULL
       ) STRICT;)",
    // Unknown values are NULL, so that they are neither this nor that to a filter.
    R"(ALTER TABLE project ADD COLUMN created INTEGER NOT NULL DEFAULT 0;
       ALTER TABLE project ADD COLUMN retention INTEGER NOT NULL DEFAULT 0;
       ALTER TABLE project ADD COLUMN quota INTEGER NOT NULL DEFAULT 0;
       ALTER TABLE project ADD COLUMN stored_bytes INTEGER NOT NULL DEFAULT 0;
       UPDATE project SET stored_bytes = (
         SELECT coalesce(sum(state.stored_bytes), 0) FROM run
         JOIN journal ON journal.run_id = run.id JOIN state ON state.journal_id = journal.id
         WHERE run.project_id = project.id);
       ALTER TABLE run ADD COLUMN created INTEGER NOT NULL DEFAULT 0;
       ALTER TABLE run ADD COLUMN updated INTEGER NOT NULL DEFAULT 0;
       ALTER TABLE run ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0;
       ALTER TABLE run ADD COLUMN purged INTEGER NOT NULL DEFAULT 0;
       ALTER TABLE run ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
       ALTER TABLE run ADD COLUMN creator TEXT;
       ALTER TABLE run ADD COLUMN run_group TEXT;
       ALTER TABLE run ADD COLUMN phase TEXT;
       ALTER TABLE run ADD COLUMN orchestrator TEXT;
       ALTER TABLE run ADD COLUMN workload TEXT;
       ALTER TABLE run ADD COLUMN state TEXT;
       ALTER TABLE run ADD COLUMN finish INTEGER;
       ALTER TABLE run ADD COLUMN elapsed INTEGER NOT NULL DEFAULT 0;
       ALTER TABLE run ADD COLUMN goodput REAL;
       ALTER TABLE run ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
       ALTER TABLE run ADD COLUMN last_step INTEGER;
       ALTER TABLE run ADD COLUMN summarised INTEGER NOT NULL DEFAULT 0;
       UPDATE run SET state = 'not_started';
       CREATE INDEX run_by_name ON run (project_id, name, start, uid);
       CREATE TABLE run_detail (
         run_id INTEGER PRIMARY KEY REFERENCES run (id),
         bytes BLOB NOT NULL
       ) STRICT;
       CREATE TABLE run_label (
         run_id INTEGER NOT NULL REFERENCES run (id),
         key TEXT NOT NULL,
         value TEXT NOT NULL,
         PRIMARY KEY (run_id, key)
       ) STRICT, WITHOUT ROWID;
       CREATE INDEX label_by_value ON run_label (key, value);
       CREATE TABLE run_alias (
         uid BLOB PRIMARY KEY,
         run_id INTEGER NOT NULL REFERENCES run (id)
       ) STRICT;
       CREATE TABLE stale_run (
         run_id INTEGER PRIMARY KEY REFERENCES run (id),
         mark INTEGER NOT NULL
       ) STRICT;
       INSERT INTO stale_run (run_id, mark) SELECT id, 1 FROM run;
       CREATE TABLE operation (
         id TEXT PRIMARY KEY,
         verb TEXT NOT NULL,
         target TEXT NOT NULL,
         name TEXT NOT NULL,
         project TEXT NOT NULL,
         who TEXT NOT NULL,
         created INTEGER NOT NULL,
         finished INTEGER NOT NULL,
         progress REAL NOT NULL,
         cancelled INTEGER NOT NULL,
         error INTEGER NOT NULL,
         message TEXT NOT NULL
       ) STRICT;
       CREATE TABLE point_source (
         id INTEGER PRIMARY KEY,
         run_id INTEGER NOT NULL REFERENCES run (id),
         source TEXT NOT NULL,
         position INTEGER NOT NULL,
         stored_bytes INTEGER NOT NULL,
         UNIQUE (run_id, source)
       ) STRICT;
       CREATE TABLE series (
         id INTEGER PRIMARY KEY,
         source_id INTEGER NOT NULL REFERENCES point_source (id),
         name TEXT NOT NULL,
         unit TEXT NOT NULL,
         labels BLOB NOT NULL,
         summary BLOB NOT NULL,
         UNIQUE (source_id, name, unit, labels)
       ) STRICT;
       CREATE TABLE point_shape (
         series_id INTEGER NOT NULL REFERENCES series (id),
         shape INTEGER NOT NULL,
         PRIMARY KEY (series_id, shape)
       ) STRICT, WITHOUT ROWID;
       CREATE TABLE point_frame (
         id INTEGER PRIMARY KEY,
         source_id INTEGER NOT NULL REFERENCES point_source (id),
         shape INTEGER NOT NULL,
         points INTEGER NOT NULL,
         bytes BLOB NOT NULL
       ) STRICT;
       CREATE INDEX frame_by_shape ON point_frame (source_id, shape, points);
       CREATE TABLE point_axis (
         id INTEGER PRIMARY KEY,
         source_id INTEGER NOT NULL REFERENCES point_source (id),
         times BLOB NOT NULL,
         steps BLOB NOT NULL
       ) STRICT;
       CREATE INDEX axis_of_source ON point_axis (source_id);
       CREATE TABLE point_piece (
         id INTEGER PRIMARY KEY,
         series_id INTEGER NOT NULL REFERENCES series (id),
         axis_id INTEGER NOT NULL REFERENCES point_axis (id),
         bytes BLOB NOT NULL
       ) STRICT;
       CREATE INDEX piece_of_series ON point_piece (series_id);
       CREATE INDEX piece_of_axis ON point_piece (axis_id);
       CREATE TABLE piece_page (
         id INTEGER PRIMARY KEY,
         series_id INTEGER NOT NULL REFERENCES series (id),
         pieces INTEGER NOT NULL,
         bytes BLOB NOT NULL
       ) STRICT;
       CREATE INDEX page_of_series ON piece_page (series_id);)",
    // Share links.
    R"(CREATE TABLE link (
         id TEXT PRIMARY KEY,
         hash BLOB NOT NULL UNIQUE,
         run_uid BLOB NOT NULL,
         project TEXT NOT NULL,
         run TEXT NOT NULL,
         view TEXT NOT NULL,
         creator TEXT NOT NULL,
         created INTEGER NOT NULL,
         expires INTEGER NOT NULL,
         revoked INTEGER NOT NULL,
         used INTEGER NOT NULL
       ) STRICT;
       CREATE INDEX link_of_run ON link (run_uid);)",
    // Roles of one's own; their permissions by name, with spaces between them.
    R"(CREATE TABLE role (
         name TEXT PRIMARY KEY,
         permissions TEXT NOT NULL,
         creator TEXT NOT NULL,
         created INTEGER NOT NULL,
         updated INTEGER NOT NULL
       ) STRICT;)",
    // Loose points, of many series together.
    R"(CREATE TABLE loose_chunk (
         id INTEGER PRIMARY KEY,
         source_id INTEGER NOT NULL REFERENCES point_source (id),
         points INTEGER NOT NULL,
         bytes BLOB NOT NULL
       ) STRICT;
       CREATE INDEX chunk_of_source ON loose_chunk (source_id, points);)",
    // What ledgers had come to; no more than the records say.
    R"(CREATE TABLE ledger (
         run_id INTEGER PRIMARY KEY REFERENCES run (id),
         state BLOB NOT NULL
       ) STRICT;
       CREATE TABLE ledger_page (
         id INTEGER PRIMARY KEY,
         run_id INTEGER NOT NULL REFERENCES run (id),
         page INTEGER NOT NULL,
         bytes BLOB NOT NULL,
         UNIQUE (run_id, page)
       ) STRICT;)",
    // When the report says that a run began; `start` is when its first journal did.
    R"(ALTER TABLE run ADD COLUMN began INTEGER NOT NULL DEFAULT 0;
       UPDATE run SET began = start;
       CREATE INDEX run_by_began ON run (project_id, began, start, uid);)",
    // What its blobs take, which lie elsewhere.
    "ALTER TABLE run ADD COLUMN blob_bytes INTEGER NOT NULL DEFAULT 0;",
    // What belongs to runs beside their records: events, profiles and what can be profiled.
    R"(ALTER TABLE run ADD COLUMN items INTEGER NOT NULL DEFAULT 0;
       ALTER TABLE run ADD COLUMN item_bytes INTEGER NOT NULL DEFAULT 0;
       CREATE TABLE run_item (
         id INTEGER PRIMARY KEY,
         uid BLOB NOT NULL UNIQUE,
         kind INTEGER NOT NULL,
         run_id INTEGER NOT NULL REFERENCES run (id),
         project_id INTEGER NOT NULL REFERENCES project (id),
         start INTEGER NOT NULL,
         finish INTEGER,
         type TEXT,
         level INTEGER,
         name TEXT,
         attempt INTEGER,
         found TEXT,
         version INTEGER NOT NULL,
         creator TEXT,
         created INTEGER NOT NULL,
         updated INTEGER NOT NULL,
         bytes BLOB NOT NULL
       ) STRICT;
       CREATE INDEX item_of_run ON run_item (run_id, kind, start, uid);
       CREATE INDEX item_of_project ON run_item (project_id, kind, start, uid);)",
    // The machines that journals were written on. NULL: that was not told yet; 0: nobody knows.
    R"(CREATE TABLE node (
         id INTEGER PRIMARY KEY,
         project_id INTEGER NOT NULL REFERENCES project (id),
         cluster TEXT NOT NULL,
         host TEXT NOT NULL,
         location TEXT NOT NULL,
         located INTEGER NOT NULL,
         UNIQUE (project_id, cluster, host)
       ) STRICT;
       ALTER TABLE journal ADD COLUMN node_id INTEGER;
       UPDATE journal SET node_id = 0 WHERE header = x'';
       CREATE INDEX journal_of_node ON journal (node_id, run_id, start) WHERE node_id > 0;
       CREATE INDEX journal_unplaced ON journal (id) WHERE node_id IS NULL;)",
    // All that lists ask of runs: those which look at all of a project read this alone. `purged`
    // comes first so that no question chooses it that does not ask for that.
    R"(ALTER TABLE run ADD COLUMN accelerators INTEGER;
       CREATE INDEX run_scan ON run (purged, project_id, start, uid, name, run_group, state, began,
         elapsed, goodput, attempts, finish, last_step, phase, deleted, orchestrator, workload,
         creator, created, updated, accelerators);)",
    // Where the time of runs went; all are looked at once more for it.
    R"(CREATE TABLE run_digest (
         run_id INTEGER PRIMARY KEY REFERENCES run (id),
         bytes BLOB NOT NULL
       ) STRICT;
       INSERT OR IGNORE INTO stale_run (run_id, mark) SELECT id, 0 FROM run WHERE purged = 0;
       ALTER TABLE project ADD COLUMN price REAL NOT NULL DEFAULT 0;
       ALTER TABLE project ADD COLUMN currency TEXT NOT NULL DEFAULT '';)",
};
constexpr auto kSchemaVersion = static_cast<std::int64_t>(std::size(kSchemaSteps));

constexpr std::string_view kCheck = "check";

// The directory as it really is and then the name: SQLite refuses a link anywhere in a path, and
// only the file itself is somewhere that others could have planted one.
Result<std::string> Resolve(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (name.empty() || name == "." || name == "..") {
    return Status(Code::kInvalidArgument, Quoted(path) + " names no file for a store");
  }
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  struct Free {
    void operator()(char* text) const { std::free(text); }
  };
  const std::unique_ptr<char, Free> real(::realpath(directory.c_str(), nullptr));
  if (real == nullptr) return ErrnoStatus(errno, "find the directory of", path);
  return JoinPath(real.get(), name);
}

Result<UniqueFd> Lock(const std::string& path) {
  const std::string name = path + ".lock";
  UniqueFd lock = OpenFile(name, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!lock.ok()) return ErrnoStatus(errno, "open", name);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, "lock", name);
    return Status(Code::kFailedPrecondition, "another server has " + path + " open: it holds " +
                                                 name + "; end it, or name another file");
  }
  return lock;
}

// Made here, for SQLite would make it readable by others; its helper files take its mode.
Status MakeFile(const std::string& path) {
  const UniqueFd file = OpenFile(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (!file.ok() && errno == ELOOP) {
    return {Code::kPermissionDenied,
            "cannot open " + path + ": it is a symbolic link; name the file itself"};
  }
  if (!file.ok()) return ErrnoStatus(errno, "open", path);
  struct stat info;
  if (::fstat(file.get(), &info) != 0) return ErrnoStatus(errno, "examine", path);
  if (!S_ISREG(info.st_mode)) {
    return {Code::kInvalidArgument, "cannot open " + path + ": it is not a regular file"};
  }
  return OkStatus();
}

// The version of the schema; 0 where nothing is there yet.
Result<std::int64_t> KnownVersion(Connection* connection) {
  const Result<std::int64_t> application = ReadInteger(connection, "PRAGMA application_id");
  HEADWAY_RETURN_IF_ERROR(application.status());
  const Result<std::int64_t> version = ReadInteger(connection, "PRAGMA user_version");
  HEADWAY_RETURN_IF_ERROR(version.status());
  const Result<std::int64_t> parts = ReadInteger(connection, "SELECT count(*) FROM sqlite_schema");
  HEADWAY_RETURN_IF_ERROR(parts.status());
  const std::string& path = connection->path();
  const bool is_new = *application == 0 && *version == 0 && *parts == 0;
  if (!is_new && *application != kApplicationId) {
    return Status(Code::kInvalidArgument, path + " is a database of another program (application " +
                                              std::to_string(*application) +
                                              "); name another file");
  }
  if (!is_new && *version < 1) {
    return Status(Code::kDataLoss, path + " is damaged: its version is " +
                                       std::to_string(*version) + "; restore a copy of the file");
  }
  if (*version > kSchemaVersion) {
    return Status(Code::kFailedPrecondition,
                  path + " is of a newer headway: its version is " + std::to_string(*version) +
                      ", and this one knows " + std::to_string(kSchemaVersion) +
                      "; upgrade this one");
  }
  return *version;
}

Status Migrate(Connection* connection, std::int64_t version) {
  for (std::int64_t i = version; i < kSchemaVersion; ++i) {
    constexpr std::string_view kWhat = "bring up to date";
    Transaction transaction(connection, "BEGIN IMMEDIATE", kWhat);
    HEADWAY_RETURN_IF_ERROR(transaction.status());
    HEADWAY_RETURN_IF_ERROR(connection->Execute(kSchemaSteps[i], kWhat));
    const std::string marks = "PRAGMA application_id = " + std::to_string(kApplicationId) +
                              "; PRAGMA user_version = " + std::to_string(i + 1);
    HEADWAY_RETURN_IF_ERROR(connection->Execute(marks.c_str(), kWhat));
    HEADWAY_RETURN_IF_ERROR(transaction.Commit());
  }
  return OkStatus();
}

Status Configure(Connection* connection, const SqliteOptions& options) {
  Query mode(connection, "open", "PRAGMA journal_mode = WAL");
  if (!mode.Next()) return mode.status();
  if (mode.Bytes(0) != "wal") {
    return {Code::kFailedPrecondition,
            "cannot open " + connection->path() +
                ": its file system has no shared memory for SQLite; name a file on a local disk"};
  }
  if (options.size_limit_bytes == 0) return OkStatus();
  const Result<std::int64_t> page = ReadInteger(connection, "PRAGMA page_size");
  HEADWAY_RETURN_IF_ERROR(page.status());
  const std::uint64_t pages = std::clamp<std::uint64_t>(
      options.size_limit_bytes / static_cast<std::uint64_t>(*page), 1, 0xfffffffe);
  const std::string sql = "PRAGMA max_page_count = " + std::to_string(pages);
  return connection->Execute(sql.c_str(), "open");
}

Result<std::unique_ptr<Connection>> OpenWriter(const std::string& path,
                                               const SqliteOptions& options) {
  Result<std::unique_ptr<Connection>> writer =
      Connection::Open(path, SQLITE_OPEN_READWRITE, options.busy_timeout_ms);
  HEADWAY_RETURN_IF_ERROR(writer.status());
  const Result<std::int64_t> version = KnownVersion(writer->get());
  HEADWAY_RETURN_IF_ERROR(version.status());
  if (*version == 0) {
    // Decided before anything is in the file: what is free at its end can be given back.
    HEADWAY_RETURN_IF_ERROR((*writer)->Execute("PRAGMA auto_vacuum = INCREMENTAL", "open"));
  }
  HEADWAY_RETURN_IF_ERROR(Configure(writer->get(), options));
  HEADWAY_RETURN_IF_ERROR(Migrate(writer->get(), *version));
  return writer;
}

}  // namespace

Result<std::unique_ptr<Store>> OpenSqliteStore(const std::string& path,
                                               const SqliteOptions& options) {
  const Result<std::string> real = Resolve(path);
  HEADWAY_RETURN_IF_ERROR(real.status());
  Result<UniqueFd> lock = Lock(*real);
  HEADWAY_RETURN_IF_ERROR(lock.status());
  // Before SQLite has the file open: closing any descriptor of it lets go of SQLite's locks.
  struct stat before;
  const bool is_there = ::lstat(real->c_str(), &before) == 0;
  constexpr off_t kLeastBytes = 512;  // a page; what is smaller SQLite takes for nothing
  if (is_there && S_ISREG(before.st_mode) && before.st_size < kLeastBytes) {
    return Status(Code::kDataLoss, *real + " has " + std::to_string(before.st_size) +
                                       " bytes, which no store has: restore a copy of it, or "
                                       "remove it to begin anew");
  }
  HEADWAY_RETURN_IF_ERROR(MakeFile(*real));
  Result<std::unique_ptr<Connection>> writer = OpenWriter(*real, options);
  if (!writer.ok()) {
    struct stat made;
    // Such as when the disk is full.
    if (!is_there && ::stat(real->c_str(), &made) == 0 && made.st_size == 0) {
      ::unlink(real->c_str());
    }
    return writer.status();
  }
  std::vector<std::unique_ptr<Reader>> readers;
  for (std::size_t i = 0; i < std::max<std::size_t>(options.readers, 1); ++i) {
    Result<std::unique_ptr<Connection>> connection =
        Connection::Open(*real, SQLITE_OPEN_READONLY, options.busy_timeout_ms);
    HEADWAY_RETURN_IF_ERROR(connection.status());
    readers.push_back(std::make_unique<Reader>());
    readers.back()->connection = *std::move(connection);
  }
  struct stat file;
  if (::stat(real->c_str(), &file) != 0) return ErrnoStatus(errno, "examine", *real);
  return std::unique_ptr<Store>(std::make_unique<SqliteStore>(
      *std::move(lock), file, *std::move(writer), std::move(readers)));
}

Status CheckSqliteStore(const std::string& path, const ProgressFunction& progress) {
  const Result<std::string> real = Resolve(path);
  HEADWAY_RETURN_IF_ERROR(real.status());
  const Result<std::unique_ptr<Connection>> connection =
      Connection::Open(*real, SQLITE_OPEN_READONLY, SqliteOptions().busy_timeout_ms);
  HEADWAY_RETURN_IF_ERROR(connection.status());
  const Result<std::int64_t> version = KnownVersion(connection->get());
  HEADWAY_RETURN_IF_ERROR(version.status());
  const auto damaged = [&real](const std::string& how) {
    return Status(Code::kDataLoss, *real + " is damaged: " + how +
                                       "; examine the disk, and restore a copy of the file");
  };
  if (*version == 0) return damaged("nothing is in it");
  // All of it as of one instant.
  const Transaction transaction(connection->get(), "BEGIN", kCheck);
  HEADWAY_RETURN_IF_ERROR(transaction.status());
  const Result<std::int64_t> chunks =
      ReadInteger(connection->get(), "SELECT coalesce(max(id), 0) FROM chunk");
  HEADWAY_RETURN_IF_ERROR(chunks.status());
  Query query(connection->get(), kCheck, "PRAGMA quick_check(1)");
  if (!query.Next()) return query.status();
  if (query.Bytes(0) != "ok") return damaged(query.String(0));
  // No slot of a journal is missing.
  std::map<std::int64_t, std::uint64_t> covered;
  Query ranges(connection->get(), kCheck,
               "SELECT journal_id, first_slot, slots FROM chunk ORDER BY journal_id, first_slot");
  while (ranges.Next()) {
    std::uint64_t& end = covered[ranges.Integer(0)];
    const auto first = static_cast<std::uint64_t>(ranges.Integer(1));
    if (first > end) continue;  // which the sum shows
    end = std::max(end, first + static_cast<std::uint64_t>(ranges.Integer(2)));
  }
  HEADWAY_RETURN_IF_ERROR(ranges.status());
  Query states(connection->get(), kCheck,
               // Before version 3 nothing was removed.
               *version < 3 ? "SELECT state.journal_id, state.slots, journal.uid FROM state "
                              "JOIN journal ON journal.id = state.journal_id"
                            : "SELECT state.journal_id, state.slots, journal.uid FROM state "
                              "JOIN journal ON journal.id = state.journal_id "
                              "JOIN run ON run.id = journal.run_id WHERE run.purged = 0");
  while (states.Next()) {
    const std::uint64_t end = covered[states.Integer(0)];
    if (end == static_cast<std::uint64_t>(states.Integer(1))) continue;
    return damaged("of journal " + ToHex(states.UidAt<JournalUid>(2)) + " only slots up to " +
                   std::to_string(end) + " are there");
  }
  HEADWAY_RETURN_IF_ERROR(states.status());
  Query packed(connection->get(), kCheck,
               "SELECT journal.uid, chunk.first_slot, chunk.slots, chunk.codec, chunk.bytes, "
               "chunk.id FROM chunk LEFT JOIN journal ON journal.id = chunk.journal_id "
               "ORDER BY chunk.id");
  packing::SlotUnpacker unpacker;
  while (packed.Next()) {
    const auto uid = packed.UidAt<JournalUid>(0);
    const auto first = static_cast<std::uint64_t>(packed.Integer(1));
    const packing::PackedSlots slots = {.slots = static_cast<std::uint64_t>(packed.Integer(2)),
                                        .codec = packed.Integer(3),
                                        .bytes = packed.Bytes(4)};
    if (!unpacker.Unpack(uid, first, slots).has_value()) {
      return damaged("slots of journal " + ToHex(uid) + " from slot " + std::to_string(first) +
                     " on can't be unpacked");
    }
    if (progress) {
      progress(static_cast<double>(packed.Integer(5)) / static_cast<double>(*chunks));
    }
  }
  return packed.status();
}

Result<std::uint64_t> BackUpSqliteStore(const std::string& path, const std::string& target,
                                        const ProgressFunction& progress) {
  constexpr std::string_view kCopy = "copy";
  constexpr int kPagesAtOnce = 1024;  // 4 MiB
  const Result<std::string> real = Resolve(path);
  HEADWAY_RETURN_IF_ERROR(real.status());
  const Result<std::string> to = Resolve(target);
  HEADWAY_RETURN_IF_ERROR(to.status());
  const Result<std::unique_ptr<Connection>> from =
      Connection::Open(*real, SQLITE_OPEN_READONLY, SqliteOptions().busy_timeout_ms);
  HEADWAY_RETURN_IF_ERROR(from.status());
  HEADWAY_RETURN_IF_ERROR(KnownVersion(from->get()).status());
  struct stat info;
  const auto exists = [&to] {
    return Status(Code::kAlreadyExists, *to + " is there already; name another file");
  };
  if (::lstat(to->c_str(), &info) == 0) return exists();
  const std::string part = *to + "." + ToHex(RandomUid<BasicUid<struct PartTag>>()) + ".part";
  HEADWAY_RETURN_IF_ERROR(MakeFile(part));
  Status status;
  {
    Result<std::unique_ptr<Connection>> copy =
        Connection::Open(part, SQLITE_OPEN_READWRITE, SqliteOptions().busy_timeout_ms);
    status = copy.status();
    // One reading transaction is one instant; in the log's way of writing it holds up nobody.
    const Transaction transaction(from->get(), "BEGIN", kCopy);
    if (status.ok()) status = transaction.status();
    if (status.ok()) status = ReadInteger(from->get(), "SELECT count(*) FROM project").status();
    if (status.ok()) status = (*copy)->CopyFrom(from->get(), kPagesAtOnce, progress);
    // Whoever reads the copy then makes no files beside it; a server that opens it sets it back.
    if (status.ok()) status = (*copy)->Execute("PRAGMA journal_mode = DELETE", kCopy);
  }
  if (status.ok()) {
    status = CheckSqliteStore(part);
    if (status.code() == Code::kDataLoss) {
      status = {Code::kDataLoss, "what was copied of " + *real + " is damaged: " +
                                     status.message() + "; nothing is kept of the copy"};
    }
  }
  // SQLite syncs what it writes; a copy need not be one that others were reading.
  if (status.ok()) {
    const UniqueFd file = OpenFile(part, O_RDONLY);
    if (!file.ok() || ::fsync(file.get()) != 0) status = ErrnoStatus(errno, "write", part);
    if (status.ok() && ::fstat(file.get(), &info) != 0) status = ErrnoStatus(errno, "write", part);
  }
  if (status.ok() && ::link(part.c_str(), to->c_str()) != 0) {
    status = errno == EEXIST ? exists() : ErrnoStatus(errno, "make", *to);
  }
  ::unlink(part.c_str());
  HEADWAY_RETURN_IF_ERROR(status);
  const UniqueFd directory = OpenFile(to->substr(0, to->rfind('/') + 1), O_RDONLY | O_DIRECTORY);
  if (!directory.ok() || ::fsync(directory.get()) != 0) return ErrnoStatus(errno, "write", *to);
  return static_cast<std::uint64_t>(info.st_size);
}

}  // namespace headway::store
