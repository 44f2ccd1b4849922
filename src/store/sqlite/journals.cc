#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>

#include "store/sqlite/sqlite_store.h"

namespace headway::store {
namespace {

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

}  // namespace

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

Result<std::int64_t> SqliteStore::FindOrMakeRun(const JournalIdentity& identity,
                                                std::int64_t when) {
  const Result<std::int64_t> project = FindOrMakeProject(identity.project, when);
  HEADWAY_RETURN_IF_ERROR(project.status());
  const Result<std::int64_t> known = FindRunId(writer_.get(), identity.run_uid);
  HEADWAY_RETURN_IF_ERROR(known.status());
  if (*known != 0) {
    Query find(writer_.get(), kWrite,
               "SELECT project_id, name, start, purged FROM run WHERE id = ?", *known);
    if (!find.Next()) return find.status();
    if (find.Integer(0) != *project || find.Bytes(1) != identity.run) {
      return Status(Code::kAlreadyExists, "run " + ToHex(identity.run_uid) +
                                              " is there under another project or name than " +
                                              Quoted(identity.project) + " and " +
                                              Quoted(identity.run));
    }
    if (find.Integer(3) != 0) {
      return Status(Code::kFailedPrecondition,
                    "run " + ToHex(identity.run_uid) + " was deleted, with all its records");
    }
    HEADWAY_RETURN_IF_ERROR(BeginBy(*known, identity.start));
    return *known;
  }
  // One that was made before anything was recorded, and waits for that.
  std::int64_t waiting = 0;
  {
    Query find(writer_.get(), kWrite,
               "SELECT id FROM run WHERE project_id = ? AND name = ? AND deleted = 0 "
               "AND creator IS NOT NULL "
               "AND NOT EXISTS (SELECT 1 FROM journal WHERE journal.run_id = run.id) "
               "ORDER BY start LIMIT 1",
               *project, Text{identity.run});
    if (find.Next()) waiting = find.Integer(0);
    HEADWAY_RETURN_IF_ERROR(find.status());
  }
  if (waiting != 0) {
    Query alias(writer_.get(), kWrite, "INSERT INTO run_alias (uid, run_id) VALUES (?, ?)",
                identity.run_uid, waiting);
    HEADWAY_RETURN_IF_ERROR(alias.Run());
    HEADWAY_RETURN_IF_ERROR(BeginBy(waiting, identity.start));
    return waiting;
  }
  Query make(writer_.get(), kWrite,
             "INSERT INTO run (uid, project_id, name, start, began, created, updated, state) "
             "VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?5, ?6)",
             identity.run_uid, *project, Text{identity.run}, identity.start, when,
             Text{RunStateName(RunState::kNotStarted)});
  HEADWAY_RETURN_IF_ERROR(make.Run());
  return writer_->LastId();
}

// Journals come in any order; before the first one its start is when it was made.
Status SqliteStore::BeginBy(std::int64_t run_id, std::int64_t start) {
  Query update(writer_.get(), kWrite,
               "UPDATE run SET start = ?2, began = iif(summarised = 0, ?2, began) WHERE id = ?1 "
               "AND (start > ?2 OR "
               "NOT EXISTS (SELECT 1 FROM journal WHERE journal.run_id = run.id))",
               run_id, start);
  return update.Run();
}

Result<SqliteStore::Position> SqliteStore::FindOrMakeJournal(const JournalIdentity& identity,
                                                             std::int64_t when) {
  {
    Query find(writer_.get(), kWrite,
               "SELECT journal.id, state.slots, journal.header, journal.run_id FROM journal "
               "JOIN state ON state.journal_id = journal.id WHERE journal.uid = ?",
               identity.uid);
    if (find.Next()) {
      // The run may have another uid than its journals say; theirs is in their headers.
      if (find.Bytes(2) != identity.header) {
        return Status(Code::kAlreadyExists,
                      "journal " + ToHex(identity.uid) + " is there with another header");
      }
      const Position position{find.Integer(0), static_cast<std::uint64_t>(find.Integer(1)),
                              find.Integer(3)};
      const Result<std::int64_t> run = FindRunId(writer_.get(), identity.run_uid);
      HEADWAY_RETURN_IF_ERROR(run.status());
      if (*run != position.run_id) {
        return Status(Code::kAlreadyExists,
                      "journal " + ToHex(identity.uid) + " is there in another run");
      }
      return position;
    }
    HEADWAY_RETURN_IF_ERROR(find.status());
  }
  const Result<std::int64_t> run = FindOrMakeRun(identity, when);
  HEADWAY_RETURN_IF_ERROR(run.status());
  Query journal(writer_.get(), kWrite,
                "INSERT INTO journal (uid, run_id, start, header) VALUES (?, ?, ?, ?)",
                identity.uid, *run, identity.start, std::string_view(identity.header));
  HEADWAY_RETURN_IF_ERROR(journal.Run());
  const Position position{writer_->LastId(), 0, *run};
  Query state(writer_.get(), kWrite,
              "INSERT INTO state (journal_id, slots, counters, writer, heard, stored_bytes) "
              "VALUES (?, 0, x'', 0, 0, 0)",
              position.journal_id);
  HEADWAY_RETURN_IF_ERROR(state.Run());
  return position;
}

Status SqliteStore::Account(std::int64_t journal_id, std::int64_t bytes) {
  if (bytes == 0) return OkStatus();
  Query state(writer_.get(), kWrite,
              "UPDATE state SET stored_bytes = stored_bytes + ? WHERE journal_id = ?", bytes,
              journal_id);
  HEADWAY_RETURN_IF_ERROR(state.Run());
  Query project(writer_.get(), kWrite,
                "UPDATE project SET stored_bytes = stored_bytes + ? WHERE id = "
                "(SELECT run.project_id FROM journal JOIN run ON run.id = journal.run_id "
                "WHERE journal.id = ?)",
                bytes, journal_id);
  return project.Run();
}

// Before anything of `bytes` is written for a run.
Status SqliteStore::CheckQuota(std::int64_t run_id, std::uint64_t bytes) {
  Query query(writer_.get(), kWrite,
              "SELECT project.name, project.quota, project.stored_bytes FROM run "
              "JOIN project ON project.id = run.project_id WHERE run.id = ? AND project.quota > 0",
              run_id);
  if (!query.Next()) return query.status();
  const std::int64_t quota = query.Integer(1);
  if (query.Integer(2) + static_cast<std::int64_t>(bytes) <= quota) return OkStatus();
  return {Code::kFailedPrecondition, "project " + Quoted(query.String(0)) + " may keep " +
                                         std::to_string(quota) + " bytes, and has " +
                                         std::to_string(query.Integer(2)) +
                                         "; delete runs of it, or raise its quota"};
}

Result<SqliteStore::Grown> SqliteStore::Write(const Batch& batch,
                                              std::span<const packing::PackedSlots> chunks) {
  const Result<Position> position = FindOrMakeJournal(batch.identity, batch.heard);
  HEADWAY_RETURN_IF_ERROR(position.status());
  if (batch.first_slot > position->slots) {
    return Status(Code::kOutOfRange,
                  "journal " + ToHex(batch.identity.uid) + " has " +
                      std::to_string(position->slots) + " slots, and a batch begins at slot " +
                      std::to_string(batch.first_slot) + "; send what lies between");
  }
  std::uint64_t stored = 0;
  for (const packing::PackedSlots& chunk : chunks) stored += chunk.bytes.size();
  if (stored > 0) HEADWAY_RETURN_IF_ERROR(CheckQuota(position->run_id, stored));
  std::uint64_t end = batch.first_slot;
  for (const packing::PackedSlots& chunk : chunks) {
    HEADWAY_RETURN_IF_ERROR(InsertChunk(position->journal_id, end, chunk));
    end += chunk.slots;
  }
  const std::uint64_t slots = std::max(position->slots, end);
  Query update(writer_.get(), kWrite,
               "UPDATE state SET slots = ?, counters = ?, writer = ?, heard = ? "
               "WHERE journal_id = ?",
               static_cast<std::int64_t>(slots), std::string_view(batch.counters),
               static_cast<std::int64_t>(batch.writer), batch.heard, position->journal_id);
  HEADWAY_RETURN_IF_ERROR(update.Run());
  HEADWAY_RETURN_IF_ERROR(Account(position->journal_id, static_cast<std::int64_t>(stored)));
  Query stale(writer_.get(), kWrite,
              "INSERT INTO stale_run (run_id, mark) VALUES (?, 1) "
              "ON CONFLICT (run_id) DO UPDATE SET mark = mark + 1",
              position->run_id);
  HEADWAY_RETURN_IF_ERROR(stale.Run());
  return Grown{position->journal_id, batch.identity.uid, position->slots, slots};
}

Status SqliteStore::InsertChunk(std::int64_t journal_id, std::uint64_t first_slot,
                                const packing::PackedSlots& chunk) {
  Query insert(writer_.get(), kWrite,
               "INSERT INTO chunk (journal_id, first_slot, slots, codec, bytes) "
               "VALUES (?, ?, ?, ?, ?)",
               journal_id, static_cast<std::int64_t>(first_slot),
               static_cast<std::int64_t>(chunk.slots), chunk.codec, chunk.bytes);
  return insert.Run();
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
  HEADWAY_RETURN_IF_ERROR(
      InsertChunk(grown.journal_id, first, {.slots = covered - first, .bytes = *bytes}));
  return Account(grown.journal_id, stored + static_cast<std::int64_t>(bytes->size()));
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

Result<Journal> SqliteStore::FindJournal(const JournalUid& uid) {
  static const std::string sql =
      std::string(kJournalColumns) + "WHERE journal.uid = ? AND run.purged = 0";
  const Turn turn = TakeReader();
  Query query(turn.connection, kRead, sql, uid);
  if (query.Next()) return JournalOf(query);
  HEADWAY_RETURN_IF_ERROR(query.status());
  Query purged(turn.connection, kRead,
               "SELECT 1 FROM journal JOIN run ON run.id = journal.run_id "
               "WHERE journal.uid = ? AND run.purged = 1",
               uid);
  if (purged.Next()) {
    return Status(Code::kFailedPrecondition,
                  "the run of journal " + ToHex(uid) + " was deleted, with all its records");
  }
  HEADWAY_RETURN_IF_ERROR(purged.status());
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
                "JOIN state ON state.journal_id = journal.id JOIN run ON run.id = journal.run_id "
                "WHERE journal.uid = ? AND run.purged = 0",
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

Result<std::vector<Journal>> SqliteStore::ListJournals(const RunUid& uid) {
  static const std::string sql =
      std::string(kJournalColumns) +
      "WHERE run.uid = ? AND run.purged = 0 ORDER BY journal.start, journal.uid";
  const Turn turn = TakeReader();
  Query query(turn.connection, kRead, sql, uid);
  std::vector<Journal> journals;
  while (query.Next()) journals.push_back(JournalOf(query));
  HEADWAY_RETURN_IF_ERROR(query.status());
  return journals;
}

Result<bool> SqliteStore::WasPurged(const RunUid& uid) {
  const Turn turn = TakeReader();
  const Result<std::int64_t> id = FindRunId(turn.connection, uid);
  HEADWAY_RETURN_IF_ERROR(id.status());
  Query query(turn.connection, kRead, "SELECT 1 FROM run WHERE id = ? AND purged = 1", *id);
  const bool purged = query.Next();
  HEADWAY_RETURN_IF_ERROR(query.status());
  return purged;
}

Result<bool> SqliteStore::GiveBackRoom() {
  constexpr std::int64_t kKeptBytes = std::int64_t{32} << 20;
  constexpr std::int64_t kKeptPart = 16;    // and one in so many pages
  constexpr std::int64_t kAtOnce = 1024;    // pages
  constexpr std::int64_t kIncremental = 2;  // a file of an older headway keeps its room
  std::int64_t more = 0;
  {
    const Turn turn = TakeReader();
    const Result<std::int64_t> mode = ReadInteger(turn.connection, "PRAGMA auto_vacuum");
    HEADWAY_RETURN_IF_ERROR(mode.status());
    const Result<std::int64_t> free = ReadInteger(turn.connection, "PRAGMA freelist_count");
    HEADWAY_RETURN_IF_ERROR(free.status());
    const Result<std::int64_t> pages = ReadInteger(turn.connection, "PRAGMA page_count");
    HEADWAY_RETURN_IF_ERROR(pages.status());
    const Result<std::int64_t> page = ReadInteger(turn.connection, "PRAGMA page_size");
    HEADWAY_RETURN_IF_ERROR(page.status());
    if (*mode != kIncremental) return false;
    more = *free - std::max(kKeptBytes / *page, *pages / kKeptPart);
  }
  if (more <= 0) return false;
  const std::string sql =
      "PRAGMA incremental_vacuum(" + std::to_string(std::min(more, kAtOnce)) + ")";
  HEADWAY_RETURN_IF_ERROR(Change([&] { return writer_->Execute(sql.c_str(), kWrite); }));
  return more > kAtOnce;
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

}  // namespace headway::store
