#pragma once

#include <string_view>

#include "base/status.h"
#include "model/config.h"

namespace headway::config {

/// A recorded configuration: one JSON object. Numbers keep their text; of a key that occurs twice
/// the later one is brought over the earlier one, as with two configurations.
///
/// InvalidArgument, with the place: it is no JSON, not UTF-8, no object, or nested deeper than
/// limits::kJsonDepth. ResourceExhausted: it has more than limits::kConfigValues values.
Result<ConfigValue> ReadConfig(std::string_view json);

}  // namespace headway::config
