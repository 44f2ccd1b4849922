#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "monitor/sink.h"

namespace headway::monitor {

/// A destination that must get each part of a run's numbers from one monitor at a time, because it
/// takes a single writer of a series. Each part has a sink of its own, which can be opened by one
/// process at a time (Outbox::Open). A part that another monitor has is left to it, which is an
/// error (AlreadyExists) of each Put; once that monitor has ended it is taken over.
class PartsSink final : public Sink {
 public:
  struct Part {
    std::string what;  ///< for people: "goodput of the whole run"
    /// FailedPrecondition: another monitor has it.
    std::function<Result<std::unique_ptr<Sink>>()> open;
  };

  /// Opens what can be had now. Errors: those of `open`, other than FailedPrecondition.
  static Result<std::unique_ptr<PartsSink>> Open(std::string destination, DestinationKind kind,
                                                 std::vector<Part> parts);

  std::string Destination() const override { return destination_; }
  DestinationKind Kind() const override { return kind_; }
  std::int64_t RejectedPoints() const override;
  Status Put(const Sample& sample) override;
  Status Deliver(MonoNs deadline) override { return Send(deadline, &Sink::Deliver); }
  Status Finish(MonoNs deadline) override { return Send(deadline, &Sink::Finish); }

 private:
  struct Lane {
    Part part;
    std::unique_ptr<Sink> sink;  // null: another monitor has it
  };

  PartsSink(std::string destination, DestinationKind kind)
      : destination_(std::move(destination)), kind_(kind) {}

  static Status Open(Lane* lane);
  Status Send(MonoNs deadline, Status (Sink::*send)(MonoNs));

  const std::string destination_;
  const DestinationKind kind_;
  std::vector<Lane> lanes_;
};

}  // namespace headway::monitor
