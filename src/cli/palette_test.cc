#include "cli/palette.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace headway::cli {
namespace {

using Rgb = std::array<int, 3>;

// A colour of the 256 that terminals know: a cube of 6 x 6 x 6, then greys.
Rgb OfTerminal(int colour) {
  constexpr int kLevels[] = {0, 95, 135, 175, 215, 255};
  if (colour >= 232) {
    const int grey = 8 + 10 * (colour - 232);
    return {grey, grey, grey};
  }
  colour -= 16;
  return {kLevels[colour / 36], kLevels[colour / 6 % 6], kLevels[colour % 6]};
}

// In degrees; nothing for a grey.
std::optional<double> Hue(const Rgb& rgb) {
  const auto [low, high] = std::minmax_element(rgb.begin(), rgb.end());
  const double range = *high - *low;
  if (range < 24) return std::nullopt;
  const auto [r, g, b] = rgb;
  if (*high == r) return 60 * std::fmod((g - b) / range + 6, 6);
  return *high == g ? 60 * ((b - r) / range + 2) : 60 * ((r - g) / range + 4);
}

// The table of the Python package: lines `"category": "#rrggbb",`.
std::map<std::string, Rgb> OfHtml() {
  std::ifstream file("python/headway/_html.py");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_FALSE(text.empty());
  std::map<std::string, Rgb> colours;
  constexpr std::string_view kBetween = "\": \"#";
  for (std::size_t at = text.find(kBetween); at != std::string::npos;
       at = text.find(kBetween, at + 1)) {
    const std::size_t name = text.rfind('"', at - 1) + 1;
    const auto number =
        static_cast<int>(std::strtol(text.substr(at + kBetween.size(), 6).c_str(), nullptr, 16));
    colours[text.substr(name, at - name)] = {number >> 16, number >> 8 & 255, number & 255};
  }
  return colours;
}

// Terminals have fewer colours than pages, so that shades differ; what a colour means does not.
TEST(Palette, MeansTheSameOnTerminalsAndPages) {
  const std::map<std::string, Rgb> html = OfHtml();
  EXPECT_EQ(html.size(), static_cast<std::size_t>(kCategoryCount));
  for (int i = 0; i < kCategoryCount; ++i) {
    const auto category = static_cast<Category>(i);
    const auto found = html.find(std::string(CategoryName(category)));
    ASSERT_NE(found, html.end()) << CategoryName(category);
    const std::optional<double> page = Hue(found->second);
    const std::optional<double> terminal = Hue(OfTerminal(LookOf(category).colour));
    ASSERT_EQ(page.has_value(), terminal.has_value()) << CategoryName(category);
    if (!page) continue;
    const double apart = std::abs(*page - *terminal);
    EXPECT_LE(std::min(apart, 360 - apart), 30) << CategoryName(category);
  }
}

TEST(Palette, EveryCategoryHasALetterAndAColourOfItsOwn) {
  std::set<char> letters;
  std::set<int> colours;
  for (int i = 0; i < kCategoryCount; ++i) {
    letters.insert(LookOf(static_cast<Category>(i)).letter);
    colours.insert(LookOf(static_cast<Category>(i)).colour);
  }
  EXPECT_EQ(letters.size(), static_cast<std::size_t>(kCategoryCount));
  EXPECT_EQ(colours.size(), static_cast<std::size_t>(kCategoryCount));
}

}  // namespace
}  // namespace headway::cli
