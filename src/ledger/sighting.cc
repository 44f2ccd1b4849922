#include "ledger/sighting.h"

#include <algorithm>

namespace headway::ledger {
namespace {

constexpr std::int64_t kMinute = 60'000'000'000;

bool GoesOnInto(const Sighting& earlier, const Sighting& later, const NetTime& net) {
  // What it records in the very instant of the later one's first step may be its last word.
  if (later.any_step && earlier.last_time > later.first_step_time) return true;
  if (net.Net(later.first_time) - net.Net(earlier.first_time) > kMinute) return false;
  if (earlier.last_time < later.first_time) return false;  // it had stopped by then
  // A writer without a step is behind nobody and ahead of nobody.
  if (!earlier.any_step || !later.any_step) return true;
  return earlier.highest_step <= later.first_step && later.highest_step <= earlier.first_step;
}

}  // namespace

void Sighting::See(const Record& record, std::int64_t time) {
  if (!any) first_time = time;
  any = true;
  last_seq = record.seq;
  last_time = time;
  if (record.type != RecordType::kStepStart) return;
  if (!any_step) {
    first_step_time = time;
    first_step = highest_step = record.a;
  }
  highest_step = std::max(highest_step, record.a);
  any_step = true;
}

bool AreParallel(const Sighting& a, const Sighting& b, const NetTime& net) {
  if (a.first_time != b.first_time) {
    return a.first_time < b.first_time ? GoesOnInto(a, b, net) : GoesOnInto(b, a, net);
  }
  // Of two that begin at once each is the later one.
  return GoesOnInto(a, b, net) || GoesOnInto(b, a, net);
}

}  // namespace headway::ledger
