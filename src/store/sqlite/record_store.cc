#include "store/sqlite/record_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/files.h"
#include "packing/slots.h"
#include "store/sqlite/connection.h"

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
};
constexpr auto kSchemaVersion = static_cast<std::int64_t>(std::size(kSchemaSteps));

std::string Quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

struct Reader {
  std::mutex mutex;
  std::unique_ptr<Connection> connection;
};

constexpr std::string_view kJournalColumns =
    "SELECT journal.uid, run.uid, project.name, run.name, journal.start, journal.header, "
    "state.slots, state.counters, state.writer, state.heard "
    "FROM journal JOIN state ON state.journal_id = journal.id "
    "JOIN run ON run.id = journal.run_id JOIN project ON project.id = run.project_id ";

Journal JournalOf(const Query& row) {
  Journal journal;
  journal.identity.uid = row.UidAt<JournalUid>(0);
  journal.identity.run_uid = row.UidAt<RunUid>(1);
  journal.identity.project = row.String(2);
  journal.identity.run = row.String(3);
  journal.identity.start = row.Integer(4);
  journal.identity.header = row.String(5);
  journal.state.slots = static_cast<std::uint64_t>(row.Integer(6));
  journal.state.counters = row.String(7);
  const std::int64_t writer = row.Integer(8);
  if (writer == 1 || writer == 2) journal.state.writer = static_cast<Liveness>(writer);
  journal.state.heard = row.Integer(9);
  return journal;
}

RunRow RunOf(const Query& row) {
  return {row.UidAt<RunUid>(0), row.String(1), row.String(2), row.Integer(3)};
}

template <typename Uid>
Status NoSuch(std::string_view kind, const Uid& uid) {
  return {Code::kNotFound, "there is no " + std::string(kind) + " " + ToHex(uid)};
}

class SqliteStore final : public Store {
 public:
  // The lock is let go last, the writer after the readers: the last one to close tidies up, and
  // only a writer can.
  SqliteStore(UniqueFd lock, const struct stat& file, std::unique_ptr<Connection> writer,
              std::vector<std::unique_ptr<Reader>> readers)
      : lock_(std::move(lock)),
        file_(file),
        writer_(std::move(writer)),
        readers_(std::move(readers)) {}

  Status Append(std::span<const Batch> batches) override;
  Result<Journal> FindJournal(const JournalUid& uid) override;
  Result<std::string> ReadSlots(const JournalUid& uid, std::uint64_t first_slot,
                                std::uint64_t count) override;
  Result<std::vector<std::string>> ListProjects() override;
  Result<std::vector<RunRow>> ListRuns(std::string_view project, std::string_view name) override;
  Result<RunRow> FindRun(const RunUid& uid) override;
  Result<std::vector<Journal>> ListJournals(const RunUid& uid) override;
  Result<std::uint64_t> StoredBytes(const RunUid& uid) override;

  Status AddToken(const TokenRow& token, const AuditRow& audit) override;
  Result<std::vector<TokenRow>> ListTokens() override;
  Status RevokeToken(std::string_view id, std::int64_t when, const AuditRow& audit) override;
  Result<std::vector<AuditRow>> ListAudit(std::int64_t before, std::size_t count,
                                          std::string_view project) override;

 private:
  struct Position {
    std::int64_t journal_id = 0;
    std::uint64_t slots = 0;
  };
  // A connection that nobody else uses meanwhile.
  struct Turn {
    std::unique_lock<std::mutex> lock;
    Connection* connection;
  };
  Turn TakeReader();

  // A journal that has become longer: it had slots [0, from), and has [0, to).
  struct Grown {
    std::int64_t journal_id = 0;
    JournalUid uid;
    std::uint64_t from = 0;
    std::uint64_t to = 0;
  };

  // Within a transaction of the writer.
  Result<Grown> Write(const Batch& batch, std::span<const packing::PackedSlots> chunks);
  Result<Position> FindOrMakeJournal(const JournalIdentity& identity);
  Result<std::int64_t> FindOrMakeRun(const JournalIdentity& identity);
  Result<std::int64_t> FindOrMakeProject(const std::string& name);
  Status WriteDown(const AuditRow& audit);
  Status Merge(const Grown& grown, std::uint64_t begin, std::uint64_t end);

  void Tidy(std::span<const Grown> grown);

  // What is kept in a file that nobody finds any more is not kept.
  Status CheckFile() const;

  UniqueFd lock_;
  struct stat file_;  // which one is open
  std::mutex write_mutex_;
  std::unique_ptr<Connection> writer_;
  std::vector<std::unique_ptr<Reader>> readers_;
  std::atomic<std::size_t> next_reader_ = 0;
};

SqliteStore::Turn SqliteStore::TakeReader() {
  const std::size_t first = next_reader_.fetch_add(1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    Reader& reader = *readers_[(first + i) % readers_.size()];
    std::unique_lock lock(reader.mutex, std::try_to_lock);
    if (lock.owns_lock()) return {std::move(lock), reader.connection.get()};
  }
  Reader& reader = *readers_[first % readers_.size()];
  return {std::unique_lock(reader.mutex), reader.connection.get()};
}

// --- Writing

constexpr std::string_view kWrite = "write to";

Result<std::int64_t> SqliteStore::FindOrMakeProject(const std::string& name) {
  {
    Query find(writer_.get(), kWrite, "SELECT id FROM project WHERE name = ?", Text{name});
    if (find.Next()) return find.Integer(0);
    HEADWAY_RETURN_IF_ERROR(find.status());
  }
  Query make(writer_.get(), kWrite, "INSERT INTO project (name) VALUES (?)", Text{name});
  HEADWAY_RETURN_IF_ERROR(make.Run());
  return writer_->LastId();
}

Result<std::int64_t> SqliteStore::FindOrMakeRun(const JournalIdentity& identity) {
  const Result<std::int64_t> project = FindOrMakeProject(identity.project);
  HEADWAY_RETURN_IF_ERROR(project.status());
  {
    Query find(writer_.get(), kWrite, "SELECT id, project_id, name, start FROM run WHERE uid = ?",
               identity.run_uid);
    if (find.Next()) {
      if (find.Integer(1) != *project || find.Bytes(2) != identity.run) {
        return Status(Code::kAlreadyExists, "run " + ToHex(identity.run_uid) +
                                                " is there under another project or name than " +
                                                Quoted(identity.project) + " and " +
                                                Quoted(identity.run));
      }
      const std::int64_t id = find.Integer(0);
      if (find.Integer(3) <= identity.start) return id;
      // Journals come in any order.
      Query update(writer_.get(), kWrite, "UPDATE run SET start = ? WHERE id = ?", identity.start,
                   id);
      HEADWAY_RETURN_IF_ERROR(update.Run());
      return id;
    }
    HEADWAY_RETURN_IF_ERROR(find.status());
  }
  Query make(writer_.get(), kWrite,
             "INSERT INTO run (uid, project_id, name, start) VALUES (?, ?, ?, ?)", identity.run_uid,
             *project, Text{identity.run}, identity.start);
  HEADWAY_RETURN_IF_ERROR(make.Run());
  return writer_->LastId();
}

Result<SqliteStore::Position> SqliteStore::FindOrMakeJournal(const JournalIdentity& identity) {
  {
    Query find(writer_.get(), kWrite,
               "SELECT journal.id, state.slots, run.uid, journal.header FROM journal "
               "JOIN state ON state.journal_id = journal.id JOIN run ON run.id = journal.run_id "
               "WHERE journal.uid = ?",
               identity.uid);
    if (find.Next()) {
      if (find.UidAt<RunUid>(2) != identity.run_uid || find.Bytes(3) != identity.header) {
        return Status(Code::kAlreadyExists, "journal " + ToHex(identity.uid) +
                                                " is there with another header or in another run");
      }
      return Position{find.Integer(0), static_cast<std::uint64_t>(find.Integer(1))};
    }
    HEADWAY_RETURN_IF_ERROR(find.status());
  }
  const Result<std::int64_t> run = FindOrMakeRun(identity);
  HEADWAY_RETURN_IF_ERROR(run.status());
  Query journal(writer_.get(), kWrite,
                "INSERT INTO journal (uid, run_id, start, header) VALUES (?, ?, ?, ?)",
                identity.uid, *run, identity.start, std::string_view(identity.header));
  HEADWAY_RETURN_IF_ERROR(journal.Run());
  const Position position{writer_->LastId(), 0};
  Query state(writer_.get(), kWrite,
              "INSERT INTO state (journal_id, slots, counters, writer, heard, stored_bytes) "
              "VALUES (?, 0, x'', 0, 0, 0)",
              position.journal_id);
  HEADWAY_RETURN_IF_ERROR(state.Run());
  return position;
}

Result<SqliteStore::Grown> SqliteStore::Write(const Batch& batch,
                                              std::span<const packing::PackedSlots> chunks) {
  const Result<Position> position = FindOrMakeJournal(batch.identity);
  HEADWAY_RETURN_IF_ERROR(position.status());
  if (batch.first_slot > position->slots) {
    return Status(Code::kOutOfRange,
                  "journal " + ToHex(batch.identity.uid) + " has " +
                      std::to_string(position->slots) + " slots, and a batch begins at slot " +
                      std::to_string(batch.first_slot) + "; send what lies between");
  }
  std::uint64_t stored = 0;
  std::uint64_t end = batch.first_slot;
  for (const packing::PackedSlots& chunk : chunks) {
    Query insert(writer_.get(), kWrite,
                 "INSERT INTO chunk (journal_id, first_slot, slots, codec, bytes) "
                 "VALUES (?, ?, ?, ?, ?)",
                 position->journal_id, static_cast<std::int64_t>(end),
                 static_cast<std::int64_t>(chunk.slots), chunk.codec, chunk.bytes);
    HEADWAY_RETURN_IF_ERROR(insert.Run());
    stored += chunk.bytes.size();
    end += chunk.slots;
  }
  const std::uint64_t slots = std::max(position->slots, end);
  Query update(writer_.get(), kWrite,
               "UPDATE state SET slots = ?, counters = ?, writer = ?, heard = ?, "
               "stored_bytes = stored_bytes + ? WHERE journal_id = ?",
               static_cast<std::int64_t>(slots), std::string_view(batch.counters),
               static_cast<std::int64_t>(batch.writer), batch.heard,
               static_cast<std::int64_t>(stored), position->journal_id);
  HEADWAY_RETURN_IF_ERROR(update.Run());
  return Grown{position->journal_id, batch.identity.uid, position->slots, slots};
}

// Puts the chunks that lie within [begin, end) into one, where that changes nothing.
Status SqliteStore::Merge(const Grown& grown, std::uint64_t begin, std::uint64_t end) {
  struct Old {
    std::int64_t id;
    std::uint64_t begin, end;
  };
  std::vector<Old> inside;
  std::vector<Old> across;
  {
    Query query(writer_.get(), kWrite,
                "SELECT id, first_slot, slots FROM chunk WHERE journal_id = ? AND first_slot > ? "
                "AND first_slot < ? ORDER BY first_slot",
                grown.journal_id,
                static_cast<std::int64_t>(begin) - static_cast<std::int64_t>(packing::kSlotsMost),
                static_cast<std::int64_t>(end));
    while (query.Next()) {
      const auto first = static_cast<std::uint64_t>(query.Integer(1));
      const Old old = {query.Integer(0), first,
                       first + static_cast<std::uint64_t>(query.Integer(2))};
      (old.begin >= begin && old.end <= end ? inside : across).push_back(old);
    }
    HEADWAY_RETURN_IF_ERROR(query.status());
  }
  if (inside.size() < 2) return OkStatus();
  const std::uint64_t first = inside.front().begin;
  std::uint64_t covered = first;
  for (const Old& old : inside) {
    if (old.begin > covered) return OkStatus();  // one from across lies between
    covered = std::max(covered, old.end);
  }
  for (const Old& old : across) {
    if (old.end > first && old.begin < covered) return OkStatus();  // which one lies above?
  }

  // What came later lies over what was there.
  std::ranges::sort(inside, {}, &Old::id);
  std::string slots(static_cast<std::size_t>(covered - first) * kSlotBytes, '\0');
  std::int64_t stored = 0;
  packing::SlotUnpacker unpacker;
  for (const Old& old : inside) {
    {
      Query query(writer_.get(), kWrite, "SELECT codec, bytes FROM chunk WHERE id = ?", old.id);
      if (!query.Next()) return query.status();
      const auto data = unpacker.Unpack(
          grown.uid, old.begin,
          {.slots = old.end - old.begin, .codec = query.Integer(0), .bytes = query.Bytes(1)});
      if (!data.has_value()) return OkStatus();  // whoever reads it will tell
      std::memcpy(slots.data() + (old.begin - first) * kSlotBytes, data->data(), data->size());
      stored -= static_cast<std::int64_t>(query.Bytes(1).size());
    }
    Query remove(writer_.get(), kWrite, "DELETE FROM chunk WHERE id = ?", old.id);
    HEADWAY_RETURN_IF_ERROR(remove.Run());
  }
  packing::SlotPacker packer;
  const Result<std::string_view> bytes = packer.Pack(grown.uid, first, slots);
  HEADWAY_RETURN_IF_ERROR(bytes.status());
  Query insert(writer_.get(), kWrite,
               "INSERT INTO chunk (journal_id, first_slot, slots, codec, bytes) "
               "VALUES (?, ?, ?, ?, ?)",
               grown.journal_id, static_cast<std::int64_t>(first),
               static_cast<std::int64_t>(covered - first), packing::kSlotsCodec, *bytes);
  HEADWAY_RETURN_IF_ERROR(insert.Run());
  stored += static_cast<std::int64_t>(bytes->size());
  Query update(writer_.get(), kWrite,
               "UPDATE state SET stored_bytes = stored_bytes + ? WHERE journal_id = ?", stored,
               grown.journal_id);
  return update.Run();
}

// A journal that is followed comes in a few slots at a time, which take more space and time apart
// than together: each time one has filled a cell, what lies in that is put into one chunk. So each
// slot is packed once for each size of cells.
void SqliteStore::Tidy(std::span<const Grown> grown) {
  struct Cell {
    const Grown* grown;
    std::uint64_t begin, end;
  };
  std::vector<Cell> cells;
  for (const Grown& one : grown) {
    for (const std::uint64_t size : {std::uint64_t{128}, packing::kSlotsMost}) {
      // Behind the first one they are full of what came with this.
      const std::uint64_t begin = one.from / size * size;
      if (one.from > begin && one.to >= begin + size) cells.push_back({&one, begin, begin + size});
    }
  }
  if (cells.empty()) return;
  Transaction transaction(writer_.get(), "BEGIN IMMEDIATE", kWrite);
  Status status = transaction.status();
  for (const Cell& cell : cells) {
    if (!status.ok()) return;  // such as: the disk is full. What was appended stays
    status = Merge(*cell.grown, cell.begin, cell.end);
  }
  if (status.ok()) transaction.Commit().IgnoreError();
}

Status SqliteStore::CheckFile() const {
  struct stat now;
  if (::stat(writer_->path().c_str(), &now) == 0 && now.st_dev == file_.st_dev &&
      now.st_ino == file_.st_ino) {
    return OkStatus();
  }
  return {Code::kUnavailable, writer_->path() +
                                  " was removed or replaced while the server had it open; "
                                  "put it back, or start the server again"};
}

Status SqliteStore::Append(std::span<const Batch> batches) {
  if (batches.empty()) return OkStatus();
  // What takes the processor's time comes before one's turn to write.
  std::vector<std::vector<packing::PackedSlots>> chunks;
  chunks.reserve(batches.size());
  std::deque<std::string> packed;  // what the chunks point to
  packing::SlotPacker packer;
  for (const Batch& batch : batches) {
    chunks.push_back(batch.packed);
    if (!batch.packed.empty() && !batch.slots.empty()) {
      return {Code::kInvalidArgument, "a batch of journal " + ToHex(batch.identity.uid) +
                                          " has both slots and packed ones"};
    }
    if (batch.slots.size() % kSlotBytes != 0) {
      return {Code::kInvalidArgument, "a batch of journal " + ToHex(batch.identity.uid) + " is " +
                                          std::to_string(batch.slots.size()) +
                                          " bytes long, not a multiple of " +
                                          std::to_string(kSlotBytes)};
    }
    constexpr std::size_t kMost = packing::kSlotsMost * kSlotBytes;
    for (std::size_t at = 0; at < batch.slots.size(); at += kMost) {
      const std::string_view piece = batch.slots.substr(at, kMost);
      const Result<std::string_view> bytes =
          packer.Pack(batch.identity.uid, batch.first_slot + at / kSlotBytes, piece);
      HEADWAY_RETURN_IF_ERROR(bytes.status());
      chunks.back().push_back(
          {.slots = piece.size() / kSlotBytes, .bytes = packed.emplace_back(*bytes)});
    }
  }
  const std::lock_guard lock(write_mutex_);
  HEADWAY_RETURN_IF_ERROR(CheckFile());
  Transaction transaction(writer_.get(), "BEGIN IMMEDIATE", kWrite);
  HEADWAY_RETURN_IF_ERROR(transaction.status());
  std::vector<Grown> grown;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const Result<Grown> one = Write(batches[i], chunks[i]);
    HEADWAY_RETURN_IF_ERROR(one.status());
    grown.push_back(*one);
  }
  HEADWAY_RETURN_IF_ERROR(transaction.Commit());
  Tidy(grown);
  return OkStatus();
}

// --- Reading

constexpr std::string_view kRead = "read";
constexpr std::string_view kCheck = "check";

Result<Journal> SqliteStore::FindJournal(const JournalUid& uid) {
  static const std::string sql = std::string(kJournalColumns) + "WHERE journal.uid = ?";
  const Turn turn = TakeReader();
  Query query(turn.connection, kRead, sql, uid);
  if (query.Next()) return JournalOf(query);
  HEADWAY_RETURN_IF_ERROR(query.status());
  return NoSuch("journal", uid);
}

Result<std::string> SqliteStore::ReadSlots(const JournalUid& uid, std::uint64_t first_slot,
                                           std::uint64_t count) {
  const Turn turn = TakeReader();
  Connection* const connection = turn.connection;
  const Transaction transaction(connection, "BEGIN", kRead);
  HEADWAY_RETURN_IF_ERROR(transaction.status());
  Query journal(connection, kRead,
                "SELECT journal.id, state.slots FROM journal "
                "JOIN state ON state.journal_id = journal.id WHERE journal.uid = ?",
                uid);
  if (!journal.Next()) {
    HEADWAY_RETURN_IF_ERROR(journal.status());
    return NoSuch("journal", uid);
  }
  const auto slots = static_cast<std::uint64_t>(std::max<std::int64_t>(journal.Integer(1), 0));
  const std::uint64_t begin = std::min(first_slot, slots);
  const std::uint64_t end = begin + std::min(count, slots - begin);
  const auto damaged = [&](std::uint64_t slot) {
    return Status(Code::kDataLoss, "slot " + std::to_string(slot) + " of journal " + ToHex(uid) +
                                       " is damaged in " + connection->path() +
                                       "; examine the disk, and restore a copy of the file");
  };

  struct Piece {
    std::int64_t id;
    std::uint64_t begin, end;
  };
  std::vector<Piece> pieces;
  // The index alone answers this; it knows no end of a chunk, but how long one can be.
  Query range(connection, kRead,
              "SELECT id, first_slot, slots FROM chunk WHERE journal_id = ?1 AND first_slot > ?2 "
              "AND first_slot < ?3 AND first_slot + slots > ?4 ORDER BY first_slot",
              journal.Integer(0),
              static_cast<std::int64_t>(begin) - static_cast<std::int64_t>(packing::kSlotsMost),
              static_cast<std::int64_t>(end), static_cast<std::int64_t>(begin));
  std::uint64_t covered = begin;
  while (begin < end && range.Next()) {
    const auto from = static_cast<std::uint64_t>(range.Integer(1));
    const auto size = static_cast<std::uint64_t>(range.Integer(2));
    if (from > covered || size == 0 || size > packing::kSlotsMost) return damaged(covered);
    pieces.push_back({range.Integer(0), from, from + size});
    covered = std::max(covered, from + size);
  }
  HEADWAY_RETURN_IF_ERROR(range.status());
  if (covered < end) return damaged(covered);

  // What came later lies over what was there.
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.id < b.id; });
  std::string out(static_cast<std::size_t>(end - begin) * kSlotBytes, '\0');
  packing::SlotUnpacker unpacker;
  for (const Piece& piece : pieces) {
    Query query(connection, kRead, "SELECT codec, bytes FROM chunk WHERE id = ?", piece.id);
    if (!query.Next()) {
      HEADWAY_RETURN_IF_ERROR(query.status());
      return damaged(piece.begin);
    }
    const std::optional<std::string_view> data = unpacker.Unpack(
        uid, piece.begin,
        {.slots = piece.end - piece.begin, .codec = query.Integer(0), .bytes = query.Bytes(1)});
    if (!data.has_value()) return damaged(piece.begin);
    const std::uint64_t from = std::max(piece.begin, begin);
    const std::uint64_t to = std::min(piece.end, end);
    std::memcpy(out.data() + (from - begin) * kSlotBytes,
                data->data() + (from - piece.begin) * kSlotBytes, (to - from) * kSlotBytes);
  }
  return out;
}

Result<std::vector<std::string>> SqliteStore::ListProjects() {
  const Turn turn = TakeReader();
  Query query(turn.connection, kRead, "SELECT name FROM project ORDER BY name");
  std::vector<std::string> names;
  while (query.Next()) names.push_back(query.String(0));
  HEADWAY_RETURN_IF_ERROR(query.status());
  return names;
}

Result<std::vector<RunRow>> SqliteStore::ListRuns(std::string_view project, std::string_view name) {
  const Turn turn = TakeReader();
  Query query(turn.connection, kRead,
              "SELECT run.uid, project.name, run.name, run.start FROM run "
              "JOIN project ON project.id = run.project_id "
              "WHERE project.name = ?1 AND (?2 = '' OR run.name = ?2) "
              "ORDER BY run.start DESC, run.uid DESC",
              Text{project}, Text{name});
  std::vector<RunRow> runs;
  while (query.Next()) runs.push_back(RunOf(query));
  HEADWAY_RETURN_IF_ERROR(query.status());
  return runs;
}

Result<RunRow> SqliteStore::FindRun(const RunUid& uid) {
  const Turn turn = TakeReader();
  Query query(turn.connection, kRead,
              "SELECT run.uid, project.name, run.name, run.start FROM run "
              "JOIN project ON project.id = run.project_id WHERE run.uid = ?",
              uid);
  if (query.Next()) return RunOf(query);
  HEADWAY_RETURN_IF_ERROR(query.status());
  return NoSuch("run", uid);
}

Result<std::vector<Journal>> SqliteStore::ListJournals(const RunUid& uid) {
  static const std::string sql =
      std::string(kJournalColumns) + "WHERE run.uid = ? ORDER BY journal.start, journal.uid";
  const Turn turn = TakeReader();
  Query query(turn.connection, kRead, sql, uid);
  std::vector<Journal> journals;
  while (query.Next()) journals.push_back(JournalOf(query));
  HEADWAY_RETURN_IF_ERROR(query.status());
  return journals;
}

Result<std::uint64_t> SqliteStore::StoredBytes(const RunUid& uid) {
  const Turn turn = TakeReader();
  Query query(turn.connection, kRead,
              "SELECT coalesce(sum(state.stored_bytes), 0) FROM run "
              "JOIN journal ON journal.run_id = run.id JOIN state ON state.journal_id = journal.id "
              "WHERE run.uid = ?",
              uid);
  if (query.Next()) return static_cast<std::uint64_t>(query.Integer(0));
  HEADWAY_RETURN_IF_ERROR(query.status());
  return std::uint64_t{0};
}

// --- Registry

Status SqliteStore::WriteDown(const AuditRow& audit) {
  Query insert(writer_.get(), kWrite,
               "INSERT INTO audit (time, who, action, what, project) VALUES (?, ?, ?, ?, ?)",
               audit.time, Text{audit.who}, Text{audit.action}, Text{audit.what},
               Text{audit.project});
  return insert.Run();
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

// --- Opening -------------------------------------------------------------------------------------

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

}  // namespace

Result<std::unique_ptr<Store>> OpenSqliteStore(const std::string& path,
                                               const SqliteOptions& options) {
  const Result<std::string> real = Resolve(path);
  HEADWAY_RETURN_IF_ERROR(real.status());
  Result<UniqueFd> lock = Lock(*real);
  HEADWAY_RETURN_IF_ERROR(lock.status());
  // Before SQLite has the file open: closing any descriptor of it lets go of SQLite's locks.
  HEADWAY_RETURN_IF_ERROR(MakeFile(*real));
  Result<std::unique_ptr<Connection>> writer =
      Connection::Open(*real, SQLITE_OPEN_READWRITE, options.busy_timeout_ms);
  HEADWAY_RETURN_IF_ERROR(writer.status());
  const Result<std::int64_t> version = KnownVersion(writer->get());
  HEADWAY_RETURN_IF_ERROR(version.status());
  HEADWAY_RETURN_IF_ERROR(Configure(writer->get(), options));
  HEADWAY_RETURN_IF_ERROR(Migrate(writer->get(), *version));
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
  HEADWAY_RETURN_IF_ERROR(KnownVersion(connection->get()).status());
  const auto damaged = [&real](const std::string& how) {
    return Status(Code::kDataLoss, *real + " is damaged: " + how +
                                       "; examine the disk, and restore a copy of the file");
  };
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
               "SELECT state.journal_id, state.slots, journal.uid FROM state "
               "JOIN journal ON journal.id = state.journal_id");
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
