#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "packing/slots.h"

// Packed slots from anywhere: refused, or unpacked to as many slots as they say, which pack again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headway;
  if (size < 3) return 0;
  const std::uint64_t slots = data[0] | std::uint64_t{data[1]} << 8;
  const std::uint64_t first = data[2];
  const JournalUid uid{};
  static packing::SlotUnpacker unpacker;
  static packing::SlotPacker packer;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 3, size - 3);
  const auto unpacked = unpacker.Unpack(uid, first, {.slots = slots, .bytes = bytes});
  if (!unpacked.has_value()) return 0;
  const std::string kept(*unpacked);
  HEADWAY_CHECK(kept.size() == slots * journal::kSlotBytes);
  const auto packed = packer.Pack(uid, first, kept);
  HEADWAY_CHECK(packed.ok());
  const auto again = unpacker.Unpack(uid, first, {.slots = slots, .bytes = *packed});
  HEADWAY_CHECK(again.has_value() && *again == kept);
  return 0;
}
