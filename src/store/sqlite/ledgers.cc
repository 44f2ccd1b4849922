#include <algorithm>
#include <vector>

#include "store/sqlite/sqlite_store.h"

namespace headway::store {
namespace {

constexpr std::int64_t kDropRows = 64;  // in one transaction

}  // namespace

Status SqliteStore::SaveLedger(const RunUid& run, std::string_view state,
                               std::span<const LedgerPage> added,
                               std::span<const std::uint64_t> kept) {
  return Change([&]() -> Status {
    const Result<std::int64_t> id = FindRunId(writer_.get(), run);
    HEADWAY_RETURN_IF_ERROR(id.status());
    if (*id == 0) return NoSuch("run", run);
    const Result<RunRow> row = ReadRun(writer_.get(), *id);
    HEADWAY_RETURN_IF_ERROR(row.status());
    if (row->purged) {
      return {Code::kFailedPrecondition, "run " + ToHex(run) + " was removed for good"};
    }
    std::vector<std::int64_t> outdated;
    {
      Query pages(writer_.get(), kWrite, "SELECT page FROM ledger_page WHERE run_id = ?", *id);
      while (pages.Next()) {
        const auto page = static_cast<std::uint64_t>(pages.Integer(0));
        if (!std::ranges::binary_search(kept, page)) outdated.push_back(pages.Integer(0));
      }
      HEADWAY_RETURN_IF_ERROR(pages.status());
    }
    for (const std::int64_t page : outdated) {
      Query remove(writer_.get(), kWrite, "DELETE FROM ledger_page WHERE run_id = ? AND page = ?",
                   *id, page);
      HEADWAY_RETURN_IF_ERROR(remove.Run());
    }
    for (const LedgerPage& page : added) {
      const std::string_view bytes = page.bytes;
      Query insert(writer_.get(), kWrite,
                   "INSERT INTO ledger_page (run_id, page, bytes) VALUES (?1, ?2, ?3) "
                   "ON CONFLICT (run_id, page) DO UPDATE SET bytes = ?3",
                   *id, static_cast<std::int64_t>(page.id), bytes);
      HEADWAY_RETURN_IF_ERROR(insert.Run());
    }
    Query save(writer_.get(), kWrite,
               "INSERT INTO ledger (run_id, state) VALUES (?1, ?2) "
               "ON CONFLICT (run_id) DO UPDATE SET state = ?2",
               *id, state);
    return save.Run();
  });
}

Result<std::optional<std::string>> SqliteStore::FindLedger(const RunUid& run) {
  const Turn turn = TakeReader();
  Query find(turn.connection, kRead,
             "SELECT ledger.state FROM run JOIN ledger ON ledger.run_id = run.id WHERE run.uid = ?",
             run);
  if (find.Next()) return std::optional(find.String(0));
  HEADWAY_RETURN_IF_ERROR(find.status());
  return std::optional<std::string>();
}

Result<std::string> SqliteStore::ReadLedgerPage(const RunUid& run, std::uint64_t page) {
  const Turn turn = TakeReader();
  Query find(turn.connection, kRead,
             "SELECT ledger_page.bytes FROM run JOIN ledger_page ON ledger_page.run_id = run.id "
             "WHERE run.uid = ? AND ledger_page.page = ?",
             run, static_cast<std::int64_t>(page));
  if (find.Next()) return find.String(0);
  HEADWAY_RETURN_IF_ERROR(find.status());
  return Status(Code::kNotFound,
                "run " + ToHex(run) + " has no page " + std::to_string(page) + " of its ledger");
}

// Within a transaction of the writer.
Status SqliteStore::RemoveLedger(std::int64_t run_id) {
  for (const char* const sql :
       {"DELETE FROM ledger_page WHERE run_id = ?", "DELETE FROM ledger WHERE run_id = ?"}) {
    Query remove(writer_.get(), kWrite, sql, run_id);
    HEADWAY_RETURN_IF_ERROR(remove.Run());
  }
  return OkStatus();
}

Status SqliteStore::DropLedger(const RunUid& run) {
  return Change([&]() -> Status {
    const Result<std::int64_t> id = FindRunId(writer_.get(), run);
    HEADWAY_RETURN_IF_ERROR(id.status());
    return RemoveLedger(*id);
  });
}

Result<std::size_t> SqliteStore::DropOldLedgers(std::int64_t before) {
  std::vector<std::int64_t> runs;
  const Status status = Change([&]() -> Status {
    {
      Query old(writer_.get(), kWrite,
                "SELECT ledger.run_id FROM ledger JOIN run ON run.id = ledger.run_id "
                "WHERE run.summarised < ? AND NOT EXISTS "
                "(SELECT 1 FROM stale_run WHERE stale_run.run_id = ledger.run_id) LIMIT ?",
                before, kDropRows);
      while (old.Next()) runs.push_back(old.Integer(0));
      HEADWAY_RETURN_IF_ERROR(old.status());
    }
    for (const std::int64_t run : runs) HEADWAY_RETURN_IF_ERROR(RemoveLedger(run));
    return OkStatus();
  });
  HEADWAY_RETURN_IF_ERROR(status);
  return runs.size();
}

}  // namespace headway::store
