#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/report.h"

namespace headway::cli {

/// The shares that the categories of one account have in its elapsed time, as people see them:
/// rounded to hundredths of a percent, together, so that they add up to 100.00 %. Whoever shows a
/// share takes it from here: then headline, table and advice say the same number.
class Shares {
 public:
  /// `categories` are the whole of an account, in its order (CategoryTime of a report).
  explicit Shares(const std::vector<CategoryTime>& categories);

  /// "37.50 %" of `categories[index]`.
  std::string Of(std::size_t index) const;
  /// Of all entries of a category, whatever their names; of kProductive: the goodput.
  std::string Of(Category category) const;

 private:
  std::vector<Category> categories_;      // [num_categories]
  std::vector<std::int64_t> hundredths_;  // [num_categories]
};

/// "37.50 %", "–" when nothing is known.
/// The state as people read it: "not started" for a run that has not recorded anything yet.
std::string_view ShowState(const Report& report);

std::string ShowGoodput(const Report& report);

}  // namespace headway::cli
