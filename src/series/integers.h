#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "series/bytes.h"

namespace headway::series {

/// Appends the values, in whatever is the smallest of several ways ("a sequence" in
/// docs/formats/series-columns.md). At most limits::kSeriesColumn. How many they are is not said.
void PackIntegers(std::span<const std::int64_t> values, std::string* out);

/// Reads as many as `out` holds, at most limits::kSeriesColumn. What is amiss fails `in`; not OK
/// itself only where there is no memory.
Status UnpackIntegers(ByteReader* in, std::span<std::int64_t> out);

}  // namespace headway::series
