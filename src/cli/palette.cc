#include "cli/palette.h"

#include <array>

#include "model/text.h"

namespace headway::cli {
namespace {

// Sorted by meaning: progress green; start-up blues from light to dark; data yellow; checkpoints
// violet; lost work and downtime red; stalls orange; what the program named teal; the rest grey.
constexpr std::array<Look, kCategoryCount> kLooks = {{
    {71, '='},   // productive
    {117, 'i'},  // accelerator_init
    {75, 'p'},   // training_prep
    {32, 's'},   // program_startup
    {220, 'd'},  // data_loading
    {141, 'c'},  // checkpoint_save
    {97, 'r'},   // checkpoint_restore
    {160, 'x'},  // wasted_progress
    {203, '.'},  // infrastructure_recovery
    {217, 'u'},  // elastic_scale_up
    {210, 'v'},  // elastic_slice_down
    {25, 'e'},   // elastic_reinit
    {37, 'n'},   // custom
    {208, '!'},  // step_stall
    {245, '-'},  // other
}};

std::string WithColour(int colour, std::string_view text) {
  return "\x1b[38;5;" + std::to_string(colour) + "m" + std::string(text) + "\x1b[0m";
}

}  // namespace

Look LookOf(Category category) { return kLooks[static_cast<std::size_t>(category)]; }

std::string Paint(Category category, std::string_view text, const Terminal& terminal) {
  if (!terminal.colour || text.empty()) return std::string(text);
  return WithColour(LookOf(category).colour, text);
}

std::string Paint(Tone tone, std::string_view text, const Terminal& terminal) {
  if (!terminal.colour || text.empty()) return std::string(text);
  switch (tone) {
    case Tone::kStrong: return "\x1b[1m" + std::string(text) + "\x1b[0m";
    case Tone::kFaint: return WithColour(245, text);
    case Tone::kGood: return WithColour(71, text);
    case Tone::kBad: return WithColour(160, text);
    case Tone::kWarning: return WithColour(208, text);
  }
  return std::string(text);
}

Tone ToneOf(RunState state) {
  switch (state) {
    case RunState::kNotStarted: return Tone::kFaint;
    case RunState::kRunning:
    case RunState::kCompleted: return Tone::kGood;
    case RunState::kRestarting: return Tone::kWarning;
    case RunState::kFailed:
    case RunState::kInterrupted: return Tone::kBad;
  }
  return Tone::kFaint;
}

}  // namespace headway::cli
