#pragma once

#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/uid.h"
#include "journal/format.h"

/// Slots of a journal in a few bytes each, for the way to a server and for its store; what comes
/// out is what went in, byte for byte, whatever it was (docs/formats/packed-slots.md).

namespace headway::packing {

/// What is packed at once has no more slots than this: larger pieces are hardly smaller by the
/// slot, and all of it has to be unpacked for one.
inline constexpr std::uint64_t kSlotsMost = 8192;

/// Codecs are part of the format: never renumber, never reuse. 1 was never released.
inline constexpr std::int64_t kSlotsCodec = 2;

/// A piece of a journal, packed. The bytes are someone else's.
struct PackedSlots {
  std::uint64_t slots = 0;
  std::int64_t codec = kSlotsCodec;
  std::string_view bytes;
};

/// One thread at a time.
class SlotPacker {
 public:
  SlotPacker();

  /// Whole slots of that journal, kSlotsMost at most, the first of which is `first_slot`; the
  /// answer is valid until the next call. ResourceExhausted: no memory.
  Result<std::string_view> Pack(const JournalUid& uid, std::uint64_t first_slot,
                                std::string_view slots);

 private:
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  std::unique_ptr<ZSTD_CCtx, Free> context_;
  std::vector<std::uint64_t> words_;  // [4 * slots]: all first words, all second words, ...
  std::string planes_;
  std::string packed_;
};

/// One thread at a time.
class SlotUnpacker {
 public:
  SlotUnpacker();

  /// What was packed of that journal from `first_slot` on, until the next call; nothing where it
  /// is damaged, or of another codec.
  std::optional<std::string_view> Unpack(const JournalUid& uid, std::uint64_t first_slot,
                                         const PackedSlots& packed);

 private:
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context_;
  std::vector<std::uint64_t> words_;
  std::string planes_;
  std::string slots_;
};

}  // namespace headway::packing
