#pragma once

#include <cstdint>

#include "ledger/net_time.h"
#include "model/record.h"

namespace headway::ledger {

/// What is known of a writer without an attempt key, to tell restarts from parallel processes.
struct Sighting {
  bool keyed = false;  // it has a key and is bound: nothing else is kept
  bool any = false, any_step = false;
  std::uint64_t last_seq = 0;
  std::int64_t first_time = 0, last_time = 0;  // as taken
  std::int64_t first_step_time = 0, first_step = 0, highest_step = 0;

  template <typename Ar>
  void Persist(Ar& ar) {
    ar(keyed, any, any_step, last_seq, first_time, last_time, first_step_time, first_step,
       highest_step);
  }

  /// The next record in order.
  void See(const Record& record, std::int64_t time);
};

/// Whether two un-ranked writers that have recorded are processes of one attempt. It goes by their
/// records alone, and does not depend on which of them is named first.
bool AreParallel(const Sighting& a, const Sighting& b, const NetTime& net);

}  // namespace headway::ledger
