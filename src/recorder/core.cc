#include "recorder/core.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/limits.h"
#include "base/names.h"
#include "journal/directory.h"
#include "journal/liveness.h"
#include "journal/placement.h"
#include "journal/reader.h"
#include "model/attempt_key.h"

namespace headway::recorder {

namespace internal {

constinit thread_local std::uint16_t thread_ordinal = kNoOrdinal;

constinit std::atomic<std::uintptr_t> first_thread{0};

std::uint16_t AssignThreadOrdinal() noexcept {
  static std::atomic<std::uint32_t> next{0};
  // Beyond 65534 threads they share an ordinal: still told apart from the first ones.
  const std::uint32_t ordinal = next.fetch_add(1, std::memory_order_relaxed);
  thread_ordinal = static_cast<std::uint16_t>(std::min<std::uint32_t>(ordinal, kNoOrdinal - 1));
  if (ordinal == 0) {
    // A later thread may get the same pointer, so that it counts only while the first one lives.
    static pthread_key_t at_thread_exit;
    static const bool watched = ::pthread_key_create(&at_thread_exit, [](void*) {
                                  first_thread.store(0, std::memory_order_relaxed);
                                }) == 0;
    if (watched && ::pthread_setspecific(at_thread_exit, &first_thread) == 0) {
      first_thread.store(ThreadPointer(), std::memory_order_relaxed);
    }
  }
  return thread_ordinal;
}

}  // namespace internal

namespace {

// A span's handle: bit 63 set, then kind, blocking, name and seq of the begin, so that its end
// needs no table. seq has 31 bits (limits::kJournalRecords), a name 24.
constexpr std::uint64_t kSpanMark = std::uint64_t{1} << 63;

std::uint64_t PackSpan(std::int64_t seq, std::uint32_t name, SpanKind kind, Blocking blocking) {
  return kSpanMark | static_cast<std::uint64_t>(kind) << 57 |
         static_cast<std::uint64_t>(blocking) << 55 | std::uint64_t{name} << 31 |
         static_cast<std::uint64_t>(seq);
}
constexpr std::uint64_t kSeqBits = (std::uint64_t{1} << 31) - 1;
static_assert(limits::kJournalRecords <= kSeqBits + 1);

std::string FirstOf(std::string_view a, std::string_view b, std::string_view c = {}) {
  return std::string(!a.empty() ? a : !b.empty() ? b : c);
}

std::int64_t FirstOf(std::int64_t option, std::int64_t environment) {
  return option == CoreOptions::kFromEnvironment ? environment : option;
}

// Launchers that restart, or are started in a loop, may hand out the same key again: then this is
// the next attempt, "KEY~1". It is when whoever had this rank is gone, for rank 0 and a process
// without one; for the others, which may come again beside a rank 0 that goes on, or come anew,
// when nobody of the attempt is there any more and it did not end well. Every rank comes to the
// same answer by itself, in whatever order they start.
std::string NextAttemptKey(const std::string& key, const RunUid& run_uid, std::int64_t rank,
                           const std::vector<journal::JournalFile>& journals) {
  std::uint64_t newest = 0;
  std::vector<const journal::JournalFile*> there;  // those of the newest part
  for (const journal::JournalFile& file : journals) {
    const journal::Header& h = file.header;
    const std::optional<std::uint64_t> part = AttemptPartOf(key, h.attempt_key);
    if (!part.has_value() || h.run_uid != run_uid || h.origin != journal::Origin::kRecorder ||
        *part < newest) {
      continue;
    }
    if (*part > newest) there.clear();
    newest = *part;
    there.push_back(&file);
  }
  bool any_alive = false;
  bool same_rank = false;
  bool ended_well = false;
  for (const journal::JournalFile* const file : there) {
    const Result<UniqueFd> fd = OpenForReading(file->path);
    const bool alive =
        !fd.ok() || journal::ProbeLiveness(fd->get(), file->header) != Liveness::kDead;
    any_alive |= alive;
    if (file->header.rank == rank) {
      // While one of them lives, this process is its companion, not its successor.
      if (alive) return file->header.attempt_key;
      same_rank = true;
    }
    if (!alive && file->header.rank <= 0) {
      const Result<bool> clean = journal::EndedCleanly(file->path);
      ended_well |= clean.ok() && *clean;
    }
  }
  const bool next = rank == 0  ? same_rank
                    : rank > 0 ? !there.empty() && !any_alive && !ended_well
                               : same_rank && !any_alive;
  return AttemptPartKey(key, newest + (next ? 1 : 0));
}

// What the program says must make sense; what the environment says, which may be of another job, is
// left out where it does not.
Status CheckRanks(const CoreOptions& options, journal::Header* header) {
  struct Field {
    const char* name;
    std::int64_t option;
    std::int64_t least;
    std::int64_t* value;
  };
  for (const Field& field :
       {Field{"rank", options.rank, 0, &header->rank},
        Field{"world_size", options.world_size, 1, &header->world_size},
        Field{"local_rank", options.local_rank, 0, &header->local_rank},
        Field{"attempt_index", options.attempt_index, 0, &header->attempt_index}}) {
    if (*field.value >= field.least || *field.value == -1) continue;
    if (field.option != CoreOptions::kFromEnvironment) {
      return {Code::kInvalidArgument, std::string(field.name) + " must be " +
                                          std::to_string(field.least) + " or more, not " +
                                          std::to_string(field.option)};
    }
    *field.value = -1;
  }
  if (header->world_size < 0 || header->rank < header->world_size) return OkStatus();
  if (options.rank != CoreOptions::kFromEnvironment &&
      options.world_size != CoreOptions::kFromEnvironment) {
    return {Code::kInvalidArgument, "rank " + std::to_string(header->rank) + " is none of " +
                                        std::to_string(header->world_size)};
  }
  header->world_size = -1;
  return OkStatus();
}

}  // namespace

Result<std::unique_ptr<Core>> Core::Open(const CoreOptions& options, const Environment& env) {
  // A supervisor's records and this process's must meet, so that its word outweighs the program's.
  const bool supervised = !env.run_uid.empty();
  const auto pick = [supervised](const std::string& option, const std::string& environment,
                                 std::string_view otherwise) {
    return supervised ? FirstOf(environment, option, otherwise)
                      : FirstOf(option, environment, otherwise);
  };
  journal::WriterOptions writer_options;
  journal::Header& header = writer_options.header;
  header.project = pick(options.project, env.project, "default");
  header.run = pick(options.run, env.run, "default");
  header.rank = FirstOf(options.rank, env.rank);
  header.world_size = FirstOf(options.world_size, env.world_size);
  header.local_rank = FirstOf(options.local_rank, env.local_rank);
  header.attempt_index = FirstOf(options.attempt_index, env.attempt_index);
  header.job_id = FirstOf(options.job_id, env.job_id);
  header.attempt_key = FirstOf(options.attempt_key, env.attempt_key);
  // What the program says of job and restarts outweighs the environment's key, too.
  const bool restated =
      !options.job_id.empty() || options.attempt_index != CoreOptions::kFromEnvironment;
  if (restated && options.attempt_key.empty() && !env.attempt_key_given && !header.job_id.empty() &&
      header.attempt_index >= 0) {
    header.attempt_key = AttemptKeyOf(header.job_id, header.attempt_index);
  }
  header.cluster = env.cluster;
  header.location = env.location;
  header.software = "headway " HEADWAY_VERSION;
  HEADWAY_RETURN_IF_ERROR(CheckRanks(options, &header));
  struct Name {
    std::string_view what;
    const std::string& taken;
    const std::string& said;
    const std::string& environment;
  };
  for (const Name& name :
       {Name{"the project", header.project, options.project, env.project},
        Name{"the run's name", header.run, options.run, env.run},
        Name{"the job id", header.job_id, options.job_id, env.job_id},
        Name{"the attempt key", header.attempt_key, options.attempt_key, env.attempt_key}}) {
    const bool found = name.taken != name.said && name.taken == name.environment;
    HEADWAY_RETURN_IF_ERROR(CheckNewName(
        std::string(name.what) + (found ? " of the environment (see headway doctor)" : ""),
        name.taken));
  }

  const std::string wanted = pick(options.dir, env.dir, "");
  if (wanted.empty()) {
    return Status(Code::kFailedPrecondition,
                  "no directory for journals: set HEADWAY_DIR, for there is no HOME");
  }
  journal::PlaceRules rules = RulesOf(env);
  rules.node_local = FirstOf(options.node_local, rules.node_local);
  const journal::Place place = journal::ChoosePlace(wanted, header.rank, rules);
  header.destination = place.destination;

  journal::RunRequest request;
  request.dirs = {wanted};
  if (place.dir != wanted) request.dirs.push_back(place.dir);
  request.project = header.project;
  request.run = header.run;
  request.job_id = header.job_id;
  request.attempt_key = header.attempt_key;
  request.attempt_index = header.attempt_index;
  request.rank = header.rank;
  request.world_size = header.world_size;
  request.now = (options.clock != nullptr ? *options.clock : SystemClock::Get()).Wall();
  const Result<journal::Resume> resume =
      options.resume.empty() ? ResumeOf(env) : journal::ParseResume(options.resume);
  if (!resume.ok()) return resume.status();
  request.resume = *resume;
  if (supervised) {
    const Result<RunUid> uid = ParseUid<RunUid>(env.run_uid);
    if (!uid.ok())
      return Status(Code::kInvalidArgument, "HEADWAY_RUN_UID: " + uid.status().message());
    request.run_uid = *uid;
  }

  const std::string directory = journal::RunDirectory(place.dir, header.project, header.run);
  const Result<UniqueFd> made = journal::MakeRunDirectory(place.dir, header.project, header.run);
  if (!made.ok()) return made.status();

  // From choosing a run to having a journal in it no other process of this machine chooses.
  const journal::RunLock lock = journal::RunLock::Acquire(directory);
  const Result<journal::RunChoice> choice = journal::ChooseRun(request);
  if (!choice.ok()) return choice.status();
  header.run_uid = choice->uid;
  if (options.attempt_key.empty() && (!env.attempt_key_given || supervised) &&
      !header.attempt_key.empty()) {
    const Result<std::vector<journal::JournalFile>> journals =
        journal::ListJournals(place.dir, header.project, header.run);
    if (journals.ok()) {
      header.attempt_key =
          NextAttemptKey(header.attempt_key, header.run_uid, header.rank, *journals);
    }
  }

  writer_options.clock = options.clock;
  // Without a mapping nothing that happens to the file can be a SIGBUS (docs/adr/0011).
  if (env.file_system == "local") writer_options.mode = journal::WriterOptions::Mode::kWrite;
  Result<std::unique_ptr<journal::JournalWriter>> writer =
      journal::JournalWriter::Create(directory, writer_options);
  if (!writer.ok()) return writer.status();

  std::unique_ptr<Core> core(new Core());
  core->writer_ = *std::move(writer);
  core->clock_ = options.clock != nullptr ? options.clock : &SystemClock::Get();
  core->continued_ = choice->continued;
  core->hook_exit_ = options.hook_exit;
  core->exit_ends_job_ = options.exit_ends_job;
  core->hook_sigterm_ = options.hook_sigterm;
  core->run_uid_hex_ = ToHex(choice->uid);
  const JournalUid& uid = core->writer_->header().uid;
  std::memcpy(&core->span_salt_, uid.bytes.data(), sizeof core->span_salt_);
  core->span_salt_ &= kSeqBits;
  if (options.job_start) core->Record(RecordType::kJobStart, 0);
  if (options.heartbeat && !env.heartbeat_off) {
    core->heartbeat_.Start(options.heartbeat_ns, [raw = core.get()] { raw->Beat(); });
  }
  return core;
}

Core::~Core() {
  if (writer_->owned()) {
    heartbeat_.Stop();
  } else {
    heartbeat_.Abandon();
  }
}

MonoNs Core::At(std::int64_t time_ns) const noexcept {
  if (time_ns == kNoTime) return Now();
  // Times near the ends of 64 bits wrap; nothing overflows.
  const journal::Header& header = writer_->header();
  const std::uint64_t since_anchor =
      static_cast<std::uint64_t>(time_ns) - static_cast<std::uint64_t>(header.anchor.wall.ns);
  return MonoNs{
      static_cast<std::int64_t>(static_cast<std::uint64_t>(header.anchor.mono.ns) + since_anchor)};
}

std::uint64_t Core::BeginSpan(SpanKind kind, Blocking blocking, std::uint32_t name,
                              std::int64_t step, MonoNs at) noexcept {
  if (!writer_->Knows(name)) {
    writer_->CountUnkept();
    return 0;
  }
  const std::int64_t seq = writer_->Append(
      journal::MetaHigh(RecordType::kSpanBegin, kind, blocking, ThreadOrdinal()), at, step, name);
  // A begin that was not kept has no end either.
  return seq == journal::kNotKept ? 0 : PackSpan(seq, name, kind, blocking) ^ span_salt_;
}

void Core::EndSpan(std::uint64_t span, MonoNs at) noexcept {
  if (span == 0) return;
  span ^= span_salt_;
  const auto kind = static_cast<SpanKind>((span >> 57) & 31);
  const auto blocking = static_cast<Blocking>((span >> 55) & 3);
  const auto name = static_cast<std::uint32_t>((span >> 31) & journal::kMaxNameId);
  const auto seq = static_cast<std::int64_t>(span & kSeqBits);
  // With another recorder's salt there is next to no such begin.
  const bool known = (span & kSpanMark) != 0 && kind != SpanKind::kNone &&
                     static_cast<int>(kind) < kSpanKindCount && blocking <= Blocking::kNo &&
                     writer_->Knows(name) && static_cast<std::uint64_t>(seq) < writer_->next_seq();
  if (!known) return writer_->CountUnkept();
  writer_->Append(journal::MetaHigh(RecordType::kSpanEnd, kind, blocking, ThreadOrdinal()), at,
                  kNoStep, journal::PackSpanEnd(seq, name));
}

void Core::Config(std::string_view config_class, std::string_view json) noexcept {
  writer_->AppendPayload(RecordType::kConfig, writer_->Intern(config_class), writer_->Now(), json);
}

void Core::Beat() noexcept {
  Record(RecordType::kHeartbeat, clock_->Wall().ns);
  writer_->Maintain();
}

void Core::Notice(int signal) noexcept {
  if (signal < 0 || signal > kLastSignal) signal = 0;
  // No thread ordinal: thread-local storage may be allocated on first use, which no handler may do.
  writer_->AppendEssential(journal::MetaHigh(RecordType::kNotice, 0), writer_->Now(), signal, 0);
}

void Core::End(RecordType how, int status) noexcept {
  if (!writer_->owned() || finished_.exchange(true)) return;
  heartbeat_.Stop();
  writer_->AppendEssential(journal::MetaHigh(how, ThreadOrdinal()), writer_->Now(), status, 0);
  writer_->Finish();
}

}  // namespace headway::recorder
