#pragma once

#include <zstd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

/// Slots of a journal as the database keeps them.

namespace headway::store {

/// A chunk has no more slots than this: larger ones are hardly smaller by the slot, and more has to
/// be unpacked for one.
inline constexpr std::uint64_t kChunkSlots = 8192;

/// Codecs are part of the format: never renumber, never reuse.
/// 1: the first bytes of all slots, then their second bytes and so on, as one zstd frame with its
/// checksum. Bytes at the same place in neighbouring slots are alike, those within a slot are not:
/// it takes a quarter to a third less than the slots as they are, and is faster.
inline constexpr std::int64_t kColumnsCodec = 1;

struct Chunk {
  std::uint64_t first_slot = 0;
  std::uint64_t slots = 0;
  std::string bytes;
};

class Compressor {
 public:
  Compressor();

  /// Whole slots, the first of which is `first_slot`, as chunks.
  Result<std::vector<Chunk>> Compress(std::uint64_t first_slot, std::string_view slots);

 private:
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  std::unique_ptr<ZSTD_CCtx, Free> context_;
  std::string columns_;
  std::string compressed_;
};

class Decompressor {
 public:
  /// The slots of a chunk, until the next call; nothing where it is damaged.
  std::optional<std::string_view> Decompress(std::int64_t codec, std::string_view bytes,
                                             std::uint64_t slots);

 private:
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context_{ZSTD_createDCtx()};
  std::string columns_;
  std::string slots_;
};

}  // namespace headway::store
