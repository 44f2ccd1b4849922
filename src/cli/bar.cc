#include "cli/bar.h"

#include <algorithm>
#include <cmath>

namespace headway::cli {
namespace {

constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

std::size_t Units(double share, std::size_t units) {
  if (!(share > 0)) return 0;  // NaN too
  const double exact = std::min(share, 1.0) * static_cast<double>(units);
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::lround(exact)), 1, units);
}

}  // namespace

std::string Bar(double share, std::size_t width) {
  if (width == 0) return {};
  const std::size_t eighths = Units(share, width * 8);
  std::string bar;
  for (std::size_t i = 0; i < eighths / 8; ++i) bar += "█";
  return bar + kEighths[eighths % 8];
}

std::string MarkedBar(double share, std::size_t width, const char* mark) {
  if (width == 0) return {};
  const std::size_t cells = Units(share, width);
  std::string bar;
  for (std::size_t i = 0; i < cells; ++i) bar += mark;
  return bar;
}

}  // namespace headway::cli
