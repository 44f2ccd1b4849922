#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/output.h"
#include "model/report.h"

namespace headway::cli {

/// A picture of the partition: a lane per attempt and one for the time when none was alive; each
/// column stands for a slice of [from, to) and shows what took most of it. Then the legend. Pure.
/// Of many attempts the last 40 are shown.
std::string RenderTimeline(const std::vector<TimelineInterval>& intervals, std::int64_t from,
                           std::int64_t to, const Terminal& terminal);

}  // namespace headway::cli
