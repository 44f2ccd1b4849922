#include "ledger/time_split.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "ledger/attempt.h"
#include "ledger/run_view.h"

namespace headway::ledger {
namespace {

// So much of the stretch between two points next to each other belongs to a bucket.
struct Part {
  std::size_t at = 0;
  BucketId bucket = 0;
  std::int64_t ns = 0;
};

// In the order of the answer; the second says that names are taken together.
using SeriesKey = std::tuple<Category, bool, std::string>;

// Which series each bucket belongs to.
std::map<BucketId, SeriesKey> SeriesOf(const std::vector<Part>& parts, const RunContext& context,
                                       std::size_t names_most) {
  std::map<BucketId, std::int64_t> totals;
  for (const Part& part : parts) totals[part.bucket] += part.ns;
  std::vector<std::pair<std::int64_t, BucketId>> named;
  for (const auto& [bucket, ns] : totals) {
    if (context.buckets.name(bucket) != 0) named.emplace_back(-ns, bucket);
  }
  std::map<BucketId, SeriesKey> series;
  auto put = [&](BucketId bucket, bool together) {
    std::string name(together ? "" : context.names.Text(context.buckets.name(bucket)));
    series[bucket] = SeriesKey(context.buckets.category(bucket), together, std::move(name));
  };
  for (const auto& [bucket, ns] : totals) put(bucket, false);
  if (named.size() > names_most) {
    std::ranges::sort(named);
    for (const auto& [ns, bucket] : std::span(named).subspan(names_most)) put(bucket, true);
  }
  return series;
}

}  // namespace

TimeSplit SplitTime(const RunView& view, const RunContext& context, std::span<const WallSpan> spans,
                    std::size_t names_most) {
  TimeSplit split;
  std::vector<std::int64_t> points;
  std::vector<std::pair<std::int64_t, std::int64_t>> net;  // [num_spans]
  net.reserve(spans.size());
  points.reserve(2 * spans.size());
  for (const auto& [first, second] : spans) {
    const std::int64_t from = std::max(context.net.Net(first), view.begin());
    const std::int64_t to = std::max(from, std::min(context.net.Net(second), view.end()));
    net.emplace_back(from, to);
    split.elapsed_ns.push_back(to - from);
    if (from < to) points.insert(points.end(), {from, to});
  }
  std::ranges::sort(points);
  points.erase(std::ranges::unique(points).begin(), points.end());
  if (points.empty()) return split;

  std::vector<Part> parts;
  view.Split(points, [&parts](std::size_t at, BucketId bucket, std::int64_t ns) {
    parts.push_back({at, bucket, ns});
  });
  std::map<SeriesKey, std::vector<BucketId>> buckets;
  for (auto& [bucket, key] : SeriesOf(parts, context, names_most)) buckets[key].push_back(bucket);
  std::ranges::stable_sort(parts, {}, &Part::bucket);

  std::vector<std::pair<std::size_t, std::size_t>> places;  // [num_spans] of points
  places.reserve(net.size());
  for (const auto& [from, to] : net) {
    const auto place = [&points](std::int64_t at) {
      return static_cast<std::size_t>(std::ranges::lower_bound(points, at) - points.begin());
    };
    places.emplace_back(from < to ? std::pair(place(from), place(to)) : std::pair(0ul, 0ul));
  }
  std::vector<std::int64_t> before(points.size());  // what of the series lies before each point
  for (const auto& [key, of_series] : buckets) {
    std::ranges::fill(before, 0);
    for (const BucketId bucket : of_series) {
      for (const Part& part : std::ranges::equal_range(parts, bucket, {}, &Part::bucket)) {
        before[part.at + 1] += part.ns;
      }
    }
    for (std::size_t i = 1; i < before.size(); ++i) before[i] += before[i - 1];
    TimeSplit::Series series;
    series.category = std::get<0>(key);
    series.name = std::get<2>(key);
    series.names = std::get<1>(key) ? of_series.size() : 0;
    series.ns.reserve(places.size());
    bool any = false;
    for (const auto& [from, to] : places) {
      series.ns.push_back(before[to] - before[from]);
      any |= series.ns.back() != 0;
    }
    if (any) split.series.push_back(std::move(series));
  }
  return split;
}

}  // namespace headway::ledger
