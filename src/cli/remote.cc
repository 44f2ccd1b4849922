#include "cli/remote.h"

#ifdef HEADWAY_REMOTE

#include <headway/v1/config_service.pb.h>
#include <headway/v1/record_service.pb.h>
#include <headway/v1/run_service.pb.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/utf8.h"
#include "cli/output.h"
#include "cli/server_call.h"
#include "cli/server_run.h"
#include "client/server_client.h"
#include "client/shipper.h"
#include "journal/format.h"
#include "model/packed_records.h"
#include "model/text.h"
#include "wire/config.h"
#include "wire/record.h"
#include "wire/report.h"

namespace headway::cli {
namespace {

constexpr std::int64_t kRoundNs = kNanosPerSecond;
constexpr std::int64_t kPauseMostNs = 30 * kNanosPerSecond;

class RemoteRun final : public AskedRun {
 public:
  RemoteRun(const Place& place, std::string label, const TimeOptions& times)
      : client_({.url = place.server, .token = place.token, .ca = place.ca}, &clock_),
        project_(place.project),
        label_(std::move(label)) {
    if (!times.as_of.empty()) time_.set_as_of(times.as_of);
    if (times.last) time_.set_last_ns(*times.last);
    if (const std::size_t dots = times.window.find(".."); dots != std::string::npos) {
      time_.set_from(times.window.substr(0, dots));
      time_.set_to(times.window.substr(dots + 2));
    }
  }

  Result<Report> MakeReport() override { return ReportBy(v1::ACCOUNTING_EXACT); }
  Result<Report> MakeCompatReport() override { return ReportBy(v1::ACCOUNTING_COMPAT); }

  Result<std::vector<TimelineInterval>> Timeline() override { return Intervals(Time()); }
  Result<std::vector<TimelineInterval>> WholeTimeline() override { return Intervals({}); }

  Result<std::vector<StepSummary>> Steps() override {
    std::vector<StepSummary> all;
    v1::ListStepsRequest request;
    Fill(Time(), &request);
    request.set_page_size(kPage);
    do {
      v1::ListStepsResponse response;
      HEADWAY_RETURN_IF_ERROR(client_.Call("headway.v1.RunService.ListSteps", request, &response));
      for (const v1::StepSummary& step : response.steps()) all.push_back(wire::FromProto(step));
      request.set_page_token(response.next_page_token());
    } while (!request.page_token().empty());
    return all;
  }

  Result<RunRecords> Records() override {
    RunRecords all;
    std::vector<Status> problems;
    v1::ListRecordsRequest request;
    request.set_project(project_);
    request.set_run(label_);
    request.set_page_size(kPage);
    request.set_packed(true);
    do {
      v1::ListRecordsResponse page;
      HEADWAY_RETURN_IF_ERROR(client_.Call("headway.v1.RecordService.ListRecords", request, &page));
      HEADWAY_RETURN_IF_ERROR(AddPage(page, &all, &problems));
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    TellProblems(problems);
    return all;
  }

 private:
  static constexpr int kPage = 100'000;

  static Status AddPage(const v1::ListRecordsResponse& page, RunRecords* all,
                        std::vector<Status>* problems) {
    std::vector<NameId> names = {0};
    for (const std::string& name : page.names()) names.push_back(all->names.Intern(name));
    for (const v1::JournalRecords& part : page.journals()) {
      if (!part.header().empty()) HEADWAY_RETURN_IF_ERROR(AddWriter(part, all));
      if (all->writers.empty()) return {Code::kInvalidArgument, "the records have no journal"};
      HEADWAY_RETURN_IF_ERROR(ReadPacked(
          part.packed(), static_cast<WriterId>(all->writers.size() - 1), names, &all->records));
      if (!part.damage().empty()) problems->emplace_back(Code::kDataLoss, part.damage());
    }
    return OkStatus();
  }

  static Status AddWriter(const v1::JournalRecords& part, RunRecords* all) {
    const Result<journal::Header> header = HeaderOf(part);
    if (!header.ok()) return header.status();
    all->writers.push_back(journal::ToModelWriter(*header));
    all->liveness.push_back(wire::FromProto(part.writer()));
    return OkStatus();
  }

  // Once there was a report, all that is asked is as of the same time.
  v1::TimeSelection Time() const {
    v1::TimeSelection time = time_;
    if (as_of_) time.set_as_of("@" + std::to_string(*as_of_));
    return time;
  }

  Result<Report> ReportBy(v1::Accounting accounting) {
    v1::GetReportRequest request;
    Fill(Time(), &request);
    request.set_accounting(accounting);
    v1::Report answer;
    HEADWAY_RETURN_IF_ERROR(client_.Call("headway.v1.RunService.GetReport", request, &answer));
    Result<Report> report = wire::FromProto(answer);
    if (report.ok()) as_of_ = report->as_of;
    return report;
  }

  template <typename Request>
  void Fill(const v1::TimeSelection& time, Request* request) const {
    request->set_project(project_);
    request->set_run(label_);
    *request->mutable_time() = time;
  }

  Result<std::vector<TimelineInterval>> Intervals(const v1::TimeSelection& time) {
    std::vector<TimelineInterval> all;
    v1::ListIntervalsRequest request;
    Fill(time, &request);
    request.set_page_size(kPage);
    do {
      v1::ListIntervalsResponse response;
      HEADWAY_RETURN_IF_ERROR(
          client_.Call("headway.v1.RunService.ListIntervals", request, &response));
      for (const v1::TimelineInterval& interval : response.intervals()) {
        Result<TimelineInterval> one = wire::FromProto(interval);
        if (!one.ok()) return one.status();
        all.push_back(*std::move(one));
      }
      request.set_page_token(response.next_page_token());
    } while (!request.page_token().empty());
    return all;
  }

  SystemClock clock_;
  client::ServerClient client_;
  std::string project_;
  std::string label_;
  v1::TimeSelection time_;
  std::optional<std::int64_t> as_of_;
};

// The connection that it is read over.
class FollowedRun final : public ServerRun {
 public:
  FollowedRun(const Place& place, std::string run)
      : ServerRun(
            [this](const v1::ListRecordsRequest& request, v1::ListRecordsResponse* page) {
              return client_.Call("headway.v1.RecordService.ListRecords", request, page);
            },
            place.project, std::move(run)),
        client_({.url = place.server, .token = place.token, .ca = place.ca}, &clock_,
                &interrupted_) {}

  // A certificate that was trusted may be renewed.
  bool IsLost() const override {
    return ServerRun::IsLost() || (client_.distrusts() && starts() == 0);
  }
  void Interrupt(bool stop) override { interrupted_ = stop; }
  void Hurry(MonoNs until) override { client_.set_deadline(until); }

 private:
  SystemClock clock_;
  std::atomic<bool> interrupted_ = false;
  client::ServerClient client_;
};

// Endings: what asks the sender to end. A signal: what has been recorded until then is still sent,
// once. The word of the process beside: it records no more, and waits for the rest.
class Endings {
 public:
  explicit Endings(const Beside& beside) : company_(beside.company()) {}

  /// Whether the next round is the last one.
  bool last() const { return last_; }

  void Wait(std::int64_t ns) {
    const MonoNs end = SystemClock::MonoNow() + ns;
    while (!last_) {
      const MonoNs now = SystemClock::MonoNow();
      const std::int64_t rest = now < hurry_ ? std::min(ns, kHurryNs) : end - now;
      if (rest <= 0) return;
      pollfd ready[] = {{company_.signals, POLLIN, 0}, {control_, POLLIN, 0}};
      const timespec timeout = {static_cast<time_t>(rest / kNanosPerSecond),
                                static_cast<long>(rest % kNanosPerSecond)};
      if (::ppoll(ready, 2, &timeout, nullptr) <= 0) return;
      if (monitor::TakeSignals(company_.signals)) last_ = true;
      if (ready[1].revents == 0) continue;
      const monitor::Word word = monitor::Listen(control_, &heard_);
      if (word.stop_ms) hurry_ = SystemClock::MonoNow() + *word.stop_ms * 1'000'000;
      if (word.leave) last_ = true;
      if (word.ended) control_ = -1;  // the rest is sent as long as that takes
      if (word.stop_ms || word.ended) return;
    }
  }

 private:
  static constexpr std::int64_t kHurryNs = kNanosPerSecond / 50;

  monitor::Company company_;
  int control_ = company_.control;
  std::string heard_;
  bool last_ = false;
  MonoNs hurry_;  // until then somebody waits
};

Status CheckLabel(const std::string& label) {
  if (IsValidUtf8(label)) return OkStatus();
  return {Code::kNotFound, "no run \"" + PrintableLine(label) + "\" can be there"};
}

bool IsWorthRetrying(const Status& status) {
  return status.code() == Code::kUnavailable || status.code() == Code::kResourceExhausted ||
         status.code() == Code::kDeadlineExceeded;
}

}  // namespace

Result<std::unique_ptr<AskedRun>> AskServer(const Place& place, const std::string& label,
                                            const TimeOptions& times) {
  HEADWAY_RETURN_IF_ERROR(CheckTimes(times));
  HEADWAY_RETURN_IF_ERROR(CheckLabel(label));
  return std::unique_ptr<AskedRun>(std::make_unique<RemoteRun>(place, label, times));
}

Result<RunConfig> AskServerConfig(const Place& place, const std::string& label) {
  HEADWAY_RETURN_IF_ERROR(CheckLabel(label));
  v1::GetConfigRequest request;
  request.set_project(place.project);
  request.set_run(label);
  v1::GetConfigResponse answer;
  HEADWAY_RETURN_IF_ERROR(CallServer(place, "ConfigService.GetConfig", request, &answer));
  std::vector<Status> problems;
  for (const std::string& problem : answer.problems()) {
    problems.emplace_back(Code::kDataLoss, problem);
  }
  TellProblems(problems);
  return wire::FromProto(answer);
}

Result<std::unique_ptr<runs::GrowingRun>> FollowAtServer(const Place& place,
                                                         const std::string& run) {
  HEADWAY_RETURN_IF_ERROR(CheckLabel(run));
  return std::unique_ptr<runs::GrowingRun>(std::make_unique<FollowedRun>(place, run));
}

std::function<Result<bool>()> ShippingRounds(const transfer::Scope& scope,
                                             const std::string& server, const std::string& token,
                                             const std::string& ca) {
  struct State {
    State(const transfer::Scope& what, const client::ServerAddress& where)
        : client(where, &clock), shipper(what, &client) {}
    SystemClock clock;
    client::ServerClient client;
    client::Shipper shipper;
  };
  const client::ServerAddress address = {.url = server, .token = token, .ca = ca};
  return [state = std::make_shared<State>(scope, address)]() -> Result<bool> {
    const Result<bool> done = state->shipper.Round();
    if (done.ok() && !state->shipper.refusal().ok()) return state->shipper.refusal();
    return done;
  };
}

Result<Shipped> Ship(const ShipOptions& options) {
  const SystemClock clock;
  const Beside& beside = *options.beside;
  client::ServerClient client({.url = options.server, .token = options.token, .ca = options.ca},
                              &clock);
  client::Shipper shipper({.dir = options.dir,
                           .project = options.project,
                           .run = options.run,
                           .uid = options.uid,
                           .file = options.file,
                           .foreign = options.uid.has_value()},
                          &client);
  const auto tell = [&](const std::string& text) {
    beside.controlled() ? beside.Tell(text) : Complain("warning: " + text);
  };
  MonoNs reached = clock.Mono();
  std::int64_t pause = kRoundNs;
  bool first = true;
  bool told = false;
  int quiet_rounds = 0;
  std::string refused;
  Endings endings(beside);
  while (true) {
    const Result<bool> done = shipper.Round();
    const MonoNs now = clock.Mono();
    if (beside.lives()) reached = now;
    if (done.ok()) {
      if (told) Complain(options.server + " is there again");
      if (first) beside.TellReady();
      first = false;
      told = false;
      if (const Status& refusal = shipper.refusal(); refusal.message() != refused) {
        refused = refusal.message();
        if (options.follow && !refusal.ok()) tell(refused);
      }
      reached = now;
      pause = kRoundNs;
      // Between two journals of a supervisor nobody seems to live: it is looked at once more.
      quiet_rounds = *done ? quiet_rounds + 1 : 0;
      if (quiet_rounds > 1 || endings.last() || !options.follow) break;
    } else {
      // A certificate that was trusted may be renewed.
      const bool may_mend = IsWorthRetrying(done.status()) || (client.distrusts() && !first);
      const bool again = may_mend && !endings.last() && now - reached < options.patience_ns;
      if (!again) return done.status();
      if (!told) tell(done.status().message() + "; trying again");
      told = true;
      pause = std::min(2 * pause, kPauseMostNs);
    }
    endings.Wait(pause);
  }
  if (!shipper.refusal().ok()) return shipper.refusal();
  std::map<std::string, std::size_t> removed;
  for (const std::string& run : shipper.removed()) ++removed[run];
  for (const auto& [run, count] : removed) {
    Complain("warning: run " + PrintableLine(run) + " was removed from " + options.server +
             " for ever: " + std::to_string(count) + (count == 1 ? " journal" : " journals") +
             " of it is kept here alone");
  }
  return Shipped{.journals = static_cast<std::int64_t>(shipper.journals()),
                 .slots = static_cast<std::int64_t>(shipper.slots_sent()),
                 .removed = static_cast<std::int64_t>(shipper.removed().size()),
                 .left_out = static_cast<std::int64_t>(shipper.left_out())};
}

}  // namespace headway::cli

#else

namespace headway::cli {
Result<std::unique_ptr<AskedRun>> AskServer(const Place&, const std::string&, const TimeOptions&) {
  return NoServersBuilt();
}

Result<RunConfig> AskServerConfig(const Place&, const std::string&) { return NoServersBuilt(); }

Result<std::unique_ptr<runs::GrowingRun>> FollowAtServer(const Place&, const std::string&) {
  return NoServersBuilt();
}

std::function<Result<bool>()> ShippingRounds(const transfer::Scope&, const std::string&,
                                             const std::string&, const std::string&) {
  return []() -> Result<bool> { return NoServersBuilt(); };
}

Result<Shipped> Ship(const ShipOptions&) { return NoServersBuilt(); }

}  // namespace headway::cli

#endif
