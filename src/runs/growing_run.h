#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/status.h"
#include "ledger/ledger.h"
#include "runs/merge.h"

namespace headway::runs {

/// A run that may still be recorded, read on as it grows: from journals here (Follower), or from
/// elsewhere. The newest one of its name: another run that has taken the name since takes its
/// place.
///
/// One thread, but for Interrupt.
class GrowingRun {
 public:
  virtual ~GrowingRun() = default;

  /// Reads what is new. While a process of the run lives, what was recorded after `until` (wall
  /// time) waits for a later call; a record of a time later than `future` can't be true, and holds
  /// up nothing. NotFound while there is no such run. After an error the next call goes on.
  virtual Status Refresh(std::int64_t until = kNoBound, std::int64_t future = kNoBound) = 0;

  // Of the last Refresh that went well.

  virtual ledger::Ledger* ledger() = 0;
  virtual bool live() const = 0;  ///< one of its processes is alive
  /// Whether that writer of the ledger is rank 0, or a process without a rank: the one to lead its
  /// attempt. Any other leads it only until that one is heard of.
  virtual bool MayLead(WriterId writer) const = 0;
  /// How often reading has begun from the start.
  virtual int starts() const = 0;

  /// Whether it is read from far away: a Refresh may take long, and one that failed may work later,
  /// and then brings all that was recorded meanwhile.
  virtual bool IsFar() const { return false; }
  /// Whether the last Refresh has failed in a way that no other one mends.
  virtual bool IsLost() const { return false; }
  /// From any thread. True: a Refresh that is under way, and those that follow, end at once.
  virtual void Interrupt(bool /*stop*/) {}
  /// Refresh ends by then.
  virtual void Hurry(MonoNs /*until*/) {}
};

}  // namespace headway::runs
