#include "cli/timeline_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "cli/palette.h"
#include "model/shares.h"
#include "model/text.h"

namespace headway::cli {
namespace {

using Times = std::vector<std::int64_t>;  // [num_lines] of the legend

constexpr std::size_t kLanesShown = 40;
constexpr std::int64_t kDown = -1;

// The lines of the legend, and the letter of each.
class Legend {
 public:
  explicit Legend(const std::vector<TimelineInterval>& intervals) {
    using Key = std::pair<Category, std::string_view>;
    std::map<Key, std::int64_t> sums;
    for (const TimelineInterval& interval : intervals) {
      sums[{interval.category, interval.name}] += interval.end - interval.begin;
    }
    for (const auto& [key, ns] : sums) {
      totals_.push_back({key.first, std::string(key.second), ns});
    }
    // In the order of a report, so that both round alike.
    std::sort(totals_.begin(), totals_.end(), [](const CategoryTime& a, const CategoryTime& b) {
      if (a.ns != b.ns) return a.ns > b.ns;
      return std::pair(CategoryName(a.category), std::string_view(a.name)) <
             std::pair(CategoryName(b.category), std::string_view(b.name));
    });
    lines_ = LinesOf(totals_);
    std::string taken;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const CategoryLine& line = lines_[i];
      const std::string& name = totals_[line.index].name;
      if (!line.many) by_name_[{line.category, name}] = i;
      if (line.many) rest_[static_cast<std::size_t>(line.category)] = i;
      const bool own = line.category == Category::kCustom && !line.many && !name.empty();
      letters_ += own ? FreeLetter(name, &taken) : LookOf(line.category).letter;
    }
  }

  std::size_t lines() const { return lines_.size(); }
  Category category(std::size_t line) const { return lines_[line].category; }
  char letter(std::size_t line) const { return letters_[line]; }
  std::size_t LineOf(const TimelineInterval& interval) const {
    const auto found = by_name_.find({interval.category, interval.name});
    return found != by_name_.end() ? found->second
                                   : rest_[static_cast<std::size_t>(interval.category)];
  }

  std::string Render(const Terminal& terminal) const {
    std::size_t label_width = 0;
    std::size_t time_width = 0;
    for (const CategoryLine& line : lines_) {
      label_width = std::max(label_width, std::min<std::size_t>(40, DisplayWidth(line.label)));
      time_width = std::max(time_width, DisplayWidth(ShowDuration(line.ns)));
    }
    std::string out;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const CategoryLine& line = lines_[i];
      out += "  " + Paint(line.category, std::string(1, letters_[i]), terminal) + "  " +
             PadRight(Shorten(line.label, label_width), label_width) + "  " +
             PadLeft(line.share, 8) + "  " + PadLeft(ShowDuration(line.ns), time_width) + "\n";
    }
    return out;
  }

 private:
  // A capital that no other name has, of `name` if there is one; fewer names than letters are
  // shown.
  static char FreeLetter(std::string_view name, std::string* taken) {
    constexpr std::string_view kCapitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (const std::string_view letters : {name, kCapitals}) {
      for (const char c : letters) {
        const bool capital = c >= 'A' && c <= 'Z';
        if (!capital || taken->find(c) != std::string::npos) continue;
        *taken += c;
        return c;
      }
    }
    return LookOf(Category::kCustom).letter;
  }

  std::vector<CategoryTime> totals_;
  std::vector<CategoryLine> lines_;
  std::string letters_;  // [num_lines]
  std::map<std::pair<Category, std::string>, std::size_t> by_name_;
  std::array<std::size_t, kCategoryCount> rest_{};
};

// What is drawn: lanes by attempt, each a row of cells.
class Canvas {
 public:
  Canvas(const Legend* legend, std::int64_t from, std::int64_t to, std::size_t columns)
      : legend_(legend),
        from_(from),
        span_(std::max<std::int64_t>(1, to - from)),
        columns_(columns) {}

  void Add(const TimelineInterval& interval) {
    std::vector<Times>& lane = lanes_[interval.attempt];
    if (lane.empty()) lane.resize(columns_, Times(legend_->lines()));
    const std::size_t line = legend_->LineOf(interval);
    const std::int64_t begin = std::max(interval.begin, from_) - from_;
    const std::int64_t end = std::min(interval.end - from_, span_);
    for (std::size_t column = ColumnOf(begin); column < columns_; ++column) {
      const std::int64_t cell_begin = EdgeOf(column);
      if (cell_begin >= end) break;
      const std::int64_t ns = std::min(end, EdgeOf(column + 1)) - std::max(begin, cell_begin);
      if (ns > 0) lane[column][line] += ns;
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

  const Legend* legend_;
  std::int64_t from_;
  std::int64_t span_;
  std::size_t columns_;
  std::map<std::int64_t, std::vector<Times>> lanes_;
};

std::string DrawLane(const std::vector<Times>& cells, const Legend& legend,
                     const Terminal& terminal) {
  std::string out;
  std::string run;  // equal neighbours share their colour codes
  Category category = Category::kOther;
  const auto flush = [&] {
    out += Paint(category, run, terminal);
    run.clear();
  };
  for (const Times& cell : cells) {
    const auto most = std::max_element(cell.begin(), cell.end());
    if (*most == 0) {
      flush();
      out += ' ';
      continue;
    }
    const auto line = static_cast<std::size_t>(most - cell.begin());
    if (legend.category(line) != category) flush();
    category = legend.category(line);
    run += legend.letter(line);
  }
  flush();
  out.erase(out.find_last_not_of(' ') + 1);
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
  const Legend legend(intervals);
  Canvas canvas(&legend, from, to, columns);
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
    out +=
        PadRight("  #" + std::to_string(attempt), head) + DrawLane(cells, legend, terminal) + "\n";
  }
  if (const auto down = canvas.lanes().find(kDown); down != canvas.lanes().end()) {
    out += PadRight("  none", head) + DrawLane(down->second, legend, terminal) + "\n";
  }
  if (skipped > 0) out += "  " + std::to_string(skipped) + " earlier attempts are not shown\n";
  out += "\n" + legend.Render(terminal);
  out += Wrap("  one column is " +
                  ShowDuration(std::max<std::int64_t>(1, to - from) /
                               static_cast<std::int64_t>(columns)) +
                  " and shows what took most of it",
              width, 2) +
         "\n";
  return out;
}

}  // namespace headway::cli
