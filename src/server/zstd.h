#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace headway::server {

/// The bytes behind one or more zstd frames. InvalidArgument: they are none, are cut off, or would
/// be more than `bytes_limit`, of which no more is ever held. ResourceExhausted: no memory.
Result<std::string> Decompress(std::string_view packed, std::size_t bytes_limit);

/// One zstd frame of them with a checksum, fast rather than small. ResourceExhausted: no memory.
Result<std::string> Compress(std::string_view bytes);

}  // namespace headway::server
