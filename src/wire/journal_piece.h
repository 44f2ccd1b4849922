#pragma once

#include <headway/v1/journal_service.pb.h>

#include <cstdint>

namespace headway::wire {

/// How many slots a piece carries, of either kind; a part of one counts for nothing.
std::uint64_t SlotsOf(const v1::JournalPiece& piece);

}  // namespace headway::wire
