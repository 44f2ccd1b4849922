#include "model/category.h"

#include <array>

namespace headway {
namespace {

struct Row {
  std::string_view name;
  std::string_view help;
};

constexpr std::array<Row, kCategoryCount> kRows = {{
    {"productive", "steps whose result was kept, and productive phases: the only goodput"},
    {"accelerator_init", "bringing up accelerators and their runtime"},
    {"training_prep", "preparing to train: building the model, data pipeline, state"},
    {"program_startup", "from the attempt's start to a normal step: imports, tracing, compiling"},
    {"data_loading", "steps that waited for data, and loading outside of steps"},
    {"checkpoint_save", "training stood still while a checkpoint was written"},
    {"checkpoint_restore", "training stood still while a checkpoint was read"},
    {"wasted_progress", "steps that were done and lost again by a crash or rollback"},
    {"infrastructure_recovery", "no attempt was alive: from a stop to the next start"},
    {"elastic_scale_up", "waiting for more slices to join"},
    {"elastic_slice_down", "waiting after a slice was lost"},
    {"elastic_reinit", "re-initialising after the set of slices changed"},
    {"custom", "time the program named itself, such as an evaluation"},
    {"step_stall", "a step hung far beyond the normal step time"},
    {"other", "alive, but outside of steps and of every span, or while records were dropped"},
}};

}  // namespace

std::string_view CategoryName(Category category) {
  return kRows[static_cast<std::size_t>(category)].name;
}

std::string_view CategoryHelp(Category category) {
  return kRows[static_cast<std::size_t>(category)].help;
}

bool ParseCategory(std::string_view name, Category* category) {
  for (int i = 0; i < kCategoryCount; ++i) {
    if (kRows[static_cast<std::size_t>(i)].name == name) {
      *category = static_cast<Category>(i);
      return true;
    }
  }
  return false;
}

}  // namespace headway
