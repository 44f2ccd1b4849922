#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace headway::server {

/// The bytes behind one block of snappy, without a frame, as Prometheus sends it. InvalidArgument:
/// it is none, or more than `bytes_limit`, and no more memory than that is taken. Any thread.
Result<std::string> UnpackSnappy(std::string_view packed, std::size_t bytes_limit);

}  // namespace headway::server
