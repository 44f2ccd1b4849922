#include "server/journal_service.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "base/limits.h"
#include "base/names.h"
#include "journal/format.h"

namespace headway::server {
namespace {

using journal::kSlotBytes;
using journal::Slot;

constexpr std::size_t kCounterBytes =
    journal::kLiveLastDropOffset + sizeof(std::int64_t) - journal::kLiveDroppedOffset;
static_assert(kSlotBytes == store::kSlotBytes);

constexpr std::uint64_t kCheckSlots = 65'536;  // at a time

Status Bad(const std::string& what) { return {Code::kInvalidArgument, what}; }

Slot SlotAt(std::string_view slots, std::uint64_t i) {
  Slot slot;
  std::memcpy(&slot, slots.data() + i * kSlotBytes, kSlotBytes);
  return slot;
}

Liveness ToModel(v1::WriterState state) {
  switch (state) {
    case v1::WRITER_STATE_ALIVE: return Liveness::kAlive;
    case v1::WRITER_STATE_DEAD: return Liveness::kDead;
    default: return Liveness::kUnknown;
  }
}

// Wall time at which a journal begins: an import has no anchor, but records.
std::int64_t StartOf(const journal::Header& header, const v1::JournalPiece& piece) {
  if (header.origin != journal::Origin::kImport) return header.anchor.wall.ns;
  const std::uint32_t salt = journal::SaltOf(header.uid);
  for (std::uint64_t i = 0; i < piece.slots().size() / kSlotBytes; ++i) {
    const Slot slot = SlotAt(piece.slots(), i);
    const auto type = static_cast<std::uint8_t>(slot.meta >> 32);
    if (type < journal::kPayloadType && journal::IsFinished(slot, salt, piece.first_slot() + i)) {
      return slot.time;
    }
  }
  return 0;
}

Status CheckShape(const v1::JournalPiece& piece) {
  if (piece.uid().size() != sizeof(JournalUid::bytes)) return Bad("a uid has 16 bytes");
  if (piece.slots().size() % kSlotBytes != 0) return Bad("slots have 32 bytes each");
  const std::uint64_t count = piece.slots().size() / kSlotBytes;
  if (piece.first_slot() > limits::kJournalRecords ||
      count > limits::kJournalRecords - piece.first_slot()) {
    return Bad("a journal has at most " + std::to_string(limits::kJournalRecords) + " slots");
  }
  const bool closes = piece.has_checksum() && piece.slots().empty();
  if ((piece.writer() == v1::WRITER_STATE_DEAD || piece.has_checksum()) && !closes) {
    return Bad("the end of a journal is told with a checksum, by a piece without slots");
  }
  if (!piece.counters().empty() && piece.counters().size() != kCounterBytes) {
    return Bad("the counters have " + std::to_string(kCounterBytes) + " bytes");
  }
  return OkStatus();
}

}  // namespace

void JournalService::AddTo(ConnectRouter* router) {
  router->Add<v1::AppendJournalsRequest, v1::AppendJournalsResponse>(
      "headway.v1.JournalService.AppendJournals",
      [this](const Caller&, const auto& request) { return AppendJournals(request); });
}

Result<v1::AppendJournalsResponse> JournalService::AppendJournals(
    const v1::AppendJournalsRequest& request) {
  if (request.pieces_size() > limits::kAppendPieces) {
    return Bad("a request has at most " + std::to_string(limits::kAppendPieces) + " pieces");
  }
  for (const v1::JournalPiece& piece : request.pieces()) HEADWAY_RETURN_IF_ERROR(CheckShape(piece));
  v1::AppendJournalsResponse response;
  std::vector<store::Batch> batches;
  struct Known {
    store::Journal journal;    // as it will be
    std::uint64_t stored = 0;  // slots that are there already
  };
  std::map<JournalUid, Known> journals;
  const std::lock_guard lock(mutex_);
  for (const v1::JournalPiece& piece : request.pieces()) {
    v1::JournalPosition* const position = response.add_positions();
    position->set_uid(piece.uid());
    JournalUid uid;
    std::copy_n(piece.uid().data(), uid.bytes.size(), reinterpret_cast<char*>(uid.bytes.data()));
    auto known = journals.find(uid);
    if (known == journals.end()) {
      Result<store::Journal> found = store_->FindJournal(uid);
      if (!found.ok() && found.status().code() != Code::kNotFound) return found.status();
      store::Journal journal;
      if (found.ok()) {
        journal = *std::move(found);
      } else if (piece.header().empty()) {
        position->set_header_needed(true);
        continue;
      } else {
        const Result<journal::Header> header =
            journal::DecodeHeader(reinterpret_cast<const std::byte*>(piece.header().data()),
                                  piece.header().size(), "journal " + ToHex(uid));
        if (!header.ok()) return Bad(header.status().message());
        HEADWAY_RETURN_IF_ERROR(CheckNewName("the project", header->project));
        HEADWAY_RETURN_IF_ERROR(CheckNewName("the run's name", header->run));
        if (header->uid != uid) return Bad("the header is of journal " + ToHex(header->uid));
        journal.identity = {.uid = uid,
                            .run_uid = header->run_uid,
                            .project = header->project,
                            .run = header->run,
                            .start = StartOf(*header, piece),
                            .header = piece.header()};
      }
      const std::uint64_t stored = journal.state.slots;
      known = journals.emplace(uid, Known{std::move(journal), stored}).first;
    }
    store::Journal& journal = known->second.journal;
    std::uint64_t& have = journal.state.slots;
    position->set_slots(have);
    position->set_complete(journal.state.writer == Liveness::kDead);
    if (piece.first_slot() > have) continue;                       // a gap: the position tells
    if (position->complete() && !piece.slots().empty()) continue;  // nothing changes any more
    if (piece.slots().empty() && piece.header().empty() &&
        piece.writer() == v1::WRITER_STATE_UNSPECIFIED) {
      continue;  // a question
    }

    if (piece.has_checksum()) {
      const Result<bool> fits = Fits(uid, piece, known->second.stored);
      if (!fits.ok()) return fits.status();
      if (!*fits) {
        position->set_slots(0);
        continue;
      }
    }
    const auto add = [&](std::uint64_t first, std::string_view slots) {
      batches.push_back(
          {.identity = journal.identity,
           .first_slot = first,
           .slots = slots,
           .counters = piece.counters().empty() ? journal.state.counters : piece.counters(),
           .writer = ToModel(piece.writer()),
           .heard = clock_->Wall().ns});
    };
    const std::string_view slots = piece.slots();
    const std::uint64_t count = slots.size() / kSlotBytes;
    // What was a hole, and is finished now, is written over; the rest was kept before.
    const std::uint64_t overlap = std::min(count, have - piece.first_slot());
    if (overlap > 0) {
      // What this request has brought itself lies nowhere yet.
      if (piece.first_slot() + overlap > known->second.stored) {
        return Bad("new pieces of one journal may not overlap in one request");
      }
      const Result<std::string> kept = store_->ReadSlots(uid, piece.first_slot(), overlap);
      if (!kept.ok()) return kept.status();
      const std::uint32_t salt = journal::SaltOf(uid);
      const auto fills = [&](std::uint64_t i) -> bool {
        if (std::memcmp(kept->data() + i * kSlotBytes, slots.data() + i * kSlotBytes, kSlotBytes) ==
            0) {
          return false;
        }
        const std::uint64_t index = piece.first_slot() + i;
        return (piece.final() || journal::IsFinished(SlotAt(slots, i), salt, index)) &&
               !journal::IsFinished(SlotAt(*kept, i), salt, index);
      };
      for (std::uint64_t i = 0; i < overlap; ++i) {
        if (!fills(i)) continue;
        std::uint64_t end = i + 1;
        while (end < overlap && fills(end)) ++end;
        add(piece.first_slot() + i, slots.substr(i * kSlotBytes, (end - i) * kSlotBytes));
        i = end;
      }
    }
    // A piece that was all there is still a sign of life.
    add(piece.first_slot() + overlap, slots.substr(overlap * kSlotBytes));
    have = std::max(have, piece.first_slot() + count);
    journal.state.writer = ToModel(piece.writer());
    position->set_slots(have);
    position->set_complete(journal.state.writer == Liveness::kDead);
  }
  if (!batches.empty()) HEADWAY_RETURN_IF_ERROR(store_->Append(batches));
  return response;
}

// Whether the server keeps what the sender has.
Result<bool> JournalService::Fits(const JournalUid& uid, const v1::JournalPiece& piece,
                                  std::uint64_t stored) {
  if (piece.first_slot() != stored) return false;
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0; at < stored; at += kCheckSlots) {
    const Result<std::string> slots =
        store_->ReadSlots(uid, at, std::min(kCheckSlots, stored - at));
    if (!slots.ok()) return slots.status();
    crc = Crc32c(slots->data(), slots->size(), crc);
  }
  return crc == piece.checksum();
}

}  // namespace headway::server
