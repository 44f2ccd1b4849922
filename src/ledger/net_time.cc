#include "ledger/net_time.h"

#include <algorithm>

namespace headway::ledger {

bool NetTime::Exclude(std::int64_t from, std::int64_t to) {
  if (from >= to) return false;
  if (gaps_.empty() || from > gaps_.back().to) {
    const Gap last = gaps_.empty() ? Gap{} : gaps_.back();
    gaps_.push_back({from, to, last.before + (last.to - last.from)});
    return true;
  }
  std::vector<Gap> merged;
  Gap added{from, to, 0};
  bool placed = false;
  for (const Gap& gap : gaps_) {
    if (gap.to < added.from) {
      merged.push_back(gap);
    } else if (added.to < gap.from) {
      if (!placed) merged.push_back(added);
      placed = true;
      merged.push_back(gap);
    } else {
      if (gap.from <= from && to <= gap.to) return false;
      added.from = std::min(added.from, gap.from);
      added.to = std::max(added.to, gap.to);
    }
  }
  if (!placed) merged.push_back(added);
  std::int64_t before = 0;
  for (Gap& gap : merged) {
    gap.before = before;
    before += gap.to - gap.from;
  }
  gaps_ = std::move(merged);
  return true;
}

std::int64_t NetTime::NetOf(std::int64_t wall) const {
  // The last gap that begins before `wall`.
  auto next = std::partition_point(gaps_.begin(), gaps_.end(),
                                   [&](const Gap& gap) { return gap.from < wall; });
  if (next == gaps_.begin()) return wall;
  const Gap& gap = *(next - 1);
  return wall - gap.before - (std::min(wall, gap.to) - gap.from);
}

std::int64_t NetTime::WallEnd(std::int64_t net) const {
  // A gap lies before the answer when its own net position is below `net`.
  auto next = std::partition_point(gaps_.begin(), gaps_.end(),
                                   [&](const Gap& gap) { return gap.from - gap.before < net; });
  if (next == gaps_.begin()) return net;
  const Gap& gap = *(next - 1);
  return net + gap.before + (gap.to - gap.from);
}

std::int64_t NetTime::WallBegin(std::int64_t net) const {
  auto next = std::partition_point(gaps_.begin(), gaps_.end(),
                                   [&](const Gap& gap) { return gap.from - gap.before <= net; });
  if (next == gaps_.begin()) return net;
  const Gap& gap = *(next - 1);
  return net + gap.before + (gap.to - gap.from);
}

std::vector<WallInterval> NetTime::Wall(std::int64_t begin, std::int64_t end) const {
  std::vector<WallInterval> pieces;
  if (begin >= end) return pieces;
  std::int64_t at = WallBegin(begin);
  const std::int64_t last = WallEnd(end);
  for (const Gap& gap : gaps_) {
    if (gap.from <= at) continue;
    if (gap.from >= last) break;
    pieces.push_back({at, gap.from});
    at = gap.to;
  }
  pieces.push_back({at, last});
  return pieces;
}

}  // namespace headway::ledger
