#include "monitor/parts_sink.h"

#include <utility>

namespace headway::monitor {

Result<std::unique_ptr<PartsSink>> PartsSink::Open(std::string destination, DestinationKind kind,
                                                   std::vector<Part> parts) {
  std::unique_ptr<PartsSink> sink(new PartsSink(std::move(destination), kind));
  for (Part& part : parts) {
    Lane& lane = sink->lanes_.emplace_back(Lane{std::move(part), nullptr});
    HEADWAY_RETURN_IF_ERROR(Open(&lane));
  }
  return sink;
}

Status PartsSink::Open(Lane* lane) {
  Result<std::unique_ptr<Sink>> sink = lane->part.open();
  if (!sink.ok()) {
    return sink.status().code() == Code::kFailedPrecondition ? OkStatus() : sink.status();
  }
  lane->sink = *std::move(sink);
  return OkStatus();
}

std::int64_t PartsSink::RejectedPoints() const {
  std::int64_t points = 0;
  for (const Lane& lane : lanes_) points += lane.sink == nullptr ? 0 : lane.sink->RejectedPoints();
  return points;
}

Status PartsSink::Put(const Sample& sample) {
  Status first;
  std::string others;
  for (Lane& lane : lanes_) {
    Status status = lane.sink == nullptr ? Open(&lane) : OkStatus();
    if (status.ok() && lane.sink != nullptr) status = lane.sink->Put(sample);
    if (!status.ok() && first.ok()) first = std::move(status);
    if (lane.sink == nullptr) others += (others.empty() ? "" : " and ") + lane.part.what;
  }
  if (!first.ok() || others.empty()) return first;
  return {Code::kAlreadyExists, "another monitor of this run sends " + others +
                                    " there; this one goes on with it once that one has ended"};
}

Status PartsSink::Send(MonoNs deadline, Status (Sink::*send)(MonoNs)) {
  Status first;
  for (Lane& lane : lanes_) {
    if (lane.sink == nullptr) continue;
    Status status = (lane.sink.get()->*send)(deadline);
    if (!status.ok() && first.ok()) first = std::move(status);
  }
  return first;
}

}  // namespace headway::monitor
