#include "server/upkeep.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/utf8.h"
#include "journal/format.h"

namespace headway::server {
namespace {

constexpr std::size_t kStaleAtOnce = 1024;
constexpr std::int64_t kSummariesNs = kNanosPerSecond / 2;  // the most of a pass that they take
constexpr std::int64_t kGrowthNs = 5 * kNanosPerSecond;     // how long one that grows waits
constexpr std::size_t kPlacedAtOnce = 1024;
constexpr std::int64_t kPlacingNs = kNanosPerSecond / 4;
constexpr std::int64_t kWorkNs = kNanosPerSecond / 2;  // and what operations do
constexpr std::int64_t kGivingNs = kNanosPerSecond / 10;
constexpr std::int64_t kRetireNs = 60 * kNanosPerSecond;
constexpr std::int64_t kDayNs = 24 * 3600 * kNanosPerSecond;
constexpr std::string_view kPurge = "runs.purge";
constexpr auto kPause = std::chrono::seconds(1);

// An older headway told of a cluster only in its job: "slurm:CLUSTER/123".
std::string_view ClusterOf(const journal::Header& header) {
  if (!header.cluster.empty()) return header.cluster;
  constexpr std::string_view kSlurm = "slurm:";
  std::string_view job = header.job_id;
  if (!job.starts_with(kSlurm)) return {};
  job.remove_prefix(kSlurm.size());
  const std::size_t slash = job.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : job.substr(0, slash);
}

// The goodput of equal parts of all of its time, beside where all of that went.
RunDigest DigestOf(const Report& report, const ledger::Query& query, ledger::Ledger* ledger) {
  RunDigest digest = headway::DigestOf(report);
  if (!report.start) return digest;
  __extension__ using Wide = __int128;
  const Wide length = Wide{*report.end} - *report.start;
  std::vector<ledger::WallSpan> parts;
  for (int i = 0; i < RunDigest::kParts; ++i) {
    const auto at = [&](int k) {
      return static_cast<std::int64_t>(*report.start + length * k / RunDigest::kParts);
    };
    parts.emplace_back(at(i), at(i + 1));
  }
  const ledger::TimeSplit split = ledger->Split(query, parts, 0);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Wide good = 0;
    for (const ledger::TimeSplit::Series& series : split.series) {
      if (series.category == Category::kProductive) good += series.ns[i];
    }
    const std::int64_t elapsed = split.elapsed_ns[i];
    const Wide scaled = elapsed > 0 ? good * RunDigest::kGoodputScale / elapsed : Wide{0};
    digest.goodput.push_back(elapsed > 0 ? static_cast<std::uint8_t>(scaled)
                                         : RunDigest::kNoGoodput);
  }
  return digest;
}

bool MayChange(RunState state) {
  return state == RunState::kRunning || state == RunState::kRestarting;
}

}  // namespace

Upkeep::Upkeep(store::Store* store, store::BlobStore* blobs, RunLedgers* ledgers,
               const Clock* clock, std::function<void(const Status&)> log)
    : store_(store), blobs_(blobs), ledgers_(ledgers), clock_(clock), log_(std::move(log)) {}

Upkeep::~Upkeep() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  woken_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Upkeep::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Upkeep::Wake() {
  {
    const std::lock_guard lock(mutex_);
    wake_ = true;
  }
  woken_.notify_all();
}

void Upkeep::Hurry(const RunUid& run) {
  const std::lock_guard lock(mutex_);
  // So many at once have their turn as ever.
  if (hurried_.size() < kStaleAtOnce) hurried_.insert(run);
}

void Upkeep::Run() {
  while (true) {
    const Status status = Pass();
    if (!status.ok() && log_) log_(status);
    std::unique_lock lock(mutex_);
    woken_.wait_for(lock, kPause, [this] { return wake_ || stop_; });
    wake_ = false;
    if (stop_) return;
  }
}

Status Upkeep::Pass() {
  const std::lock_guard lock(pass_mutex_);
  // What can't be done with one kind of thing holds up no other.
  Status first;
  for (const Status& status : {Summarise(), Place(), Work(), Retire(), GiveBackRoom()}) {
    if (first.ok()) first = status;
  }
  return first;
}

// One that has grown since the last pass, too, is looked at now and then: reading it takes from
// what takes it in.
bool Upkeep::Waits(const store::StaleRun& run, const std::set<RunUid>& hurried,
                   std::map<RunUid, Growth>* growing) const {
  if (hurried.contains(run.uid)) return false;
  const auto before = growing_.find(run.uid);
  Growth now = {run.mark, clock_->Mono()};
  if (before != growing_.end()) {
    if (before->second.mark == run.mark) return false;
    now.since = before->second.since;
    if (clock_->Mono() - now.since >= kGrowthNs) return false;
  }
  growing->emplace(run.uid, now);
  return true;
}

// Those that were looked at longest ago come first, so that each has its turn.
Status Upkeep::Summarise() {
  std::set<RunUid> hurried;
  {
    const std::lock_guard lock(mutex_);
    hurried.swap(hurried_);
  }
  const Result<std::vector<store::StaleRun>> stale = store_->ListStaleRuns(kStaleAtOnce);
  if (!stale.ok()) return stale.status();
  Status first;
  std::vector<store::SummarisedRun> done;
  const MonoNs begin = clock_->Mono();
  std::map<RunUid, Growth> growing;
  for (const store::StaleRun& run : *stale) {
    if (Waits(run, hurried, &growing)) continue;
    if (clock_->Mono() - begin > kSummariesNs) break;
    const Result<store::RunRow> row = store_->FindRun(run.uid);
    if (!row.ok()) return row.status();
    store::SummarisedRun one;
    one.stale = run;
    Status saved;
    const Result<Report> report = ledgers_->Look(row->uid, [&](RunLedger& found) -> Result<Report> {
      ledger::Query query;
      query.now = clock_->Wall().ns;
      Report now = found.ledger()->MakeReport(query);
      one.digest = DigestOf(now, query, found.ledger());
      saved = found.SaveNowAndThen();
      return now;
    });
    if (first.ok()) first = saved;
    if (report.ok()) {
      one.summary = SummaryOf(*report);
      if (one.summary.state != row->summary.state) one.phase = PhaseOf(one.summary.state);
    } else {
      // Whoever asks for its report is told; until it grows nothing changes.
      first = report.status();
      one.summary = row->summary;
    }
    one.summary.as_of = clock_->Wall().ns;
    one.settled = !report.ok() || !MayChange(one.summary.state);
    done.push_back(std::move(one));
  }
  growing_ = std::move(growing);
  ledgers_->Trim();
  HEADWAY_RETURN_IF_ERROR(store_->SummariseRuns(done));
  for (const store::SummarisedRun& one : done) TellOfChange(one.stale.uid);
  return first;
}

// Journals that came since: on which machine each is.
Status Upkeep::Place() {
  const MonoNs begin = clock_->Mono();
  while (clock_->Mono() - begin < kPlacingNs) {
    const Result<std::vector<store::UnplacedJournal>> journals =
        store_->ListUnplaced(kPlacedAtOnce);
    HEADWAY_RETURN_IF_ERROR(journals.status());
    std::vector<store::PlacedJournal> placed;
    for (const store::UnplacedJournal& journal : *journals) {
      store::PlacedJournal& one = placed.emplace_back();
      one.uid = journal.uid;
      const Result<journal::Header> header = journal::DecodeHeader(
          reinterpret_cast<const std::byte*>(journal.header.data()), journal.header.size(), "");
      // Whoever reads the journal is told that it is damaged.
      if (!header.ok()) continue;
      one.cluster = ToValidUtf8(ClusterOf(*header));
      one.host = ToValidUtf8(header->host);
      one.location = ToValidUtf8(header->location);
    }
    HEADWAY_RETURN_IF_ERROR(store_->Place(placed));
    if (placed.size() < kPlacedAtOnce) break;
  }
  return OkStatus();
}

// --- What is deleted

Result<std::string> Upkeep::Purge(const store::RunRow& run, const std::string& who) {
  store::OperationRow operation;
  operation.id = "purge-" + ToHex(run.uid);
  operation.verb = kPurge;
  operation.target = ToHex(run.uid);
  operation.name = run.name;
  operation.project = run.project;
  operation.who = who;
  operation.created = clock_->Wall().ns;
  const store::AuditRow audit = {.time = operation.created,
                                 .who = who,
                                 .action = operation.verb,
                                 .what = "run \"" + run.name + "\", " + operation.target,
                                 .project = run.project};
  const Result<store::OperationRow> before = store_->FindOperation(operation.id);
  if (!before.ok() && before.status().code() != Code::kNotFound) return before.status();
  if (before.ok() && before->finished == 0) return operation.id;
  if (before.ok()) HEADWAY_RETURN_IF_ERROR(store_->DeleteOperation(operation.id, audit));
  HEADWAY_RETURN_IF_ERROR(store_->AddOperation(operation, audit));
  Wake();
  return operation.id;
}

Status Upkeep::Work() {
  const Result<std::vector<store::OperationRow>> open = store_->ListOperations("", true);
  if (!open.ok()) return open.status();
  const MonoNs begin = clock_->Mono();
  Status first;
  // The oldest first. One that can't go on now holds up no other.
  for (auto operation = open->rbegin(); operation != open->rend(); ++operation) {
    const Status status = WorkOn(*operation);
    if (first.ok()) first = status;
    if (clock_->Mono() - begin > kWorkNs) break;
  }
  return first;
}

Result<std::int64_t> Upkeep::RemoveBlobs(const RunUid& run) {
  const Result<std::uint64_t> left = blobs_->DeleteRun(run);
  if (!left.ok()) return left.status();
  HEADWAY_RETURN_IF_ERROR(store_->CountBlobs(run, *left));
  return static_cast<std::int64_t>(*left);
}

// Some of it.
Status Upkeep::WorkOn(store::OperationRow operation) {
  const auto finish = [&](Code code, const std::string& message) {
    operation.finished = clock_->Wall().ns;
    operation.error = code;
    operation.message = message;
    if (code == Code::kOk) operation.progress = 1;
    return store_->UpdateOperation(operation);
  };
  const Result<RunUid> uid = ParseUid<RunUid>(operation.target);
  if (operation.verb != kPurge || !uid.ok()) {
    return finish(Code::kUnimplemented, "this headway does not know how to do that");
  }
  const MonoNs begin = clock_->Mono();
  std::int64_t most = 0;
  while (true) {
    // One that has begun is not stopped: half a run is none.
    const Result<store::RunRow> run = store_->FindRun(*uid);
    if (!run.ok()) return finish(run.status().code(), run.status().message());
    if (operation.cancelled && !run->purged) {
      return finish(Code::kCancelled, "it was cancelled before anything was removed");
    }
    const Result<std::int64_t> records = store_->PurgeRun(*uid);
    if (!records.ok()) return finish(records.status().code(), records.status().message());
    TellOfChange(*uid);
    // From here on it gets no new ones. Where they can't be removed it is tried again each time:
    // nobody else would ever find them.
    const Result<std::int64_t> blobs = RemoveBlobs(*uid);
    if (!blobs.ok()) return blobs.status();
    const std::int64_t left = *records + *blobs;
    if (left == 0) return finish(Code::kOk, "");
    // It began with as much as is left and the share that is done says.
    if (most == 0) {
      most = static_cast<std::int64_t>(static_cast<double>(left) / (1 - operation.progress));
    }
    operation.progress =
        std::max(operation.progress, 1 - static_cast<double>(left) / static_cast<double>(most));
    operation.progress = std::min(operation.progress, 0.99);
    HEADWAY_RETURN_IF_ERROR(store_->UpdateOperation(operation));
    if (clock_->Mono() - begin > kWorkNs) {
      Wake();  // and the others have their turn in between
      return OkStatus();
    }
  }
}

// Of what was removed.
Status Upkeep::GiveBackRoom() {
  const MonoNs begin = clock_->Mono();
  while (clock_->Mono() - begin < kGivingNs) {
    const Result<bool> more = store_->GiveBackRoom();
    HEADWAY_RETURN_IF_ERROR(more.status());
    if (!*more) break;
  }
  return OkStatus();
}

// What a project keeps no longer is deleted, and what was deleted long ago is removed.
Status Upkeep::Retire() {
  const MonoNs now = clock_->Mono();
  if (retired_ && now - *retired_ < kRetireNs) return OkStatus();
  retired_ = now;
  const std::int64_t wall = clock_->Wall().ns;
  const Result<std::vector<store::ProjectRow>> projects = store_->ListProjects();
  if (!projects.ok()) return projects.status();
  for (const store::ProjectRow& project : *projects) {
    if (project.retention_ns > 0) {
      const Result<Filter> ended = Filter::Parse(
          "end < @" + std::to_string(wall - project.retention_ns), store::RunRowFields());
      if (!ended.ok()) return ended.status();
      const Result<store::RunPage> page =
          store_->ListRuns({.project = project.name, .filter = *ended});
      if (!page.ok()) return page.status();
      for (const store::RunRow& run : page->runs) {
        const store::AuditRow audit = {.time = wall,
                                       .who = "retention",
                                       .action = "runs.delete",
                                       .what = "run \"" + run.name + "\", " + ToHex(run.uid),
                                       .project = run.project};
        HEADWAY_RETURN_IF_ERROR(store_->DeleteRun(run.uid, wall, audit));
        TellOfChange(run.uid);
        HEADWAY_RETURN_IF_ERROR(Purge(run, "retention").status());
      }
    }
    const Result<Filter> gone =
        Filter::Parse("delete_time < @" + std::to_string(wall - limits::kDeletedDays * kDayNs),
                      store::RunRowFields());
    if (!gone.ok()) return gone.status();
    const Result<store::RunPage> page =
        store_->ListRuns({.project = project.name, .filter = *gone, .deleted = true});
    if (!page.ok()) return page.status();
    for (const store::RunRow& run : page->runs) {
      HEADWAY_RETURN_IF_ERROR(Purge(run, "retention").status());
    }
  }
  const std::int64_t unsaved = wall - limits::kSavedLedgerDays * kDayNs;
  while (true) {
    const Result<std::size_t> dropped = store_->DropOldLedgers(unsaved);
    HEADWAY_RETURN_IF_ERROR(dropped.status());
    if (*dropped == 0) break;
  }
  const Result<std::vector<store::OperationRow>> operations = store_->ListOperations({}, false);
  if (!operations.ok()) return operations.status();
  for (const store::OperationRow& operation : *operations) {
    if (operation.finished == 0 || wall - operation.finished < limits::kOperationDays * kDayNs) {
      continue;
    }
    const store::AuditRow audit = {.time = wall,
                                   .who = "retention",
                                   .action = "operations.delete",
                                   .what = operation.id + ", \"" + operation.name + "\"",
                                   .project = operation.project};
    HEADWAY_RETURN_IF_ERROR(store_->DeleteOperation(operation.id, audit));
  }
  return OkStatus();
}

}  // namespace headway::server
