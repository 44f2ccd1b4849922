#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "cli/commands.h"
#include "cli/place.h"
#include "cli/screen.h"
#include "cli/watch_feed.h"
#include "cli/watch_view.h"
#include "model/text.h"

namespace headway::cli {
namespace {

constexpr std::int64_t kEveryNs = kNanosPerSecond;
constexpr std::int64_t kEveryLeastNs = kNanosPerSecond / 10;
constexpr std::int64_t kPatienceNs = 60 * kNanosPerSecond;
constexpr int kStandardOutput = 1;

/// Signals as something to wait for, as long as it lives.
class Signals {
 public:
  Signals() {
    ::sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH}) {
      struct sigaction now = {};
      // What whoever started it has it ignore (nohup) stays ignored.
      if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) continue;
      ::sigaddset(&set_, signal);
    }
    ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
    fd_ = UniqueFd(::signalfd(-1, &set_, SFD_NONBLOCK | SFD_CLOEXEC));
  }
  ~Signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int fd() const { return fd_.get(); }
  /// One that has come; 0: none.
  int Take() const {
    signalfd_siginfo info;
    return ::read(fd_.get(), &info, sizeof(info)) == sizeof(info) ? static_cast<int>(info.ssi_signo)
                                                                  : 0;
  }
  /// What it does to who does not wait for it.
  static void LetItBe(int signal) {
    sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, signal);
    sigset_t before;
    ::pthread_sigmask(SIG_UNBLOCK, &one, &before);
    ::raise(signal);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

 private:
  sigset_t set_;
  sigset_t before_;
  UniqueFd fd_;
};

class WatchCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "Shows how much of a run's time was progress while it goes on, in place on a terminal, "
        "else as a line for each update. It ends with the run: when that is completed or has "
        "failed, or has been down for a minute (--patience) and nobody restarts it.");
    DescribeRun(description, &run_);
    description->Duration("--interval", &interval_, "how often it looks (1s)");
    description->Duration("--patience", &patience_,
                          "how long an interrupted run is waited for (1m)");
    DescribePlace(description, &place_);
    DescribeServer(description, &place_);
    description->Example("headway watch llama-7b", "how it gets on, until it has ended");
    description->Example("headway watch llama-7b --json | jq .goodput",
                         "the report each time it has changed, one a line");
  }

  Result<int> Run(const Context& context) override {
    if (interval_ && *interval_ < kEveryLeastNs) {
      return Status(Code::kInvalidArgument,
                    "--interval: at least 100ms, not " + ShowDuration(*interval_));
    }
    HEADWAY_RETURN_IF_ERROR(ResolveServer(&place_));
    HEADWAY_RETURN_IF_ERROR(CheckName("RUN", run_));
    const Signals signals;  // before there are threads
    std::unique_ptr<WatchFeed> feed;
    if (place_.server.empty()) {
      // As other commands say it when there is no such run.
      const Result<runs::Run> run = FindRun(&place_, run_);
      if (!run.ok()) return run.status();
      feed = WatchJournals(place_, run_);
    } else {
      Result<std::unique_ptr<WatchFeed>> made = WatchServer(place_, run_, interval_.value_or(0));
      if (!made.ok()) return made.status();
      feed = *std::move(made);
    }
    return Watch(context, signals, feed.get());
  }

 private:
  Result<int> Watch(const Context& context, const Signals& signals, WatchFeed* feed) {
    const bool draws = context.terminal.interactive && Env("TERM") != "dumb" && !place_.json;
    Screen screen(context.out);
    if (draws) screen.Enter();
    const std::int64_t every = interval_.value_or(kEveryNs);
    Terminal terminal = context.terminal;
    WatchNews news;
    bool known = false;
    std::string shown;  // when it does not draw
    bool away = false;  // that was told
    MonoNs next = SystemClock::MonoNow();
    while (true) {
      const Result<bool> looked = feed->Look(&news);
      if (!looked.ok()) {
        screen.Leave();
        return looked.status();
      }
      known = *looked;
      const WallNs now = SystemClock::WallNow();
      const bool ended = known && (news.trouble.empty() || place_.server.empty()) &&
                         HasEnded(news.report, patience_.value_or(kPatienceNs), now);
      if (draws) {
        const std::string page = known ? RenderWatch(news, terminal, now)
                                       : "waiting for " + PrintableLine(place_.server) + "\n";
        if (ended) {
          screen.Leave();
          *context.out << page;
          return 0;
        }
        screen.Draw(page, RowsOf(kStandardOutput) - 1);
      } else if (known) {
        if (place_.json && news.away != away) {
          Complain(news.away ? "warning: " + news.trouble : place_.server + " is there again");
          away = news.away;
        }
        Tell(context, news, now, &shown);
        if (ended) return 0;
      }
      if (context.out->closed() || !context.out->Flush().ok()) return 0;  // that is told elsewhere
      next = std::max(next + every, SystemClock::MonoNow());
      const int signal = Wait(signals, *feed, next);
      if (signal == SIGWINCH) {
        terminal = DetectTerminal(kStandardOutput);
      } else if (signal != 0) {
        screen.Leave();
        const bool stops = signal == SIGTSTP;
        if (draws && known && !stops) {
          *context.out << RenderWatch(news, terminal, now);
          HEADWAY_RETURN_IF_ERROR(context.out->Flush());
        }
        Signals::LetItBe(signal);
        if (!stops) return 128 + signal;  // it was ignored
        terminal = DetectTerminal(kStandardOutput);
        screen.Enter();
      }
    }
  }

  void Tell(const Context& context, const WatchNews& news, WallNs now, std::string* shown) const {
    // The time at which it was looked is no news.
    Report steady = news.report;
    steady.as_of = 0;
    std::string what = ToJson(steady) + (place_.json ? std::string()
                                         : news.away ? "away"
                                                     : news.trouble);
    if (what == *shown) return;
    *shown = std::move(what);
    *context.out << (place_.json ? ToJson(news.report) : WatchLine(news, now));
  }

  // Until there may be something new, or a signal comes, which it returns.
  static int Wait(const Signals& signals, const WatchFeed& feed, MonoNs until) {
    while (true) {
      const std::int64_t left = until - SystemClock::MonoNow();
      if (left <= 0) return signals.Take();
      pollfd wanted[] = {{.fd = signals.fd(), .events = POLLIN, .revents = 0},
                         {.fd = feed.fd(), .events = POLLIN, .revents = 0}};
      const int timeout = static_cast<int>(std::min<std::int64_t>(left / 1'000'000 + 1, 3'600'000));
      if (::poll(wanted, 2, timeout) < 0 && errno != EINTR) return 0;
      if (const int signal = signals.Take(); signal != 0) return signal;
      if ((wanted[1].revents & POLLIN) != 0) return 0;
    }
  }

  std::string run_;
  std::optional<std::int64_t> interval_;
  std::optional<std::int64_t> patience_;
  Place place_;
};

}  // namespace

std::unique_ptr<Command> MakeWatch() { return std::make_unique<WatchCommand>(); }

}  // namespace headway::cli
