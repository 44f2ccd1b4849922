#include "client/shipper.h"

#include <algorithm>
#include <cstring>
#include <future>
#include <optional>
#include <set>
#include <utility>

#include "base/crc32c.h"
#include "base/files.h"
#include "base/limits.h"
#include "journal/format.h"
#include "journal/liveness.h"
#include "wire/journal_piece.h"

namespace headway::client {
namespace {

using journal::kHeaderBytes;
using journal::kSlotBytes;
using journal::Slot;

constexpr std::uint64_t kBlockSlots = packing::kSlotsMost;
// Before they are packed: one is packed while the server works on the one before.
constexpr std::size_t kRequestBytes = std::size_t{16} << 20;
static_assert(kRequestBytes / kSlotBytes <= limits::kAppendSlots);
constexpr std::size_t kWorthPackingSlots = 32;
constexpr int kRequestPieces = 500;
// The server learns of a header, and loses some; more than that makes no sense.
constexpr int kDisagreementsMost = 5;

// An error that another journal need not have.
bool IsAboutOne(const Status& status) {
  switch (status.code()) {
    case Code::kInvalidArgument:
    case Code::kAlreadyExists:
    case Code::kFailedPrecondition:
    case Code::kOutOfRange:
    case Code::kPermissionDenied: return true;  // a token may be for other projects
    default: return false;
  }
}

}  // namespace

/// A request and what it is about.
struct Shipper::Load {
  v1::AppendJournalsRequest request = {};
  std::vector<Journal*> senders = {};  // [num_pieces]
  std::vector<Journal*> again = {};    // those that will have more
  std::vector<std::pair<Journal*, Status>> unread = {};
  std::size_t room = kRequestBytes;  // for slots
  bool full = false;                 // there was no room for all
  bool asks = false;                 // only the answer tells what comes next
  std::size_t plain = 0;             // bytes of slots as they are
  std::size_t packed = 0;            // of packed ones
  packing::SlotPacker* packer = nullptr;
};

/// One journal on its way.
struct Shipper::Journal {
  explicit Journal(transfer::Source opened)
      : source(std::move(opened)),
        salt(journal::SaltOf(source.header.uid)),
        foreign(!transfer::IsOriginal(source)) {}

  /// Adds what is new to the request, as far as there is room; true when that is all there is.
  Result<bool> AddTo(Load* load);
  bool is_supervisors() const { return source.header.origin == journal::Origin::kSupervisor; }
  Result<bool> AddGaps(bool all, Load* load);
  Result<bool> AddTail(bool all, Load* load);
  v1::JournalPiece* AddPiece(Load* load);
  Status Pack(std::uint64_t first, std::string_view slots, Load* load) const;
  Result<std::uint32_t> Checksum() const;
  Status ReadSlots(std::uint64_t first, std::uint64_t count, std::vector<Slot>* slots) const;
  /// The server says how far it is.
  void GoTo(std::uint64_t end);

  transfer::Source source;
  std::uint32_t salt;
  bool foreign;
  bool asked = false;  // where the server is
  bool header_needed = false;
  bool complete = false;  // the server keeps all there will ever be, and knows it
  bool unwanted = false;  // its run was deleted there: nothing more is sent
  struct Kept {
    std::uint64_t end = 0;
    std::vector<Gap> gaps;
    std::optional<std::uint32_t> checksum = 0;  // of [0, end), while nothing was filled in
  };
  // What the server keeps once all that was sent has arrived: [0, end), but for the gaps.
  Kept kept;
  Kept before;        // the same before the last request
  Kept next;          // and once the request that is being made has arrived
  bool waits = true;  // for more: of a copy whose writer nobody sees there may be none
  bool seen = true;   // whether it lives can be told; it counts as alive until all has been sent
};

Status Shipper::Journal::ReadSlots(std::uint64_t first, std::uint64_t count,
                                   std::vector<Slot>* slots) const {
  slots->resize(count);
  const Result<std::size_t> got = ReadAt(source.fd.get(), slots->data(), count * kSlotBytes,
                                         journal::SlotOffset(first), source.path);
  if (!got.ok()) return got.status();
  slots->resize(journal::CompleteSlots(slots->data(), *got));
  return OkStatus();
}

void Shipper::Journal::GoTo(std::uint64_t end) {
  kept.end = end;
  std::erase_if(kept.gaps, [end](const Gap& gap) { return gap.end > end; });
  kept.checksum.reset();
  if (end == 0) kept.checksum = 0;
}

v1::JournalPiece* Shipper::Journal::AddPiece(Load* load) {
  v1::JournalPiece* const piece = load->request.add_pieces();
  load->senders.push_back(this);
  piece->set_uid(source.header.uid.bytes.data(), source.header.uid.bytes.size());
  if (header_needed) piece->set_header(source.bytes.data(), source.bytes.size());
  piece->set_writer(seen ? v1::WRITER_STATE_ALIVE : v1::WRITER_STATE_UNSPECIFIED);
  return piece;
}

Result<bool> Shipper::Journal::AddGaps(bool all, Load* load) {
  std::vector<Slot> slots;
  next.gaps.clear();
  for (std::size_t g = 0; g < kept.gaps.size(); ++g) {
    const Gap& gap = kept.gaps[g];
    for (std::uint64_t at = gap.begin; at < gap.end;) {
      const std::uint64_t count = std::min(kBlockSlots, gap.end - at);
      if (load->room < count * kSlotBytes || load->request.pieces_size() >= kRequestPieces) {
        next.gaps.push_back({at, gap.end});
        next.gaps.insert(next.gaps.end(), kept.gaps.begin() + static_cast<std::ptrdiff_t>(g) + 1,
                         kept.gaps.end());
        load->full = true;
        return false;
      }
      HEADWAY_RETURN_IF_ERROR(ReadSlots(at, count, &slots));
      slots.resize(count);
      for (std::uint64_t i = 0; i < count;) {
        const auto fills = [&](std::uint64_t s) {
          return all ? !transfer::IsZero(slots[s]) : journal::IsFinished(slots[s], salt, at + s);
        };
        const bool filled = fills(i);
        std::uint64_t stop = i + 1;
        while (stop < count && fills(stop) == filled) ++stop;
        if (filled) {
          next.checksum.reset();
          v1::JournalPiece* const piece = AddPiece(load);
          piece->set_first_slot(at + i);
          piece->set_slots(&slots[i], (stop - i) * kSlotBytes);
          piece->set_final(all);
          load->room -= (stop - i) * kSlotBytes;
          load->plain += (stop - i) * kSlotBytes;
        } else if (!all) {
          next.gaps.push_back({at + i, at + stop});
        }
        i = stop;
      }
      at += count;
    }
  }
  return true;
}

Result<bool> Shipper::Journal::AddTail(bool all, Load* load) {
  const Result<std::uint64_t> size = FileSize(source.fd.get(), source.path);
  if (!size.ok()) return size.status();
  const std::uint64_t there = std::min(journal::SlotsOf(*size), limits::kJournalRecords);
  v1::JournalPiece* const piece = AddPiece(load);
  piece->set_final(all);
  piece->set_first_slot(kept.end);
  std::string out;                  // slots [packed, at)
  std::uint64_t packed = kept.end;  // those before are in the piece
  const auto add_to_checksum = [&](std::uint64_t slots) {
    if (next.checksum) next.checksum = Crc32c(out.data(), slots * kSlotBytes, *next.checksum);
  };
  const auto pack = [&](std::uint64_t until) {
    while (packed < until) {
      const std::uint64_t count = std::min(kBlockSlots, until - packed);
      HEADWAY_RETURN_IF_ERROR(
          Pack(packed, std::string_view(out).substr(0, count * kSlotBytes), load));
      add_to_checksum(count);
      out.erase(0, count * kSlotBytes);
      packed += count;
    }
    return OkStatus();
  };
  std::vector<Slot> slots;
  std::uint64_t wanted = kept.end;  // behind the last slot that is worth sending
  next.end = kept.end;
  bool read_all = true;
  for (std::uint64_t at = kept.end; at < there;) {
    const std::uint64_t count = std::min(kBlockSlots, there - at);
    if (load->room < count * kSlotBytes) {
      read_all = false;
      load->full = true;
      break;
    }
    HEADWAY_RETURN_IF_ERROR(ReadSlots(at, count, &slots));
    if (slots.empty()) break;
    for (std::uint64_t i = 0; i < slots.size(); ++i) {
      const bool finished = journal::IsFinished(slots[i], salt, at + i);
      if (finished || (all && !transfer::IsZero(slots[i]))) {
        if (wanted < at + i && !all) next.gaps.push_back({wanted, at + i});
        wanted = at + i + 1;
      } else {
        slots[i] = Slot();  // it may change yet
      }
    }
    out.append(reinterpret_cast<const char*>(slots.data()), slots.size() * kSlotBytes);
    load->room -= slots.size() * kSlotBytes;
    at += slots.size();
    HEADWAY_RETURN_IF_ERROR(pack(wanted - (wanted - packed) % kBlockSlots));
    if (!all && at - wanted > transfer::kQuietSlots) break;
  }
  load->room += out.size() - (wanted - packed) * kSlotBytes;
  out.resize((wanted - packed) * kSlotBytes);
  if (packed > kept.end || wanted - packed >= kWorthPackingSlots) {
    HEADWAY_RETURN_IF_ERROR(pack(wanted));
  } else {
    load->plain += out.size();
    add_to_checksum(out.size() / kSlotBytes);
    piece->set_slots(std::move(out));
  }
  next.end = wanted;
  return read_all;
}

Status Shipper::Journal::Pack(std::uint64_t first, std::string_view slots, Load* load) const {
  const Result<std::string_view> bytes = load->packer->Pack(source.header.uid, first, slots);
  HEADWAY_RETURN_IF_ERROR(bytes.status());
  v1::PackedSlots* const packed = load->request.mutable_pieces()->rbegin()->add_packed();
  packed->set_slots(static_cast<std::uint32_t>(slots.size() / kSlotBytes));
  packed->set_codec(packing::kSlotsCodec);
  packed->set_bytes(bytes->data(), bytes->size());
  load->packed += bytes->size();
  return OkStatus();
}

Result<bool> Shipper::Journal::AddTo(Load* load) {
  next = kept;
  if (load->request.pieces_size() >= kRequestPieces) {
    load->full = true;
    return false;
  }
  if (!asked) {
    load->asks = true;
    v1::JournalPiece* const question = AddPiece(load);
    question->set_writer(v1::WRITER_STATE_UNSPECIFIED);
    // A copy may have got another name.
    if (foreign) question->set_header(source.bytes.data(), source.bytes.size());
    return false;
  }
  // Life first, then the file: what a dead writer has left is all there then.
  const Liveness liveness = journal::ProbeLiveness(source.fd.get(), source.header);
  // What was imported will not grow, whatever is known of who once wrote it.
  const bool imported = source.header.origin == journal::Origin::kImport;
  const bool all = liveness == Liveness::kDead || imported;
  seen = liveness != Liveness::kUnknown || imported;
  waits = seen || !foreign;
  const bool had_gaps = !kept.gaps.empty();
  const Result<bool> gaps_done = AddGaps(all, load);
  if (!gaps_done.ok()) return gaps_done.status();
  load->full |= load->request.pieces_size() >= kRequestPieces;
  if (!*gaps_done || load->full) return false;
  const Result<bool> read_all = AddTail(all, load);
  if (!read_all.ok()) return read_all.status();
  v1::JournalPiece* const piece = &*load->request.mutable_pieces()->rbegin();
  std::byte counters[journal::kLiveLastDropOffset + 8 - journal::kLiveDroppedOffset];
  const Result<std::size_t> got =
      ReadAt(source.fd.get(), counters, sizeof counters, journal::kLiveDroppedOffset, source.path);
  if (!got.ok()) return got.status();
  if (*got == sizeof counters) piece->set_counters(counters, sizeof counters);
  if (!all || !*read_all) return *read_all;
  // The end is told once the rest has arrived.
  if (had_gaps || header_needed || wire::SlotsOf(*piece) > 0) return false;
  const Result<std::uint32_t> checksum = Checksum();
  if (!checksum.ok()) return checksum.status();
  piece->set_writer(v1::WRITER_STATE_DEAD);
  piece->set_checksum(*checksum);
  return true;
}

// Of all that the server should keep.
Result<std::uint32_t> Shipper::Journal::Checksum() const {
  const Result<std::uint64_t> size = FileSize(source.fd.get(), source.path);
  if (kept.checksum && size.ok() && *size >= journal::SlotOffset(kept.end)) return *kept.checksum;
  std::uint32_t crc = 0;
  std::vector<Slot> slots;
  for (std::uint64_t at = 0; at < kept.end; at += slots.size()) {
    HEADWAY_RETURN_IF_ERROR(ReadSlots(at, std::min(kBlockSlots, kept.end - at), &slots));
    if (slots.empty()) {
      return Status(Code::kDataLoss,
                    source.path + " has " + std::to_string(at) + " records, and the server keeps " +
                        std::to_string(kept.end) + ": what it has more was lost here");
    }
    crc = Crc32c(slots.data(), slots.size() * kSlotBytes, crc);
  }
  return crc;
}

Shipper::Shipper(transfer::Scope scope, ServerClient* client)
    : finder_(std::move(scope)), client_(client) {}
Shipper::~Shipper() = default;

Result<bool> Shipper::Round() {
  HEADWAY_RETURN_IF_ERROR(finder_.Look([this](transfer::Source source) {
    journals_.push_back(std::make_unique<Journal>(std::move(source)));
  }));
  // Supervisors come last: of how an attempt ended nothing arrives before what was recorded until
  // then.
  std::ranges::stable_partition(journals_, [](const std::unique_ptr<Journal>& journal) {
    return !journal->is_supervisors();
  });
  std::vector<Journal*> left;
  for (const auto& journal : journals_) {
    if (!journal->complete) left.push_back(journal.get());
  }
  int disagreements = 0;  // in a row
  bool alone = false;     // one journal at a time, to find out which one is refused
  const std::vector<Status>& unreadable = finder_.unreadable();
  refusal_ = unreadable.empty() ? OkStatus() : unreadable.front();
  if (unreadable.size() > 1) {
    refusal_ = Status(refusal_.code(), refusal_.message() + " (and " +
                                           std::to_string(unreadable.size() - 1) +
                                           " more journals can't be read)");
  }
  std::set<const Journal*> refused;
  const auto refuse = [&](const Journal* journal, Status why) {
    refused.insert(journal);
    if (refusal_.ok()) refusal_ = std::move(why);
  };
  std::optional<Load> ready;  // for those that are left
  while (!left.empty()) {
    const Load load = ready ? *std::exchange(ready, std::nullopt) : MakeLoad(left, alone);
    // What is wrong with one file is no reason to keep the others here.
    for (const auto& [journal, why] : load.unread) refuse(journal, why);
    if (load.senders.empty()) break;
    const Result<bool> sent = Send(load, alone ? nullptr : &ready);
    if (!sent.ok()) {
      if (client_->distrusts() || !IsAboutOne(sent.status())) return sent.status();
      if (alone) {
        refuse(left.front(), {sent.status().code(), left.front()->source.path +
                                                        " is refused: " + sent.status().message()});
        left.erase(left.begin());
      }
      alone = true;
      continue;
    }
    disagreements = *sent ? 0 : disagreements + 1;
    if (disagreements > kDisagreementsMost) {
      return Status(Code::kUnimplemented, client_->url() + " does not keep what it is sent");
    }
    if (*sent) left = load.again;  // else those that were behind send once more
    const auto dropped =
        std::erase_if(left, [](const Journal* journal) { return journal->unwanted; });
    if (!*sent || dropped > 0) ready.reset();
  }
  // Their files are closed: there may be many.
  complete_ += std::erase_if(journals_, [this](const auto& journal) {
    if (journal->complete) complete_uids_.push_back(journal->source.header.uid);
    return journal->complete;
  });
  const auto left_alone = static_cast<std::size_t>(
      std::ranges::count_if(journals_, [](const auto& journal) { return !journal->waits; }));
  return journals_.size() <= refused.size() + left_alone;
}

// `alone`: of the first of them only.
Shipper::Load Shipper::MakeLoad(const std::vector<Journal*>& left, bool alone) {
  Load load = {.packer = &packer_};
  for (Journal* const journal : left) {
    // A supervisor has to wait for what others have not said yet.
    const bool waits = load.full || (journal->is_supervisors() && !load.again.empty()) ||
                       (alone && !load.senders.empty());
    if (waits) {
      load.again.push_back(journal);
      continue;
    }
    const Result<bool> complete = journal->AddTo(&load);
    if (!complete.ok()) {
      load.unread.emplace_back(journal, complete.status());
    } else if (!*complete) {
      load.again.push_back(journal);
    }
  }
  return load;
}

// False: the server has less than was thought, or does not know a journal. `ready`: gets the load
// that comes after this one where that can be told before the answer is there; null: none is made.
Result<bool> Shipper::Send(const Load& load, std::optional<Load>* ready) {
  std::vector<Journal*> senders = load.senders;  // pieces of one follow each other
  senders.erase(std::ranges::unique(senders).begin(), senders.end());
  for (Journal* const journal : senders) {
    journal->before = std::exchange(journal->kept, journal->next);
  }
  v1::AppendJournalsResponse response;
  const auto call = [&]() -> Status {
    HEADWAY_RETURN_IF_ERROR(client_->Call("headway.v1.JournalService.AppendJournals", load.request,
                                          &response, load.packed > load.plain));
    if (response.positions_size() == load.request.pieces_size()) return OkStatus();
    return {Code::kUnimplemented, client_->url() + " does not tell what it keeps"};
  };
  Status status;
  if (ready != nullptr && load.full && !load.asks) {
    std::future<Status> answer = std::async(std::launch::async | std::launch::deferred, call);
    *ready = MakeLoad(load.again, false);
    status = answer.get();
  } else {
    status = call();
  }
  if (!status.ok()) {
    if (ready != nullptr) ready->reset();
    for (Journal* const journal : senders) journal->kept = journal->before;
    return status;
  }
  bool agreed = true;
  for (int i = 0; i < response.positions_size(); ++i) {
    Journal& journal = *load.senders[static_cast<std::size_t>(i)];
    const v1::JournalPosition& position = response.positions(i);
    const v1::JournalPiece& piece = load.request.pieces(i);
    if (position.deleted()) {
      journal.asked = journal.complete = journal.unwanted = true;
      removed_.push_back(journal.source.header.run);
      continue;
    }
    const std::uint64_t sent = piece.first_slot() + wire::SlotsOf(piece);
    if (!journal.asked) {
      journal.asked = true;
      journal.GoTo(position.slots());
      journal.header_needed = position.header_needed();
      journal.complete = position.complete();
      if (!journal.complete) incomplete_uids_.push_back(journal.source.header.uid);
      continue;
    }
    if (position.header_needed() || position.slots() < sent) {
      // Such as: it was restored from a backup.
      agreed = false;
      journal.header_needed |= position.header_needed();
      journal.GoTo(position.header_needed() ? 0 : position.slots());
      continue;
    }
    journal.header_needed = false;
    journal.complete = position.complete();
    slots_sent_ += wire::SlotsOf(piece);
  }
  return agreed;
}

}  // namespace headway::client
