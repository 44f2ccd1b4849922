#pragma once

#include <cstdint>
#include <vector>

#include "journal/reader.h"
#include "model/name_table.h"
#include "model/record.h"

namespace headway::runs {

/// What is wrong with a journal, as records of its writer at `time_ns`: it becomes a part of the
/// run's account. `dropped_recorded` is what the journal's own records say of dropped ones;
/// `stepped`: its clock was stepped later on.
std::vector<Record> Findings(const journal::ReadSummary& summary, WriterId writer,
                             std::uint64_t dropped_recorded, std::int64_t time_ns, bool stepped,
                             NameTable* names);

}  // namespace headway::runs
