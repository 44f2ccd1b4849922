#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace headway::monitor {

/// Something that one thread waits for in vain, or is told by another to stop waiting for. Any
/// thread.
class Interruption {
 public:
  void Set() {
    set_ = true;
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  void Clear() { set_ = false; }
  const std::atomic<bool>* flag() const { return &set_; }

  /// Waits. False: it was interrupted.
  bool WaitFor(std::int64_t ns) {
    std::unique_lock lock(mutex_);
    return !changed_.wait_for(lock, std::chrono::nanoseconds(ns), [this] { return set_.load(); });
  }

 private:
  std::atomic<bool> set_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace headway::monitor
