#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "server/gzip.h"
#include "server/snappy.h"

// Any bytes are a body in snappy or gzip; it takes no more memory than it may.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kLimit = 1 << 20;
  const std::string_view packed(reinterpret_cast<const char*>(data), size);
  for (const auto unpack : {&headway::server::UnpackSnappy, &headway::server::Gunzip}) {
    const headway::Result<std::string> whole = unpack(packed, kLimit);
    HEADWAY_CHECK(whole.ok() ? whole->size() <= kLimit
                             : whole.status().code() == headway::Code::kInvalidArgument);
  }
  return 0;
}
