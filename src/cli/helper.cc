#include "cli/helper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <utility>

namespace headway::cli {
namespace {

constexpr int kLife = 3;
constexpr int kNews = 4;

std::string RoundOf(const Helper::Work& work, bool* done) {
  *done = false;
  try {
    const Result<bool> result = work.round();
    *done = result.ok() && *result;
    return result.ok() ? "" : result.status().message();
  } catch (const std::exception& exception) {
    return exception.what();
  }
}

// A line for each round. When nobody reads them, they are lost: nothing may wait here.
void Tell(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  text = text.substr(0, 1000) + "\n";
  (void)!::write(kNews, text.data(), text.size());
}

int Milliseconds(std::int64_t ns) {
  return static_cast<int>(std::clamp<std::int64_t>((ns + 999'999) / 1'000'000, 0, 1 << 30));
}

}  // namespace

void StepAside(const char* name, int keep) {
  for (const int number :
       {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP, SIGTTOU, SIGUSR1, SIGUSR2}) {
    ::signal(number, SIG_IGN);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::setsid();
  ::prctl(PR_SET_NAME, name);
  // Standard output belongs to the job: whoever reads it must see its end.
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  ::close_range(static_cast<unsigned>(keep) + 1, ~0u, 0);
}

Result<Helper> Helper::Start(const Work& work) {
  int life[2];
  int news[2];
  if (::pipe2(life, O_CLOEXEC) != 0) return ErrnoStatus(errno, "make", "a pipe");
  UniqueFd life_read(life[0]);
  UniqueFd life_write(life[1]);
  if (::pipe2(news, O_CLOEXEC | O_NONBLOCK) != 0) return ErrnoStatus(errno, "make", "a pipe");
  UniqueFd news_read(news[0]);
  UniqueFd news_write(news[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return ErrnoStatus(errno, "start", work.name);
  if (pid == 0) {
    life_write.Reset();
    news_read.Reset();
    Serve(work, life_read.get(), news_write.get());
  }
  return Helper(std::move(life_write), std::move(news_read));
}

void Helper::Serve(const Work& work, int life, int news) {
  // Above both numbers first, so that neither is overwritten.
  const int high_life = ::fcntl(life, F_DUPFD, kNews + 1);
  const int high_news = ::fcntl(news, F_DUPFD, kNews + 1);
  ::dup2(high_life, kLife);
  ::dup2(high_news, kNews);
  StepAside(work.name, kNews);
  ::dup2(STDOUT_FILENO, STDERR_FILENO);
  (void)!::chdir("/");
  std::int64_t pause = 0;
  std::optional<MonoNs> left_at;  // by the supervisor
  MonoNs good = SystemClock::MonoNow();
  while (true) {
    if (left_at) {
      ::poll(nullptr, 0, Milliseconds(pause));
    } else {
      pollfd ready = {kLife, POLLIN, 0};
      if (::poll(&ready, 1, Milliseconds(pause)) > 0) left_at = SystemClock::MonoNow();
    }
    if (left_at && work.until_done) break;
    bool done = false;
    const std::string trouble = RoundOf(work, &done);
    Tell(trouble);
    const MonoNs now = SystemClock::MonoNow();
    if (trouble.empty()) good = now;
    if (done && (left_at || work.until_done)) break;
    if (left_at && now - std::max(good, *left_at) > kAfterlifeNs) break;
    pause = trouble.empty()
                ? work.every_ns
                : std::max(work.every_ns, std::clamp<std::int64_t>(pause * 2, 0, kLongestPauseNs));
  }
  ::_exit(0);
}

std::optional<std::string> Helper::Hear() {
  if (!news_.ok()) return std::nullopt;
  char buffer[4096];
  while (true) {
    const ssize_t got = ::read(news_.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) news_.Reset();
    if (got <= 0) break;
    heard_.append(buffer, static_cast<std::size_t>(got));
  }
  const std::size_t end = heard_.rfind('\n');
  if (end == std::string::npos) return std::nullopt;
  const std::size_t begin = end == 0 ? 0 : heard_.rfind('\n', end - 1) + 1;
  std::string last = heard_.substr(begin, end - begin);
  heard_.erase(0, end + 1);
  return last;
}

bool Helper::WaitForEnd(MonoNs until, std::string* last) {
  while (true) {
    if (const std::optional<std::string> news = Hear()) *last = *news;
    if (ended()) return true;
    const std::int64_t rest = until - SystemClock::MonoNow();
    if (rest <= 0) return false;
    pollfd ready = {news_.get(), POLLIN, 0};
    ::poll(&ready, 1, Milliseconds(rest));
  }
}

std::string TroubleWatch::Look(const std::optional<std::string>& news, MonoNs now) {
  if (news) {
    heard_at_ = now;
    trouble_ = *news;
  } else if (now - heard_at_ >= silence_ns_) {
    trouble_ = hangs_;
  }
  if (trouble_.empty()) {
    return std::exchange(told_at_, std::nullopt) ? "it goes on again" : "";
  }
  if (told_at_ && now - *told_at_ < kAgainNs) return "";
  const bool again = told_at_.has_value();
  told_at_ = now;
  return (again ? "still: " : "") + trouble_;
}

}  // namespace headway::cli
