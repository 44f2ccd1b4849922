#include "model/shares.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/text.h"

namespace headway {

std::string CategoryLabel(Category category, std::string_view name) {
  std::string label(CategoryName(category));
  if (!name.empty()) label += " " + PrintableLine(name);
  return label;
}

Shares::Shares(const std::vector<CategoryTime>& categories,
               std::optional<std::int64_t> elapsed_ns) {
  std::vector<std::int64_t> parts;
  std::int64_t sum = 0;
  for (const CategoryTime& time : categories) {
    categories_.push_back(time.category);
    parts.push_back(std::max<std::int64_t>(0, time.ns));
    sum += parts.back();
  }
  if (!elapsed_ns || *elapsed_ns == sum || *elapsed_ns <= 0) {
    hundredths_ = PercentHundredths(parts);
    return;
  }
  for (const std::int64_t part : parts) {
    hundredths_.push_back(
        std::llround(1e4 * static_cast<double>(part) / static_cast<double>(*elapsed_ns)));
  }
}

std::string Shares::Of(std::size_t index) const { return ShowHundredths(hundredths_[index]); }

std::string Shares::Of(Category category) const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < categories_.size(); ++i) {
    if (categories_[i] == category) sum += hundredths_[i];
  }
  return ShowHundredths(sum);
}

std::vector<CategoryLine> LinesOf(const std::vector<CategoryTime>& categories,
                                  std::optional<std::int64_t> elapsed_ns) {
  constexpr std::size_t kNamesShown = 12;
  struct Rest {
    std::size_t count = 0;
    std::size_t first = 0;
    std::int64_t ns = 0;
    std::int64_t hundredths = 0;
  };
  const Shares shares(categories, elapsed_ns);
  std::vector<CategoryLine> lines;
  std::array<std::size_t, kCategoryCount> names{};
  std::array<Rest, kCategoryCount> rests{};
  for (std::size_t i = 0; i < categories.size(); ++i) {
    const CategoryTime& time = categories[i];
    const auto category = static_cast<std::size_t>(time.category);
    if (time.name.empty() || names[category]++ < kNamesShown) {
      lines.push_back({CategoryLabel(time.category, time.name), time.category, i, false, time.ns,
                       shares.Of(i)});
      continue;
    }
    Rest& rest = rests[category];
    if (rest.count++ == 0) rest.first = i;
    rest.ns += time.ns;
    rest.hundredths += shares.Hundredths(i);
  }
  for (std::size_t category = 0; category < rests.size(); ++category) {
    const Rest& rest = rests[category];
    if (rest.count == 0) continue;
    const auto what = static_cast<Category>(category);
    lines.push_back({std::string(CategoryName(what)) + ", " +
                         ShowCount(static_cast<std::int64_t>(rest.count)) + " more names",
                     what, rest.first, true, rest.ns, ShowHundredths(rest.hundredths)});
  }
  return lines;
}

std::string ShowGoodput(const Report& report) {
  if (report.elapsed_ns <= 0) return "–";
  return Shares(report.categories, report.elapsed_ns).Of(Category::kProductive);
}

std::string_view ShowState(const Report& report) {
  return report.state == RunState::kNotStarted ? "not started" : RunStateName(report.state);
}

}  // namespace headway
