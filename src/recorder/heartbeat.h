#pragma once

#include <pthread.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

/// A thread that calls a function at an interval and does nothing else: all signals blocked, a
/// small stack, named "headway". It never touches the interpreter of the program that it lives in.

namespace headway::recorder {

class Heartbeat {
 public:
  Heartbeat() = default;
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;
  ~Heartbeat() { Stop(); }

  /// Starts the thread; `beat` is called after each `interval_ns`. False when no thread can be had.
  bool Start(std::int64_t interval_ns, std::function<void()> beat);

  /// Stops the thread and waits for it. Idempotent.
  void Stop() noexcept;

  /// In a forked child, where the thread does not exist: forget it without touching its lock.
  void Abandon() noexcept { running_ = false; }

 private:
  static void* Run(void* self);

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  bool running_ = false;
  pthread_t thread_{};
  std::int64_t interval_ns_ = 0;
  std::function<void()> beat_;
};

}  // namespace headway::recorder
