#include "cli/shares.h"

#include <algorithm>

#include "cli/text.h"

namespace headway::cli {

Shares::Shares(const std::vector<CategoryTime>& categories) {
  std::vector<std::int64_t> parts;
  for (const CategoryTime& time : categories) {
    categories_.push_back(time.category);
    parts.push_back(std::max<std::int64_t>(0, time.ns));
  }
  hundredths_ = PercentHundredths(parts);
}

std::string Shares::Of(std::size_t index) const { return ShowHundredths(hundredths_[index]); }

std::string Shares::Of(Category category) const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < categories_.size(); ++i) {
    if (categories_[i] == category) sum += hundredths_[i];
  }
  return ShowHundredths(sum);
}

std::string ShowGoodput(const Report& report) {
  return report.elapsed_ns > 0 ? Shares(report.categories).Of(Category::kProductive) : "–";
}

std::string_view ShowState(const Report& report) {
  const bool started = report.state != RunState::kRunning || !report.attempts.empty();
  return started ? RunStateName(report.state) : "not started";
}

}  // namespace headway::cli
