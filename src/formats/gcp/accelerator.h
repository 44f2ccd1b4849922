#pragma once

#include <string_view>

namespace headway::gcp {

/// What ml-goodput-measurement calls the accelerators of a machine type of Google Cloud:
/// "ct5lp-hightpu-4t" has "TPU-v5e". "UNKNOWN" for a type that it does not know. Pure.
std::string_view AcceleratorOf(std::string_view machine_type);

}  // namespace headway::gcp
