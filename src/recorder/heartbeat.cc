#include "recorder/heartbeat.h"

#include <limits.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace headway::recorder {

bool Heartbeat::Start(std::int64_t interval_ns, std::function<void()> beat) {
  if (running_) return false;
  interval_ns_ = interval_ns;
  beat_ = std::move(beat);
  stop_ = false;
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return false;
  // Thread-local storage of other libraries counts against the stack, so not the bare minimum.
  ::pthread_attr_setstacksize(
      &attributes, std::max(static_cast<std::size_t>(PTHREAD_STACK_MIN), std::size_t{256} << 10));
  // Signals are for the program's own threads; the new one inherits this mask.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  running_ = ::pthread_create(&thread_, &attributes, &Heartbeat::Run, this) == 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  if (running_) ::pthread_setname_np(thread_, "headway");
  return running_;
}

void Heartbeat::Stop() noexcept {
  if (!running_) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  ::pthread_join(thread_, nullptr);
  running_ = false;
}

void* Heartbeat::Run(void* self) {
  auto& heartbeat = *static_cast<Heartbeat*>(self);
  std::unique_lock lock(heartbeat.mutex_);
  while (true) {
    if (heartbeat.wake_.wait_for(lock, std::chrono::nanoseconds(heartbeat.interval_ns_),
                                 [&heartbeat] { return heartbeat.stop_; })) {
      return nullptr;
    }
    lock.unlock();
    heartbeat.beat_();
    lock.lock();
  }
}

}  // namespace headway::recorder
