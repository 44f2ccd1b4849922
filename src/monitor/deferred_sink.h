#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "monitor/sink.h"

namespace headway::monitor {

/// A sink that is opened when it is first needed, because that takes time: it may ask the network
/// where it is. Until that has gone well each Deliver tries again, and the latest samples wait.
class DeferredSink final : public Sink {
 public:
  /// What opening came to: a sink; or none, for nothing says where to send anything. That may be
  /// early: a machine's own services come up as it does. Only when it comes to none some times in a
  /// row, or at the end, the destination is off.
  using Open = std::function<Result<std::unique_ptr<Sink>>(MonoNs deadline)>;

  /// What its destination ends in once opening has come to none.
  static constexpr std::string_view kOff = ": off, for nothing says where to";

  DeferredSink(std::string destination, DestinationKind kind, Open open)
      : destination_(std::move(destination)), kind_(kind), open_(std::move(open)) {}

  std::string Destination() const override {
    if (sink_ != nullptr) return sink_->Destination();
    return off_ ? destination_ + std::string(kOff) : destination_;
  }
  DestinationKind Kind() const override { return kind_; }
  std::int64_t RejectedPoints() const override {
    return sink_ == nullptr ? 0 : sink_->RejectedPoints();
  }

  Status Put(const Sample& sample) override {
    if (sink_ != nullptr) return sink_->Put(sample);
    if (off_) return OkStatus();
    // Those of one instant differ in what they tell.
    if (waiting_.size() == kWaiting) waiting_.pop_front();
    if (!waiting_.empty() && HoldsLogOf(sample, waiting_.back())) waiting_.back().log.reset();
    waiting_.push_back(sample);
    return OkStatus();
  }
  void Hurry() override {
    const std::lock_guard lock(mutex_);
    if (sink_ != nullptr) sink_->Hurry();
  }
  Status Deliver(MonoNs deadline) override { return Send(deadline, &Sink::Deliver, kLooks); }
  Status Finish(MonoNs deadline) override { return Send(deadline, &Sink::Finish, 0); }

 private:
  static constexpr std::size_t kWaiting = 100;
  static constexpr int kLooks = 4;

  Status Send(MonoNs deadline, Status (Sink::*send)(MonoNs), int looks) {
    if (off_) return OkStatus();
    if (sink_ == nullptr) {
      Result<std::unique_ptr<Sink>> sink = open_(deadline);
      if (!sink.ok()) return sink.status();
      {
        const std::lock_guard lock(mutex_);
        sink_ = *std::move(sink);
      }
      if (sink_ == nullptr) {
        off_ = ++looked_ >= looks;
        if (off_) waiting_.clear();
        return OkStatus();
      }
    }
    Status put;
    for (; put.ok() && !waiting_.empty(); waiting_.pop_front()) put = sink_->Put(waiting_.front());
    Status sent = (sink_.get()->*send)(deadline);
    return sent.ok() ? put : sent;
  }

  const std::string destination_;
  const DestinationKind kind_;
  const Open open_;
  std::mutex mutex_;  // of `sink_` against Hurry: it is set once
  std::unique_ptr<Sink> sink_;
  std::deque<Sample> waiting_;
  int looked_ = 0;  // in vain
  bool off_ = false;
};

}  // namespace headway::monitor
