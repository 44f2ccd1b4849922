#include "server/snappy.h"

#include <snappy.h>

namespace headway::server {

Result<std::string> UnpackSnappy(std::string_view packed, std::size_t bytes_limit) {
  std::size_t size = 0;
  if (!snappy::GetUncompressedLength(packed.data(), packed.size(), &size)) {
    return Status(Code::kInvalidArgument, "the body is not snappy");
  }
  if (size > bytes_limit) {
    return Status(Code::kInvalidArgument, "the body is more than " + std::to_string(bytes_limit) +
                                              " bytes when it is decompressed");
  }
  // A byte of snappy makes at most 64 / 3: what claims more is none, and gets no memory.
  if (size / 22 > packed.size()) {
    return Status(Code::kInvalidArgument, "the body is not snappy: it is cut off");
  }
  std::string whole(size, '\0');
  if (!snappy::RawUncompress(packed.data(), packed.size(), whole.data())) {
    return Status(Code::kInvalidArgument, "the body is not snappy: it is damaged");
  }
  return whole;
}

}  // namespace headway::server
