#pragma once

#include "model/report.h"

/// A report for tests of exporters, with a value for every metric.

namespace headway::metrics {

inline Report TestReport() {
  constexpr std::int64_t kSecond = 1'000'000'000;
  Report report;
  report.elapsed_ns = 40 * kSecond;
  report.goodput = 0.525;
  report.steps.max_productive_step = (std::int64_t{1} << 53) + 1;
  report.steps.ideal_ns = 1'500'000'000;
  report.steps.deviation_ns = -500'000'000;
  report.disruptions.resize(2);
  report.categories = {{Category::kProductive, "", 20 * kSecond},
                       {Category::kCustom, "eval", 15 * kSecond},
                       {Category::kStepStall, "", 4 * kSecond},
                       {Category::kProductive, "phase", kSecond}};
  return report;
}

}  // namespace headway::metrics
