#include "monitor/company.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <utility>

namespace headway::monitor {

Word Listen(int control, std::string* heard) {
  Word word;
  std::array<char, 256> buffer;
  while (true) {
    const ssize_t got = ::recv(control, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got > 0) {
      heard->append(buffer.data(), static_cast<std::size_t>(got));
      if (heard->size() > 4096) word.ended = true;
      continue;
    }
    word.ended |= got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    break;
  }
  for (std::size_t end = heard->find('\n'); end != std::string::npos; end = heard->find('\n')) {
    const std::string line = heard->substr(0, end);
    heard->erase(0, end + 1);
    constexpr std::string_view kStop = "stop ";
    if (line == "leave") word.leave = true;
    if (line.starts_with(kStop)) {
      std::int64_t ms = 0;
      std::from_chars(line.data() + kStop.size(), line.data() + line.size(), ms);
      word.stop_ms = std::clamp<std::int64_t>(ms, 0, 86'400'000);
    }
  }
  return word;
}

bool TakeSignals(int signals) {
  std::array<signalfd_siginfo, 8> taken;
  return signals >= 0 && ::read(signals, taken.data(), sizeof taken) > 0;
}

WordWatch::WordWatch(const Company& company, std::function<void()> heard)
    : over_(::eventfd(0, EFD_CLOEXEC)) {
  if (!over_.ok()) return;  // without it nobody is told
  thread_ = std::thread([company, over = over_.get(), heard = std::move(heard)] {
    std::array<pollfd, 4> ready = {{{over, POLLIN, 0},
                                    {company.signals, POLLIN, 0},
                                    {company.control, POLLIN, 0},
                                    {company.process, POLLIN, 0}}};
    while (::poll(ready.data(), ready.size(), -1) < 0 && errno == EINTR) {
    }
    if (ready[0].revents == 0) heard();
  });
}

WordWatch::~WordWatch() {
  if (!thread_.joinable()) return;
  (void)::eventfd_write(over_.get(), 1);
  thread_.join();
}

void TellReady(int control) {
  constexpr std::string_view kReady = "ready\n";
  (void)!::send(control, kReady.data(), kReady.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Tell(int control, std::string trouble) {
  std::ranges::replace(trouble, '\n', ' ');
  trouble = "trouble " + trouble + "\n";
  (void)!::send(control, trouble.data(), trouble.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace headway::monitor
