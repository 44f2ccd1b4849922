#include "wire/journal_piece.h"

namespace headway::wire {
namespace {

constexpr std::uint64_t kSlotBytes = 32;

}  // namespace

std::uint64_t SlotsOf(const v1::JournalPiece& piece) {
  std::uint64_t count = piece.slots().size() / kSlotBytes;
  for (const v1::PackedSlots& packed : piece.packed()) count += packed.slots();
  return count;
}

}  // namespace headway::wire
