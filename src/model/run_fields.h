#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "model/filter.h"
#include "model/report.h"

namespace headway {

/// What a list of runs can be filtered and ordered by: name, project, state, start, elapsed,
/// goodput, attempts. docs/cli.md lists them for users.
std::span<const FilterField> RunFields();

/// The value of `RunFields()[field]` of a run. `name` is the name as recorded, without a date.
FieldValue RunFieldValue(std::string_view name, const Report& report, std::size_t field);

}  // namespace headway
