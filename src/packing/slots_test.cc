#include "packing/slots.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

namespace headway::packing {
namespace {

using journal::kSlotBytes;

JournalUid TestUid() { return DeriveUid<JournalUid>("journal"); }

std::string Bytes(const journal::Slot& slot) {
  return {reinterpret_cast<const char*>(&slot), sizeof slot};
}

// A finished slot of TestUid() at `index`.
std::string Record(std::uint64_t index, std::uint32_t high, std::int64_t time, std::int64_t a,
                   std::int64_t b) {
  journal::Slot slot = {.time = time, .a = a, .b = b};
  slot.meta =
      std::uint64_t{high} << 32 |
      journal::SlotCrc(journal::SaltOf(TestUid()), index, high, static_cast<std::uint64_t>(time),
                       static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b));
  return Bytes(slot);
}

// Steps of about a second, each with a loss.
std::string Steps(std::uint64_t first, std::uint64_t count) {
  std::mt19937_64 random(1);
  std::string slots;
  std::int64_t time = 1'000'000'000'000;
  for (std::uint64_t i = first; i < first + count; ++i) {
    const auto step = static_cast<std::int64_t>(i / 2);
    time += 500'000'000 + static_cast<std::int64_t>(random() % 1'000'000);
    slots +=
        i % 2 == 0
            ? Record(i, journal::MetaHigh(RecordType::kStepStart, 0), time, step, 0)
            : Record(i, journal::NamedMetaHigh(static_cast<std::uint8_t>(RecordType::kMetric), 3),
                     time, step, 0x3ff0000000000000);
  }
  return slots;
}

std::string Pack(std::uint64_t first, const std::string& slots) {
  SlotPacker packer;
  return std::string(*packer.Pack(TestUid(), first, slots));
}

std::optional<std::string> Unpack(std::uint64_t first, std::uint64_t count,
                                  std::string_view packed) {
  SlotUnpacker unpacker;
  const auto slots = unpacker.Unpack(TestUid(), first, {.slots = count, .bytes = packed});
  if (!slots.has_value()) return std::nullopt;
  return std::string(*slots);
}

TEST(PackedSlots, RecordsComeBackAndTakeATenth) {
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{1} << 33}) {
    for (const std::uint64_t count : {1, 2, 7, 8, 9, 63, 64, 1000, 8192}) {
      const std::string slots = Steps(first, count);
      const std::string packed = Pack(first, slots);
      EXPECT_TRUE(Unpack(first, count, packed) == slots) << count << " from " << first;
    }
  }
  EXPECT_LT(Pack(0, Steps(0, kSlotsMost)).size(), kSlotsMost * 3.2);
}

TEST(PackedSlots, AnyBytesComeBack) {
  std::mt19937_64 random(2);
  SlotPacker packer;
  SlotUnpacker unpacker;
  for (int round = 0; round < 2000; ++round) {
    const std::uint64_t first = random() % 2 == 0 ? random() % 100 : random();
    const std::uint64_t count = 1 + random() % (round % 50 == 0 ? kSlotsMost : 40);
    std::string slots(count * kSlotBytes, '\0');
    // Records, holes, payloads, damage, noise, by chance side by side.
    for (std::uint64_t i = 0; i < count; ++i) {
      journal::Slot slot;
      switch (random() % 5) {
        case 0: break;
        case 1: slot = {random(), static_cast<std::int64_t>(random()), 5, -7}; break;
        case 2: slot = {random() << 40, INT64_MIN, INT64_MAX, static_cast<std::int64_t>(i)}; break;
        case 3: slot = {std::uint64_t{0x80 + random() % 3} << 32 | 9, 0x6c6c6568, 1, 2}; break;
        default: {
          const std::string record = Record(first + i, static_cast<std::uint32_t>(random() % 300),
                                            static_cast<std::int64_t>(i), -3, 4);
          std::memcpy(&slot, record.data(), sizeof slot);
        }
      }
      std::memcpy(slots.data() + i * kSlotBytes, &slot, sizeof slot);
    }
    const auto packed = packer.Pack(TestUid(), first, slots);
    ASSERT_TRUE(packed.ok());
    const auto back = unpacker.Unpack(TestUid(), first, {.slots = count, .bytes = *packed});
    ASSERT_TRUE(back.has_value() && *back == slots) << "round " << round;
  }
}

TEST(PackedSlots, DamageIsNoticed) {
  const std::string slots = Steps(0, 100);
  const std::string packed = Pack(0, slots);
  for (std::size_t i = 0; i < packed.size(); ++i) {
    std::string damaged = packed;
    damaged[i] ^= 0x10;
    const auto back = Unpack(0, 100, damaged);
    EXPECT_TRUE(!back.has_value() || *back == slots) << "byte " << i;
    EXPECT_FALSE(Unpack(0, 100, std::string_view(packed).substr(0, i)).has_value());
  }
  EXPECT_FALSE(Unpack(0, 99, packed).has_value());
  EXPECT_FALSE(Unpack(0, 101, packed).has_value());
  EXPECT_FALSE(Unpack(0, kSlotsMost + 1, packed).has_value());
  EXPECT_FALSE(Unpack(0, ~std::uint64_t{0}, packed).has_value());
  SlotUnpacker unpacker;
  for (const std::int64_t codec : {0, 1, 3, -2}) {
    EXPECT_FALSE(
        unpacker.Unpack(TestUid(), 0, {.slots = 100, .codec = codec, .bytes = packed}).has_value());
  }
}

TEST(PackedSlots, AFrameIsOneAndHasAChecksum) {
  const std::string slots = Steps(0, 100);
  const std::string packed = Pack(0, slots);
  std::string planes(slots.size(), '\0');
  ASSERT_EQ(ZSTD_decompress(planes.data(), planes.size(), packed.data(), packed.size()),
            planes.size());
  std::string plain(ZSTD_compressBound(planes.size()), '\0');
  plain.resize(ZSTD_compress(plain.data(), plain.size(), planes.data(), planes.size(), 3));
  EXPECT_FALSE(Unpack(0, 100, plain).has_value()) << "no checksum";
  const std::string skipped("\x50\x2a\x4d\x18\x02\0\0\0xx", 10);
  EXPECT_FALSE(Unpack(0, 100, skipped + packed).has_value());
  EXPECT_FALSE(Unpack(0, 100, packed + skipped).has_value());
  EXPECT_FALSE(Unpack(0, 0, "").has_value());
}

TEST(PackedSlots, TheFormatIsWhatTheDocumentSays) {
  // The example of docs/formats/packed-slots.md: two steps, a second apart, before zstd.
  const std::uint32_t high = journal::MetaHigh(RecordType::kStepStart, 0);
  const std::string slots = Record(0, high, 1000, 5, 0) + Record(1, high, 1003, 4, 0);
  const std::string packed = Pack(0, slots);
  std::string planes(2 * kSlotBytes, '\xff');
  ASSERT_EQ(ZSTD_decompress(planes.data(), planes.size(), packed.data(), packed.size()),
            planes.size());
  std::string expected(2 * kSlotBytes, '\0');
  expected[2 * 4] = expected[2 * 4 + 1] = 3;  // the type: its column is the fifth
  expected[2 * 8] = static_cast<char>(2000 & 0xff), expected[2 * 9] = 2000 >> 8;  // +1000
  expected[2 * 8 + 1] = 6;                                                        // +3
  expected[2 * 16] = 10;                                                          // +5
  expected[2 * 16 + 1] = 1;                                                       // -1
  EXPECT_EQ(planes, expected);
}

}  // namespace
}  // namespace headway::packing
