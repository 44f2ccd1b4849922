#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/report.h"

namespace headway {

/// "custom EVAL", "productive rollout", "checkpoint_save": safe to print.
std::string CategoryLabel(Category category, std::string_view name);

/// The shares that the categories of one account have in its elapsed time, as people see them:
/// rounded to hundredths of a percent, together, so that they add up to 100.00 %. Whoever shows a
/// share takes it from here: then headline, table and advice say the same number.
///
/// Categories of compat accounting need not add up to the elapsed time: there each is rounded by
/// itself.
class Shares {
 public:
  /// `categories` are the whole of an account, in its order (CategoryTime of a report).
  explicit Shares(const std::vector<CategoryTime>& categories,
                  std::optional<std::int64_t> elapsed_ns = {});

  /// "37.50 %" of `categories[index]`.
  std::string Of(std::size_t index) const;
  /// Of `categories[index]`, in hundredths of a percent.
  std::int64_t Hundredths(std::size_t index) const { return hundredths_[index]; }
  /// Of all entries of a category, whatever their names; of kProductive: the goodput.
  std::string Of(Category category) const;

 private:
  std::vector<Category> categories_;      // [num_categories]
  std::vector<std::int64_t> hundredths_;  // [num_categories]
};

/// A line of a list of categories.
struct CategoryLine {
  std::string label;
  Category category = Category::kOther;
  std::size_t index = 0;  ///< of the account's entry; of a line for many: of the first of them
  bool many = false;      ///< the line of all further names of a category
  std::int64_t ns = 0;
  std::string share;
};

/// The lines for `categories`, in their order (of a report: the largest first): of each category
/// the first names, and one line for those beyond. A program may have named thousands.
std::vector<CategoryLine> LinesOf(const std::vector<CategoryTime>& categories,
                                  std::optional<std::int64_t> elapsed_ns = {});

/// The state as people read it: without the underscore of "not_started".
std::string_view ShowState(const Report& report);

/// "37.50 %", "–" when nothing is known.
std::string ShowGoodput(const Report& report);

}  // namespace headway
