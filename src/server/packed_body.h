#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

/// Bodies of foreign clients, which are compressed in their ways. Pure; any thread.
/// InvalidArgument: `packed` is not that, or more than `bytes_limit` when it is unpacked; no more
/// memory than that is taken.

namespace headway::server {

/// One block of snappy, without a frame: as Prometheus sends it.
Result<std::string> UnpackSnappy(std::string_view packed, std::size_t bytes_limit);
/// One gzip file, of one member.
Result<std::string> UnpackGzip(std::string_view packed, std::size_t bytes_limit);

}  // namespace headway::server
