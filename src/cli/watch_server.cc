#include "cli/watch_feed.h"

#ifdef HEADWAY_REMOTE

#include <google/protobuf/util/json_util.h>
#include <headway/v1/live.pb.h>
#include <headway/v1/run_service.pb.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/percent.h"
#include "client/server_client.h"
#include "model/text.h"
#include "wire/report.h"

namespace headway::cli {
namespace {

constexpr std::int64_t kPauseNs = kNanosPerSecond / 2;
constexpr std::int64_t kPauseMostNs = 10 * kNanosPerSecond;

// Whatever the server says next time, it will be that.
bool IsFinal(Code code) {
  switch (code) {
    case Code::kNotFound:
    case Code::kPermissionDenied:
    case Code::kUnauthenticated:
    case Code::kInvalidArgument:
    case Code::kUnimplemented:
    case Code::kFailedPrecondition: return true;
    default: return false;
  }
}

class ServerFeed final : public WatchFeed {
 public:
  ServerFeed(const Place& place, std::string run, std::int64_t every_ns)
      : place_(place),
        run_(std::move(run)),
        every_ns_(every_ns),
        client_(AddressOf(place), &clock_, &stop_) {}
  ServerFeed(const ServerFeed&) = delete;
  ServerFeed& operator=(const ServerFeed&) = delete;
  ~ServerFeed() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    stopped_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  Status Start() {
    bell_ = UniqueFd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (!bell_.ok()) return ErrnoStatus(errno, "make", "an eventfd");
    thread_ = std::thread([this] { Run(); });
    return OkStatus();
  }

  int fd() const override { return bell_.get(); }

  Result<bool> Look(WatchNews* news) override {
    std::uint64_t count = 0;
    (void)!::read(bell_.get(), &count, sizeof(count));
    const std::lock_guard lock(mutex_);
    if (!final_.ok()) return final_;
    if (!known_) return false;
    *news = news_;
    if (away_) {
      const std::int64_t since = clock_.Mono() - *away_;
      if (since >= kNanosPerSecond) news->trouble += ", since " + ShowDuration(since);
      news->trouble += "; it is asked again";
      news->away = true;
    }
    return true;
  }

 private:
  static client::ServerAddress AddressOf(const Place& place) {
    return {.url = place.server, .token = place.token, .ca = place.ca};
  }

  void Ring() const {
    const std::uint64_t one = 1;
    (void)!::write(bell_.get(), &one, sizeof(one));
  }

  std::string Target() const {
    std::string target = "/live?project=" + PercentEncode(place_.project);
    target += "&run=" + PercentEncode(run_);
    if (every_ns_ > 0) target += "&every=" + std::to_string(every_ns_ / 1'000'000) + "ms";
    return target;
  }

  void Run() {
    std::int64_t pause = kPauseNs;
    while (!stop_) {
      const Status status = client_.Follow(Target(), last_id_, [&](const client::ServerEvent& e) {
        pause = kPauseNs;
        Take(e);
        return !stop_.load();
      });
      std::unique_lock lock(mutex_);
      if (stop_) return;
      if (IsFinal(status.code()) || (!known_ && !status.ok())) {
        final_ = status;
        return Ring();
      }
      if (!away_) away_ = clock_.Mono();
      news_.trouble = "the server is away: " +
                      (status.ok() ? "it has ended the stream" : PrintableLine(status.message()));
      Ring();
      stopped_.wait_for(lock, std::chrono::nanoseconds(pause), [this] { return stop_.load(); });
      pause = std::min(2 * pause, kPauseMostNs);
    }
  }

  template <typename Message>
  static bool Parse(const std::string& json, Message* message) {
    google::protobuf::util::JsonParseOptions options;
    options.ignore_unknown_fields = true;  // of a newer server
    return google::protobuf::util::JsonStringToMessage(json, message, options).ok();
  }

  void Take(const client::ServerEvent& event) {
    const std::lock_guard lock(mutex_);
    last_id_ = event.id;
    if (away_) news_.trouble.clear();
    away_.reset();
    if (event.kind == "report") {
      v1::Report message;
      if (!Parse(event.data, &message)) return;
      Result<Report> report = wire::FromProto(message);
      if (!report.ok()) {
        news_.trouble = PrintableLine(report.status().message());
      } else {
        news_.report = *std::move(report);
        news_.trouble.clear();
        known_ = true;
      }
      Ring();
    } else if (event.kind == "run") {
      v1::Run message;
      // The run stays the same one, whatever takes its name.
      if (Parse(event.data, &message) && !message.uid().empty()) run_ = message.uid();
    } else if (event.kind == "steps") {
      v1::LiveSteps message;
      if (!Parse(event.data, &message)) return;
      news_.steps.clear();
      for (const v1::StepSummary& step : message.steps()) {
        news_.steps.push_back(wire::FromProto(step));
      }
    } else if (event.kind == "journals") {
      v1::LiveJournals message;
      if (!Parse(event.data, &message)) return;
      news_.arrived = {.journals = message.journals(),
                       .open = message.open(),
                       .slots = static_cast<std::int64_t>(message.slots()),
                       .heard = message.heard()};
    } else if (event.kind == "problem") {
      v1::LiveProblem message;
      if (!Parse(event.data, &message)) return;
      news_.trouble = PrintableLine(message.message());
      if (!known_) final_ = Status(Code::kUnavailable, message.message());
      Ring();
    }
  }

  const Place place_;
  std::string run_;  // a uid, once it is known
  std::int64_t every_ns_;
  SystemClock clock_;
  std::atomic<bool> stop_ = false;
  client::ServerClient client_;
  std::string last_id_;
  UniqueFd bell_;
  std::condition_variable stopped_;
  std::mutex mutex_;  // of what follows
  WatchNews news_;
  bool known_ = false;          // there was a report
  std::optional<MonoNs> away_;  // since when the server is
  Status final_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<WatchFeed>> WatchServer(const Place& place, const std::string& run,
                                               std::int64_t every_ns) {
  auto feed = std::make_unique<ServerFeed>(place, run, every_ns);
  HEADWAY_RETURN_IF_ERROR(feed->Start());
  return std::unique_ptr<WatchFeed>(std::move(feed));
}

}  // namespace headway::cli

#else

namespace headway::cli {

Result<std::unique_ptr<WatchFeed>> WatchServer(const Place&, const std::string&, std::int64_t) {
  return NoServersBuilt();
}

}  // namespace headway::cli

#endif
