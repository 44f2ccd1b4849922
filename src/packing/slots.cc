#include "packing/slots.h"

#include <array>
#include <bit>
#include <cstring>

namespace headway::packing {
namespace {

using journal::kSlotBytes;

static_assert(std::endian::native == std::endian::little, "a journal is little-endian");

constexpr int kZstdLevel = 3;
constexpr std::size_t kWords = kSlotBytes / sizeof(std::uint64_t);

// Small numbers of either sign have small codes.
std::uint64_t Fold(std::uint64_t difference) {
  return difference << 1 ^ (difference >> 63 != 0 ? ~std::uint64_t{0} : 0);
}
std::uint64_t Unfold(std::uint64_t code) {
  return code >> 1 ^ ((code & 1) != 0 ? ~std::uint64_t{0} : 0);
}

// What a slot is expected to hold, by those before it: a time soon after the last one, and values
// near those of the last record of its kind and name.
class Expectation {
 public:
  struct Values {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
  };

  std::uint64_t time = 0;

  Values& Of(std::uint32_t meta_high) { return values_[(meta_high * 0x9e3779b1u) >> 24]; }

 private:
  std::array<Values, 256> values_{};
};

// The rest of a payload are bytes of a text.
bool HasNumbers(std::uint32_t meta_high) { return (meta_high & 0xff) < journal::kPayloadType; }

std::uint32_t ChecksumOf(std::uint32_t salt, std::uint64_t index, const std::uint64_t* word) {
  return journal::SlotCrc(salt, index, static_cast<std::uint32_t>(word[0] >> 32), word[1], word[2],
                          word[3]);
}

// Sixteen words as eight times sixteen bytes.
using Bytes = std::uint8_t __attribute__((vector_size(16)));
constexpr std::size_t kBlock = 16;

// A perfect shuffle of all 128 bytes: those of the first half alternate with those of the second.
// The first of the seven bits of each byte's place becomes the last.
[[gnu::always_inline]] inline void Shuffle(Bytes (&x)[8]) {
  Bytes y[8];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    y[2 * i] = __builtin_shufflevector(x[i], x[i + 4], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6,
                                       22, 7, 23);
    y[2 * i + 1] = __builtin_shufflevector(x[i], x[i + 4], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13,
                                           29, 14, 30, 15, 31);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) x[i] = y[i];
}

// words: [kWords][count]; planes: [kSlotBytes][count], the first bytes of all slots first. The
// place of a byte in a block is four bits of its word and three of the byte in it, or the other way
// round.
void ToPlanes(const std::uint64_t* words, std::size_t count, char* planes) {
  for (std::size_t w = 0; w < kWords; ++w, words += count, planes += 8 * count) {
    std::size_t i = 0;
    for (; i + kBlock <= count; i += kBlock) {
      Bytes block[8];
      std::memcpy(block, words + i, sizeof block);
#pragma GCC unroll 4
      for (int bits = 0; bits < 4; ++bits) Shuffle(block);
      for (std::size_t byte = 0; byte < 8; ++byte) {
        std::memcpy(planes + byte * count + i, &block[byte], kBlock);
      }
    }
    for (; i < count; ++i) {
      for (std::size_t byte = 0; byte < 8; ++byte) {
        planes[byte * count + i] = static_cast<char>(words[i] >> 8 * byte);
      }
    }
  }
}

void FromPlanes(const char* planes, std::size_t count, std::uint64_t* words) {
  for (std::size_t w = 0; w < kWords; ++w, words += count, planes += 8 * count) {
    std::size_t i = 0;
    for (; i + kBlock <= count; i += kBlock) {
      Bytes block[8];
      for (std::size_t byte = 0; byte < 8; ++byte) {
        std::memcpy(&block[byte], planes + byte * count + i, kBlock);
      }
#pragma GCC unroll 4
      for (int bits = 0; bits < 3; ++bits) Shuffle(block);
      std::memcpy(words + i, block, sizeof block);
    }
    for (; i < count; ++i) {
      words[i] = 0;
      for (std::size_t byte = 0; byte < 8; ++byte) {
        words[i] |= std::uint64_t{static_cast<unsigned char>(planes[byte * count + i])} << 8 * byte;
      }
    }
  }
}

}  // namespace

SlotPacker::SlotPacker() : context_(ZSTD_createCCtx()) {
  if (context_ == nullptr) return;
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kZstdLevel);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
}

Result<std::string_view> SlotPacker::Pack(const JournalUid& uid, std::uint64_t first_slot,
                                          std::string_view slots) {
  if (context_ == nullptr) return Status(Code::kResourceExhausted, "no memory to pack records");
  const std::size_t count = slots.size() / kSlotBytes;
  const std::uint32_t salt = journal::SaltOf(uid);
  words_.resize(kWords * count);
  Expectation expected;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t word[kWords];
    std::memcpy(word, slots.data() + i * kSlotBytes, sizeof word);
    const auto high = static_cast<std::uint32_t>(word[0] >> 32);
    word[0] ^= ChecksumOf(salt, first_slot + i, word);
    if (HasNumbers(high)) {
      Expectation::Values& values = expected.Of(high);
      const std::uint64_t time = word[1];
      word[1] = Fold(time - expected.time);
      expected.time = time;
      const Expectation::Values now = {word[2], word[3]};
      word[2] = Fold(now.a - values.a);
      word[3] = Fold(now.b - values.b);
      values = now;
    }
    for (std::size_t w = 0; w < kWords; ++w) words_[w * count + i] = word[w];
  }
  planes_.resize(kSlotBytes * count);
  ToPlanes(words_.data(), count, planes_.data());
  packed_.resize(ZSTD_compressBound(planes_.size()));
  const std::size_t size = ZSTD_compress2(context_.get(), packed_.data(), packed_.size(),
                                          planes_.data(), planes_.size());
  if (ZSTD_isError(size) != 0) {
    return Status(Code::kResourceExhausted,
                  std::string("cannot pack records: ") + ZSTD_getErrorName(size));
  }
  return std::string_view(packed_.data(), size);
}

SlotUnpacker::SlotUnpacker() : context_(ZSTD_createDCtx()) {}

std::optional<std::string_view> SlotUnpacker::Unpack(const JournalUid& uid,
                                                     std::uint64_t first_slot,
                                                     const PackedSlots& packed) {
  if (packed.codec != kSlotsCodec || packed.slots > kSlotsMost || context_ == nullptr) {
    return std::nullopt;
  }
  // One frame, and one that shows damage: what keeps it relies on that.
  constexpr std::size_t kDescriptor = 4;  // behind the magic number
  constexpr unsigned char kChecksum = 1 << 2;
  if (packed.bytes.size() <= kDescriptor ||
      (static_cast<unsigned char>(packed.bytes[kDescriptor]) & kChecksum) == 0 ||
      ZSTD_findFrameCompressedSize(packed.bytes.data(), packed.bytes.size()) !=
          packed.bytes.size()) {
    return std::nullopt;
  }
  const auto count = static_cast<std::size_t>(packed.slots);
  planes_.resize(kSlotBytes * count);
  const std::size_t size = ZSTD_decompressDCtx(context_.get(), planes_.data(), planes_.size(),
                                               packed.bytes.data(), packed.bytes.size());
  if (size != planes_.size()) return std::nullopt;  // errors are sizes beyond all
  words_.resize(kWords * count);
  FromPlanes(planes_.data(), count, words_.data());
  slots_.resize(planes_.size());
  const std::uint32_t salt = journal::SaltOf(uid);
  Expectation expected;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t word[kWords];
    for (std::size_t w = 0; w < kWords; ++w) word[w] = words_[w * count + i];
    const auto high = static_cast<std::uint32_t>(word[0] >> 32);
    if (HasNumbers(high)) {
      Expectation::Values& values = expected.Of(high);
      expected.time = word[1] = expected.time + Unfold(word[1]);
      values.a = word[2] = values.a + Unfold(word[2]);
      values.b = word[3] = values.b + Unfold(word[3]);
    }
    word[0] ^= ChecksumOf(salt, first_slot + i, word);
    std::memcpy(slots_.data() + i * kSlotBytes, word, sizeof word);
  }
  return slots_;
}

}  // namespace headway::packing
