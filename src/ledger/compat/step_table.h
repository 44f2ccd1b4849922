#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace headway::compat {

/// A number for each step, in the order in which the steps first came.
///
/// Steps nearly always ascend: then it is a sorted vector. From the first one that does not it
/// keeps an index beside it.
class StepTable {
 public:
  struct Item {
    std::int64_t step = 0;
    double value = 0;

    friend bool operator==(const Item&, const Item&) = default;
  };
  static constexpr std::size_t kNowhere = ~std::size_t{0};

  /// Position of `step`, or kNowhere.
  std::size_t Find(std::int64_t step) const;
  /// Adds a step that is not in the table yet.
  void Append(std::int64_t step, double value);
  /// Adds the step, or gives it another number where it stands.
  void Set(std::int64_t step, double value);
  void Clear();

  bool empty() const { return items_.empty(); }
  const std::vector<Item>& items() const { return items_; }
  std::int64_t lowest() const { return lowest_; }
  const Item& highest() const { return items_[highest_]; }

 private:
  std::vector<Item> items_;
  std::int64_t lowest_ = 0;
  std::size_t highest_ = 0;  // position
  bool ascending_ = true;
  std::unordered_map<std::int64_t, std::size_t> index_;  // when not ascending
};

}  // namespace headway::compat
