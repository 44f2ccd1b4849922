#pragma once

#include <sys/stat.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "packing/slots.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/loose.h"
#include "store/store.h"

/// The Store behind OpenSqliteStore. What it does with journals is in journals.cc, with runs and
/// operations in runs.cc, with points in series.cc and loose.cc, with saved ledgers in ledgers.cc,
/// with tokens, roles and share links in tokens.cc, roles.cc and links.cc, with what belongs to
/// runs in run_items.cc, with the machines of journals in fleet.cc.

namespace headway::store {

// What a connection was to do to the file when it failed.
inline constexpr std::string_view kWrite = "write to";
inline constexpr std::string_view kRead = "read";

// A name in a message.
inline std::string Quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

template <typename Uid>
Status NoSuch(std::string_view kind, const Uid& uid) {
  return {Code::kNotFound, "there is no " + std::string(kind) + " " + ToHex(uid)};
}

struct Reader {
  std::mutex mutex;
  std::unique_ptr<Connection> connection;
};

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
  Result<std::vector<Journal>> ListJournals(const RunUid& uid) override;
  Result<bool> WasPurged(const RunUid& uid) override;
  Result<bool> GiveBackRoom() override;
  Result<std::uint64_t> StoredBytes(const RunUid& uid) override;

  Result<std::vector<ProjectRow>> ListProjects() override;
  Status PutProject(const ProjectRow& project, const AuditRow& audit) override;

  Result<RunPage> ListRuns(const RunQuery& query) override;
  Result<FleetTotals> SumRuns(const FleetQuery& query) override;
  Result<RunRow> FindRun(const RunUid& uid) override;
  Status CreateRun(const RunRow& run, const AuditRow& audit) override;
  Status UpdateRun(const RunUid& uid, std::int64_t version, const RunDetails& details,
                   std::int64_t when, const AuditRow& audit) override;
  Status DeleteRun(const RunUid& uid, std::int64_t when, const AuditRow& audit) override;
  Result<std::int64_t> PurgeRun(const RunUid& uid) override;
  Status CountBlobs(const RunUid& run, std::uint64_t bytes) override;
  Result<std::vector<StaleRun>> ListStaleRuns(std::size_t count) override;
  Status SummariseRuns(std::span<const SummarisedRun> runs) override;

  Status AddOperation(const OperationRow& operation, const AuditRow& audit) override;
  Result<OperationRow> FindOperation(std::string_view id) override;
  Result<std::vector<OperationRow>> ListOperations(std::string_view project,
                                                   bool unfinished) override;
  Status UpdateOperation(const OperationRow& operation) override;
  Status CancelOperation(std::string_view id, const AuditRow& audit) override;
  Status DeleteOperation(std::string_view id, const AuditRow& audit) override;

  Status CreateItem(const ItemRow& item, std::int64_t most, const AuditRow& audit) override;
  Result<ItemRow> FindItem(ItemKind kind, const ItemUid& uid) override;
  Result<ItemPage> ListItems(const ItemQuery& query) override;
  Status UpdateItem(const ItemRow& item, const AuditRow& audit) override;
  Status DeleteItem(ItemKind kind, const ItemUid& uid, std::int64_t version,
                    const AuditRow& audit) override;

  Result<std::vector<UnplacedJournal>> ListUnplaced(std::size_t count) override;
  Status Place(std::span<const PlacedJournal> journals) override;
  Result<std::vector<NodeRow>> ListNodes(const NodeQuery& query) override;

  Result<std::uint64_t> PointPosition(const RunUid& run, std::string_view source) override;
  Status AppendPoints(std::span<const PointBatch> batches) override;
  std::vector<Result<LooseOutcome>> MergePoints(std::span<const LoosePoints> all) override;
  Result<std::vector<SeriesRow>> ListSeries(const RunUid& run) override;
  Result<SeriesPieces> ReadSeries(std::int64_t id) override;
  Result<Points> ReadPiece(std::int64_t id) override;

  Status SaveLedger(const RunUid& run, std::string_view state, std::span<const LedgerPage> added,
                    std::span<const std::uint64_t> kept) override;
  Result<std::optional<std::string>> FindLedger(const RunUid& run) override;
  Result<std::string> ReadLedgerPage(const RunUid& run, std::uint64_t page) override;
  Status DropLedger(const RunUid& run) override;
  Result<std::size_t> DropOldLedgers(std::int64_t before) override;

  Status AddToken(const TokenRow& token, const AuditRow& audit) override;
  Result<std::vector<TokenRow>> ListTokens() override;
  Status RevokeToken(std::string_view id, std::int64_t when, const AuditRow& audit) override;
  Status PutRole(const RoleRow& role, const AuditRow& audit) override;
  Result<std::vector<RoleRow>> ListRoles() override;
  Status DeleteRole(std::string_view name, std::int64_t now, const AuditRow& audit) override;
  Status AddLink(const LinkRow& link, const AuditRow& audit) override;
  Result<std::vector<LinkRow>> ListLinks() override;
  Status RevokeLink(std::string_view id, std::int64_t when, const AuditRow& audit) override;
  Status UseLink(std::string_view id, std::int64_t when, const AuditRow& audit) override;
  Status ForgetLinks(std::int64_t before) override;
  Status Audit(const AuditRow& audit) override;
  Result<std::vector<AuditRow>> ListAudit(std::int64_t before, std::size_t count,
                                          std::string_view project) override;

 private:
  class PointWriter;
  class LooseWriter;

  struct Position {
    std::int64_t journal_id = 0;
    std::uint64_t slots = 0;
    std::int64_t run_id = 0;
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
  Status InsertChunk(std::int64_t journal_id, std::uint64_t first_slot,
                     const packing::PackedSlots& chunk);
  Result<Position> FindOrMakeJournal(const JournalIdentity& identity, std::int64_t when);
  Result<std::int64_t> FindOrMakeRun(const JournalIdentity& identity, std::int64_t when);
  Status BeginBy(std::int64_t run_id, std::int64_t start);
  Status CheckQuota(std::int64_t run_id, std::uint64_t bytes);
  Result<std::int64_t> FindOrMakeProject(const std::string& name, std::int64_t when);
  Status WriteDetails(std::int64_t id, const RunDetails& details);
  Status FoundOperation(std::string_view id) const;
  Status FoundLink(std::string_view id) const;
  Status Summarise(const SummarisedRun& run);
  Status WritePoints(const PointBatch& batch);
  Status RemovePoints(std::int64_t run_id);
  Status MergeEach(std::span<const LoosePoints> all, std::vector<Result<LooseOutcome>>* outcomes);
  Result<LooseOutcome> MergeOne(const LoosePoints& points);
  Status RemoveLedger(std::int64_t run_id);
  Status PurgeSome(std::int64_t id, std::int64_t* left);
  struct OldItem {
    std::int64_t id, run_id, bytes;
  };
  /// NotFound; Aborted: it is not of this version any more.
  Result<OldItem> FindOld(ItemKind kind, const ItemUid& uid, std::int64_t version);
  /// Removes up to `count` items of a run; whether there may be more.
  Result<bool> RemoveItems(std::int64_t run_id, std::int64_t count);
  /// So many more items of a run, and bytes of them.
  Status AccountItems(std::int64_t run_id, std::int64_t items, std::int64_t bytes);
  Status PlaceOne(const PlacedJournal& journal);
  Status RemoveNodes(std::int64_t run_id);
  Status WriteDown(const AuditRow& audit);
  /// The journal's chunks take so many bytes more.
  Status Account(std::int64_t journal_id, std::int64_t bytes);
  Status Merge(const Grown& grown, std::uint64_t begin, std::uint64_t end);

  void Tidy(std::span<const Grown> grown);

  /// Within a transaction of its own: all that `change` writes, or nothing.
  template <typename Action>
  Status Change(const Action& change) {
    const std::lock_guard lock(write_mutex_);
    HEADWAY_RETURN_IF_ERROR(CheckFile());
    Transaction transaction(writer_.get(), "BEGIN IMMEDIATE", kWrite);
    HEADWAY_RETURN_IF_ERROR(transaction.status());
    HEADWAY_RETURN_IF_ERROR(change());
    return transaction.Commit();
  }

  // Within a transaction of `connection`.
  static Result<std::int64_t> FindRunId(Connection* connection, const RunUid& uid);
  static Result<RunRow> ReadRun(Connection* connection, std::int64_t id);
  static Result<SeriesPieces> ReadPages(Connection* connection, std::int64_t id);
  static Result<Points> ReadPiece(Connection* connection, std::int64_t id);
  // Adds loose points of the series; or those of a run to what is said of its series.
  static Status AddLoose(Connection* connection, std::int64_t source_id, std::int64_t id,
                         Points* points);
  static Status AddLoose(Connection* connection, std::int64_t run_id, std::vector<SeriesRow>* rows);
  static Status Label(Connection* connection, bool named_anew, RunRow* row);
  // What a machine's runs tell of it; none: it has no runs.
  static Status ReadRunsOf(Connection* connection, std::int64_t id, const NodeQuery& query,
                           NodeRow* node);
  static Status LabelOlder(Connection* connection, RunRow* row);

  // What is kept in a file that nobody finds any more is not kept.
  Status CheckFile() const;

  UniqueFd lock_;
  struct stat file_;  // which one is open
  std::mutex write_mutex_;
  std::unique_ptr<Connection> writer_;
  std::vector<std::unique_ptr<Reader>> readers_;
  std::atomic<std::size_t> next_reader_ = 0;

  LooseSources loose_;  // of write_mutex_
  // Calls of MergePoints that wait for a commit.
  struct Merging {
    std::span<const LoosePoints> all;
    std::vector<Result<LooseOutcome>> outcomes = {};
    bool done = false;
  };
  std::mutex merge_mutex_;
  std::condition_variable merge_done_;
  std::vector<Merging*> merges_;
  bool merges_run_ = false;
};

}  // namespace headway::store
