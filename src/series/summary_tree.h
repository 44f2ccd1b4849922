#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "series/downsampler.h"
#include "series/summary.h"

namespace headway::series {

/// The summaries of a series' pieces, in their order, and those of four of them, of sixteen, and so
/// on: a chart of many pieces takes the largest that fit. A third more memory than the summaries.
/// One thread appends; any thread draws meanwhile if nothing is appended.
class SummaryTree {
 public:
  static constexpr std::size_t kFanOut = 4;

  void Append(const Summary& piece) {
    std::size_t at = count_++;
    for (std::vector<Summary>& level : levels_) {
      if (at == level.size()) {
        level.push_back(piece);
      } else {
        Merge(piece, &level[at]);
      }
      at /= kFanOut;
    }
    if (levels_.empty()) {
      levels_.push_back({piece});
    } else if (levels_.back().size() > kFanOut) {
      AddLevel();
    }
  }

  std::span<const Summary> pieces() const {
    return levels_.empty() ? std::span<const Summary>() : std::span<const Summary>(levels_[0]);
  }

  /// Adds all pieces to `chart`. Of one that does not fit `points(i)` adds the points; `i` is its
  /// place in pieces().
  template <typename Points>
  void Draw(Downsampler* chart, Points&& points) const {
    if (levels_.empty()) return;
    for (std::size_t i = 0; i < levels_.back().size(); ++i) {
      DrawNode(levels_.size() - 1, i, chart, points);
    }
  }

 private:
  void AddLevel() {
    const std::vector<Summary>& below = levels_.back();
    std::vector<Summary> level((below.size() + kFanOut - 1) / kFanOut);
    for (std::size_t i = 0; i < below.size(); ++i) Merge(below[i], &level[i / kFanOut]);
    levels_.push_back(std::move(level));
  }

  template <typename Points>
  void DrawNode(std::size_t level, std::size_t at, Downsampler* chart, Points& points) const {
    if (chart->Add(levels_[level][at])) return;
    if (level == 0) {
      points(at);
      return;
    }
    const std::size_t past = std::min((at + 1) * kFanOut, levels_[level - 1].size());
    for (std::size_t i = at * kFanOut; i < past; ++i) DrawNode(level - 1, i, chart, points);
  }

  std::size_t count_ = 0;
  std::vector<std::vector<Summary>> levels_;  // pieces first
};

}  // namespace headway::series
