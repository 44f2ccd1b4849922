#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "base/files.h"

namespace headway::monitor {

/// Who tells a program that runs beside a training process that it is time to end.
struct Company {
  int signals = -1;  ///< signalfd(2): any signal ends it, once the rest is told
  /// A socket to the process it runs beside. "stop MILLISECONDS\n" ends it once the rest is told,
  /// within that time, "leave\n" at once. Its end is that process's end. What went wrong is told on
  /// it, `Tell`.
  int control = -1;
  int process = -1;         ///< pidfd_open(2) of that process
  std::int64_t beside = 0;  ///< its number
};

/// What the process beside has said so far.
struct Word {
  bool ended = false;                   // it has gone, or says no more
  bool leave = false;                   // without telling the rest
  std::optional<std::int64_t> stop_ms;  // with it, in that time
};

/// Takes what has come on `control`; `*heard` keeps the beginning of a line.
Word Listen(int control, std::string* heard);

/// Takes the signals that have come.
bool TakeSignals(int signals);

/// Calls `heard`, from a thread of its own, once there is a word of the process beside or a signal;
/// neither is taken. For what may take long meanwhile; until it is destroyed.
class WordWatch {
 public:
  WordWatch(const Company& company, std::function<void()> heard);
  ~WordWatch();
  WordWatch(const WordWatch&) = delete;
  WordWatch& operator=(const WordWatch&) = delete;

 private:
  UniqueFd over_;
  std::thread thread_;
};

/// Sends "ready\n" if that is possible without waiting.
void TellReady(int control);

/// Sends "trouble TEXT\n" if that is possible without waiting.
void Tell(int control, std::string trouble);

}  // namespace headway::monitor
