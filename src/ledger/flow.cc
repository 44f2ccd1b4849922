#include "ledger/flow.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace headway::ledger {
namespace {

auto ContentOf(const Record& r, const RunContext& context) {
  return std::tuple(r.time_ns, r.type, r.span, r.blocking, r.thread, context.names.Text(r.name),
                    r.a, r.b);
}

}  // namespace

bool WriterBefore(const RunContext& context, WriterId a, WriterId b) {
  if (a == b) return false;
  return headway::WriterBefore(context.writers[a], context.writers[b]);
}

std::vector<TimedRecord> InOrder(const std::vector<TimedRecord>& unordered,
                                 const RunContext& context, std::int64_t* seq_conflicts) {
  std::vector<Record> records;
  records.reserve(unordered.size());
  for (const TimedRecord& timed : unordered) records.push_back(timed.record);
  std::stable_sort(records.begin(), records.end(), [&](const Record& a, const Record& b) {
    if (a.writer != b.writer) return WriterBefore(context, a.writer, b.writer);
    if (a.seq != b.seq) return a.seq < b.seq;
    return ContentOf(a, context) < ContentOf(b, context);
  });
  std::vector<TimedRecord> ordered;
  ordered.reserve(records.size());
  for (const Record& record : records) {
    std::int64_t time = TakenTime(record.time_ns);
    if (!ordered.empty() && ordered.back().record.writer == record.writer) {
      const TimedRecord& last = ordered.back();
      if (last.record == record) continue;
      if (last.record.seq == record.seq) *seq_conflicts += 1;
      time = std::max(time, last.time);
    }
    ordered.push_back({record, time});
  }
  // Stable: equal times keep the order of writers, and of a writer's own records.
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const TimedRecord& a, const TimedRecord& b) { return a.time < b.time; });
  return ordered;
}

void Flow::Add(const Record& record) {
  if (clock_ != nullptr && record.writer == last_writer_ && record.seq > clock_->last_seq &&
      record.time_ns >= last_time_ && record.time_ns <= kTimeLimit && !dirty_) [[likely]] {
    // The same writer goes on, in order.
    clock_->last_seq = record.seq;
    clock_->last_time = last_time_ = record.time_ns;
    if (!stream_) [[likely]] {
      attempts_.back()->Append(record, record.time_ns);
    } else {
      Route({record, record.time_ns});
    }
    return;
  }
  dirty_ |= new_carry_;
  WriterClock& clock = writers_[record.writer];
  const std::int64_t stamped = TakenTime(record.time_ns);
  const std::int64_t time = clock.any ? std::max(stamped, clock.last_time) : stamped;
  const bool after_own = !clock.any || record.seq > clock.last_seq;
  const bool after_all =
      !any_ || time > last_time_ ||
      (time == last_time_ && !WriterBefore(*context_, record.writer, last_writer_));
  if (dirty_ || !after_own || !after_all) {
    staged_.push_back(record);
    dirty_ = true;
    return;
  }
  if (!clock.any) {
    clock.any = true;
    clock.first_time = time;
    const WriterId lead = ChooseLead();
    if (attempts_.empty()) {
      lead_ = lead;
    } else if (lead != lead_) {
      staged_.push_back(record);  // another writer leads from the start
      dirty_ = true;
      clock = WriterClock();
      return;
    }
  }
  clock.last_seq = record.seq;
  clock.last_time = time;
  clock_ = &clock;
  any_ = true;
  last_time_ = time;
  last_writer_ = record.writer;
  Route({record, time});
}

std::size_t Flow::AddRun(std::span<const Record> records) {
  if (stream_ || dirty_ || clock_ == nullptr || records.front().writer != last_writer_) return 0;
  const std::size_t taken = attempts_.back()->AppendRun(records, &clock_->last_seq, &last_time_);
  if (taken > 0) clock_->last_time = last_time_;
  return taken;
}

WriterId Flow::ChooseLead() {
  // Rank 0, else a process without a rank, else the lowest rank; a supervisor only for want of
  // anyone else. Among equals the one that recorded first.
  auto standing = [this](WriterId id) {
    const Writer& writer = context_->writers[id];
    const std::int64_t rank = writer.rank == 0 ? -2 : writer.rank;
    return std::tuple(writer.supervisor, rank);
  };
  std::optional<WriterId> lead;
  for (const auto& [id, clock] : writers_) {
    if (!clock.any) continue;
    if (!lead || standing(id) < standing(*lead)) {
      lead = id;
    } else if (standing(id) == standing(*lead)) {
      const auto& best = writers_.at(*lead);
      if (clock.first_time < best.first_time ||
          (clock.first_time == best.first_time && WriterBefore(*context_, id, *lead))) {
        lead = id;
      }
    }
  }
  return lead.value_or(0);
}

std::vector<TimedRecord> Flow::Records() const {
  std::vector<TimedRecord> records;
  auto take = [&records](const Attempt& attempt) {
    RecordLog::Cursor cursor;
    TimedRecord timed;
    while (attempt.log().Next(&cursor, &timed)) records.push_back(timed);
  };
  for (const auto& attempt : attempts_) take(*attempt);
  records.insert(records.end(), ahead_.begin(), ahead_.end());
  for (const Record& record : staged_) records.push_back({record, TakenTime(record.time_ns)});
  return records;
}

void Flow::ListLogs(std::vector<const RecordLog*>* logs, RecordLog* loose) const {
  for (const auto& attempt : attempts_) logs->push_back(&attempt->log());
  for (const TimedRecord& timed : ahead_) loose->Append(timed.record, timed.time);
  for (const Record& record : staged_) loose->Append(record, TakenTime(record.time_ns));
}

std::size_t Flow::MemoryBytes() const {
  constexpr std::size_t kNode = 48;  // of a tree
  std::size_t bytes = sizeof(*this) + key_.size() + staged_.capacity() * sizeof(Record) +
                      ahead_.capacity() * sizeof(TimedRecord) + gaps_.capacity() * sizeof(Gap) +
                      writers_.size() * (sizeof(WriterClock) + kNode) +
                      (others_.size() + undecided_.size()) * (sizeof(OtherRank) + kNode);
  for (const auto& attempt : attempts_) bytes += attempt->MemoryBytes();
  if (begun_elsewhere_ != nullptr) bytes += begun_elsewhere_->MemoryBytes();
  return bytes;
}

void Flow::Release() {
  for (const auto& attempt : attempts_) attempt->Release();
}

template <typename Ar>
void Flow::Persist(Ar& ar, const Attempt* newest) {
  ar(stream_);
  ar.List(attempts_, [&](std::unique_ptr<Attempt>& attempt) {
    if constexpr (Ar::kReading) attempt = std::make_unique<Attempt>(context_);
    attempt->Persist(ar, attempt.get() != newest || attempt->idle());
  });
  ar.Map(writers_, [&ar](WriterId& writer, WriterClock& clock) {
    ar.WriterIn(writer);
    ar(clock);
  });
  ar(new_carry_, notes_, any_, last_time_);
  if (!writers_.empty()) {
    ar.WriterIn(lead_);
    ar.WriterIn(last_writer_);
  }
  bool goes_on = clock_ != nullptr;
  ar(goes_on);
  if constexpr (Ar::kReading) {
    const auto found = writers_.find(last_writer_);
    ar.Check(!goes_on || (found != writers_.end() && (stream_ || !attempts_.empty())));
    clock_ = goes_on && ar.ok() ? &found->second : nullptr;
  }
  ar.Map(others_, [&ar](WriterId& writer, OtherRank& other) {
    ar.WriterIn(writer);
    ar(other.started_in, other.ahead);
  });
  ar.List(ahead_, [&ar](TimedRecord& timed) {
    ar.RecordIn(timed.record);
    ar(timed.time);
  });
  ar.Map(undecided_, [&ar](WriterId& writer, bool& ended) {
    ar.WriterIn(writer);
    ar(ended);
  });
  ar.Check(undecided_.empty() || !attempts_.empty());
  ar(undecided_from_);
  ar.List(gaps_, [&ar](Gap& gap) { ar(gap.from, gap.to, gap.record); });
  ar(last_sign_);
}
template void Flow::Persist(SnapshotWriter& ar, const Attempt* newest);
template void Flow::Persist(SnapshotReader& ar, const Attempt* newest);

void Flow::Refresh() {
  if (dirty_) Rebuild();
  for (const auto& attempt : attempts_) attempt->Settle();
  if (begun_elsewhere_ != nullptr) begun_elsewhere_->ForgetRows();
  begun_elsewhere_.reset();
  if (!ahead_.empty()) {
    begun_elsewhere_ = std::make_unique<Attempt>(context_);
    begun_elsewhere_->Rederive(kNoWriter, {});
    for (const TimedRecord& timed : ahead_) begun_elsewhere_->Append(timed);
    begun_elsewhere_->Settle();
  }
}

void Flow::Rebuild() {
  const std::vector<TimedRecord> records = Records();
  for (const auto& attempt : attempts_) attempt->ForgetRows();
  attempts_.clear();
  context_->newest = nullptr;
  ahead_.clear();
  undecided_.clear();
  staged_.clear();
  others_.clear();
  gaps_.clear();
  writers_.clear();
  clock_ = nullptr;
  notes_ = NoteCounts();
  dirty_ = any_ = new_carry_ = false;
  std::int64_t conflicts = 0;
  const std::vector<TimedRecord> ordered = InOrder(records, *context_, &conflicts);
  for (const TimedRecord& timed : ordered) {
    WriterClock& clock = writers_[timed.record.writer];
    if (!clock.any) clock.first_time = timed.time;
    clock.any = true;
    clock.last_seq = timed.record.seq;
    clock.last_time = timed.time;
    last_time_ = timed.time;
    last_writer_ = timed.record.writer;
    any_ = true;
  }
  lead_ = ChooseLead();
  notes_[Note::kSeqConflict] = conflicts;
  for (const TimedRecord& timed : ordered) Route(timed);
}

void Flow::Route(const TimedRecord& timed) {
  if (!stream_) {
    if (attempts_.empty()) {
      // Most attempts begin when all before them are over; where not, the carry is set right later.
      if (context_->newest != nullptr) context_->newest->Settle();
      const Carry carry = context_->newest != nullptr ? context_->newest->HandOver() : Carry();
      attempts_.push_back(std::make_unique<Attempt>(context_));
      attempts_.back()->Rederive(lead_, carry);
      context_->newest = attempts_.back().get();
    }
    attempts_.back()->Append(timed);
  } else if (timed.record.writer == lead_) {
    RouteLead(timed);
  } else {
    RouteOther(timed);
  }
}

// The ledger's order, for records that are in order within each writer.
void Flow::SortByTime(std::vector<TimedRecord>* records) const {
  std::ranges::stable_sort(*records, [this](const TimedRecord& a, const TimedRecord& b) {
    if (a.time != b.time) return a.time < b.time;
    return WriterBefore(*context_, a.record.writer, b.record.writer);
  });
}

void Flow::Open(bool implicit) {
  std::vector<TimedRecord> early = TakeUndecided();
  early.insert(early.end(), ahead_.begin(), ahead_.end());
  SortByTime(&early);
  ahead_.clear();
  Carry carry;
  if (!attempts_.empty()) {
    attempts_.back()->Settle();
    carry = attempts_.back()->HandOver();
  }
  attempts_.push_back(std::make_unique<Attempt>(context_));
  attempts_.back()->Rederive(lead_, carry);
  if (implicit) notes_[Note::kImplicitAttempt] += 1;
  gaps_.clear();
  for (const TimedRecord& timed : early) AppendOther(timed);
}

// The open attempt ended before its record `split`: what followed is routed again, to a new one,
// and so are ranks that started after the lead's last record in the old one.
void Flow::OpenAt(std::uint64_t split) {
  const RecordLog& log = attempts_.back()->log();
  std::uint64_t left = 0;  // where the lead left the old attempt
  RecordLog::Cursor cursor;
  TimedRecord timed;
  while (cursor.ordinal < split && log.Next(&cursor, &timed)) {
    if (timed.record.writer == lead_) left = cursor.ordinal;
  }
  std::vector<TimedRecord> moved;
  std::set<WriterId> started;
  std::uint64_t ordinal = left;
  for (const TimedRecord& record : attempts_.back()->TakeFrom(left)) {
    const WriterId writer = record.record.writer;
    if (record.record.type == RecordType::kJobStart) started.insert(writer);
    if (ordinal++ < split && !started.contains(writer)) {
      attempts_.back()->Append(record);
    } else {
      moved.push_back(record);
    }
  }
  undecided_.clear();
  moved.insert(moved.end(), ahead_.begin(), ahead_.end());
  ahead_.clear();
  for (auto& [writer, other] : others_) other.ahead = false;
  SortByTime(&moved);
  Open(true);
  for (const TimedRecord& record : moved) {
    record.record.writer == lead_ ? attempts_.back()->Append(record) : RouteOther(record);
  }
}

// What the undecided ranks have recorded; it leaves the open attempt.
std::vector<TimedRecord> Flow::TakeUndecided() {
  std::vector<TimedRecord> moved;
  if (undecided_.empty()) return moved;
  std::set<WriterId> started;
  for (const TimedRecord& timed : attempts_.back()->TakeFrom(undecided_from_)) {
    const WriterId writer = timed.record.writer;
    if (timed.record.type == RecordType::kJobStart && undecided_.contains(writer)) {
      started.insert(writer);
    }
    if (started.contains(writer)) {
      moved.push_back(timed);
    } else {
      attempts_.back()->Append(timed);
    }
  }
  undecided_.clear();
  return moved;
}

void Flow::RouteLead(const TimedRecord& timed) {
  const Record& record = timed.record;
  const std::int64_t net = context_->net.Net(timed.time);
  std::uint64_t split = 0;
  bool split_before = false;
  if (attempts_.empty()) {
    Open(false);
  } else {
    const Attempt::State& state = attempts_.back()->state();
    const bool step = record.type == RecordType::kStepStart;
    const bool span = record.type == RecordType::kSpanBegin;
    // Without what ended the attempt meanwhile, the lead would have gone on in it.
    auto open_after_end = [this](bool implicit) {
      std::erase_if(undecided_, [](const auto& other) { return !other.second; });
      Open(implicit);
    };
    if (record.type == RecordType::kJobStart) {
      if (state.has_job_start || state.any_step) {
        Open(false);
      } else if (state.ended) {
        open_after_end(false);
      }
    } else if (state.ended) {
      if (step || span) open_after_end(true);
    } else if (span && record.span == SpanKind::kAcceleratorInit && state.any_step) {
      const bool reinit =
          std::any_of(state.active.begin(), state.active.end(),
                      [](const auto& active) { return active.kind == SpanKind::kElasticReinit; });
      if (!reinit) Open(true);
    } else if (step && GoesBackAfterSilence(record, net, &split)) {
      split_before = true;
    }
  }
  if (split_before) OpenAt(split);
  // The lead goes on in the open attempt: they are right there. What it says after the end is
  // ignored and decides nothing, and a clock record only accompanies the record that follows.
  if (!attempts_.back()->state().ended && record.type != RecordType::kClock) undecided_.clear();
  NoteSign(timed, attempts_.back()->log().size());
  if (record.type == RecordType::kSpanEnd) NoteSpanEnd(timed);
  attempts_.back()->Append(timed);
  if (record.type == RecordType::kStepStart) gaps_.clear();
}

void Flow::RouteOther(const TimedRecord& timed) {
  const WriterId writer = timed.record.writer;
  OtherRank& other = others_[writer];
  if (attempts_.empty()) {
    ahead_.push_back(timed);
    return;
  }
  const RecordType type = timed.record.type;
  const Attempt::State& state = attempts_.back()->state();
  if (context_->writers[writer].rank == 0) {
    const bool work = type == RecordType::kStepStart || type == RecordType::kSpanBegin;
    const bool starts =
        type == RecordType::kJobStart && (state.ended || state.has_job_start || state.any_step);
    if (starts || (work && state.ended)) {
      lead_ = writer;  // another process of rank 0 takes over
      RouteLead(timed);
      return;
    }
  }
  if (type == RecordType::kJobStart && !other.ahead) {
    if (other.started_in == attempts_.size()) {
      other.ahead = true;
    } else {
      if (undecided_.empty()) undecided_from_ = attempts_.back()->log().size();
      undecided_.emplace(writer, state.ended);
    }
  }
  if (other.ahead) {
    ahead_.push_back(timed);
    return;
  }
  AppendOther(timed);
}

// A record of another rank that belongs to the open attempt.
void Flow::AppendOther(const TimedRecord& timed) {
  OtherRank& other = others_[timed.record.writer];
  other.ahead = false;
  if (timed.record.type == RecordType::kJobStart && !attempts_.back()->state().ended) {
    other.started_in = attempts_.size();
  }
  NoteSign(timed, attempts_.back()->log().size());
  attempts_.back()->Append(timed);
}

// Keeps the silences since the last step start.
void Flow::NoteSign(const TimedRecord& timed, std::uint64_t ordinal) {
  const std::int64_t net = context_->net.Net(timed.time);
  if (ordinal > 0 && net > last_sign_) gaps_.push_back({last_sign_, net, ordinal});
  last_sign_ = net;
}

// A span with both ends explains the silences inside it.
void Flow::NoteSpanEnd(const TimedRecord& timed) {
  if (gaps_.empty()) return;
  const Attempt::State& state = attempts_.back()->state();
  std::optional<std::int64_t> begin;
  for (const auto& span : state.active) {
    if (span.kind == timed.record.span && span.name == timed.record.name) begin = span.begin;
  }
  if (!begin)
    begin = attempts_.back()->closed_spans().BeginOf(timed.record.span, timed.record.name);
  if (begin) std::erase_if(gaps_, [&](const Gap& gap) { return gap.from >= *begin; });
}

bool Flow::GoesBackAfterSilence(const Record& record, std::int64_t net,
                                std::uint64_t* split) const {
  const Attempt::State& state = attempts_.back()->state();
  const std::int64_t index = state.carry.IndexOf(record.a);
  if (!state.any_step || index > state.last_index) return false;
  if (record.a <= 1 && !state.restore_seen) return false;
  attempts_.back()->Settle();
  const auto baseline = state.splitter.InForce();
  if (!baseline) return false;
  const std::int64_t bound = StallBound(*baseline);
  std::int64_t longest = 0;
  for (const Gap& gap : gaps_) {
    if (gap.to - gap.from > longest) {
      longest = gap.to - gap.from;
      *split = gap.record;
    }
  }
  if (net - last_sign_ > longest) {
    longest = net - last_sign_;
    *split = attempts_.back()->log().size();
  }
  return longest > bound;
}

}  // namespace headway::ledger
