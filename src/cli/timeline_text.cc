#include "cli/timeline_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "cli/palette.h"
#include "cli/shares.h"
#include "cli/text.h"

namespace headway::cli {
namespace {

using Times = std::array<std::int64_t, kCategoryCount>;

constexpr std::size_t kLanesShown = 40;
constexpr std::int64_t kDown = -1;

// What is drawn: lanes by attempt, each a row of cells.
class Canvas {
 public:
  Canvas(std::int64_t from, std::int64_t to, std::size_t columns)
      : from_(from), span_(std::max<std::int64_t>(1, to - from)), columns_(columns) {}

  void Add(const TimelineInterval& interval) {
    std::vector<Times>& lane = lanes_[interval.attempt];
    if (lane.empty()) lane.resize(columns_);
    const std::int64_t begin = std::max(interval.begin, from_) - from_;
    const std::int64_t end = std::min(interval.end - from_, span_);
    for (std::size_t column = ColumnOf(begin); column < columns_; ++column) {
      const std::int64_t cell_begin = EdgeOf(column);
      if (cell_begin >= end) break;
      const std::int64_t ns = std::min(end, EdgeOf(column + 1)) - std::max(begin, cell_begin);
      if (ns > 0) lane[column][static_cast<std::size_t>(interval.category)] += ns;
    }
  }

  const std::map<std::int64_t, std::vector<Times>>& lanes() const { return lanes_; }

 private:
  std::int64_t EdgeOf(std::size_t column) const {
    return static_cast<std::int64_t>(static_cast<__int128>(span_) *
                                     static_cast<std::int64_t>(column) /
                                     static_cast<std::int64_t>(columns_));
  }
  std::size_t ColumnOf(std::int64_t at) const {
    const auto column = static_cast<std::size_t>(static_cast<__int128>(at) *
                                                 static_cast<std::int64_t>(columns_) / span_);
    return column > 0 ? column - 1 : 0;  // rounding may have passed its edge
  }

  std::int64_t from_;
  std::int64_t span_;
  std::size_t columns_;
  std::map<std::int64_t, std::vector<Times>> lanes_;
};

std::string DrawLane(const std::vector<Times>& cells, const Terminal& terminal) {
  std::string out;
  std::string run;  // equal neighbours share their colour codes
  Category category = Category::kOther;
  const auto flush = [&] {
    out += Paint(category, run, terminal);
    run.clear();
  };
  for (const Times& cell : cells) {
    const auto most = std::max_element(cell.begin(), cell.end());
    const auto here = static_cast<Category>(most - cell.begin());
    if (*most == 0) {
      flush();
      out += ' ';
      continue;
    }
    if (here != category) flush();
    category = here;
    run += LookOf(here).letter;
  }
  flush();
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

std::string Legend(const std::vector<TimelineInterval>& intervals, const Terminal& terminal) {
  std::vector<CategoryTime> totals;
  for (const TimelineInterval& interval : intervals) {
    const auto same =
        std::find_if(totals.begin(), totals.end(), [&interval](const CategoryTime& total) {
          return total.category == interval.category && total.name == interval.name;
        });
    if (same == totals.end()) {
      totals.push_back({interval.category, interval.name, interval.end - interval.begin});
    } else {
      same->ns += interval.end - interval.begin;
    }
  }
  // In the order of a report, so that both round alike.
  std::sort(totals.begin(), totals.end(), [](const CategoryTime& a, const CategoryTime& b) {
    if (a.ns != b.ns) return a.ns > b.ns;
    return std::pair(CategoryName(a.category), std::string_view(a.name)) <
           std::pair(CategoryName(b.category), std::string_view(b.name));
  });
  std::size_t label_width = 0;
  std::size_t time_width = 0;
  for (const CategoryTime& total : totals) {
    const std::string label = CategoryLabel(total.category, total.name);
    label_width = std::max(label_width, std::min<std::size_t>(40, DisplayWidth(label)));
    time_width = std::max(time_width, DisplayWidth(ShowDuration(total.ns)));
  }
  const Shares shares(totals);
  std::string out;
  for (std::size_t i = 0; i < totals.size(); ++i) {
    const CategoryTime& total = totals[i];
    const std::string letter(1, LookOf(total.category).letter);
    out += "  " + Paint(total.category, letter, terminal) + "  " +
           PadRight(Shorten(CategoryLabel(total.category, total.name), label_width), label_width) +
           "  " + PadLeft(shares.Of(i), 8) + "  " + PadLeft(ShowDuration(total.ns), time_width) +
           "\n";
  }
  return out;
}

}  // namespace

std::string RenderTimeline(const std::vector<TimelineInterval>& intervals, std::int64_t from,
                           std::int64_t to, const Terminal& terminal) {
  if (intervals.empty()) return "  nothing happened in this time\n";
  std::int64_t last = kDown;
  for (const TimelineInterval& interval : intervals) last = std::max(last, interval.attempt);
  const std::size_t head = std::max<std::size_t>(4, std::to_string(last).size() + 1) + 2;
  const auto width = static_cast<std::size_t>(terminal.width);
  const std::size_t columns = std::max<std::size_t>(20, width - std::min(width, head + 2));
  Canvas canvas(from, to, columns);
  for (const TimelineInterval& interval : intervals) canvas.Add(interval);

  std::string out;
  std::size_t skip = canvas.lanes().size() > kLanesShown ? canvas.lanes().size() - kLanesShown : 0;
  const std::size_t skipped = skip;
  const std::string begin = ShowTime(from);
  const std::string end = ShowDuration(to - from);
  const std::size_t used = DisplayWidth(begin) + DisplayWidth(end) + 1;
  out += Paint(Tone::kFaint,
               std::string(head, ' ') + begin +
                   std::string(columns > used ? columns - used : 1, ' ') + "+" + end,
               terminal) +
         "\n";
  for (const auto& [attempt, cells] : canvas.lanes()) {
    if (attempt == kDown) continue;
    if (skip > 0) {
      --skip;
      continue;
    }
    out += PadRight("  #" + std::to_string(attempt), head) + DrawLane(cells, terminal) + "\n";
  }
  if (const auto down = canvas.lanes().find(kDown); down != canvas.lanes().end()) {
    out += PadRight("  none", head) + DrawLane(down->second, terminal) + "\n";
  }
  if (skipped > 0) out += "  " + std::to_string(skipped) + " earlier attempts are not shown\n";
  out += "\n" + Legend(intervals, terminal);
  out += Wrap("  one column is " +
                  ShowDuration(std::max<std::int64_t>(1, to - from) /
                               static_cast<std::int64_t>(columns)) +
                  " and shows what took most of it",
              width, 2) +
         "\n";
  return out;
}

}  // namespace headway::cli
