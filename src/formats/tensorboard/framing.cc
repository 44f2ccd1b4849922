#include "formats/tensorboard/framing.h"

#include "base/crc32c.h"

namespace headway::tensorboard {

std::uint32_t MaskedCrc(std::string_view bytes) {
  const std::uint32_t crc = Crc32c(bytes.data(), bytes.size());
  return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

}  // namespace headway::tensorboard
