#include "formats/protobuf/message.h"

namespace headway::protobuf {

std::uint64_t ReadFixed(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    value |= std::uint64_t{static_cast<std::uint8_t>(bytes[i])} << (8 * i);
  }
  return value;
}

bool MessageReader::TakeLongVarint(std::uint64_t* value) {
  *value = 0;
  for (std::size_t i = 0; i < rest_.size() && i < 10; ++i) {
    const auto byte = static_cast<std::uint8_t>(rest_[i]);
    *value |= std::uint64_t{byte & 0x7fU} << (7 * i);
    if ((byte & 0x80) == 0) {
      rest_.remove_prefix(i + 1);
      return true;
    }
  }
  return Fail();
}

bool MessageReader::TakeFixed(std::size_t size, std::uint64_t* value) {
  if (rest_.size() < size) return Fail();
  *value = ReadFixed(rest_.substr(0, size));
  rest_.remove_prefix(size);
  return true;
}

}  // namespace headway::protobuf
