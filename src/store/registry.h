#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/uid.h"
#include "model/filter.h"
#include "model/run_details.h"
#include "model/run_digest.h"

/// Registry: what a server knows beside records: projects and their runs, operations, tokens, roles
/// and share links. Any thread may call; calls that write take turns, and return once it is
/// durable.

namespace headway::store {

struct ProjectRow {
  std::string name;
  std::int64_t created = 0;       ///< wall time; 0: by a headway that did not write it down
  std::int64_t retention_ns = 0;  ///< how long ended runs are kept; 0: for ever
  std::int64_t quota_bytes = 0;   ///< what its records and blobs may take; 0: what the disk has
  std::int64_t stored_bytes = 0;  ///< that they take (compressed)
  std::int64_t runs = 0;          ///< those that are not deleted
  double price = 0;               ///< of an accelerator's hour; 0: nobody said
  std::string currency = {};      ///< of `price`

  friend bool operator==(const ProjectRow&, const ProjectRow&) = default;
};

struct RunRow {
  RunUid uid;
  std::string project;
  std::string name;
  std::int64_t start = 0;  ///< of its first journal; before there is one, when it was made
  /// Names it among the runs of its project: its name if it is the newest one of that, else
  /// name@<start>; of a deleted one the uid.
  std::string label;
  RunDetails details;
  RunSummary summary;
  std::optional<RunDigest> digest;  ///< of the same instant; nothing: not known yet
  std::string creator;              ///< who made it; empty: journals did
  std::int64_t created = 0;         ///< wall times; 0: by a headway that did not write it down
  std::int64_t updated = 0;         ///< of its details
  std::int64_t deleted = 0;         ///< 0: it is not
  bool purged = false;              ///< nothing of it is there any more but this row
  std::int64_t version = 1;         ///< of its details: 1, 2, ...
  std::int64_t journals = 0;        ///< how many
  std::int64_t stored_bytes = 0;    ///< that their records (compressed) and its blobs take

  friend bool operator==(const RunRow&, const RunRow&) = default;
};

/// What lists of runs can be filtered and ordered by: RunFields() and more, see docs/server.md.
std::span<const FilterField> RunRowFields();
/// The value of `RunRowFields()[field]` of a run; `key` of a field that has one.
FieldValue RunRowValue(const RunRow& row, std::size_t field, std::string_view key);

/// Which runs, in which order, and which part of the list.
struct RunQuery {
  std::string project;
  std::string name = {};      ///< only those of this name; empty: of any
  Filter filter = {};         ///< over RunRowFields()
  RowOrder order = {};        ///< over RunRowFields(); where it decides nothing: the newest first
  bool deleted = false;       ///< the deleted ones too
  std::string after = {};     ///< RunPage::next of the page before
  std::size_t count = 1'000;  ///< at most so many
};
struct RunPage {
  std::vector<RunRow> runs;
  std::string next;  ///< empty: that was all. Bytes
};

/// A run whose journals have grown, or whose state may change by itself, since it was summarised.
struct StaleRun {
  RunUid uid;
  std::int64_t mark = 0;  ///< which growth it was
};

/// How it stands now.
struct SummarisedRun {
  StaleRun stale;
  RunSummary summary;
  RunPhase phase = RunPhase::kUnspecified;  ///< that it comes to; unspecified: it stays
  bool settled = false;  ///< nothing changes but by further records: it is not stale any more
  std::optional<RunDigest> digest = {};  ///< nothing: it stays
};

/// Which runs' time is added up: those that are not deleted.
struct FleetQuery {
  std::string project;
  std::string name = {};                    ///< only those of this name; empty: of any
  Filter filter = {};                       ///< over RunRowFields()
  std::optional<RowOrder::Key> group = {};  ///< a field of texts that tells parts apart
  std::size_t top = 0;                      ///< of those that lost most
};

/// Sums over runs.
struct FleetSums {
  __extension__ using Wide = __int128;  // what 2^63 ns are too few for
  std::int64_t runs = 0;
  std::int64_t live = 0;
  std::int64_t undigested = 0;  ///< of which ListStaleRuns has yet to tell where their time went
  std::array<Wide, kCategoryCount> ns{};
  std::int64_t disruptions = 0;
  Wide accelerator_ns = 0, lost_accelerator_ns = 0;  ///< of those that say how many they hold
  std::int64_t without_accelerators = 0;

  Wide elapsed_ns() const;
  Wide lost_ns() const { return elapsed_ns() - ns[0]; }
  void Add(const FleetSums& other);
};
struct FleetTotals {
  FleetSums all;
  std::map<std::string, FleetSums> parts;  ///< empty without a group
  std::vector<RunRow> costliest;           ///< most first
  bool by_accelerator_time = false;        ///< all of them say how many they hold
};

/// Something that takes its time: done in the background, and told here.
struct OperationRow {
  std::string id;
  std::string verb;    ///< "runs.purge"
  std::string target;  ///< to what: a run's uid
  std::string name;    ///< the same, for people
  std::string project;
  std::string who;
  std::int64_t created = 0;   ///< wall times
  std::int64_t finished = 0;  ///< 0: not yet
  double progress = 0;        ///< the share that is done
  bool cancelled = false;     ///< it was asked to stop
  Code error = Code::kOk;     ///< of one that has finished
  std::string message;

  friend bool operator==(const OperationRow&, const OperationRow&) = default;
};

/// A token of a program or a person. The token itself is nowhere, but its hash.
struct TokenRow {
  std::string id;                       ///< tells it apart from others; no secret
  std::array<std::uint8_t, 32> hash{};  ///< SHA-256 of the token
  std::string name;                     ///< for people
  std::string role;
  std::string project;       ///< the only one that it is good for; empty: all
  std::string run;           ///< the only run of it, by name; empty: all
  std::int64_t created = 0;  ///< wall times
  std::int64_t expires = 0;  ///< 0: never
  std::int64_t revoked = 0;  ///< 0: it is not

  friend bool operator==(const TokenRow&, const TokenRow&) = default;
};

/// A name for what tokens may do, beside the built-in ones.
struct RoleRow {
  std::string name;
  std::vector<std::string> permissions;  ///< "runs.list", ...
  std::string creator;                   ///< who made it
  std::int64_t created = 0;              ///< wall times
  std::int64_t updated = 0;

  friend bool operator==(const RoleRow&, const RoleRow&) = default;
};

/// A share link: whoever has it reads one run. The link itself is nowhere, but its hash.
struct LinkRow {
  std::string id;                       ///< tells it apart from others; no secret
  std::array<std::uint8_t, 32> hash{};  ///< SHA-256 of what stands for it in the place of a token
  RunUid run_uid;
  std::string project;       ///< of the run
  std::string run;           ///< its name
  std::string view;          ///< what a page shows first
  std::string creator;       ///< who made it
  std::int64_t created = 0;  ///< wall times
  std::int64_t expires = 0;
  std::int64_t revoked = 0;  ///< 0: it is not
  std::int64_t used = 0;     ///< when its use was written down last; 0: never

  friend bool operator==(const LinkRow&, const LinkRow&) = default;
};

/// Something that was done, and by whom. What is written down stays.
struct AuditRow {
  std::int64_t number = 0;  ///< given by the registry: 1, 2, ...
  std::int64_t time = 0;    ///< wall time
  std::string who;          ///< "admin", "token 1f0c9d2a77b3"
  std::string action;       ///< "tokens.create"
  std::string what;         ///< to what: for people
  std::string project;      ///< what it was about; empty: all

  friend bool operator==(const AuditRow&, const AuditRow&) = default;
};

class Registry {
 public:
  virtual ~Registry() = default;

  // What changes something writes down at once that it was done: both or neither is there.

  /// By name.
  virtual Result<std::vector<ProjectRow>> ListProjects() = 0;
  /// Makes it where it is not there, and sets what may be set: retention_ns, quota_bytes,
  /// price and currency.
  virtual Status PutProject(const ProjectRow& project, const AuditRow& audit) = 0;

  /// A page of them. InvalidArgument: `after` is of no such page.
  virtual Result<RunPage> ListRuns(const RunQuery& query) = 0;
  /// Adds up the time of runs, by their digests. O(runs).
  virtual Result<FleetTotals> SumRuns(const FleetQuery& query) = 0;
  /// NotFound: no such run. Deleted ones are found, also by the uid that their journals have.
  virtual Result<RunRow> FindRun(const RunUid& uid) = 0;
  /// Makes a run that has recorded nothing yet: uid, project, name, details, creator and created
  /// of `run` count. AlreadyExists: there is one of that uid. The first journal of a run of that
  /// name that is not known otherwise belongs to it.
  virtual Status CreateRun(const RunRow& run, const AuditRow& audit) = 0;
  /// Sets its details. Aborted: it is not of this version any more; NotFound.
  virtual Status UpdateRun(const RunUid& uid, std::int64_t version, const RunDetails& details,
                           std::int64_t when, const AuditRow& audit) = 0;
  /// Hides it (`when` != 0), and revokes the links to it, or shows it again (0). NotFound: no such
  /// run, or it was purged.
  virtual Status DeleteRun(const RunUid& uid, std::int64_t when, const AuditRow& audit) = 0;
  /// Removes some of the records of a deleted run, of which nobody reads any from then on, and
  /// returns how many bytes are left of them; at 0 all is gone but its row, and its blobs, which
  /// are not kept here. FailedPrecondition: it is not deleted.
  virtual Result<std::int64_t> PurgeRun(const RunUid& uid) = 0;

  /// The blobs of the run take so many bytes from now on (BlobStore::BytesOf), which count in what
  /// it and its project have stored. Whoever finishes a blob first says what they will take, and
  /// afterwards what they do. FailedPrecondition, and nothing has changed: that is more than
  /// before, and the run was purged or its project may keep no more. NotFound.
  virtual Status CountBlobs(const RunUid& run, std::uint64_t bytes) = 0;

  /// Runs to be summarised, those first that were so longest ago; `count` at most.
  virtual Result<std::vector<StaleRun>> ListStaleRuns(std::size_t count) = 0;
  /// Keeps how they stand. One that has grown since it was listed stays stale.
  virtual Status SummariseRuns(std::span<const SummarisedRun> runs) = 0;

  /// AlreadyExists: there is one with that id.
  virtual Status AddOperation(const OperationRow& operation, const AuditRow& audit) = 0;
  /// NotFound.
  virtual Result<OperationRow> FindOperation(std::string_view id) = 0;
  /// The newest first; of one project only where one is given; only what is unfinished if so.
  virtual Result<std::vector<OperationRow>> ListOperations(std::string_view project,
                                                           bool unfinished) = 0;
  /// Keeps finished, progress, error and message. NotFound.
  virtual Status UpdateOperation(const OperationRow& operation) = 0;
  /// Keeps that it was asked to stop. NotFound.
  virtual Status CancelOperation(std::string_view id, const AuditRow& audit) = 0;
  /// Forgets one. NotFound.
  virtual Status DeleteOperation(std::string_view id, const AuditRow& audit) = 0;

  /// AlreadyExists: there is one with that id or hash.
  virtual Status AddToken(const TokenRow& token, const AuditRow& audit) = 0;
  /// By the time at which they were made, then by id.
  virtual Result<std::vector<TokenRow>> ListTokens() = 0;
  /// NotFound: no such id. One that was revoked before stays as it is, and nothing is written down.
  virtual Status RevokeToken(std::string_view id, std::int64_t when, const AuditRow& audit) = 0;

  /// Makes it where it is not there, else sets its permissions and when it was updated.
  virtual Status PutRole(const RoleRow& role, const AuditRow& audit) = 0;
  /// By name.
  virtual Result<std::vector<RoleRow>> ListRoles() = 0;
  /// NotFound; FailedPrecondition: a token has it that is good at `now`.
  virtual Status DeleteRole(std::string_view name, std::int64_t now, const AuditRow& audit) = 0;

  /// AlreadyExists: there is one with that id or hash. NotFound: the run is not there, or deleted.
  virtual Status AddLink(const LinkRow& link, const AuditRow& audit) = 0;
  /// By the time at which they were made, then by id.
  virtual Result<std::vector<LinkRow>> ListLinks() = 0;
  /// NotFound: no such id. One that was revoked before stays as it is, and nothing is written down.
  virtual Status RevokeLink(std::string_view id, std::int64_t when, const AuditRow& audit) = 0;
  /// Keeps when it was used. NotFound.
  virtual Status UseLink(std::string_view id, std::int64_t when, const AuditRow& audit) = 0;
  /// Forgets those that expired before this time.
  virtual Status ForgetLinks(std::int64_t before) = 0;

  /// Writes down something that changed nothing here.
  virtual Status Audit(const AuditRow& audit) = 0;
  /// The newest first: those with a number below `before` (0: all), `count` at most; of one project
  /// only where one is given.
  virtual Result<std::vector<AuditRow>> ListAudit(std::int64_t before, std::size_t count,
                                                  std::string_view project) = 0;
};

}  // namespace headway::store
