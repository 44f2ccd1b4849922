#include "monitor/courier.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace headway::monitor {
namespace {

// What a sink throws is an error of its own, not the monitor's end.
template <typename Work>
Status Try(const Work& work) {
  try {
    return work();
  } catch (const std::exception& exception) {
    return {Code::kInternal, exception.what()};
  }
}

}  // namespace

Courier::Courier(std::unique_ptr<Sink> sink, std::int64_t patience_ns)
    : sink_(std::move(sink)), patience_ns_(patience_ns) {
  state_.destination = sink_->Destination();
  state_.kind = sink_->Kind();
  thread_ = std::thread([this] { Work(); });
}

Courier::~Courier() {
  Close(SystemClock::MonoNow());
  thread_.join();
}

void Courier::Post(std::shared_ptr<const Sample> sample) {
  const std::lock_guard lock(mutex_);
  if (until_) return;
  if (waiting_.size() >= kMostWaiting) {
    waiting_.pop_front();
    ++state_.missed;
  }
  if (!waiting_.empty() && HoldsLogOf(*sample, *waiting_.back())) {
    auto lean = std::make_shared<Sample>(*waiting_.back());
    lean->log.reset();
    waiting_.back() = std::move(lean);
  }
  waiting_.push_back(std::move(sample));
  changed_.notify_all();
}

void Courier::Close(MonoNs until, std::shared_ptr<const Sample> last) {
  sink_->Hurry();  // before the thread can have begun with the last round
  const std::lock_guard lock(mutex_);
  until_ = std::min(until_.value_or(until), until);
  if (last != nullptr) waiting_.push_back(std::move(last));
  changed_.notify_all();
}

bool Courier::WaitForEnd(MonoNs until) {
  std::unique_lock lock(mutex_);
  const std::int64_t left = std::max<std::int64_t>(0, until - SystemClock::MonoNow());
  return changed_.wait_for(lock, std::chrono::nanoseconds(left), [this] { return ended_; });
}

DestinationState Courier::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void Courier::Work() {
  std::unique_lock lock(mutex_);
  bool owing = false;  // something may be left to send
  while (true) {
    auto ready = [this] { return !waiting_.empty() || until_.has_value(); };
    if (owing) {
      changed_.wait_for(lock, std::chrono::nanoseconds(kAgainNs), ready);
    } else {
      changed_.wait(lock, ready);
    }
    std::deque<std::shared_ptr<const Sample>> samples = std::exchange(waiting_, {});
    lock.unlock();
    Status status;
    for (const auto& sample : samples) {
      Status put = Try([&] { return sink_->Put(*sample); });
      if (!put.ok()) status = std::move(put);
    }
    const std::size_t taken = samples.size();
    samples.clear();  // sending may take a while
    lock.lock();
    state_.samples += static_cast<std::int64_t>(taken);
    const MonoNs now = SystemClock::MonoNow();
    MonoNs deadline = now + patience_ns_;
    if (until_) deadline = std::min(deadline, *until_);
    const bool closed = until_.has_value();
    lock.unlock();
    const auto send = closed ? &Sink::Finish : &Sink::Deliver;
    Status sent = Try([&] { return (sink_.get()->*send)(deadline); });
    owing = !sent.ok();
    if (!sent.ok()) status = std::move(sent);
    std::string destination = sink_->Destination();
    const std::int64_t rejected_points = sink_->RejectedPoints();
    lock.lock();
    state_.destination = std::move(destination);
    state_.rejected_points = rejected_points;
    // That nothing is left to send is no news of a destination that has refused something.
    const bool news =
        taken > 0 || failure_ == Code::kUnavailable || failure_ == Code::kUnauthenticated;
    if (news || !status.ok()) Note(status);
    // What could not be sent is tried again in the time that is left.
    if (closed && waiting_.empty() && (!owing || SystemClock::MonoNow() >= *until_)) break;
    if (until_ && owing) {
      const std::int64_t left = std::max<std::int64_t>(0, *until_ - SystemClock::MonoNow());
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(left, kAgainNs / 8)));
      lock.lock();
    }
  }
  ended_ = true;
  changed_.notify_all();
}

void Courier::Note(const Status& status) {
  const WallNs now = SystemClock::WallNow();
  failure_ = status.code();
  if (status.ok()) {
    state_.delivered = now;
    state_.error.clear();
    state_.code = Code::kOk;
    state_.failed.reset();
    state_.failures = 0;
    return;
  }
  state_.error = status.message();
  state_.code = status.code();
  if (state_.failures++ == 0) state_.failed = now;
}

}  // namespace headway::monitor
