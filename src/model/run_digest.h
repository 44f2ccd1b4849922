#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/category.h"
#include "model/report.h"

/// Where a run's time went, in what lists of many runs and totals over them have room for. Plain
/// values.

namespace headway {

struct RunDigest {
  std::array<std::int64_t, kCategoryCount> ns{};  ///< they add up to the elapsed time
  std::int64_t disruptions = 0;
  /// Goodput of equal parts of the run's time, the oldest first, in 1/200; kNoGoodput where none of
  /// that time counts. At most kParts.
  std::vector<std::uint8_t> goodput;

  static constexpr std::uint8_t kNoGoodput = 255;
  static constexpr int kGoodputScale = 200;
  static constexpr int kParts = 32;

  std::int64_t elapsed_ns() const;
  /// What was not productive.
  std::int64_t lost_ns() const { return elapsed_ns() - ns[0]; }

  friend bool operator==(const RunDigest&, const RunDigest&) = default;
};

/// Without `goodput`.
RunDigest DigestOf(const Report& report);

/// As bytes, and back. Nothing: these are none, or a newer headway's.
std::string PackDigest(const RunDigest& digest);
std::optional<RunDigest> UnpackDigest(std::string_view bytes);

}  // namespace headway
