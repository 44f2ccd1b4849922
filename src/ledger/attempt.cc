#include "ledger/attempt.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <utility>

#include "base/crc32c.h"
#include "base/limits.h"

namespace headway::ledger {
namespace {

__extension__ using Wide = __int128;

using State = Attempt::State;
using Effect = State::Span::Effect;

constexpr std::int64_t kSigterm = 15;
constexpr std::int64_t kClockStepNs = 1'000'000'000;

constexpr std::uint32_t kPlainWork =
    SliceCode(SliceKind::kWork, LoadState::kNone, BucketOf(Category::kProductive));
constexpr std::uint32_t kPlainLoad =
    SliceCode(SliceKind::kWorkLoad, LoadState::kActive, BucketOf(Category::kProductive));

void SetCode(State* state, std::uint32_t code) {
  state->code = code;
  state->plain_code = code == kPlainWork || code == kPlainLoad;
}

[[gnu::always_inline]] inline void Advance(State* state, std::int64_t net) {
  const std::int64_t ns = net - state->at;
  if (ns <= 0) return;
  state->at = net;
  state->plain_row &= state->plain_code;
  state->row_load += state->code == kPlainLoad ? ns : 0;
  if (!state->slices.empty() && state->slices.back().code == state->code) {
    state->slices.back().ns += ns;
  } else {
    state->slices.push_back({state->code, ns});
  }
}

// The row that is running, as far as it has come. Its slices stay owned by `state`.
Row RunningRow(const State& state) {
  return {.begin = state.row_begin,
          .index = state.last_index,
          .is_step = state.in_step,
          .first = state.in_step && state.step_first,
          .slices = state.slices};
}

// What the slices say, without looking at them where they are as usual.
RowMeasures RunningMeasures(const State& state) {
  if (!state.plain_row) return Measure(state.slices);
  return {.work = state.at - state.row_begin,
          .load_in_work = state.row_load,
          .load_total = state.row_load,
          .overlapped = state.row_load};
}

void BeginRow(State* state) {
  state->slices.clear();
  state->row_begin = state->at;
  state->row_load = 0;
  state->plain_row = true;
}

std::uint32_t CodeOf(const State& state) {
  if (state.in_step) {
    if (state.active.empty()) return kPlainWork;
    if (state.active.size() == 1 && state.active[0].effect == Effect::kLoad) return kPlainLoad;
  }
  const State::Span* blocking = nullptr;
  const State::Span* phase = nullptr;
  bool load = false;
  bool passive_load = false;
  for (const State::Span& span : state.active) {  // later begins win
    switch (span.effect) {
      case Effect::kBlocks:
        blocking = &span;
        load |= span.bucket == BucketOf(Category::kDataLoading);
        break;
      case Effect::kLoad: load = true; break;
      case Effect::kPassiveLoad: passive_load = true; break;
      case Effect::kPhase: phase = &span; break;
      case Effect::kNone: break;
    }
  }
  const LoadState loading = passive_load ? LoadState::kPassive
                            : load       ? LoadState::kActive
                                         : LoadState::kNone;
  if (blocking != nullptr) return SliceCode(SliceKind::kFixed, loading, blocking->bucket);
  if (state.in_step) {
    return SliceCode(load ? SliceKind::kWorkLoad : SliceKind::kWork, loading,
                     phase != nullptr ? phase->bucket : BucketOf(Category::kProductive));
  }
  if (load) {
    return SliceCode(SliceKind::kFixed, loading, BucketOf(Category::kDataLoading));
  }
  if (phase != nullptr) return SliceCode(SliceKind::kRetainable, loading, phase->bucket);
  return SliceCode(SliceKind::kFixed, loading,
                   BucketOf(state.any_step ? Category::kOther : Category::kProgramStartup));
}

bool ExplainsGoingBack(SpanKind kind) {
  return kind == SpanKind::kCheckpointRestore || kind == SpanKind::kTrainingPrep ||
         kind == SpanKind::kElasticReinit;
}

}  // namespace

BucketId RunContext::CustomBucket(NameId name) {
  if (name >= custom_buckets_.size()) custom_buckets_.resize(name + 1);
  if (custom_buckets_[name] == 0) {
    std::string upper(names.Text(name));
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    custom_buckets_[name] = buckets.Intern(Category::kCustom, names.Intern(upper));
  }
  return custom_buckets_[name];
}

BucketId RunContext::SpanBucket(SpanKind kind, NameId name) {
  if (kind == SpanKind::kDataLoading) return BucketOf(Category::kDataLoading);
  switch (kind) {
    case SpanKind::kAcceleratorInit: return BucketOf(Category::kAcceleratorInit);
    case SpanKind::kTrainingPrep: return BucketOf(Category::kTrainingPrep);
    case SpanKind::kDataLoading:
    case SpanKind::kAsyncDataLoading: return BucketOf(Category::kDataLoading);
    case SpanKind::kCheckpointSave: return BucketOf(Category::kCheckpointSave);
    case SpanKind::kCheckpointRestore: return BucketOf(Category::kCheckpointRestore);
    case SpanKind::kElasticReinit: return BucketOf(Category::kElasticReinit);
    case SpanKind::kElasticWait:
      return BucketOf(names.Text(name) == "scale_up" ? Category::kElasticScaleUp
                                                     : Category::kElasticSliceDown);
    case SpanKind::kPhase: return buckets.Intern(Category::kProductive, name);
    case SpanKind::kCustom:
    case SpanKind::kNone: return CustomBucket(name);
  }
  return CustomBucket(name);
}

void Attempt::ForgetRows() {
  rows_.Truncate(0,
                 [this](const Row& row) { context_->step_work.Remove(Measure(row.slices).work); });
}

void Attempt::Commit(const Row& row, const RowMeasures& measures) {
  rows_.Append(row, measures);
  if (row.is_step) context_->step_work.Add(measures.work);
}

void Attempt::Rederive(WriterId lead, const Carry& carry) {
  lead_ = lead;
  pairs_by_name_ = lead != kNoWriter && context_->writers[lead].event_file;
  carry_in_ = carry;
  memory_page_.elsewhere = false;
  has_end_.clear();
  is_counter_.clear();
  is_late_end_.clear();
  closed_.Clear();
  seen_ = 0;
  StartOver();
  Replay(RecordLog::Cursor{});
  if (rewind_to_) RewindTo(*rewind_to_);
  Settle();
}

// Before the first record, knowing what has been learned.
void Attempt::StartOver() {
  ForgetRows();
  rows_ = RowStore(&context_->pages);
  segments_.clear();
  checkpoints_.clear();
  outdated_from_.reset();
  state_ = State();
  state_.carry = carry_in_;
  state_.splitter.Start(carry_in_.baseline);
  version_ = ++context_->versions;
}

void Attempt::Append(const Record& record, std::int64_t time) {
  NeedMemory();
  cursor_ = log_.end();
  ordinal_ = cursor_.ordinal;
  log_.Append(record, time);
  Process(record, time);
  if (!rewind_to_) seen_ = ordinal_ + 1;
  version_ = ++context_->versions;
  if (rewind_to_) [[unlikely]]
    RewindTo(*rewind_to_);
}

std::size_t Attempt::AppendRun(std::span<const Record> run, std::uint64_t* last_seq,
                               std::int64_t* last_time) {
  constexpr std::size_t kAtATime = 256;  // what stays in a core's cache between the passes
  const WriterId writer = run.front().writer;
  std::uint64_t seq = *last_seq;
  std::int64_t time = *last_time;
  std::size_t taken = 0;
  run = run.first(std::min(run.size(), kAtATime));
  for (const Record& record : run) {
    if (record.writer != writer || record.seq <= seq || record.time_ns < time ||
        record.type >= RecordType::kExclude || record.time_ns > kTimeLimit) {
      break;
    }
    seq = record.seq;
    time = record.time_ns;
    ++taken;
  }
  if (taken == 0) return 0;
  NeedMemory();
  run = run.first(taken);
  *last_seq = seq;
  *last_time = time;
  if (state_.any_first_wall == kNoTime) state_.any_first_wall = run.front().time_ns;
  cursor_ = log_.end();
  ordinal_ = cursor_.ordinal;
  log_.Append(run);
  if (writer == lead_) {
    ProcessRun(run);
  } else {
    for (const Record& record : run) {
      ProcessOther(record, record.time_ns);
      ++ordinal_;
    }
  }
  seen_ = ordinal_;
  if (!state_.ended) state_.life_wall = std::max(state_.life_wall, time);
  version_ = ++context_->versions;
  // All of the run is in the log already.
  if (rewind_to_) [[unlikely]]
    RewindTo(*rewind_to_);
  return taken;
}

void Attempt::ProcessRun(std::span<const Record> run) {
  const NetTime& net = context_->net;
  state_.gone_wall = kNoTime;  // see ProcessLead
  for (const Record& record : run) {
    const std::int64_t time = record.time_ns;
    const bool usual = state_.begun && !state_.ended;
    switch (usual ? record.type : RecordType::kNone) {
      case RecordType::kStepStart: StepStart(record, net.Net(time), time); break;
      case RecordType::kSpanBegin: SpanBegin(record, net.Net(time)); break;
      case RecordType::kSpanEnd: SpanEnd(record, net.Net(time)); break;
      default: ProcessLead(record, time);
    }
    if (rewind_to_) [[unlikely]]
      return;
    ++ordinal_;
  }
}

std::vector<TimedRecord> Attempt::TakeFrom(std::uint64_t ordinal) {
  std::vector<TimedRecord> taken;
  RecordLog::Cursor cursor;
  TimedRecord timed;
  while (cursor.ordinal < ordinal && log_.Next(&cursor, &timed)) {
  }
  const RecordLog::Cursor cut = cursor;
  while (log_.Next(&cursor, &timed)) taken.push_back(timed);
  log_.Truncate(cut);
  Rederive(lead_, carry_in_);
  return taken;
}

// Takes the records from there on, up to the first one that tells something new of earlier ones.
void Attempt::Replay(RecordLog::Cursor cursor) {
  TimedRecord timed;
  while (!rewind_to_) {
    cursor_ = cursor;
    ordinal_ = cursor.ordinal;
    if (!log_.Next(&cursor, &timed)) break;
    Process(timed.record, timed.time);
    if (!rewind_to_) seen_ = std::max(seen_, ordinal_ + 1);
  }
}

void Attempt::RewindTo(std::uint64_t record) {
  rewind_to_ = record;
  while (rewind_to_) {
    const RecordLog::Cursor from =
        Restore(std::min(*rewind_to_, outdated_from_.value_or(*rewind_to_)));
    rewind_to_.reset();
    outdated_from_.reset();
    Replay(from);
  }
}

void Attempt::Settle() {
  while (outdated_from_) RewindTo(*outdated_from_);
}

// Takes up the state of some time before that record.
RecordLog::Cursor Attempt::Restore(std::uint64_t record) {
  while (!checkpoints_.empty() && checkpoints_.back().cursor.ordinal > record) {
    checkpoints_.pop_back();
  }
  if (checkpoints_.empty()) {
    StartOver();
    return RecordLog::Cursor{};
  }
  const Checkpoint& checkpoint = checkpoints_.back();
  rows_.Truncate(checkpoint.rows,
                 [this](const Row& row) { context_->step_work.Remove(Measure(row.slices).work); });
  segments_.resize(checkpoint.segments);
  state_ = checkpoint.state;
  version_ = ++context_->versions;
  return checkpoint.cursor;
}

// So that what checkpoints cost stays in proportion to the records between them.
std::uint64_t Attempt::CheckpointSpacing() const {
  constexpr std::size_t kBytesARecord = 64;
  return (sizeof(State) + state_.slices.size() * sizeof(Slice) +
          state_.active.size() * sizeof(State::Span) +
          state_.splitter.pending().size() * sizeof(PendingRow)) /
         kBytesARecord;
}

// A place to rewind to. Earlier ones do as well, a little slower.
void Attempt::SaveCheckpoint() {
  if (outdated_from_) return;  // what is not right is no place to rewind to
  const std::uint64_t last = checkpoints_.empty() ? 0 : checkpoints_.back().cursor.ordinal;
  if (ordinal_ - last < CheckpointSpacing()) return;
  TimedRecord passed;
  while (cursor_.ordinal < ordinal_ && log_.Next(&cursor_, &passed)) {
  }
  if (checkpoints_.size() == limits::kRewindPoints) {
    // Every second one of the older three quarters goes.
    std::size_t kept = 0;
    for (std::size_t i = 0; i < checkpoints_.size(); ++i) {
      const bool old = i < limits::kRewindPoints * 3 / 4;
      if (old && i % 2 == 1) continue;
      if (kept != i) checkpoints_[kept] = std::move(checkpoints_[i]);
      ++kept;
    }
    checkpoints_.resize(kept);
  }
  checkpoints_.push_back({cursor_, state_, rows_.size(), segments_.size()});
}

void Attempt::Process(const Record& record, std::int64_t time) {
  if (state_.any_first_wall == kNoTime) [[unlikely]] {
    state_.any_first_wall = state_.life_wall = time;
  }
  if (record.type == RecordType::kClock) [[unlikely]] {
    CheckClock(record.a, time);  // it only accompanies the record that follows
    return;
  }
  if (record.writer == lead_) [[likely]] {
    ProcessLead(record, time);
  } else {
    ProcessOther(record, time);
  }
  if (time != record.time_ns) [[unlikely]] {
    // Counted last: what a checkpoint was taken of must not have counted this record yet. Within a
    // journal, threads that record at the same time may pass each other; that is no guess.
    const Writer& writer = context_->writers[record.writer];
    if (TakenTime(record.time_ns) != record.time_ns) {
      state_.notes[Note::kTimeRange] += 1;
    } else if (writer.event_file || !writer.monotonic) {
      state_.notes[Note::kOutOfOrder] += 1;
    }
  }
  if (!state_.ended) state_.life_wall = std::max(state_.life_wall, time);
}

void Attempt::CheckClock(std::int64_t host_wall, std::int64_t time) {
  if (host_wall == kNoTime) return;
  const std::int64_t drift = TakenTime(host_wall) - time;
  const Wide moved = Wide{drift} - state_.clock_drift;
  if (moved > kClockStepNs || moved < -kClockStepNs) {
    state_.notes[Note::kClockStep] += 1;
    state_.clock_drift = drift;
  }
}

void Attempt::End(std::int64_t wall, bool clean, bool by_exit) {
  if (state_.ended) return;
  state_.ended = true;
  state_.end_clean = clean;
  state_.end_by_exit = by_exit;
  state_.end_wall = wall;
  state_.life_wall = std::max(state_.life_wall, wall);
}

// The first exit counts.
void Attempt::NoteExit(const Record& record) {
  if (state_.exited) return;
  state_.exited = true;
  const bool failed = record.a != 0 || record.b != 0;
  if (failed && state_.ended && state_.end_clean) state_.notes[Note::kFailedAfterEnd] += 1;
  if (record.a >= 0) state_.exit_status = record.a;
  if (record.b != 0) state_.exit_signal = record.b;
  state_.interrupted |= record.b == kSigterm;
}

// The first notice is shown: what follows it is mostly the same order, said again.
void Attempt::NoteNotice(const Record& record) {
  state_.interrupted = true;
  if (!state_.notice) state_.notice = std::max<std::int64_t>(0, record.a);
}

void Attempt::ProcessOther(const Record& record, std::int64_t time) {
  const Writer& writer = context_->writers[record.writer];
  if (writer.supervisor && state_.supervisor_first_wall == kNoTime) {
    state_.supervisor_first_wall = time;
  }
  if (lead_ != kNoWriter && writer.rank <= 0 && !writer.supervisor &&
      writer.rank == context_->writers[lead_].rank &&
      std::find(state_.rivals.begin(), state_.rivals.end(), record.writer) == state_.rivals.end()) {
    state_.rivals.push_back(record.writer);
  }
  switch (record.type) {
    case RecordType::kExit:
      // A supervisor's word about the lead's node; other nodes' children do not end the attempt.
      if (writer.rank > 0) break;
      NoteExit(record);
      // What a launcher does once the lead's process has ended is no life of it.
      if (state_.gone_wall != kNoTime) time = std::min(time, state_.gone_wall);
      if (state_.begun) End(time, record.a == 0 && record.b == 0, true);
      break;
    case RecordType::kProcessEnd:
      if (lead_ != kNoWriter && writer.supervisor && state_.gone_wall == kNoTime) {
        const Writer& lead = context_->writers[lead_];
        if (lead.pid > 0 && record.a == lead.pid && writer.host == lead.host) {
          state_.gone_wall = time;
        }
      }
      break;
    case RecordType::kNotice:
      if (!state_.ended) NoteNotice(record);
      break;
    case RecordType::kHeartbeat:
      if (!state_.ended) state_.heartbeats += 1;
      CheckClock(record.a, time);
      break;
    case RecordType::kDropped: state_.notes.Count(Note::kDroppedRecords, record.a); break;
    default: break;
  }
}

void Attempt::ProcessLead(const Record& record, std::int64_t time) {
  if (state_.gone_wall != kNoTime) [[unlikely]] {
    state_.gone_wall = kNoTime;  // that was another one, which had its number before
  }
  if (record.type == RecordType::kExit) {
    NoteExit(record);
  } else if (state_.ended) {
    if (record.type == RecordType::kDropped && state_.begun) {
      Dropped(record, context_->net.Net(time));
    } else if (record.type != RecordType::kHeartbeat && record.type != RecordType::kMetric &&
               record.type != RecordType::kStderrTail && record.type != RecordType::kProcessEnd) {
      state_.notes[Note::kAfterEnd] += 1;  // the others tell of no time
    }
    return;
  }
  const std::int64_t net = context_->net.Net(time);
  if (!state_.begun) {
    state_.begun = true;
    state_.lead_first_wall = time;
    state_.at = state_.row_begin = net;
    Recode();
  }
  switch (record.type) {
    case RecordType::kStepStart: StepStart(record, net, time); break;
    case RecordType::kStepEnd: StepEnd(record, net); break;
    case RecordType::kSpanBegin: SpanBegin(record, net); break;
    case RecordType::kSpanEnd: SpanEnd(record, net); break;
    case RecordType::kJobStart: state_.has_job_start = true; break;
    case RecordType::kJobEnd:
      if (record.a > 0) state_.job_status = record.a;
      End(time, record.a == 0, false);
      break;
    case RecordType::kExit: End(time, record.a == 0 && record.b == 0, true); break;
    case RecordType::kCheckpointSaved: state_.saved_index = state_.carry.IndexOf(record.a); break;
    case RecordType::kRollback: state_.restore_seen = true; break;
    case RecordType::kNotice: NoteNotice(record); break;
    case RecordType::kHeartbeat:
      state_.heartbeats += 1;
      CheckClock(record.a, time);
      break;
    case RecordType::kDropped: Dropped(record, net); break;
    default: break;
  }
}

// Nobody knows what happened since the first record that was dropped (since the last one kept,
// where that is not known either): that is not progress. May also be told after the end.
void Attempt::Dropped(const Record& record, std::int64_t net) {
  state_.notes.Count(Note::kDroppedRecords, record.a);
  if (state_.ended) net = std::min(net, context_->net.Net(state_.end_wall));
  // What lies before a record that was kept has its category.
  std::int64_t since = state_.told;
  if (record.b != kNoTime) since = std::max(since, context_->net.Net(TakenTime(record.b)));
  if (since != kNoTime) Advance(&state_, std::min(net, since));
  SetCode(&state_, SliceCode(SliceKind::kFixed, LoadState::kNone, BucketOf(Category::kOther)));
  Advance(&state_, net);
  Recode();
}

void Attempt::Recode() { SetCode(&state_, CodeOf(state_)); }

void Attempt::CloseRow() {
  if (state_.in_step || !state_.slices.empty()) {
    Row row = RunningRow(state_);
    row.complete = row.is_step;
    const RowMeasures measures = RunningMeasures(state_);
    state_.rows += 1;
    if (row.is_step) state_.max_work = std::max(state_.max_work, measures.work);
    state_.splitter.Add(&row, measures,
                        [this](const Row& final_row, const RowMeasures& final_measures) {
                          Commit(final_row, final_measures);
                        });
  }
  BeginRow(&state_);
}

// Whether it matters when the span ends.
bool Attempt::IsEffective(const State::Span& span) const {
  return span.effect != Effect::kNone || span.kind == SpanKind::kElasticReinit;
}

// Closes a span that has no end so far. If one comes, the attempt is taken up again from here.
void Attempt::CloseProvisionally(std::size_t active_index) {
  const State::Span span = state_.active[active_index];
  state_.active.erase(state_.active.begin() + static_cast<std::ptrdiff_t>(active_index));
  state_.notes[Note::kSpanUnclosed] += 1;
  state_.reinit_seen |= span.kind == SpanKind::kElasticReinit;
  if (ordinal_ < seen_) return;
  closed_.Add({.record = span.record,
               .seq = span.seq,
               .closed_by = ordinal_,
               .begin = span.begin,
               .name = span.name,
               .kind = span.kind,
               .effective = IsEffective(span)});
}

void Attempt::StepStart(const Record& record, std::int64_t net, std::int64_t wall) {
  State& s = state_;
  s.told = net;
  const std::int64_t raw = record.a;
  std::int64_t index = s.carry.IndexOf(raw);
  if (s.any_step && index > s.last_index && s.active.empty() && !s.reinit_seen) [[likely]] {
    Advance(&s, net);
    CloseRow();
    s.repeats = 1;
    s.step_first = false;
    EnterStep(record, index);
    return;
  }
  bool rollback = false;
  bool counter = false;
  const bool again = s.any_step && index == s.last_index;
  // Decide first and change nothing until the checkpoints are taken.
  int repeats = 1;
  if (again && s.restore_seen) {
    rollback = true;
  } else if (again) {
    repeats = s.repeats + 1;
    if (repeats > 2 && !is_counter_.contains(s.repeat_record)) {
      // The third time in a row: the second was no retry either.
      is_counter_.insert(s.repeat_record);
      rewind_to_ = s.repeat_record;
      return;
    }
    counter = (repeats > 2 || is_counter_.contains(ordinal_)) && s.carry.MayRestart(raw);
    rollback = !counter;
    if (rollback) SaveCheckpoint();
  } else if (s.any_step && index < s.last_index) {
    counter = raw <= 1 && !s.restore_seen && s.carry.MayRestart(raw);
    rollback = !counter;
  }
  bool to_close = false;
  for (const State::Span& span : s.active) {
    if (has_end_.contains(span.record)) continue;
    to_close = true;
    if (IsEffective(span)) SaveCheckpoint();
  }
  s.repeats = repeats;
  if (repeats == 2) s.repeat_record = ordinal_;

  Advance(&s, net);
  CloseRow();
  if (counter) {
    s.notes[Note::kStepReset] += 1;
    s.carry.Restart(raw);
    index = s.carry.IndexOf(raw);
  }
  if (to_close) {
    for (std::size_t i = s.active.size(); i-- > 0;) {
      if (!has_end_.contains(s.active[i].record)) CloseProvisionally(i);
    }
  }
  if (!s.any_step || rollback) {
    segments_.push_back({s.rows, index, s.last_index, net, wall});
  }
  s.step_first = !s.any_step || s.reinit_seen;
  if (s.any_step && s.reinit_seen) s.splitter.RestartBaseline();
  if (!s.any_step) {
    s.any_step = true;
    s.first_index = index;
    s.first_step_net = net;
    s.first_step_wall = wall;
  }
  EnterStep(record, index);
}

void Attempt::EnterStep(const Record& record, std::int64_t index) {
  State& s = state_;
  s.in_step = true;
  s.steps_started += 1;
  s.step_thread = record.thread;
  s.last_raw = record.a;
  s.last_index = index;
  s.carry.highest = s.carry.highest == kNoStep ? index : std::max(s.carry.highest, index);
  s.restore_seen = s.reinit_seen = false;
  Recode();
}

void Attempt::StepEnd(const Record& record, std::int64_t net) {
  state_.told = net;
  if (!state_.in_step || (record.a != state_.last_raw && record.a != kNoStep)) return;
  Advance(&state_, net);
  CloseRow();
  state_.in_step = false;
  Recode();
}

void Attempt::SpanBegin(const Record& record, std::int64_t net) {
  State& s = state_;
  s.told = net;
  Effect effect;
  const bool other_thread = s.any_step && record.thread != s.step_thread;
  const bool overlapped = other_thread || record.blocking == Blocking::kNo;
  if (record.span == SpanKind::kAsyncDataLoading ||
      (record.span == SpanKind::kDataLoading && overlapped)) {
    effect = Effect::kPassiveLoad;
  } else if (record.span == SpanKind::kPhase) {
    // Phases take no time from anything; `blocking` says nothing about them.
    effect = other_thread ? Effect::kNone : Effect::kPhase;
  } else if (overlapped) {
    effect = Effect::kNone;
  } else if (record.span == SpanKind::kDataLoading && record.blocking != Blocking::kYes) {
    effect = Effect::kLoad;
  } else {
    effect = Effect::kBlocks;
  }
  if (!s.active.empty() || !closed_.empty()) [[unlikely]]
    CloseSame(record, net);

  Advance(&s, net);
  if (record.span != SpanKind::kDataLoading) {
    if (ExplainsGoingBack(record.span)) s.restore_seen = true;
    if (record.span == SpanKind::kCheckpointSave) {
      s.saves += 1;
      if (effect == Effect::kBlocks) s.blocking_saves += 1;
      if (s.last_save_begin != kNoTime) {
        s.save_intervals += 1;
        s.save_interval_ns += net - s.last_save_begin;
      }
      s.last_save_begin = net;
    }
  }
  State::Span& span = s.active.emplace_back();
  span.record = ordinal_;
  span.seq = record.seq;
  span.kind = record.span;
  span.effect = effect;
  span.name = record.name;
  span.bucket = context_->SpanBucket(record.span, record.name);
  span.begin = net;
  Recode();
}

// A newer begin of the same kind and name closes one that has no end.
void Attempt::CloseSame(const Record& record, std::int64_t net) {
  State& s = state_;
  auto same = [&](const State::Span& span) {
    return span.kind == record.span && span.name == record.name;
  };
  for (std::size_t i = s.active.size(); i-- > 0;) {
    if (!same(s.active[i]) || has_end_.contains(s.active[i].record)) continue;
    if (pairs_by_name_) {
      Advance(&s, net);
      s.notes[Note::kSpanUnclosed] += 1;
      s.reinit_seen |= s.active[i].kind == SpanKind::kElasticReinit;
      s.active.erase(s.active.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      if (IsEffective(s.active[i])) SaveCheckpoint();
      Advance(&s, net);
      CloseProvisionally(i);
    }
  }
  if (pairs_by_name_ && ordinal_ >= seen_) closed_.Drop(record.span, record.name);
}

void Attempt::SpanEnd(const Record& record, std::int64_t net) {
  State& s = state_;
  s.told = net;
  if (ExplainsGoingBack(record.span)) s.restore_seen = true;
  auto ends = [&](const State::Span& span) {
    if (record.b != kNoHandle) return span.seq == static_cast<std::uint64_t>(record.b);
    return span.kind == record.span && span.name == record.name;
  };
  for (std::size_t i = s.active.size(); i-- > 0;) {
    if (!ends(s.active[i])) continue;
    Advance(&s, net);
    s.reinit_seen |= s.active[i].kind == SpanKind::kElasticReinit;
    if (i + 1 == s.active.size()) {
      s.active.pop_back();
    } else {
      s.active.erase(s.active.begin() + static_cast<std::ptrdiff_t>(i));
    }
    Recode();
    return;
  }
  if (ordinal_ < seen_) {
    s.notes[is_late_end_.contains(ordinal_) ? Note::kSpanUnclosed : Note::kSpanUnopened] +=
        is_late_end_.contains(ordinal_) ? -1 : 1;
    return;
  }
  if (const auto span = closed_.Take(record.b, record.span, record.name)) {
    has_end_.insert(span->record);
    if (span->effective) {
      outdated_from_ = std::min(outdated_from_.value_or(span->closed_by), span->closed_by);
    } else {
      is_late_end_.insert(ordinal_);
      s.notes[Note::kSpanUnclosed] -= 1;
    }
    return;
  }
  s.notes[Note::kSpanUnopened] += 1;
}

// ---- What is kept, and what it takes

std::size_t RunContext::MemoryBytes() const {
  constexpr std::size_t kName = 64;  // a short text in two tables, about
  std::size_t bytes = names.size() * kName + buckets.size() * kName + net.MemoryBytes() +
                      step_work.MemoryBytes() + custom_buckets_.capacity() * sizeof(BucketId);
  for (const Writer& writer : writers) {
    bytes += sizeof(Writer) + writer.uid.size() + writer.name.size() + writer.host.size() +
             writer.attempt_key.size();
  }
  return bytes;
}

std::size_t Attempt::State::MemoryBytes() const {
  return sizeof(State) + slices.capacity() * sizeof(Slice) + active.capacity() * sizeof(Span) +
         rivals.capacity() * sizeof(WriterId) + splitter.MemoryBytes();
}

std::size_t Attempt::Closed::MemoryBytes() const {
  std::size_t bytes = state.MemoryBytes() + tail.capacity() * sizeof(PendingRow);
  for (const PendingRow& row : tail) {
    bytes += row.slices.capacity() * sizeof(Slice) + row.followers.capacity() * 8;
  }
  return bytes;
}

std::size_t Attempt::MemoryBytes() const {
  std::size_t bytes = sizeof(*this) + log_.MemoryBytes() + rows_.MemoryBytes() +
                      has_end_.MemoryBytes() + is_counter_.MemoryBytes() +
                      is_late_end_.MemoryBytes() + closed_.MemoryBytes() + state_.MemoryBytes() +
                      segments_.capacity() * sizeof(Segment);
  for (const Checkpoint& checkpoint : checkpoints_) {
    bytes += sizeof(Checkpoint) + checkpoint.state.MemoryBytes();
  }
  return bytes;
}

void Attempt::Release() {
  log_.Release();
  rows_.Release();
  if (memory_page_.page == 0 || memory_page_.version != version_ || memory_page_.elsewhere ||
      !context_->pages.read) {
    return;
  }
  memory_page_.elsewhere = true;
  checkpoints_ = {};
  has_end_ = is_counter_ = is_late_end_ = RecordSet();
  closed_ = ClosedSpans();
}

void Attempt::LoadMemory() {
  const std::string bytes =
      context_->pages.Read(memory_page_.page, memory_page_.size, memory_page_.crc);
  SnapshotReader in(&context_->pages, bytes);
  PersistMemory(in);
  if (!in.ok() || !in.rest().empty()) throw Pages::Misfit();
  memory_page_.elsewhere = false;
}

template <typename Ar>
void Attempt::State::Span::Persist(Ar& ar, std::uint64_t records) {
  ar.Below(record, records);
  ar(seq);
  ar.Enum(kind, kLastSpanKind);
  ar.Enum(effect, Effect::kNone);
  ar.Name(name);
  ar.Bucket(bucket);
  ar(begin);
}

template <typename Ar>
void Attempt::State::Persist(Ar& ar, std::uint64_t records) {
  ar(begun, has_job_start, lead_first_wall, any_first_wall, supervisor_first_wall, life_wall,
     gone_wall);
  ar(ended, end_clean, end_by_exit, interrupted, end_wall, exited, exit_status, exit_signal,
     job_status, notice);
  ar(at, row_begin);
  PersistCode(ar, code);
  ar(rows);
  ar.List(slices);
  ar(plain_code, plain_row, row_load, told);
  ar(in_step, step_first, any_step, restore_seen, reinit_seen, step_thread, repeats);
  ar.Below(repeat_record, records + 1);
  ar(last_raw, last_index, first_index, first_step_net, first_step_wall, steps_started);
  ar.List(active, [&](Span& span) { span.Persist(ar, records); });
  ar(splitter, carry);
  ar(saved_index, saves, blocking_saves, save_intervals, save_interval_ns, last_save_begin,
     max_work);
  ar.List(rivals, [&](WriterId& writer) { ar.WriterIn(writer); });
  ar(heartbeats, clock_drift, notes);
}

template <typename Ar>
void Attempt::MemoryPage::Persist(Ar& ar) {
  ar.Page(page);
  ar(crc, size);
  if constexpr (Ar::kReading) elsewhere = true;
}

template <typename Ar>
void Attempt::PersistMemory(Ar& ar) {
  const std::uint64_t records = log_.size();
  has_end_.Persist(ar, records);
  is_counter_.Persist(ar, records);
  is_late_end_.Persist(ar, records);
  closed_.Persist(ar, records);
  Checkpoint before;
  ar.List(checkpoints_, [&](Checkpoint& checkpoint) {
    checkpoint.cursor.Persist(ar, log_);
    checkpoint.state.Persist(ar, records);
    ar(checkpoint.rows, checkpoint.segments);
    const State& s = checkpoint.state;
    ar.Check(checkpoint.rows >= before.rows && checkpoint.rows <= rows_.size());
    ar.Check(checkpoint.segments >= before.segments && checkpoint.segments <= segments_.size());
    ar.Check(s.rows == checkpoint.rows + s.splitter.pending().size());
    ar.Check(!s.any_step || checkpoint.segments > 0);
    if (checkpoint.segments > 0 && ar.ok()) {
      ar.Check(segments_[checkpoint.segments - 1].first_row <= s.rows);
    }
    before.rows = checkpoint.rows;
    before.segments = checkpoint.segments;
  });
}

template <typename Ar>
void Attempt::Persist(Ar& ar, bool idle) {
  bool led = lead_ != kNoWriter;
  ar(led);
  if (led) {
    ar.WriterIn(lead_);
  } else {
    lead_ = kNoWriter;
  }
  ar(carry_in_);
  log_.Persist(ar, idle);
  const std::uint64_t records = log_.size();
  state_.Persist(ar, records);
  rows_.Persist(ar, idle);
  ar.List(segments_);
  const std::uint64_t rows = rows_.size() + state_.splitter.pending().size();
  ar.Check(state_.rows == rows && (!state_.any_step || !segments_.empty()));
  std::uint64_t row = 0;
  for (const Segment& segment : segments_) {
    ar.Check(segment.first_row >= row && segment.first_row <= rows);
    row = segment.first_row;
  }
  ar.Below(seen_, records + 1);
  ar(version_);

  bool elsewhere = memory_page_.page != 0 && memory_page_.version == version_;
  std::string piece;
  if constexpr (!Ar::kReading) {
    saved_version_ = version_;
    if (!ar.paging()) {
      NeedMemory();
      elsewhere = false;
    }
    if (!elsewhere) {
      SnapshotWriter bytes(&context_->pages, nullptr);
      PersistMemory(bytes);
      piece = std::move(bytes.out());
    }
    if (!elsewhere && idle && ar.IsPage(piece.size())) {
      memory_page_.page = ar.PutPage(piece);
      memory_page_.crc = Crc32c(piece.data(), piece.size());
      memory_page_.size = static_cast<std::uint32_t>(piece.size());
      memory_page_.version = version_;
      elsewhere = memory_page_.page != 0;
    }
  }
  ar(elsewhere);
  if (elsewhere) {
    ar(memory_page_);
    if constexpr (Ar::kReading) memory_page_.version = version_;
  } else if constexpr (Ar::kReading) {
    PersistMemory(ar);
  } else {
    ar.out().append(piece);
  }
  if constexpr (Ar::kReading) {
    saved_version_ = version_;
    pairs_by_name_ = led && ar.ok() && context_->writers[lead_].event_file;
  }
}
template void Attempt::Persist(SnapshotWriter& ar, bool idle);
template void Attempt::Persist(SnapshotReader& ar, bool idle);

template <typename Ar>
void RunContext::Persist(Ar& ar) {
  std::uint64_t count = names.size();
  ar.Amount(count);
  for (std::uint64_t id = 1; id < count && ar.ok(); ++id) {
    std::string text(names.Text(static_cast<NameId>(id)));
    ar(text);
    ar.Check(names.Intern(text) == id);
  }
  ar.List(writers, [&ar](Writer& writer) {
    ar(writer.uid, writer.name, writer.rank, writer.world_size, writer.attempt_key,
       writer.attempt_index, writer.event_file, writer.monotonic, writer.supervisor, writer.host,
       writer.pid);
  });
  ar(buckets, net, step_work, versions);
}
template void RunContext::Persist(SnapshotWriter& ar);
template void RunContext::Persist(SnapshotReader& ar);

// ---- What it would be if it ended

Carry Attempt::HandOver() const { return Close(state_.End(), state_.EndWall()).carry; }

Attempt::Closed Attempt::Close(EndKind kind, std::int64_t end_wall) const {
  Closed closed;
  closed.state = state_;
  closed.kind = kind;
  closed.end_wall = end_wall;
  State& s = closed.state;
  if (!s.begun) {
    s.at = s.row_begin = context_->net.Net(s.any_first_wall);
    SetCode(&s, CodeOf(s));
  }
  closed.end_net = std::max(context_->net.Net(end_wall), s.at);
  Advance(&s, closed.end_net);
  if (kind != EndKind::kOpen) {
    s.notes[Note::kSpanUnclosed] += static_cast<std::int64_t>(s.active.size());
  }
  auto keep = [&closed](const Row& row, const RowMeasures& measures) {
    PendingRow& kept = closed.tail.emplace_back();
    kept.row = row;
    kept.slices.assign(row.slices.begin(), row.slices.end());
    kept.row.slices = {};
    kept.measures = measures;
    kept.settled = true;
  };
  Row row = RunningRow(s);
  if (s.in_step && kind != EndKind::kClean) {
    s.splitter.Finish();
    s.splitter.AddInFlight(row);
    s.rows += 1;
    closed.in_flight = true;
  } else {
    row.complete = row.is_step;
    const RowMeasures measures = RunningMeasures(s);
    if (row.is_step) s.max_work = std::max(s.max_work, measures.work);
    if (row.is_step || !row.slices.empty()) {
      s.rows += 1;
      s.splitter.Add(&row, measures, keep);
    }
    s.splitter.Finish();
  }
  for (PendingRow& pending : s.splitter.TakePending()) closed.tail.push_back(std::move(pending));
  closed.carry = s.carry;
  closed.carry.baseline = s.splitter.HandedOn();
  s.notes[Note::kBaselineShift] = s.splitter.baseline_shifts();
  s.notes[Note::kWeakBaseline] = s.splitter.weak_baselines();
  for (const PendingRow& pending : closed.tail) {
    if (pending.no_baseline) s.notes[Note::kNoBaseline] += 1;
  }
  return closed;
}

}  // namespace headway::ledger
