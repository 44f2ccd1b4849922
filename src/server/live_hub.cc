#include "server/live_hub.h"

#include <headway/v1/live.pb.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/live_limits.h"
#include "runs/question.h"
#include "server/connect.h"
#include "server/run_registry.h"
#include "server/stored_series.h"
#include "wire/report.h"

namespace headway::server {
namespace {

constexpr int kThreads = 2;  // a run that takes long holds up no other
constexpr std::int64_t kSweepNs = kNanosPerSecond / 2;
// A run that lives is looked at now and then although nothing comes of it: that tells, too.
constexpr std::int64_t kAgainNs = 5 * kNanosPerSecond;
// What takes long is done more rarely.
constexpr std::int64_t kPauseOfCost = 10;
constexpr std::size_t kKnownMost = 100'000;
constexpr std::size_t kNamesakes = 10;
// How far back the newest steps are looked for.
constexpr std::int64_t kStepSpans[] = {60 * kNanosPerSecond, 3600 * kNanosPerSecond,
                                       24 * 3600 * kNanosPerSecond};
constexpr char kRetry[] = "retry: 1000\n\n";

bool GoesOn(RunState state) {
  return state == RunState::kRunning || state == RunState::kRestarting;
}

void Earlier(MonoNs time, std::optional<MonoNs>* next) {
  if (!*next || time < **next) *next = time;
}

// {"code": ..., "message": ...}, as errors are.
std::string ProblemOf(const Status& status) { return ErrorResponse(status).body; }

std::vector<StepSummary> NewestSteps(ledger::Ledger* ledger, ledger::Query query,
                                     const Report& report) {
  std::vector<StepSummary> steps;
  if (!report.steps.last_step || !report.start) return steps;
  for (const std::int64_t span : kStepSpans) {
    query.window = {report.as_of - span, report.as_of};
    steps = ledger->Steps(query);
    if (std::ranges::count(steps, true, &StepSummary::complete) > 1) break;
    if (report.as_of - span <= *report.start) break;
  }
  if (steps.size() > limits::kLiveSteps) {
    steps.erase(steps.begin(), steps.end() - static_cast<std::ptrdiff_t>(limits::kLiveSteps));
  }
  return steps;
}

}  // namespace

class LiveHub::Stream final : public HttpStream {
 public:
  Stream(LiveHub* hub, Asked asked) : hub_(hub), asked_(std::move(asked)) {}
  ~Stream() override { hub_->Leave(this); }

  void Start(std::function<void()> wake) override {
    const std::lock_guard lock(hub_->mutex_);
    wake_ = std::move(wake);
  }

  Piece Next() override {
    const std::lock_guard lock(hub_->mutex_);
    Piece piece;
    if (!end_.ok()) {
      piece.parts.push_back(
          std::make_shared<const std::string>(hub_->Text(hub_->version_, "end", ProblemOf(end_))));
      piece.last = true;
      return piece;
    }
    if (!std::exchange(greeted_, true)) {
      piece.parts.push_back(std::make_shared<const std::string>(kRetry));
    }
    const MonoNs now = hub_->clock_->Mono();
    if (now < next_) {
      late_ = true;
      return piece;
    }
    const std::size_t before = piece.parts.size();
    const bool all = run_ == nullptr ? TakeList(&piece) : TakeRun(&piece);
    if (piece.parts.size() > before && all) next_ = now + asked_.every_ns;
    return piece;
  }

  std::string_view Pulse() const override { return ": \n\n"; }

 private:
  friend class LiveHub;

  // Returns whether that is all there is now.
  bool TakeRun(Piece* piece) {
    std::vector<const Event*> fresh;
    const auto take = [&](const Event& event) {
      if (event.version > position_) fresh.push_back(&event);
    };
    for (int topic = 0; topic < kTopics; ++topic) {
      if (topic != (asked_.shared ? kRun : kSharedRun)) take(run_->topics[topic]);
    }
    take(position_ >= run_->new_metrics_since ? run_->new_metrics : run_->all_metrics);
    std::ranges::sort(fresh, {}, &Event::version);
    for (const Event* event : fresh) {
      piece->parts.push_back(event->text);
      position_ = event->version;
    }
    return true;
  }

  bool TakeList(Piece* piece) {
    if (resets_ || position_ < hub_->floor_) {
      resets_ = false;
      position_ = hub_->version_;
      piece->parts.push_back(
          std::make_shared<const std::string>(hub_->Text(position_, "reset", "{}")));
      return true;
    }
    std::size_t taken = 0;
    for (auto next = hub_->listed_.upper_bound(position_); next != hub_->listed_.end(); ++next) {
      const Listed& listed = next->second;
      if (taken == limits::kLivePieceRuns) return false;
      position_ = next->first;
      if (listed.project != asked_.project) continue;
      if (!asked_.name.empty() && listed.name != asked_.name) continue;
      piece->parts.push_back(listed.text);
      ++taken;
    }
    return true;
  }

  LiveHub* hub_;
  Asked asked_;
  // Under the hub's mutex.
  std::uint64_t number_ = 0;
  std::function<void()> wake_;
  std::shared_ptr<Watched> run_;  // null: the list
  std::uint64_t position_ = 0;    // changes up to here are sent
  bool resets_ = false;
  bool greeted_ = false;
  MonoNs next_ = {0};
  bool late_ = false;  // there may be something to send at next_
  Status end_;
};

struct LiveHub::Look {
  Status gone;                                       // not OK: the run is not there any more
  Status problem;                                    // of the report
  std::string run, shared, report, steps, journals;  // JSON
  std::map<std::string, Metric> metrics;
  RunState state = RunState::kNotStarted;
};

LiveHub::LiveHub(store::Store* store, RunLedgers* ledgers, const Clock* clock,
                 std::function<void(const Status&)> log)
    : store_(store),
      ledgers_(ledgers),
      clock_(clock),
      log_(std::move(log)),
      mark_(ToHex(RandomUid<RunUid>()).substr(0, 8)) {}

LiveHub::~LiveHub() { Stop(); }

void LiveHub::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void LiveHub::Start() {
  for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { Run(); });
}

void LiveHub::Run() {
  Lock lock(mutex_);
  while (!stop_) {
    std::optional<MonoNs> next;
    if (Work(&lock, &next)) continue;
    if (next) {
      changed_.wait_for(
          lock, std::chrono::nanoseconds(std::max<std::int64_t>(*next - clock_->Mono(), 0)));
    } else {
      changed_.wait(lock);
    }
  }
}

void LiveHub::Pass() {
  Lock lock(mutex_);
  std::optional<MonoNs> next;
  while (Work(&lock, &next)) next.reset();
}

// --- What is told

void LiveHub::Touch(const RunUid& uid) {
  const auto found = watched_.find(uid);
  if (found == watched_.end()) return;
  found->second->dirty = true;
  changed_.notify_one();
}

void LiveHub::Note(const RunUid& uid) {
  if (pending_.size() >= limits::kLiveRuns) {
    // So many were not looked up: nobody is there, or it is too much. Lists begin anew.
    pending_.clear();
    listed_.clear();
    versions_.clear();
    floor_ = ++version_;
  }
  pending_.insert(uid);
  if (!streams_.empty()) changed_.notify_one();
}

void LiveHub::RecordsCame(const RunUid& run) {
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(run);
  if (known != known_.end()) return Touch(known->second);
  Note(run);
  Touch(run);
}

void LiveHub::RunChanged(const RunUid& run) {
  const std::lock_guard lock(mutex_);
  Note(run);
  Touch(run);
}

// --- Streams

Result<std::shared_ptr<HttpStream>> LiveHub::Open(Asked asked) {
  auto stream = std::make_shared<Stream>(this, std::move(asked));
  const std::lock_guard lock(mutex_);
  const Asked& wanted = stream->asked_;
  const std::size_t mine = streams_of_[wanted.who];
  if (streams_.size() >= limits::kLiveStreams || mine >= limits::kLiveStreamsOfCaller) {
    if (mine == 0) streams_of_.erase(wanted.who);
    ++refused_;
    return Status(Code::kResourceExhausted,
                  "as many streams as there may be are open: " +
                      (mine >= limits::kLiveStreamsOfCaller
                           ? std::to_string(limits::kLiveStreamsOfCaller) + " of one caller"
                           : std::to_string(limits::kLiveStreams)) +
                      "; try again later");
  }
  stream->number_ = ++opened_;
  stream->position_ = PositionOf(wanted.last_id);
  if (wanted.run) {
    std::shared_ptr<Watched>& run = watched_[*wanted.run];
    if (run == nullptr) {
      run = std::make_shared<Watched>();
      run->uid = *wanted.run;
    }
    run->streams.insert(stream.get());
    stream->run_ = run;
  } else {
    stream->resets_ = stream->position_ == 0;
  }
  if (streams_.empty()) sweep_due_ = clock_->Mono() + kSweepNs;
  streams_.insert(stream.get());
  ++streams_of_[wanted.who];
  changed_.notify_all();
  return std::shared_ptr<HttpStream>(std::move(stream));
}

void LiveHub::Leave(Stream* stream) {
  const std::lock_guard lock(mutex_);
  if (streams_.erase(stream) == 0) return;
  const auto of = streams_of_.find(stream->asked_.who);
  if (--of->second == 0) streams_of_.erase(of);
  if (stream->run_ == nullptr) return;
  stream->run_->streams.erase(stream);
  if (stream->run_->streams.empty()) watched_.erase(stream->run_->uid);
}

LiveHub::Counts LiveHub::counts() const {
  const std::lock_guard lock(mutex_);
  Counts counts;
  for (const Stream* stream : streams_) ++(stream->run_ == nullptr ? counts.lists : counts.runs);
  counts.opened = opened_;
  counts.refused = refused_;
  counts.updates = updates_;
  return counts;
}

// 0: of none of ours.
std::uint64_t LiveHub::PositionOf(const std::string& id) const {
  if (!id.starts_with(mark_ + "-")) return 0;
  std::uint64_t position = 0;
  for (const char c : id.substr(mark_.size() + 1)) {
    if (c < '0' || c > '9' || position > version_) return 0;
    position = 10 * position + static_cast<std::uint64_t>(c - '0');
  }
  return position > version_ ? 0 : position;
}

std::string LiveHub::Text(std::uint64_t version, std::string_view kind,
                          const std::string& data) const {
  std::string text;
  text.reserve(data.size() + 64);
  text.append("id: ").append(mark_).append("-").append(std::to_string(version));
  text.append("\nevent: ").append(kind).append("\ndata: ").append(data).append("\n\n");
  return text;
}

void LiveHub::WakeAll(const std::set<Stream*>& streams) {
  for (Stream* const stream : streams) {
    if (stream->wake_) stream->wake_();
  }
}

// --- Work

bool LiveHub::Work(Lock* lock, std::optional<MonoNs>* next) {
  if (streams_.empty()) return false;
  const MonoNs now = clock_->Mono();
  WakeLate(now, next);
  if (!sweeping_) {
    if (sweep_due_ <= now) {
      Sweep(lock);
      return true;
    }
    Earlier(sweep_due_, next);
  }
  if (!listing_ && !pending_.empty()) {
    if (list_due_ <= now) {
      List(lock);
      return true;
    }
    Earlier(list_due_, next);
  }
  std::shared_ptr<Watched> first;
  for (const auto& [uid, run] : watched_) {
    if (run->busy) continue;
    if (!run->dirty && !run->again) continue;
    const MonoNs due = run->dirty ? run->due : std::max(run->due, *run->again);
    if (due > now) {
      Earlier(due, next);
    } else if (first == nullptr || run->due < first->due) {
      first = run;
    }
  }
  if (first == nullptr) return false;
  Refresh(lock, std::move(first));
  return true;
}

void LiveHub::WakeLate(MonoNs now, std::optional<MonoNs>* next) {
  for (Stream* const stream : streams_) {
    if (!stream->late_) continue;
    if (stream->next_ > now) {
      Earlier(stream->next_, next);
      continue;
    }
    stream->late_ = false;
    if (stream->wake_) stream->wake_();
  }
}

// Who may not watch any more.
void LiveHub::Sweep(Lock* lock) {
  sweeping_ = true;
  std::vector<std::pair<std::uint64_t, std::function<Status()>>> checks;  // [num_streams]
  for (const Stream* const stream : streams_) {
    checks.emplace_back(stream->number_, stream->asked_.check);
  }
  lock->unlock();
  std::map<std::uint64_t, Status> ended;  // by their numbers
  for (const auto& [number, check] : checks) {
    Status status = check();
    if (!status.ok()) ended.emplace(number, std::move(status));
  }
  lock->lock();
  for (Stream* const stream : streams_) {
    const auto found = ended.find(stream->number_);
    if (found == ended.end()) continue;
    stream->end_ = found->second;
    if (stream->wake_) stream->wake_();
  }
  sweep_due_ = clock_->Mono() + kSweepNs;
  sweeping_ = false;
}

// --- Lists

void LiveHub::List(Lock* lock) {
  listing_ = true;
  const MonoNs begin = clock_->Mono();
  std::set<RunUid> wanted;
  wanted.swap(pending_);
  std::set<RunUid> seen;
  for (const RunUid& noted : wanted) {
    lock->unlock();
    const Result<store::RunRow> row = store_->FindRun(noted);
    lock->lock();
    if (!row.ok()) {
      if (row.status().code() != Code::kNotFound && log_) log_(row.status());
      continue;
    }
    if (known_.size() >= kKnownMost) known_.clear();
    known_[noted] = row->uid;
    known_[row->uid] = row->uid;
    if (noted != row->uid) Touch(row->uid);
    if (!seen.insert(row->uid).second) continue;
    const auto before = versions_.find(row->uid);
    const bool other_label =
        before == versions_.end() || listed_.at(before->second).deleted != (row->deleted != 0);
    Publish(row->uid, *row);
    if (!other_label) continue;
    // Which run a name alone stands for has changed, perhaps.
    lock->unlock();
    const Result<store::RunPage> namesakes =
        store_->ListRuns({.project = row->project, .name = row->name, .count = kNamesakes});
    lock->lock();
    if (!namesakes.ok()) continue;
    for (const store::RunRow& other : namesakes->runs) {
      if (seen.insert(other.uid).second) Publish(other.uid, other);
    }
  }
  list_due_ = begin + std::max(limits::kLiveEveryNs, kPauseOfCost * (clock_->Mono() - begin));
  for (Stream* const stream : streams_) {
    if (stream->run_ == nullptr && stream->wake_) stream->wake_();
  }
  listing_ = false;
}

void LiveHub::Publish(const RunUid& uid, const store::RunRow& row) {
  std::string data;
  if (row.purged) {
    v1::LiveGone gone;
    gone.set_project(row.project);
    gone.set_uid(ToHex(uid));
    data = MessageJson(gone);
  } else {
    data = MessageJson(RunMessage(row));
  }
  // What grows all the time is no news.
  store::RunRow steady = row;
  steady.stored_bytes = steady.journals = 0;
  steady.summary.as_of = steady.summary.as_of == 0 ? 0 : 1;
  const std::size_t hash = std::hash<std::string>()(MessageJson(RunMessage(steady))) + row.purged;
  const auto before = versions_.find(uid);
  if (before != versions_.end()) {
    if (listed_.at(before->second).hash == hash) return;
    listed_.erase(before->second);
  }
  const std::uint64_t version = ++version_;
  versions_[uid] = version;
  listed_[version] = {
      .uid = uid,
      .project = row.project,
      .name = row.name,
      .text = std::make_shared<const std::string>(Text(version, row.purged ? "gone" : "run", data)),
      .hash = hash,
      .deleted = row.deleted != 0};
  while (listed_.size() > limits::kLiveRuns) {
    floor_ = listed_.begin()->first;
    versions_.erase(listed_.begin()->second.uid);
    listed_.erase(listed_.begin());
  }
}

// --- One run

LiveHub::Look LiveHub::LookAt(const RunUid& uid) const {
  Look look;
  const Result<store::RunRow> row = store_->FindRun(uid);
  if (!row.ok()) {
    if (row.status().code() == Code::kNotFound) look.gone = row.status();
    look.problem = row.status();
    return look;
  }
  if (row->purged) {
    look.gone = Status(Code::kNotFound, "run \"" + row->name + "\" was removed for ever");
    return look;
  }
  look.run = MessageJson(RunMessage(*row));
  look.shared = MessageJson(SharedRunMessage(*row));
  look.problem = ledgers_->Look(uid, [&](RunLedger& found) -> Status {
    ledger::Ledger* const ledger = found.ledger();
    const auto query = runs::MakeQuery({}, ledger, clock_->Wall());
    HEADWAY_RETURN_IF_ERROR(query.status());
    Report report = ledger->MakeReport(*query);
    report.run = row->label;
    report.project = row->project;
    look.state = report.state;
    v1::LiveSteps steps;
    for (const StepSummary& step : NewestSteps(ledger, *query, report)) {
      *steps.add_steps() = wire::ToProto(step);
    }
    look.report = MessageJson(wire::ToProto(report));
    look.steps = MessageJson(steps);
    return OkStatus();
  });
  if (look.report.size() > limits::kLiveEventBytes) {
    look.problem = Status(Code::kResourceExhausted,
                          "the report has " + std::to_string(look.report.size()) +
                              " bytes, too many to be sent each second: GetReport has it");
    look.report.clear();
  }
  // What else there is is no worse for it.
  v1::LiveJournals progress;
  if (const auto journals = store_->ListJournals(uid); journals.ok()) {
    for (const store::Journal& journal : *journals) {
      progress.set_journals(progress.journals() + 1);
      if (journal.state.writer != Liveness::kDead) progress.set_open(progress.open() + 1);
      progress.set_slots(progress.slots() + journal.state.slots);
      progress.set_heard(std::max(progress.heard(), journal.state.heard));
    }
  }
  look.journals = MessageJson(progress);
  if (const auto series = StoredSeries::Of(store_, uid); series.ok()) {
    for (const store::SeriesRow& one : series->rows()) {
      Metric& metric = look.metrics[one.key.name];
      metric.points += one.summary.count;
      metric.last_time = std::max(metric.last_time, one.summary.max_time_ns);
      if (one.summary.min_step == kNoStep) continue;
      metric.last_step =
          std::max(metric.last_step.value_or(one.summary.max_step), one.summary.max_step);
    }
  }
  return look;
}

void LiveHub::Refresh(Lock* lock, std::shared_ptr<Watched> run) {
  run->busy = true;
  run->dirty = false;
  ++updates_;
  lock->unlock();
  const MonoNs begin = clock_->Mono();
  Look look = LookAt(run->uid);
  const std::int64_t cost = clock_->Mono() - begin;
  lock->lock();
  run->busy = false;
  run->due = begin + std::max(limits::kLiveEveryNs, kPauseOfCost * cost);
  run->again.reset();
  if (!look.gone.ok()) {
    for (Stream* const stream : run->streams) stream->end_ = look.gone;
    return WakeAll(run->streams);
  }
  if (GoesOn(look.state) || !look.problem.ok()) run->again = begin + kAgainNs;
  if (!look.run.empty()) Put(&run->topics[kRun], "run", look.run);
  if (!look.shared.empty()) Put(&run->topics[kSharedRun], "run", look.shared);
  if (look.problem.ok()) {
    run->topics[kProblem] = {};
  } else {
    Put(&run->topics[kProblem], "problem", ProblemOf(look.problem));
    if (log_ && look.problem.code() == Code::kDataLoss) log_(look.problem);
  }
  if (!look.steps.empty()) Put(&run->topics[kSteps], "steps", look.steps);
  if (!look.journals.empty()) Put(&run->topics[kJournals], "journals", look.journals);
  if (!look.metrics.empty()) PutMetrics(run.get(), std::move(look.metrics));
  // Last: whoever has it has all that goes with it.
  if (!look.report.empty()) Put(&run->topics[kReport], "report", look.report);
  WakeAll(run->streams);
}

void LiveHub::Put(Event* event, std::string_view kind, const std::string& data) {
  const std::size_t hash = std::hash<std::string>()(data);
  if (event->version != 0 && event->hash == hash) return;
  event->version = ++version_;
  event->hash = hash;
  event->text = std::make_shared<const std::string>(Text(event->version, kind, data));
}

void LiveHub::PutMetrics(Watched* run, std::map<std::string, Metric> metrics) {
  if (metrics == run->metrics) return;
  const auto text = [&](bool only_new) {
    v1::LiveMetrics message;
    for (const auto& [name, metric] : metrics) {
      if (only_new) {
        const auto before = run->metrics.find(name);
        if (before != run->metrics.end() && before->second == metric) continue;
      }
      if (static_cast<std::size_t>(message.metrics_size()) == limits::kLiveMetrics) {
        message.set_more(true);
        break;
      }
      v1::LiveMetric* const one = message.add_metrics();
      one->set_name(name);
      one->set_points(metric.points);
      one->set_last_time(metric.last_time);
      if (metric.last_step) one->set_last_step(*metric.last_step);
    }
    return MessageJson(message);
  };
  run->new_metrics_since = std::max<std::uint64_t>(run->all_metrics.version, 1);
  Event fresh;
  Put(&fresh, "metrics", text(true));
  run->new_metrics = fresh;
  const std::string data = text(false);
  run->all_metrics = {
      .text = std::make_shared<const std::string>(Text(fresh.version, "metrics", data)),
      .version = fresh.version,
      .hash = 0};
  run->metrics = std::move(metrics);
}

}  // namespace headway::server
