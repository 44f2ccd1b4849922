#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/output.h"
#include "model/category.h"
#include "model/report.h"

/// How categories look on a terminal: one colour and one letter each, from one table.

namespace headway::cli {

struct Look {
  std::uint8_t colour;  ///< of the 256 that terminals know
  char letter;          ///< tells it apart without colour
};

Look LookOf(Category category);

enum class Tone : std::uint8_t { kStrong, kFaint, kGood, kBad, kWarning };

/// `text` in the colour of `category`, plain where the terminal has no colours.
std::string Paint(Category category, std::string_view text, const Terminal& terminal);
std::string Paint(Tone tone, std::string_view text, const Terminal& terminal);

/// How good or bad a state is.
Tone ToneOf(RunState state);

}  // namespace headway::cli
