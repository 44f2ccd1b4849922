#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cli/command.h"
#include "cli/place.h"

/// The metrics of a run: from its journals here, or answered by a server. Unimplemented where
/// headway was built without what they are packed with.

namespace headway::cli {

/// What there is to say about many points; what is not known of none is absent.
struct MetricFacts {
  std::uint64_t count = 0;
  std::uint64_t not_finite = 0;
  std::optional<double> min, max, mean, first, last;
  std::int64_t min_time = 0;
  std::int64_t max_time = 0;
  std::optional<std::int64_t> min_step, max_step;
};

struct MetricInfo {
  std::string name;
  std::string unit;
  std::string metric_class;  ///< "model_quality"
  std::map<std::string, std::string> labels;
  std::string source;  ///< the journal's uid, or who sent it
  std::string host;
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> attempt;  ///< as the report numbers them
  MetricFacts facts;
};

struct MetricLine {
  MetricInfo info;
  bool wasted = false;
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::vector<std::int64_t> times, steps;  ///< the points themselves, or
  std::vector<double> values;
  std::vector<std::pair<std::size_t, MetricFacts>> buckets;  ///< those that have points
};

struct MetricQuestion {
  std::vector<std::string> names;  ///< "loss", or "grad*"; none: all
  std::string axis;                ///< "time", "elapsed" or "step"
  std::optional<std::int64_t> from, to;
  std::size_t buckets = 1000;
};

/// All metrics of a run, by name.
Result<std::vector<MetricInfo>> ListMetrics(const Context& context, Place* place,
                                            const std::string& run);
Result<std::vector<MetricLine>> QueryMetrics(const Context& context, Place* place,
                                             const std::string& run,
                                             const MetricQuestion& question);

}  // namespace headway::cli
