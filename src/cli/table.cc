#include "cli/table.h"

#include <algorithm>

#include "base/status.h"
#include "cli/palette.h"
#include "model/text.h"

namespace headway::cli {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kGap = 2;
constexpr std::size_t kTextMin = 8;

}  // namespace

void Table::AddRow(std::vector<std::string> cells) {
  HEADWAY_CHECK(cells.size() == columns_.size());
  for (std::string& cell : cells) cell = PrintableLine(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::Render(const Terminal& terminal) const {
  std::vector<std::size_t> shown;
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    for (const std::vector<std::string>& row : rows_) {
      widths[c] = std::max(widths[c], DisplayWidth(row[c]));
    }
    if (widths[c] == 0) continue;
    widths[c] = std::max(widths[c], DisplayWidth(columns_[c].title));
    shown.push_back(c);
  }
  const auto needed = [&] {
    std::size_t sum = kIndent;
    for (const std::size_t c : shown) sum += widths[c] + kGap;
    return sum - (shown.empty() ? 0 : kGap);
  };
  const auto room = static_cast<std::size_t>(terminal.width);
  while (needed() > room) {
    const auto least =
        std::max_element(shown.begin(), shown.end(), [this](std::size_t a, std::size_t b) {
          return columns_[a].dispensable < columns_[b].dispensable;
        });
    if (least == shown.end() || columns_[*least].dispensable == 0) break;
    shown.erase(least);
  }
  while (needed() > room) {
    const auto can_give = [&](std::size_t c) {
      return columns_[c].right || columns_[c].whole ? std::size_t{0} : widths[c];
    };
    const auto widest =
        std::max_element(shown.begin(), shown.end(),
                         [&](std::size_t a, std::size_t b) { return can_give(a) < can_give(b); });
    if (widest == shown.end() || can_give(*widest) <= kTextMin) break;
    const std::size_t excess = needed() - room;
    widths[*widest] = std::max(kTextMin, widths[*widest] - std::min(widths[*widest], excess));
  }

  std::string out;
  const auto line = [&](const auto& cell_of) {
    std::string text(kIndent, ' ');
    for (const std::size_t c : shown) {
      const std::string cell = Shorten(cell_of(c), widths[c]);
      text += columns_[c].right ? PadLeft(cell, widths[c]) : PadRight(cell, widths[c]);
      text += std::string(kGap, ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  };
  out += Paint(Tone::kFaint, line([this](std::size_t c) { return columns_[c].title; }), terminal);
  out += '\n';
  for (const std::vector<std::string>& row : rows_) {
    out += line([&row](std::size_t c) { return row[c]; });
    out += '\n';
  }
  return out;
}

}  // namespace headway::cli
