#include "cli/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "cli/backoff.h"
#include "cli/child.h"
#include "cli/mask_work.h"
#include "cli/output.h"
#include "cli/process_watch.h"
#include "cli/report_text.h"
#include "cli/stderr_relay.h"
#include "cli/upkeep.h"
#include "model/text.h"

namespace headway::cli {
namespace {

constexpr std::size_t kTailBytes = std::size_t{64} << 10;
constexpr std::int64_t kBeatNs = kNanosPerSecond;
constexpr std::int64_t kDrainNs = 2 * kNanosPerSecond;
constexpr std::int64_t kLookNs = kNanosPerSecond / 50;
constexpr std::int64_t kLeastMaskNs = kNanosPerSecond / 10;
constexpr int kNotFoundCode = 127;
constexpr int kNotExecutableCode = 126;

constexpr int kStopSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr int kPassedSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

bool AsksToStop(int signal) {
  return std::find(std::begin(kStopSignals), std::end(kStopSignals), signal) !=
         std::end(kStopSignals);
}

struct Ending {
  int exit_status = 0;
  int signal = 0;
  MonoNs time;

  bool clean() const { return signal == 0 && exit_status == 0; }
  int code() const { return signal != 0 ? 128 + signal : exit_status; }
  std::string Text() const {
    return signal != 0 ? ShowExit(std::nullopt, signal)
                       : "exit " + ShowExit(exit_status, std::nullopt);
  }
};

class Supervisor {
 public:
  Supervisor(const SupervisorOptions& options, const Masker& masker)
      : options_(options), masker_(masker), backoff_(options.backoff_ns) {}

  Result<int> Run() {
    HEADWAY_RETURN_IF_ERROR(WatchSignals());
    if (options_.keep_stderr) {
      Result<StderrRelay> relay = StderrRelay::Start();
      if (relay.ok()) {
        relay_.emplace(*std::move(relay));
      } else {
        Complain("warning: " + relay.status().message() + "; standard error is not kept");
      }
    }
    if (options_.run.recorded) upkeep_.Start(options_.run, options_.sync_ns);
    // What children leave behind comes to us, so that it can be seen to end before a restart.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (number_ = 0;; ++number_) {
      const Result<Ending> ending = Attempt();
      if (!ending.ok()) return CannotRun(ending.status());
      if (!Again(*ending)) {
        if (MayTell()) journal_.Beat();  // until here it might have started the job again
        journal_.Finish();
        if (relay_) relay_->Drain(kDrainNs);
        Settle();
        if (recorded_ && !options_.last_words.empty()) {
          Complain(HasRecords(options_.run)
                       ? options_.last_words
                       : "what was recorded of run " + PrintableLine(options_.run.run) +
                             " has been deleted meanwhile");
        }
        return ending->code();
      }
    }
  }

 private:
  Status WatchSignals() {
    ::sigemptyset(&watched_);
    for (const int signal : kPassedSignals) {
      // nohup and shells' background jobs ignore some on purpose; so does the child then.
      struct sigaction now;
      if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) continue;
      ::sigaddset(&watched_, signal);
    }
    ::sigaddset(&watched_, SIGCHLD);
    sigset_t blocked = watched_;
    ::sigaddset(&blocked, SIGTTOU);  // or handing over the terminal would stop us
    ::sigprocmask(SIG_BLOCK, &blocked, &before_);
    ::signal(SIGCHLD, SIG_DFL);
    signals_ = UniqueFd(::signalfd(-1, &watched_, SFD_CLOEXEC | SFD_NONBLOCK));
    return signals_.ok() ? OkStatus() : ErrnoStatus(errno, "watch", "signals");
  }

  void Settle() {
    // Nested: one further out writes on, so that there is no end to wait for.
    if (options_.run.nested || !options_.run.recorded) return;
    upkeep_.Settle(std::max<std::int64_t>(0, options_.settle_ns - masked_ns_));
  }

  Result<int> CannotRun(const Status& status) {
    journal_.Finish();
    Settle();
    if (number_ > 0) return status;
    Complain(status.message());
    return status.code() == Code::kNotFound ? kNotFoundCode : kNotExecutableCode;
  }

  /// Starts the child and stays with it to its end.
  Result<Ending> Attempt() {
    ChildOptions child;
    child.command = options_.command;
    child.environment = ChildEnvironment(options_.environment, options_.run, number_);
    child.stderr_fd = relay_ ? relay_->write_end() : -1;
    child.signal_mask = before_;
    child.foreground = InForeground();
    const std::uint64_t position = relay_ ? relay_->Position() : 0;
    // Made before, so that the start is on record at once.
    Result<AttemptJournal> journal = AttemptJournal::Create(options_.run, number_);
    const Result<pid_t> pid = StartChild(child, &keys_);
    begin_ = SystemClock::MonoNow();
    if (!pid.ok()) {
      if (journal.ok()) journal->Discard();
      if (child.foreground) GiveTerminalTo(::getpgrp());
      return pid.status();
    }
    if (journal.ok()) journal->Began(begin_);
    child_ = *pid;
    terminal_given_ = child.foreground;
    ending_.reset();
    kill_at_.reset();
    // Only now does the journal before stop saying that a restart may come.
    AttemptJournal before = std::exchange(journal_, AttemptJournal());
    if (journal.ok()) {
      journal_ = *std::move(journal);
      recorded_ = options_.run.recorded && !options_.run.nested;
    } else {
      Complain("warning: the supervisor records nothing: " + journal.status().message());
    }
    before.Finish();
    if (options_.run.recorded) processes_ = ProcessWatch(options_.run, number_);
    part_ = 0;

    next_beat_ = begin_ + kBeatNs;
    while (!ending_) {
      const MonoNs now = SystemClock::MonoNow();
      Beat(now);
      if (kill_at_ && now >= *kill_at_) {
        Complain("it did not stop within " + ShowDuration(options_.grace_ns) + ": killing it");
        ::kill(-child_, SIGKILL);
        kill_at_.reset();
      }
      MonoNs wake = next_beat_;
      if (kill_at_) wake = std::min(wake, *kill_at_);
      WaitForSignals(wake - now);
    }
    if (terminal_given_) GiveTerminalTo(::getpgrp());
    // A terminal sends its signals to the child alone; it means the whole job.
    if (keys_.End()) told_to_stop_ = true;
    journal_.ProcessEnded(ending_->time, child_);
    journal_.End(ending_->time, ending_->exit_status, ending_->signal);
    if (relay_) journal_.LastWords(ending_->time, Tail(position));
    return *ending_;
  }

  /// A launcher below has started over: the attempt's new part is an attempt of its own.
  void FollowParts() {
    if (processes_.part() <= part_) return;
    part_ = processes_.part();
    Result<AttemptJournal> next = AttemptJournal::Create(options_.run, number_, part_);
    if (!next.ok()) return;  // the one before serves
    next->Beat();
    // That it lived until then. Where nobody is left the end of the last one says so.
    if (!processes_.all_ended()) journal_.Beat();
    AttemptJournal before = std::exchange(journal_, *std::move(next));
    before.Finish();
  }

  /// A sign of life, once it is time for one.
  void Beat(MonoNs now) {
    if (now < next_beat_) return;
    // Where nobody is left who records, the attempt's life is over, whatever else its launcher
    // does.
    if (ending_ || !processes_.all_ended()) journal_.Beat();
    processes_.Look();
    FollowParts();
    upkeep_.Look();
    next_beat_ = std::max(next_beat_ + kBeatNs, now);
  }

  /// What was written to standard error since `position`, as it is kept. Signals are dealt with
  /// meanwhile.
  std::string Tail(std::uint64_t position) {
    relay_->Drain(kDrainNs);
    bool cut = false;
    const std::string raw = relay_->Since(position, &cut);
    std::string tail;
    if (!masker_.has_patterns()) {
      Result<std::string> text = MaskedTail(masker_, raw, cut, kTailBytes);
      if (text.ok()) tail = *std::move(text);
      return tail;
    }
    const MonoNs begin = SystemClock::MonoNow();
    const std::int64_t patience = std::max(options_.settle_ns / 2, kLeastMaskNs);
    Result<MaskWork> work = MaskWork::Start(masker_, raw, cut, kTailBytes);
    std::string trouble = work.ok() ? "" : work.status().message();
    while (trouble.empty() && !work->Read()) {
      const std::int64_t rest = begin + patience - SystemClock::MonoNow();
      if (rest <= 0) {
        trouble = "not done within " + ShowDuration(patience);
      } else {
        WaitForSignals(rest, work->fd());
      }
    }
    masked_ns_ = SystemClock::MonoNow() - begin;
    if (trouble.empty() && !work->Take(&tail)) trouble = "it failed";
    if (!trouble.empty()) {
      Complain("warning: masking standard error with --mask: " + trouble +
               "; nothing of it is kept");
    }
    return tail;
  }

  /// Sleeps until a signal comes, `also` can be read from, or `ns` have passed, and deals with all
  /// signals that came.
  void WaitForSignals(std::int64_t ns, int also = -1) {
    std::vector<pollfd> ready = {{signals_.get(), POLLIN, 0}, {also, POLLIN, 0}};
    processes_.AddTo(&ready);
    timespec timeout = {static_cast<time_t>(std::max<std::int64_t>(0, ns) / kNanosPerSecond),
                        static_cast<long>(std::max<std::int64_t>(0, ns) % kNanosPerSecond)};
    if (::ppoll(ready.data(), ready.size(), &timeout, nullptr) <= 0) return;
    for (const std::int64_t pid : processes_.TakeEnded()) {
      // When the child ended, waiting for it tells, as for how.
      if (pid != child_) journal_.ProcessEnded(SystemClock::MonoNow(), pid);
    }
    FollowParts();
    signalfd_siginfo info;
    while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      const int signal = static_cast<int>(info.ssi_signo);
      if (signal == SIGCHLD) {
        Reap();
      } else {
        Pass(signal);
      }
    }
  }

  void Reap() {
    int status = 0;
    pid_t pid = 0;
    while ((pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
      if (pid != child_) continue;
      if (WIFSTOPPED(status)) {
        if (terminal_given_) StopWithChild();
        continue;
      }
      Ending ending;
      ending.time = SystemClock::MonoNow();
      if (WIFSIGNALED(status)) ending.signal = WTERMSIG(status);
      if (WIFEXITED(status)) ending.exit_status = WEXITSTATUS(status);
      ending_ = ending;
      // A process group that the child made and gave the terminal to may have got them.
      const int signal = ending.signal != 0 ? ending.signal : ending.exit_status - 128;
      if (terminal_given_ && (signal == SIGINT || signal == SIGQUIT)) told_to_stop_ = true;
    }
  }

  /// Ctrl-Z stopped the child: the shell that waits for us wants to see us stop too.
  void StopWithChild() {
    GiveTerminalTo(::getpgrp());
    ::kill(::getpid(), SIGSTOP);
    if (InForeground()) GiveTerminalTo(child_);
    ::kill(-child_, SIGCONT);
  }

  void Pass(int signal) {
    const bool alive = child_ > 0 && !ending_;
    if (alive) ::kill(-child_, signal);
    if (!AsksToStop(signal)) return;
    told_to_stop_ = true;
    if (alive && signal == SIGTERM) journal_.Notice(signal);
    if (alive && !kill_at_) kill_at_ = SystemClock::MonoNow() + options_.grace_ns;
  }

  /// Ends what a failed attempt left running: it may hold the accelerators, or the terminal.
  void ClearGroup() {
    const auto gone = [this] { return ::kill(-child_, 0) != 0 && errno == ESRCH; };
    if (gone()) return;
    ::kill(-child_, SIGTERM);
    const MonoNs until = SystemClock::MonoNow() + options_.grace_ns;
    while (!gone() && SystemClock::MonoNow() < until) WaitForSignals(kLookNs);
    if (!gone()) ::kill(-child_, SIGKILL);
  }

  /// Whether it says that it lives while no attempt does. Not one of a higher rank: its word does
  /// not end the attempt, and would be a sign that the attempt lives.
  bool MayTell() const { return options_.run.rank <= 0; }

  /// Whether another attempt follows; then also waits for its time.
  bool Again(const Ending& ending) {
    if (told_to_stop_ || !ending.clean()) ClearGroup();
    const std::int64_t lived = ending.time - begin_;
    if (ending.clean() || told_to_stop_ || options_.restarts == 0) return false;
    const std::int64_t left = options_.restarts - number_;
    const std::string what = "attempt " + std::to_string(number_) + " ended with " + ending.Text() +
                             " after " + ShowDuration(lived);
    const std::int64_t in_vain = watch_.AttemptEnded(HighestStep(options_.run, number_), lived);
    if (options_.run.recorded && in_vain >= CrashLoopWatch::kRestarts) {
      Complain("crash loop: " + std::to_string(in_vain) + " restarts in a row without a new step " +
               (watch_.highest_step()
                    ? "(the last one is " + ShowCount(*watch_.highest_step()) + ")"
                    : "(none is recorded)") +
               "; see headway runs show " + options_.run.run);
    }
    if (left <= 0) {
      Complain(what + "; no restart is left");
      return false;
    }
    const std::int64_t pause = backoff_.After(lived);
    Complain(what + "; starting it again in " + ShowDuration(pause) + " (" + std::to_string(left) +
             (left == 1 ? " restart" : " restarts") + " left)");
    const MonoNs until = SystemClock::MonoNow() + pause;
    while (!told_to_stop_) {
      const MonoNs now = SystemClock::MonoNow();
      if (now >= until) return true;
      // That it lives, and may start the job again, is told all the while.
      const bool tells = MayTell();
      if (tells) Beat(now);
      WaitForSignals((tells ? std::min(until, next_beat_) : until) - now);
    }
    return false;
  }

  const SupervisorOptions& options_;
  const Masker& masker_;
  Backoff backoff_;
  CrashLoopWatch watch_;
  std::optional<StderrRelay> relay_;
  UniqueFd signals_;
  sigset_t watched_;
  sigset_t before_;
  AttemptJournal journal_;
  ProcessWatch processes_;
  std::uint64_t part_ = 0;  // of the attempt: the newest that was seen
  MonoNs next_beat_;
  Upkeep upkeep_;
  bool recorded_ = false;
  std::int64_t number_ = 0;
  MonoNs begin_;
  pid_t child_ = -1;
  bool terminal_given_ = false;
  KeyWatch keys_;
  std::int64_t masked_ns_ = 0;  // how long masking took last
  bool told_to_stop_ = false;
  std::optional<Ending> ending_;
  std::optional<MonoNs> kill_at_;
};

}  // namespace

std::int64_t CrashLoopWatch::AttemptEnded(std::optional<std::int64_t> highest_step,
                                          std::int64_t lived_ns) {
  const bool further = highest_step && (!highest_step_ || *highest_step > *highest_step_);
  if (further) highest_step_ = highest_step;
  const bool long_life = !highest_step && lived_ns >= Backoff::kLongLifeNs;
  in_vain_ = further || long_life || first_ ? 0 : in_vain_ + 1;
  first_ = false;
  return in_vain_;
}

Result<int> Supervise(const SupervisorOptions& options, const Masker& masker) {
  return Supervisor(options, masker).Run();
}

}  // namespace headway::cli
