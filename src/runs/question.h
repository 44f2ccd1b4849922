#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "ledger/ledger.h"

namespace headway::runs {

/// What is asked about a run's time, in the words of a user. A time is what ParseTime reads,
/// `+DUR` counts from the run's start.
struct Question {
  std::optional<std::string> as_of;
  /// The ends of a window. With only one of them, or an empty text for the other, it reaches to the
  /// run's start or end.
  std::optional<std::string> from, to;
  /// Only the last so many nanoseconds; excludes a window.
  std::optional<std::int64_t> last_ns;
  /// What messages call these.
  std::string as_of_name = "as_of", window_name = "window", last_name = "last";
};

/// The question to `ledger`, asked at `now`. InvalidArgument or OutOfRange name what can't be read.
Result<ledger::Query> MakeQuery(const Question& question, ledger::Ledger* ledger, WallNs now);

}  // namespace headway::runs
