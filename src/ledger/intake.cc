#include "ledger/intake.h"

#include <algorithm>
#include <tuple>

namespace headway::ledger {
namespace {

// The group of keyless writers of which none may lead.
constexpr const char* kFollowers = "followers";

}  // namespace

WriterId Intake::AddWriter(const Writer& writer, Liveness liveness) {
  const auto [it, added] =
      writer_ids_.try_emplace(writer.uid, static_cast<WriterId>(context_.writers.size()));
  if (added) {
    context_.writers.push_back(writer);
    liveness_.push_back(liveness);
    flow_of_.push_back(nullptr);
    sightings_.emplace_back();
    group_of_.emplace_back();
  } else {
    liveness_[it->second] = liveness;
  }
  return it->second;
}

Flow* Intake::Bind(const std::string& key, bool stream) {
  auto& flow = flows_[key];
  if (flow == nullptr) flow = std::make_unique<Flow>(&context_, key, stream);
  return flow.get();
}

void Intake::Annotate(const Record& record) {
  // The same one twice counts once; two that differ, but carry one number, both count.
  if (!annotated_.insert(ContentOf(record)).second) return;
  annotations_.push_back(record);
  if (record.type == RecordType::kQuery) {
    const std::int64_t time = TakenTime(record.time_ns);
    latest_query_ = std::max(latest_query_.value_or(time), time);
  } else if (record.type == RecordType::kNote) {
    Note note = Note::kBadLine;
    if (ParseNote(context_.names.Text(record.name), &note)) notes_.Count(note, record.a);
  } else if (record.type == RecordType::kExclude) {
    const std::int64_t to = record.b == kNoTime ? kTimeLimit : record.b;
    if (!context_.net.Exclude(std::clamp(record.a, -kTimeLimit, kTimeLimit),
                              std::clamp(to, -kTimeLimit, kTimeLimit))) {
      return;
    }
    for (auto& [key, flow] : flows_) flow->Invalidate();
    regroup_ |= keyless_ > 1;  // which goes by net time
  }
}

void Intake::Add(const Record& record) { Add(std::span(&record, 1)); }

void Intake::Add(std::span<const Record> records) {
  while (!records.empty()) {
    const WriterId writer = records.front().writer;
    if (Flow* const flow = flow_of_[writer]; flow != nullptr && sightings_[writer].keyed) {
      const std::size_t taken = flow->AddRun(records);
      if (taken > 0) {
        last_time_ = std::max(last_time_, records[taken - 1].time_ns);
        records = records.subspan(taken);
        continue;
      }
    }
    AddUnusual(records.front());
    records = records.subspan(1);
  }
}

void Intake::AddUnusual(Record record) {
  switch (record.type) {
    case RecordType::kExclude:
    case RecordType::kQuery:
    case RecordType::kNote: Annotate(record); return;
    case RecordType::kProcessEnd:
      // What a process says of itself is no sign of life, and the history before it may have been
      // filled in.
      if (record.a == 0) return Annotate(record);
      break;
    case RecordType::kMetric:
    case RecordType::kConfig:
    case RecordType::kStderrTail:
      // To the ledger these are signs of life and nothing else.
      record.a = record.b = 0;
      record.name = 0;
      break;
    default: break;
  }
  last_time_ = std::max(last_time_, TakenTime(record.time_ns));
  Flow*& flow = flow_of_[record.writer];
  const Writer& writer = context_.writers[record.writer];
  if (flow == nullptr) {
    if (!writer.attempt_key.empty()) {
      flow = Bind("key/" + writer.attempt_key, false);
      sightings_[record.writer].keyed = true;
    } else {
      group_of_[record.writer] = "writer/" + writer.uid;
      flow = Bind(group_of_[record.writer], writer.event_file);
      keyless_ += 1;
    }
  }
  if (writer.attempt_key.empty()) Observe(record);
  flow->Add(record);
}

void Intake::Observe(const Record& record) {
  Sighting& sighting = sightings_[record.writer];
  if (sighting.any && record.seq <= sighting.last_seq) {
    sighted_late_ = true;
  } else {
    const std::int64_t time = TakenTime(record.time_ns);
    sighting.See(record, sighting.any ? std::max(time, sighting.last_time) : time);
  }
  // With several of them, any record may tell that two make up one attempt, or do not.
  regroup_ |= keyless_ > 1;
}

void Intake::SightAgain() {
  sighted_late_ = false;
  for (Sighting& sighting : sightings_) {
    if (!sighting.keyed) sighting = Sighting();
  }
  std::int64_t conflicts = 0;  // counted by the flows
  for (const TimedRecord& timed : InOrder(Records(), context_, &conflicts)) {
    Sighting& sighting = sightings_[timed.record.writer];
    if (!sighting.keyed) sighting.See(timed.record, timed.time);
  }
}

bool Intake::Leads(WriterId id) const {
  const Writer& writer = context_.writers[id];
  return writer.rank <= 0 && !writer.supervisor;
}

std::vector<std::string> Intake::Group() const {
  std::vector<std::string> groups(context_.writers.size());
  std::vector<WriterId> leaders;
  std::vector<WriterId> followers;
  for (WriterId id = 0; id < context_.writers.size(); ++id) {
    if (!context_.writers[id].attempt_key.empty() || !sightings_[id].any) continue;
    (Leads(id) ? leaders : followers).push_back(id);
  }
  // Of those that begin at once, first the one of fewer restarts, then the one that stops first.
  auto earlier = [this](WriterId a, WriterId b) {
    auto order = [this](WriterId id) {
      return std::tuple(sightings_[id].first_time, context_.writers[id].attempt_index,
                        sightings_[id].last_time);
    };
    return order(a) != order(b) ? order(a) < order(b) : WriterBefore(context_, a, b);
  };
  std::sort(leaders.begin(), leaders.end(), earlier);
  std::vector<WriterId> root(context_.writers.size());  // of an un-ranked writer's group
  std::vector<std::int64_t> restarts(
      root.size());  // of the group: its restart count, -1: not known
  for (WriterId id = 0; id < root.size(); ++id) {
    root[id] = id;
    restarts[id] = context_.writers[id].attempt_index;
  }
  auto find = [&root](WriterId id) {
    while (root[id] != id) id = root[id];
    return id;
  };
  std::optional<WriterId> rank_zero_lines;
  // Beside lines of rank 0, writers that nobody gave a rank are other ranks.
  const bool ranked_lines = std::any_of(leaders.begin(), leaders.end(), [this](WriterId id) {
    return context_.writers[id].rank == 0 && context_.writers[id].event_file;
  });
  if (ranked_lines) {
    auto unranked_line = [this](WriterId id) {
      return context_.writers[id].rank < 0 && context_.writers[id].event_file;
    };
    std::copy_if(leaders.begin(), leaders.end(), std::back_inserter(followers), unranked_line);
    std::erase_if(leaders, unranked_line);
  }
  for (std::size_t i = 0; i < leaders.size(); ++i) {
    const WriterId id = leaders[i];
    const Writer& writer = context_.writers[id];
    if (writer.rank == 0) {
      // Lines of rank 0 are one stream; journals of rank 0 follow each other.
      if (writer.event_file) {
        if (!rank_zero_lines) rank_zero_lines = id;
        root[id] = *rank_zero_lines;
      }
      continue;
    }
    for (std::size_t j = 0; j < i; ++j) {
      const WriterId other = leaders[j];
      if (context_.writers[other].rank == 0) continue;
      if (context_.writers[other].event_file != writer.event_file) continue;
      const WriterId a = find(other);
      const WriterId b = find(id);
      if (a == b || (restarts[a] >= 0 && restarts[b] >= 0 && restarts[a] != restarts[b])) continue;
      if (!AreParallel(sightings_[other], sightings_[id], context_.net)) continue;
      earlier(a, b) ? root[b] = a : root[a] = b;
      restarts[a] = restarts[b] = std::max(restarts[a], restarts[b]);
    }
  }
  for (const WriterId id : leaders) groups[id] = "writer/" + context_.writers[find(id)].uid;
  std::sort(followers.begin(), followers.end(), earlier);
  std::map<std::string, std::int64_t> led_until;  // by group: its leaders' last record
  for (const WriterId id : leaders) {
    std::int64_t& until = led_until.try_emplace(groups[id], kNoTime).first->second;
    until = std::max(until, sightings_[id].last_time);
  }
  std::set<std::pair<std::string, std::int64_t>> joined;  // groups, and ranks in them
  for (const WriterId id : followers) {
    // The leaders' group that began last before it, else the first one.
    auto next = std::find_if(leaders.begin(), leaders.end(), [&](WriterId lead) {
      return sightings_[lead].first_time > sightings_[id].first_time;
    });
    if (next == leaders.begin() && next != leaders.end()) ++next;
    if (next == leaders.begin()) {
      groups[id] = kFollowers;
      continue;
    }
    groups[id] = groups[*(next - 1)];
    const Writer& writer = context_.writers[id];
    if (writer.event_file || writer.supervisor) continue;
    // A rank that comes again when those leaders are gone has come before its next leader.
    if (!joined.emplace(groups[id], writer.rank).second && next != leaders.end() &&
        led_until.at(groups[id]) < sightings_[id].first_time) {
      groups[id] = groups[*next];
      joined.emplace(groups[id], writer.rank);
    }
  }
  return groups;
}

// A group is a stream of an event file if the writer that it is named after is one of its writers.
std::set<std::string> Intake::Streams(const std::vector<std::string>& groups) const {
  std::set<std::string> streams;
  for (WriterId id = 0; id < groups.size(); ++id) {
    const bool names_it = groups[id] == "writer/" + context_.writers[id].uid;
    if (context_.writers[id].event_file && (names_it || groups[id] == kFollowers)) {
      streams.insert(groups[id]);
    }
  }
  return streams;
}

void Intake::Rebuild(const std::vector<std::string>& groups) {
  const std::vector<TimedRecord> records = Records();
  kept_.clear();
  ordered_.clear();
  flows_.clear();
  context_.newest = nullptr;
  context_.step_work = Histogram();
  std::fill(flow_of_.begin(), flow_of_.end(), nullptr);
  group_of_ = groups;
  const std::set<std::string> streams = Streams(groups);
  std::int64_t conflicts = 0;  // counted again by the flows
  const std::vector<TimedRecord> ordered = InOrder(records, context_, &conflicts);
  for (const TimedRecord& timed : ordered) {
    const Writer& writer = context_.writers[timed.record.writer];
    const bool keyed = !writer.attempt_key.empty();
    const std::string key = keyed ? "key/" + writer.attempt_key : groups[timed.record.writer];
    Flow* const flow = Bind(key, !keyed && streams.contains(key));
    flow_of_[timed.record.writer] = flow;
    flow->Add(timed.record);
  }
}

void Intake::Refresh() {
  if (regroup_) {
    regroup_ = false;
    if (sighted_late_) SightAgain();
    const std::vector<std::string> groups = Group();
    if (groups != group_of_) Rebuild(groups);
  }
  for (auto& [key, flow] : flows_) flow->Refresh();
  OrderAttempts();
}

// Who led the flow's first attempt; where nobody did, the first of its writers.
WriterId Intake::FirstLead(const Flow& flow) const {
  if (!flow.attempts().empty()) return flow.attempts().front()->lead();
  const auto first = std::min_element(
      flow.writers().begin(), flow.writers().end(),
      [this](const auto& a, const auto& b) { return WriterBefore(context_, a.first, b.first); });
  return first == flow.writers().end() ? kNoWriter : first->first;
}

void Intake::OrderAttempts() {
  struct Entry {
    std::int64_t begin;
    std::int64_t index;   // as the environment or the file counts attempts
    std::int64_t leader;  // when the flow's first lead began to record
    std::int64_t end;     // of it and of the flow's before it
    WriterId lead;        // of the flow's first
    std::size_t number;
    Attempt* attempt;
    Flow* flow;
  };
  std::vector<Entry> entries;
  for (auto& [key, flow] : flows_) {
    const WriterId lead = FirstLead(*flow);
    std::int64_t index = -1;
    for (const auto& [writer, clock] : flow->writers()) {
      index = std::max(index, context_.writers[writer].attempt_index);
    }
    const auto clock = flow->writers().find(lead);
    const std::int64_t leader = clock == flow->writers().end() ? kNoTime : clock->second.first_time;
    std::int64_t end = kNoTime;
    std::size_t number = 0;
    auto enter = [&, flow = flow.get()](Attempt* attempt) {
      end = std::max(end, attempt->state().EndWall());
      entries.push_back(
          {attempt->state().BeginWall(), index, leader, end, lead, number++, attempt, flow});
    };
    for (const auto& attempt : flow->attempts()) enter(attempt.get());
    if (flow->begun_elsewhere() != nullptr) enter(const_cast<Attempt*>(flow->begun_elsewhere()));
  }
  std::sort(entries.begin(), entries.end(), [this](const Entry& a, const Entry& b) {
    auto order = [](const Entry& entry) {
      return std::tuple(entry.begin, entry.index, entry.leader, entry.end);
    };
    if (order(a) != order(b)) return order(a) < order(b);
    if (a.lead == b.lead) return a.number < b.number;
    if (a.lead == kNoWriter || b.lead == kNoWriter) return b.lead == kNoWriter;
    return WriterBefore(context_, a.lead, b.lead);
  });
  ordered_.clear();
  std::map<const Attempt*, Kept> kept;
  Carry carry;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Attempt* attempt = entries[i].attempt;
    if (!(attempt->carry_in() == carry)) {
      attempt->Rederive(attempt->lead(), carry);
      entries[i].flow->NoteNewCarry();
    }
    ordered_.push_back(attempt);
    if (i + 1 == entries.size()) break;
    const Attempt::State& s = attempt->state();
    const auto found = kept_.find(attempt);
    if (found != kept_.end() && found->second.version == attempt->version()) {
      kept[attempt] = std::move(found->second);
    } else {
      kept[attempt] = {attempt->version(), attempt->Close(s.End(), s.EndWall()), {}};
    }
    carry = kept[attempt].closed.carry;
  }
  kept_ = std::move(kept);
}

NoteCounts Intake::Notes() const {
  NoteCounts notes = notes_;
  for (const auto& [key, flow] : flows_) notes.Add(flow->notes());
  return notes;
}

std::vector<std::int64_t> Intake::AttemptsOfWriters() const {
  std::map<const Attempt*, std::int64_t> numbers;
  for (const Attempt* attempt : ordered_) {
    numbers.emplace(attempt, static_cast<std::int64_t>(numbers.size()));
  }
  std::vector<std::int64_t> attempts(context_.writers.size(), -1);
  for (WriterId id = 0; id < attempts.size(); ++id) {
    const Writer& writer = context_.writers[id];
    const bool keyed = !writer.attempt_key.empty();
    const Flow* flow = flow_of_[id];
    if (keyed && flow == nullptr) {  // it has said nothing, but others of its attempt may have
      const auto found = flows_.find("key/" + writer.attempt_key);
      if (found != flows_.end()) flow = found->second.get();
    }
    if (flow == nullptr || (writer.event_file && !keyed) || flow->attempts().size() != 1) continue;
    attempts[id] = numbers.at(flow->attempts().front().get());
  }
  return attempts;
}

std::vector<TimedRecord> Intake::Records() const {
  std::vector<TimedRecord> records;
  for (const auto& [key, flow] : flows_) {
    const std::vector<TimedRecord> more = flow->Records();
    records.insert(records.end(), more.begin(), more.end());
  }
  return records;
}

void Intake::ListLogs(std::vector<const RecordLog*>* logs, RecordLog* loose) const {
  for (const auto& [key, flow] : flows_) flow->ListLogs(logs, loose);
  // By time, so that whoever reads them derives each attempt from the one before.
  auto first_time = [](const RecordLog* log) {
    RecordLog::Cursor cursor;
    TimedRecord first;
    return log->Next(&cursor, &first) ? first.time : kNoTime;
  };
  std::stable_sort(logs->begin(), logs->end(), [&](const RecordLog* a, const RecordLog* b) {
    return first_time(a) < first_time(b);
  });
}

std::size_t Intake::MemoryBytes() const {
  constexpr std::size_t kNode = 48;  // of a tree
  std::size_t bytes = sizeof(*this) + context_.MemoryBytes();
  for (const auto& [key, flow] : flows_) bytes += key.size() + kNode + flow->MemoryBytes();
  for (const auto& [attempt, kept] : kept_) {
    bytes += sizeof(kept) + kNode + kept.closed.MemoryBytes() + kept.cache.MemoryBytes();
  }
  bytes += writer_ids_.size() * (2 * kNode + sizeof(Sighting) + sizeof(std::string) + 8);
  bytes += annotations_.capacity() * sizeof(Record) + annotated_.size() * (sizeof(Content) + kNode);
  bytes += ordered_.capacity() * sizeof(ordered_[0]);
  return bytes;
}

void Intake::Release() {
  for (const auto& [key, flow] : flows_) flow->Release();
}

template <typename Ar>
void Intake::Persist(Ar& ar) {
  ar(context_);
  std::vector<Flow*> flows;  // as they are numbered
  std::uint64_t count = flows_.size();
  ar.Amount(count);
  const Attempt* const last = ordered_.empty() ? nullptr : ordered_.back();
  auto next = flows_.begin();
  for (std::uint64_t i = 0; i < count && ar.ok(); ++i) {
    std::string key;
    if constexpr (!Ar::kReading) key = next->first;
    ar(key);
    if constexpr (Ar::kReading) {
      const auto [it, added] = flows_.try_emplace(key);
      if (!ar.Check(added)) return;
      it->second = std::make_unique<Flow>(&context_, key, false);
      next = it;
    }
    next->second->Persist(ar, last);
    flows.push_back(next->second.get());
    ++next;
  }
  // Which attempt was opened last: its flow and its number in it.
  std::uint64_t flow_number = flows.size();
  std::uint64_t number = 0;
  if constexpr (!Ar::kReading) {
    for (std::size_t f = 0; f < flows.size(); ++f) {
      const auto& attempts = flows[f]->attempts();
      for (std::size_t a = 0; a < attempts.size(); ++a) {
        if (attempts[a].get() != context_.newest) continue;
        flow_number = f;
        number = a;
      }
    }
  }
  ar.Below(flow_number, flows.size() + 1);
  ar(number);
  if constexpr (Ar::kReading) {
    if (flow_number < flows.size()) {
      const auto& attempts = flows[flow_number]->attempts();
      if (ar.Check(number < attempts.size())) context_.newest = attempts[number].get();
    }
  }

  const std::size_t writers = context_.writers.size();
  if constexpr (Ar::kReading) {
    liveness_.resize(writers);
    flow_of_.resize(writers);
    sightings_.resize(writers);
    group_of_.resize(writers);
  }
  for (WriterId id = 0; id < writers && ar.ok(); ++id) {
    ar.Enum(liveness_[id], Liveness::kDead);
    ar(sightings_[id], group_of_[id]);
    std::uint64_t flow = flows.size();
    if constexpr (!Ar::kReading) {
      flow = static_cast<std::uint64_t>(std::find(flows.begin(), flows.end(), flow_of_[id]) -
                                        flows.begin());
    }
    ar.Below(flow, flows.size() + 1);
    if constexpr (Ar::kReading) {
      flow_of_[id] = flow < flows.size() ? flows[flow] : nullptr;
      ar.Check(writer_ids_.emplace(context_.writers[id].uid, id).second);
    }
  }
  ar(keyless_, regroup_, sighted_late_, notes_, latest_query_, last_time_);
  ar.List(annotations_, [&](Record& record) {
    ar.RecordIn(record);
    if constexpr (Ar::kReading) annotated_.insert(ContentOf(record));
  });

  // What was answered about attempts that will not change.
  for (Flow* const flow : flows) {
    for (const auto& attempt : flow->attempts()) {
      const auto found = kept_.find(attempt.get());
      bool known = found != kept_.end() && found->second.version == attempt->version();
      ar(known);
      if (!known || !ar.ok()) continue;
      if constexpr (Ar::kReading) {
        const Attempt::State& s = attempt->state();
        Kept& kept = kept_[attempt.get()];
        kept = {attempt->version(), attempt->Close(s.End(), s.EndWall()), {}};
        ar(kept.cache);
      } else {
        ar(found->second.cache);
      }
    }
  }
}
template void Intake::Persist(SnapshotWriter& ar);
template void Intake::Persist(SnapshotReader& ar);

}  // namespace headway::ledger
