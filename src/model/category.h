#pragma once

#include <cstdint>
#include <string_view>

/// What an instant of a run's elapsed time can be. The one list: reports, exports and docs read it.

namespace headway {

enum class Category : std::uint8_t {
  kProductive = 0,
  kAcceleratorInit,
  kTrainingPrep,
  kProgramStartup,
  kDataLoading,
  kCheckpointSave,
  kCheckpointRestore,
  kWastedProgress,
  kInfrastructureRecovery,
  kElasticScaleUp,
  kElasticSliceDown,
  kElasticReinit,
  kCustom,
  kStepStall,
  kOther,
};
inline constexpr int kCategoryCount = 15;

/// `snake_case` name, the same in JSON, on the command line and in exports.
std::string_view CategoryName(Category category);

/// Inverse of CategoryName. Returns false and leaves `category` alone when there is none such.
bool ParseCategory(std::string_view name, Category* category);

/// One sentence for people: what the category means.
std::string_view CategoryHelp(Category category);

}  // namespace headway
