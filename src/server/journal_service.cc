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
#include "packing/slots.h"
#include "wire/journal_piece.h"

namespace headway::server {
namespace {

using journal::kSlotBytes;
using journal::Slot;

constexpr std::size_t kCounterBytes =
    journal::kLiveLastDropOffset + sizeof(std::int64_t) - journal::kLiveDroppedOffset;
static_assert(kSlotBytes == store::kSlotBytes);

constexpr std::uint64_t kCheckSlots = 65'536;  // at a time
constexpr std::size_t kSumsMost = 100'000;     // some 10 MB

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

JournalUid UidOf(const v1::JournalPiece& piece) {
  JournalUid uid;
  std::copy_n(piece.uid().data(), uid.bytes.size(), reinterpret_cast<char*>(uid.bytes.data()));
  return uid;
}

packing::PackedSlots View(const v1::PackedSlots& packed) {
  return {.slots = packed.slots(), .codec = packed.codec(), .bytes = packed.bytes()};
}

// Calls take(slots) with what is packed in a piece, in order.
template <typename Take>
Status Unpack(const v1::JournalPiece& piece, packing::SlotUnpacker* unpacker, const Take& take) {
  std::uint64_t at = piece.first_slot();
  for (const v1::PackedSlots& packed : piece.packed()) {
    const auto slots = unpacker->Unpack(UidOf(piece), at, View(packed));
    if (!slots.has_value())
      return Bad("packed slots from slot " + std::to_string(at) + " on are damaged");
    take(*slots);
    at += packed.slots();
  }
  return OkStatus();
}

// The time of the first record: an import has no anchor.
std::int64_t FirstTime(const JournalUid& uid, std::uint64_t first_slot, std::string_view slots) {
  const std::uint32_t salt = journal::SaltOf(uid);
  for (std::uint64_t i = 0; i < slots.size() / kSlotBytes; ++i) {
    const Slot slot = SlotAt(slots, i);
    const auto type = static_cast<std::uint8_t>(slot.meta >> 32);
    if (type < journal::kPayloadType && journal::IsFinished(slot, salt, first_slot + i)) {
      return slot.time;
    }
  }
  return 0;
}

Status CheckScope(const Caller& caller, const store::JournalIdentity& journal) {
  if (!caller.project.empty() && journal.project != caller.project) return OnlyItsProject(caller);
  if (!caller.run.empty() && journal.run != caller.run) return OnlyItsRun(caller);
  return OkStatus();
}

// Asks what is kept of the journal.
bool IsQuestion(const v1::JournalPiece& piece) {
  return wire::SlotsOf(piece) == 0 && piece.writer() == v1::WRITER_STATE_UNSPECIFIED &&
         (piece.header().empty() || piece.counters().empty());
}

// A copy under another name is of another run, but it is the same journal.
Status CheckRun(const std::string& header, const store::JournalIdentity& known) {
  const Result<journal::Header> said =
      journal::DecodeHeader(reinterpret_cast<const std::byte*>(header.data()), header.size(),
                            "journal " + ToHex(known.uid));
  if (!said.ok() || said->run_uid == known.run_uid) return OkStatus();
  return {Code::kAlreadyExists, "journal " + ToHex(known.uid) + " is kept here as one of run \"" +
                                    known.run + "\", and can't be one of run \"" + said->run +
                                    "\", too"};
}

Status CheckShape(const v1::JournalPiece& piece) {
  if (piece.uid().size() != sizeof(JournalUid::bytes)) return Bad("a uid has 16 bytes");
  if (piece.slots().size() % kSlotBytes != 0) return Bad("slots have 32 bytes each");
  for (const v1::PackedSlots& packed : piece.packed()) {
    if (packed.slots() == 0 || packed.slots() > packing::kSlotsMost) {
      return Bad("slots are packed 1 to " + std::to_string(packing::kSlotsMost) + " together");
    }
  }
  if (!piece.slots().empty() && piece.packed_size() > 0) {
    return Bad("a piece has either slots or packed ones");
  }
  const std::uint64_t count = wire::SlotsOf(piece);
  if (piece.first_slot() > limits::kJournalRecords ||
      count > limits::kJournalRecords - piece.first_slot()) {
    return Bad("a journal has at most " + std::to_string(limits::kJournalRecords) + " slots");
  }
  const bool closes = piece.has_checksum() && count == 0;
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
      "headway.v1.JournalService.AppendJournals", Permission::kJournalsAppend, Scope::kByMethod,
      [this](const Caller& caller, const auto& request) {
        return AppendJournals(caller, request);
      });
}

Result<v1::AppendJournalsResponse> JournalService::AppendJournals(
    const Caller& caller, const v1::AppendJournalsRequest& request) {
  if (request.pieces_size() > limits::kAppendPieces) {
    return Bad("a request has at most " + std::to_string(limits::kAppendPieces) + " pieces");
  }
  std::uint64_t slots_in_all = 0;
  for (const v1::JournalPiece& piece : request.pieces()) {
    HEADWAY_RETURN_IF_ERROR(CheckShape(piece));
    slots_in_all += wire::SlotsOf(piece);
  }
  if (slots_in_all > limits::kAppendSlots) {
    return Bad("a request has at most " + std::to_string(limits::kAppendSlots) + " slots");
  }
  // What could not be unpacked later would be lost.
  packing::SlotUnpacker unpacker;
  std::vector<std::uint32_t> crcs;  // [num_pieces] of their slots
  for (const v1::JournalPiece& piece : request.pieces()) {
    std::uint32_t crc = Crc32c(piece.slots().data(), piece.slots().size());
    HEADWAY_RETURN_IF_ERROR(Unpack(piece, &unpacker, [&crc](std::string_view slots) {
      crc = Crc32c(slots.data(), slots.size(), crc);
    }));
    crcs.push_back(crc);
  }
  v1::AppendJournalsResponse response;
  std::vector<store::Batch> batches;
  std::deque<std::string> unpacked_slots;  // what batches point to
  struct Known {
    store::Journal journal;    // as it will be
    bool fresh = false;        // it is not there yet
    std::uint64_t stored = 0;  // slots that are there already
    std::optional<Sum> sum;    // of the journal as it will be
  };
  std::map<JournalUid, Known> journals;
  const std::lock_guard lock(mutex_);
  for (const v1::JournalPiece& piece : request.pieces()) {
    v1::JournalPosition* const position = response.add_positions();
    position->set_uid(piece.uid());
    const JournalUid uid = UidOf(piece);
    const std::uint64_t count = wire::SlotsOf(piece);
    // The slots of this piece as they are; whoever needs no look at them does without.
    std::string* unpacked = nullptr;
    const auto plain = [&]() -> std::string_view {
      if (piece.packed_size() == 0) return piece.slots();
      if (unpacked == nullptr) {
        unpacked = &unpacked_slots.emplace_back();
        const auto add = [&](std::string_view slots) { *unpacked += slots; };
        HEADWAY_CHECK(Unpack(piece, &unpacker, add).ok());
      }
      return *unpacked;
    };
    auto known = journals.find(uid);
    // The end of it, whatever it has: its run was deleted for good.
    const auto refuse_deleted = [&] {
      position->set_slots(piece.first_slot() + count);
      position->set_complete(true);
      position->set_deleted(true);
    };
    if (known == journals.end()) {
      Result<store::Journal> found = store_->FindJournal(uid);
      if (found.status().code() == Code::kFailedPrecondition) {
        refuse_deleted();
        continue;
      }
      if (!found.ok() && found.status().code() != Code::kNotFound) return found.status();
      store::Journal journal;
      if (found.ok()) {
        journal = *std::move(found);
        if (!piece.header().empty()) {
          HEADWAY_RETURN_IF_ERROR(CheckRun(piece.header(), journal.identity));
        }
      } else if (piece.header().empty() || IsQuestion(piece)) {
        position->set_header_needed(true);
        continue;
      } else {
        const Result<journal::Header> header =
            journal::DecodeHeader(reinterpret_cast<const std::byte*>(piece.header().data()),
                                  piece.header().size(), "journal " + ToHex(uid));
        if (!header.ok()) return Bad(header.status().message());
        HEADWAY_RETURN_IF_ERROR(CheckGivenName("the project", header->project));
        HEADWAY_RETURN_IF_ERROR(CheckGivenName("the run's name", header->run));
        if (header->uid != uid) return Bad("the header is of journal " + ToHex(header->uid));
        const Result<bool> purged = store_->WasPurged(header->run_uid);
        if (!purged.ok()) return purged.status();
        if (*purged) {
          refuse_deleted();
          continue;
        }
        journal.identity = {.uid = uid,
                            .run_uid = header->run_uid,
                            .project = header->project,
                            .run = header->run,
                            .start = header->origin == journal::Origin::kImport
                                         ? FirstTime(uid, piece.first_slot(), plain())
                                         : header->anchor.wall.ns,
                            .header = piece.header()};
      }
      HEADWAY_RETURN_IF_ERROR(CheckScope(caller, journal.identity));
      const std::uint64_t stored = journal.state.slots;
      std::optional<Sum> sum;
      if (stored == 0) sum = Sum();
      if (const auto kept = sums_.find(uid); kept != sums_.end() && kept->second.slots == stored) {
        sum = kept->second;
      }
      known = journals.emplace(uid, Known{std::move(journal), !found.ok(), stored, sum}).first;
    }
    store::Journal& journal = known->second.journal;
    std::uint64_t& have = journal.state.slots;
    position->set_slots(have);
    position->set_complete(journal.state.writer == Liveness::kDead);
    if (piece.first_slot() > have) continue;  // a gap: the position tells
    if (position->complete()) continue;       // nothing changes any more
    if (IsQuestion(piece)) continue;

    if (piece.has_checksum()) {
      const Result<bool> fits = Fits(uid, piece, known->second.stored);
      if (!fits.ok()) return fits.status();
      if (!*fits) {
        position->set_slots(0);
        continue;
      }
    }
    const auto add = [&](std::uint64_t first, std::string_view slots,
                         std::vector<packing::PackedSlots> packed = {}) {
      batches.push_back(
          {.identity = journal.identity,
           .first_slot = first,
           .slots = slots,
           .packed = std::move(packed),
           .counters = piece.counters().empty() ? journal.state.counters : piece.counters(),
           .writer = ToModel(piece.writer()),
           .heard = clock_->Wall().ns});
    };
    // What was a hole, and is finished now, is written over; the rest was kept before.
    const std::uint64_t overlap = std::min(count, have - piece.first_slot());
    if (overlap > 0) {
      // What this request has brought itself lies nowhere yet.
      if (piece.first_slot() + overlap > known->second.stored) {
        return Bad("new pieces of one journal may not overlap in one request");
      }
      const Result<std::string> kept = store_->ReadSlots(uid, piece.first_slot(), overlap);
      if (!kept.ok()) return kept.status();
      const std::string_view slots = plain();
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
        known->second.sum.reset();
        std::uint64_t end = i + 1;
        while (end < overlap && fills(end)) ++end;
        add(piece.first_slot() + i, slots.substr(i * kSlotBytes, (end - i) * kSlotBytes));
        i = end;
      }
    }
    std::optional<Sum>& sum = known->second.sum;
    if (overlap > 0 && count > overlap) sum.reset();
    if (overlap == 0 && sum.has_value()) {
      const std::uint32_t crc = crcs[static_cast<std::size_t>(response.positions_size()) - 1];
      sum = Sum{have + count, Crc32cOfBoth(sum->crc, crc, count * kSlotBytes)};
    }
    // A piece that was all there is still a sign of life.
    if (piece.packed_size() > 0 && overlap == 0) {
      std::vector<packing::PackedSlots> packed;
      for (const v1::PackedSlots& some : piece.packed()) packed.push_back(View(some));
      add(piece.first_slot(), {}, std::move(packed));
    } else {
      add(piece.first_slot() + overlap, plain().substr(overlap * kSlotBytes));
    }
    have = std::max(have, piece.first_slot() + count);
    journal.state.writer = ToModel(piece.writer());
    position->set_slots(have);
    position->set_complete(journal.state.writer == Liveness::kDead);
  }
  if (batches.empty()) return response;
  const Status kept = store_->Append(batches);
  if (sums_.size() >= kSumsMost) sums_.clear();
  for (const auto& [uid, known] : journals) {
    const bool goes_on = known.journal.state.writer != Liveness::kDead;
    if (kept.ok() && goes_on && known.sum.has_value()) {
      sums_[uid] = *known.sum;
    } else {
      sums_.erase(uid);
    }
  }
  HEADWAY_RETURN_IF_ERROR(kept);
  for (const auto& [uid, known] : journals) counts_.journals += known.fresh ? 1U : 0U;
  for (const store::Batch& batch : batches) {
    counts_.slots += batch.slots.size() / kSlotBytes;
    counts_.bytes += batch.slots.size();
    for (const packing::PackedSlots& packed : batch.packed) {
      counts_.slots += packed.slots;
      counts_.bytes += packed.bytes.size();
    }
  }
  if (on_records_) {
    std::map<RunUid, bool> runs;
    for (const store::Batch& batch : batches) {
      const Known& known = journals.at(batch.identity.uid);
      runs[batch.identity.run_uid] |= known.fresh || known.journal.state.writer == Liveness::kDead;
    }
    for (const auto& [run, turns] : runs) on_records_(run, turns);
  }
  return response;
}

// Whether the server keeps what the sender has.
Result<bool> JournalService::Fits(const JournalUid& uid, const v1::JournalPiece& piece,
                                  std::uint64_t stored) {
  if (piece.first_slot() != stored) return false;
  if (const auto sum = sums_.find(uid);
      sum != sums_.end() && sum->second.slots == stored && sum->second.crc == piece.checksum()) {
    return true;
  }
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
