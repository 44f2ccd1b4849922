#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace headway::server {

/// The bytes behind one or more gzip members. InvalidArgument: they are none, are cut off or
/// damaged, or would be more than `bytes_limit`, of which no more is ever held. ResourceExhausted:
/// no memory.
Result<std::string> Gunzip(std::string_view packed, std::size_t bytes_limit);

/// As one gzip member: quickly rather than small. ResourceExhausted: no memory.
Result<std::string> Gzip(std::string_view bytes);

}  // namespace headway::server
