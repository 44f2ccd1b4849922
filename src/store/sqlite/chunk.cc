#include "store/sqlite/chunk.h"

#include <algorithm>
#include <cstddef>

#include "store/record_store.h"

namespace headway::store {
namespace {

constexpr int kZstdLevel = 3;

// Calls move(slot, byte) in an order that keeps what it touches in the cache.
template <typename Move>
void ForEachByte(std::size_t slots, const Move& move) {
  constexpr std::size_t kTogether = 256;
  for (std::size_t begin = 0; begin < slots; begin += kTogether) {
    const std::size_t end = std::min(slots, begin + kTogether);
    for (std::size_t byte = 0; byte < kSlotBytes; ++byte) {
      for (std::size_t slot = begin; slot < end; ++slot) move(slot, byte);
    }
  }
}

}  // namespace

Compressor::Compressor() : context_(ZSTD_createCCtx()) {
  if (context_ == nullptr) return;
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kZstdLevel);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
}

Result<std::vector<Chunk>> Compressor::Compress(std::uint64_t first_slot, std::string_view slots) {
  std::vector<Chunk> chunks;
  if (context_ == nullptr) {
    return Status(Code::kResourceExhausted, "cannot compress records: no memory is left");
  }
  while (!slots.empty()) {
    const std::string_view piece = slots.substr(0, kChunkSlots * kSlotBytes);
    slots.remove_prefix(piece.size());
    const std::size_t count = piece.size() / kSlotBytes;
    columns_.resize(piece.size());
    ForEachByte(count, [&](std::size_t slot, std::size_t byte) {
      columns_[byte * count + slot] = piece[slot * kSlotBytes + byte];
    });
    compressed_.resize(ZSTD_compressBound(columns_.size()));
    const std::size_t size = ZSTD_compress2(context_.get(), compressed_.data(), compressed_.size(),
                                            columns_.data(), columns_.size());
    if (ZSTD_isError(size) != 0) {
      return Status(Code::kResourceExhausted,
                    std::string("cannot compress records: ") + ZSTD_getErrorName(size));
    }
    chunks.push_back({first_slot, count, compressed_.substr(0, size)});
    first_slot += count;
  }
  return chunks;
}

std::optional<std::string_view> Decompressor::Decompress(std::int64_t codec, std::string_view bytes,
                                                         std::uint64_t slots) {
  if (codec != kColumnsCodec || context_ == nullptr) return std::nullopt;
  columns_.resize(slots * kSlotBytes);
  slots_.resize(columns_.size());
  const std::size_t size = ZSTD_decompressDCtx(context_.get(), columns_.data(), columns_.size(),
                                               bytes.data(), bytes.size());
  if (size != columns_.size()) return std::nullopt;  // errors are sizes beyond all
  ForEachByte(slots, [&](std::size_t slot, std::size_t byte) {
    slots_[slot * kSlotBytes + byte] = columns_[byte * slots + slot];
  });
  return slots_;
}

}  // namespace headway::store
