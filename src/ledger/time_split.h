#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/category.h"

namespace headway::ledger {

/// [first, second) of wall time.
using WallSpan = std::pair<std::int64_t, std::int64_t>;

/// Where the time of each of many spans went, see Ledger::Split.
struct TimeSplit {
  struct Series {
    Category category = Category::kOther;
    std::string name;
    /// How many names are taken together here: 0 of a series that is told apart.
    std::size_t names = 0;
    std::vector<std::int64_t> ns;  // [num_spans]

    friend bool operator==(const Series&, const Series&) = default;
  };
  std::vector<std::int64_t> elapsed_ns;  // [num_spans] what counts of each; the sum of its series
  std::vector<Series> series;            // by category and name; those that have time somewhere

  friend bool operator==(const TimeSplit&, const TimeSplit&) = default;
};

inline constexpr std::size_t kAllNames = std::numeric_limits<std::size_t>::max();

class RunView;
struct RunContext;

/// Ledger::Split of a run that `view` looks at.
TimeSplit SplitTime(const RunView& view, const RunContext& context, std::span<const WallSpan> spans,
                    std::size_t names_most);

}  // namespace headway::ledger
