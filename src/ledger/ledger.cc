#include "ledger/ledger.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "base/crc32c.h"
#include "ledger/intake.h"
#include "ledger/lead_place.h"
#include "ledger/persist.h"
#include "ledger/run_view.h"
#include "model/attempt_key.h"

namespace headway::ledger {
namespace {

constexpr std::size_t kBatch = 256;

// A snapshot: magic, version, what Persist of each class says, CRC32C of all that. The version
// changes with the fields that are kept, and with what is derived from records.
constexpr std::string_view kMagic = "HWLEDGER";
constexpr std::uint64_t kVersion = 3;

}  // namespace

struct Ledger::Impl {
  Intake intake;
  bool supervised = false;

  std::int64_t AsOf(const Query& query) const;
  bool KnowsMoreThan(std::int64_t as_of) const;
  std::unique_ptr<Impl> At(std::int64_t as_of) const;
  template <typename Ask>
  auto Look(const Query& query, Ask&& ask);
  Result<Snapshot> Persist(const SnapshotWriter::Put* put, std::size_t least_page);
};

namespace {

// A window of wall time in net time; the whole run without one.
std::pair<std::int64_t, std::int64_t> NetWindow(const Query& query, const RunView& view,
                                                const NetTime& net) {
  if (!query.window) return {view.begin(), view.end()};
  return {net.Net(query.window->first), net.Net(query.window->second)};
}

enum class Visit { kDone, kEnough, kChanged };

// `last`: nothing of a later attempt has been visited.
Visit VisitPart(const Attempt& attempt, bool last, LeadPlace::Part* part,
                const std::function<bool(const Record&)>& visit) {
  const RecordLog& log = attempt.log();
  if (part->edition != log.edition() || part->lead != attempt.lead()) return Visit::kChanged;
  RecordLog::Cursor cursor = part->cursor;
  for (TimedRecord timed; log.Next(&cursor, &timed); part->cursor = cursor) {
    if (timed.record.writer != attempt.lead()) continue;
    if (!last) return Visit::kChanged;
    if (!visit(timed.record)) return Visit::kEnough;
  }
  return Visit::kDone;
}

}  // namespace

std::int64_t Ledger::Impl::AsOf(const Query& query) const {
  if (query.as_of) return *query.as_of;
  if (intake.latest_query()) return *intake.latest_query();
  if (!intake.last_time()) return query.now.value_or(0);  // nothing was recorded so far
  const std::int64_t last = *intake.last_time();
  if (!query.now) return last;
  bool live = supervised;
  for (WriterId id = 0; id < intake.context().writers.size(); ++id) {
    live |= intake.liveness(id) == Liveness::kAlive;
  }
  return live ? std::max(last, *query.now) : last;
}

bool Ledger::Impl::KnowsMoreThan(std::int64_t as_of) const {
  if (intake.last_time().value_or(as_of) > as_of) return true;
  return std::any_of(intake.annotations().begin(), intake.annotations().end(),
                     [as_of](const Record& record) {
                       return record.type == RecordType::kExclude && record.time_ns > as_of;
                     });
}

// What was known at `as_of`. A writer that recorded later was alive then, and so was a process of
// which a supervisor recorded later that it has ended.
std::unique_ptr<Ledger::Impl> Ledger::Impl::At(std::int64_t as_of) const {
  auto past = std::make_unique<Impl>();
  const RunContext& context = intake.context();
  for (std::size_t name = 0; name < context.names.size(); ++name) {
    past->intake.context().names.Intern(context.names.Text(static_cast<NameId>(name)));
  }
  for (WriterId id = 0; id < context.writers.size(); ++id) {
    past->intake.AddWriter(context.writers[id], intake.liveness(id));
  }
  std::set<WriterId> stopped;  // they have said that they record no more
  for (const Record& record : intake.annotations()) {
    const bool note = record.type == RecordType::kNote;
    if (note || record.time_ns <= as_of) past->intake.Add(record);
    if (record.type == RecordType::kProcessEnd) stopped.insert(record.writer);
  }
  bool more = false;
  // Supervisors that were heard of up to then, and later: one of both was alive. It has a journal
  // for each attempt.
  std::set<std::pair<std::string, std::int64_t>> heard;
  std::set<std::pair<std::string, std::int64_t>> heard_later;
  std::vector<TimedRecord> ends;                                    // of processes
  std::vector<std::int64_t> last(context.writers.size(), kNoTime);  // [num_writers] records
  RecordLog loose;
  std::vector<const RecordLog*> logs;
  intake.ListLogs(&logs, &loose);
  logs.push_back(&loose);
  std::vector<Record> batch;
  auto add = [&] {
    past->intake.Add(batch);
    batch.clear();
  };
  for (const RecordLog* log : logs) {
    RecordLog::Cursor cursor;
    TimedRecord timed;
    while (log->Next(&cursor, &timed)) {
      const bool known = timed.time <= as_of;
      if (known) batch.push_back(timed.record);
      if (const Writer& writer = context.writers[timed.record.writer]; writer.supervisor)
          [[unlikely]] {
        (known ? heard : heard_later)
            .emplace(writer.pid > 0 ? writer.host : writer.uid, writer.pid);
      }
      if (timed.record.type == RecordType::kProcessEnd) [[unlikely]]
        ends.push_back(timed);
      last[timed.record.writer] = std::max(last[timed.record.writer], timed.time);
      if (batch.size() == kBatch) add();
      if (known) continue;
      more = true;
      if (intake.liveness(timed.record.writer) == Liveness::kDead) {
        past->intake.SetLiveness(timed.record.writer, Liveness::kAlive);
      }
    }
    add();
  }
  for (WriterId id = 0; id < context.writers.size(); ++id) {
    const Writer& writer = context.writers[id];
    if (writer.supervisor || writer.pid <= 0 || writer.attempt_key.empty() ||
        intake.liveness(id) != Liveness::kDead || stopped.contains(id)) {
      continue;
    }
    // The first end since its last record: later ones are of others that got its number.
    std::int64_t ended = kNoTime;
    for (const TimedRecord& end : ends) {
      const Writer& supervisor = context.writers[end.record.writer];
      if (supervisor.supervisor && end.record.a == writer.pid && supervisor.host == writer.host &&
          GivenAttemptKey(supervisor.attempt_key) == GivenAttemptKey(writer.attempt_key) &&
          end.time >= last[id] && (ended == kNoTime || end.time < ended)) {
        ended = end.time;
      }
    }
    if (ended != kNoTime && ended > as_of) past->intake.SetLiveness(id, Liveness::kAlive);
  }
  past->supervised = supervised && !more;
  for (const auto& one : heard) past->supervised |= heard_later.contains(one);
  return past;
}

template <typename Ask>
auto Ledger::Impl::Look(const Query& query, Ask&& ask) {
  intake.Refresh();
  const std::int64_t as_of = AsOf(query);
  const bool chosen = query.as_of || intake.latest_query();
  if (chosen && KnowsMoreThan(as_of)) {
    const std::unique_ptr<Impl> past = At(as_of);
    past->intake.Refresh();
    const RunView view(&past->intake, as_of, past->supervised);
    return ask(view, past->intake.context());
  }
  const RunView view(&intake, as_of, supervised);
  return ask(view, intake.context());
}

Ledger::Ledger() : impl_(std::make_unique<Impl>()) {}
Ledger::~Ledger() = default;
Ledger::Ledger(Ledger&&) noexcept = default;
Ledger& Ledger::operator=(Ledger&&) noexcept = default;

WriterId Ledger::AddWriter(const Writer& writer, Liveness liveness) {
  return impl_->intake.AddWriter(writer, liveness);
}

void Ledger::SetLiveness(WriterId writer, Liveness liveness) {
  impl_->intake.SetLiveness(writer, liveness);
}

void Ledger::SetSupervised(bool supervised) { impl_->supervised = supervised; }

NameId Ledger::InternName(std::string_view text) {
  return impl_->intake.context().names.Intern(text);
}

NameTable* Ledger::names() { return &impl_->intake.context().names; }

void Ledger::Add(const Record& record) { impl_->intake.Add(record); }

void Ledger::Add(std::span<const Record> records) { impl_->intake.Add(records); }

std::optional<std::int64_t> Ledger::LastTime() const { return impl_->intake.last_time(); }

void Ledger::Add(const RunRecords& run) {
  std::vector<WriterId> writers;
  for (std::size_t i = 0; i < run.writers.size(); ++i) {
    writers.push_back(
        AddWriter(run.writers[i], i < run.liveness.size() ? run.liveness[i] : Liveness::kUnknown));
  }
  std::vector<NameId> names;
  for (std::size_t i = 0; i < run.names.size(); ++i) {
    names.push_back(InternName(run.names.Text(static_cast<NameId>(i))));
  }
  for (Record record : run.records) {
    record.writer = writers[record.writer];
    record.name = names[record.name];
    Add(record);
  }
}

Report Ledger::MakeReport(const Query& query) {
  return impl_->Look(query, [&query](const RunView& view, const RunContext& context) {
    Report report;
    const auto [from, to] = NetWindow(query, view, context.net);
    view.Account(from, to, &report);
    view.Describe(&report);
    report.window = query.window;
    if (report.start) {
      std::int64_t begin = *report.start;
      std::int64_t end = *report.end;
      if (query.window) {
        begin = std::max(begin, query.window->first);
        end = std::min(end, query.window->second);
      }
      report.excluded_ns = std::max<std::int64_t>(0, end - begin) - report.elapsed_ns;
    }
    return report;
  });
}

TimeSplit Ledger::Split(const Query& query, std::span<const WallSpan> spans,
                        std::size_t names_most) {
  return impl_->Look(query, [&](const RunView& view, const RunContext& context) {
    return SplitTime(view, context, spans, names_most);
  });
}

std::vector<TimelineInterval> Ledger::Timeline(const Query& query) {
  return TimelineUpTo(query, std::numeric_limits<std::size_t>::max()).value();
}

std::optional<std::vector<TimelineInterval>> Ledger::TimelineUpTo(const Query& query,
                                                                  std::size_t most) {
  return impl_->Look(query, [&](const RunView& view, const RunContext& context) {
    const auto [from, to] = NetWindow(query, view, context.net);
    return view.Timeline(from, to, most);
  });
}

std::vector<StepSummary> Ledger::Steps(const Query& query) {
  return impl_->Look(query, [&query](const RunView& view, const RunContext& context) {
    const auto [from, to] = NetWindow(query, view, context.net);
    return view.Steps(from, to);
  });
}

StepHistory Ledger::MakeStepHistory(const Query& query, const StepQuestion& question) {
  return impl_->Look(query, [&](const RunView& view, const RunContext& context) {
    const auto [from, to] = NetWindow(query, view, context.net);
    return ledger::MakeStepHistory(view, context, from, to, question);
  });
}

void Ledger::VisitLeads(const std::function<void(const Record&)>& visit) {
  LeadPlace place;
  VisitLeads(&place, [&visit](const Record& record) {
    visit(record);
    return true;
  });
}

bool Ledger::VisitLeads(LeadPlace* place, const std::function<bool(const Record&)>& visit) {
  impl_->intake.Refresh();
  const std::vector<const Attempt*>& attempts = impl_->intake.attempts();
  if (place->parts.size() > attempts.size()) return false;
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    const bool begun = i < place->parts.size();
    if (!begun) {
      place->parts.push_back({attempts[i]->log().edition(), attempts[i]->lead()});
    }
    LeadPlace::Part* const part = &place->parts[i];
    switch (VisitPart(*attempts[i], /*last=*/i + 1 == place->parts.size(), part, visit)) {
      case Visit::kDone: break;
      case Visit::kEnough: return true;
      case Visit::kChanged: return false;
    }
  }
  return true;
}

std::vector<std::pair<std::int64_t, std::int64_t>> Ledger::Exclusions(std::int64_t as_of) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> exclusions;
  for (const Record& record : impl_->intake.annotations()) {
    if (record.type != RecordType::kExclude || record.time_ns > as_of) continue;
    const std::int64_t to = record.b == kNoTime ? as_of : record.b;
    if (record.a < to) exclusions.emplace_back(record.a, to);
  }
  std::ranges::sort(exclusions);
  std::size_t merged = 0;
  for (const auto& [from, to] : exclusions) {
    if (merged > 0 && from <= exclusions[merged - 1].second) {
      exclusions[merged - 1].second = std::max(exclusions[merged - 1].second, to);
    } else {
      exclusions[merged++] = {from, to};
    }
  }
  exclusions.resize(merged);
  return exclusions;
}

std::vector<std::int64_t> Ledger::AttemptsOfWriters() {
  impl_->intake.Refresh();
  return impl_->intake.AttemptsOfWriters();
}

Result<Snapshot> Ledger::Impl::Persist(const SnapshotWriter::Put* put, std::size_t least_page) {
  intake.Refresh();
  SnapshotWriter out(&intake.context().pages, put, least_page);
  out.out() = kMagic;
  std::uint64_t version = kVersion;
  out(version, supervised, intake);
  out(intake.context().pages.next);
  if (!out.status().ok()) return out.status();
  const std::uint32_t crc = Crc32c(out.out().data(), out.out().size());
  out.out().append(reinterpret_cast<const char*>(&crc), sizeof crc);
  std::ranges::sort(out.snapshot().pages);
  return std::move(out.snapshot());
}

Result<Snapshot> Ledger::TakeSnapshot(const std::function<Status(PageId, std::string_view)>& put,
                                      std::size_t least_page) {
  return impl_->Persist(&put, least_page);
}

std::string Ledger::Pack() const { return impl_->Persist(nullptr, 0).value().head; }

Result<Ledger> Ledger::Restore(std::string_view head, ReadPage read) {
  std::uint32_t crc = 0;
  if (head.size() < kMagic.size() + sizeof crc || !head.starts_with(kMagic)) {
    return Status(Code::kDataLoss, "not a ledger snapshot");
  }
  std::memcpy(&crc, head.data() + head.size() - sizeof crc, sizeof crc);
  head.remove_suffix(sizeof crc);
  if (Crc32c(head.data(), head.size()) != crc) {
    return Status(Code::kDataLoss, "ledger snapshot is damaged: its checksum does not match");
  }
  Ledger ledger;
  Impl& impl = *ledger.impl_;
  SnapshotReader in(&impl.intake.context().pages, head.substr(kMagic.size()));
  std::uint64_t version = 0;
  in(version);
  if (version != kVersion) {
    return Status(version > kVersion ? Code::kUnimplemented : Code::kDataLoss,
                  "ledger snapshot has version " + std::to_string(version) +
                      "; this program reads version " + std::to_string(kVersion));
  }
  in(impl.supervised, impl.intake);
  PageId& next = impl.intake.context().pages.next;
  in.Below(next, std::uint64_t{1} << 62);
  in.Check(next > in.highest_page());
  if (!in.ok() || !in.rest().empty()) {
    return Status(Code::kDataLoss, "ledger snapshot does not hold what its lengths say");
  }
  ledger.SetReadPage(std::move(read));
  return ledger;
}

void Ledger::SetReadPage(ReadPage read) { impl_->intake.context().pages.read = std::move(read); }

void Ledger::ReleasePages() { impl_->intake.Release(); }

std::size_t Ledger::MemoryBytes() const { return impl_->intake.MemoryBytes(); }

}  // namespace headway::ledger
