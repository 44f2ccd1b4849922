#include "journal/reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/files.h"
#include "base/limits.h"
#include "base/wrapping.h"

namespace headway::journal {
namespace {

// More drops than a writer can have: a thousand million a second for three months.
constexpr std::uint64_t kDropsMax = std::uint64_t{1} << 53;

constexpr std::uint64_t kBufferSlots = 2048;  // 64 KiB: stays in a core's cache

// How the words of a valid slot become a Record.
enum class Shape : std::uint8_t {
  kUnknown,      // skipped and counted
  kPlain,        // type, thread, time, a, b
  kSpanBegin,    // + kind, blocking; b is the name
  kSpanEnd,      // + kind, blocking; b is begin and name
  kNamed,        // name in place of kind, blocking, thread
  kPayloadHead,  // likewise; a is the payload's size, b its checksum
  kDropped,      // b is a time
  kNameDefinition,
  kPayloadPart,
};

constexpr std::array<Shape, 256> MakeShapes() {
  std::array<Shape, 256> shapes{};
  for (const RecordType type :
       {RecordType::kJobStart, RecordType::kJobEnd, RecordType::kStepStart, RecordType::kStepEnd,
        RecordType::kStepSoftEnd, RecordType::kCapacity, RecordType::kCheckpointSaved,
        RecordType::kHeartbeat, RecordType::kExit, RecordType::kRollback, RecordType::kQuery,
        RecordType::kClock, RecordType::kNotice, RecordType::kProcessEnd}) {
    shapes[static_cast<std::size_t>(type)] = Shape::kPlain;
  }
  shapes[static_cast<std::size_t>(RecordType::kSpanBegin)] = Shape::kSpanBegin;
  shapes[static_cast<std::size_t>(RecordType::kSpanEnd)] = Shape::kSpanEnd;
  shapes[static_cast<std::size_t>(RecordType::kExclude)] = Shape::kNamed;
  shapes[static_cast<std::size_t>(RecordType::kNote)] = Shape::kNamed;
  shapes[static_cast<std::size_t>(RecordType::kMetric)] = Shape::kNamed;
  shapes[static_cast<std::size_t>(RecordType::kConfig)] = Shape::kPayloadHead;
  shapes[static_cast<std::size_t>(RecordType::kStderrTail)] = Shape::kPayloadHead;
  shapes[static_cast<std::size_t>(RecordType::kDropped)] = Shape::kDropped;
  shapes[kNameType] = Shape::kNameDefinition;
  shapes[kPayloadType] = Shape::kPayloadPart;
  return shapes;
}
constexpr std::array<Shape, 256> kShapes = MakeShapes();

// The byte of a span record with kind and blocking: whether it holds what it may.
constexpr std::uint32_t kSpanKindBits = 31;
bool IsSpan(std::uint32_t kind_and_blocking) {
  const std::uint32_t kind = kind_and_blocking & kSpanKindBits;
  return kind != 0 && kind < kSpanKindCount && (kind_and_blocking >> 5) <= 2;
}

std::string Plural(std::uint64_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

}  // namespace

std::string_view FindingCode(FindingKind kind) {
  switch (kind) {
    case FindingKind::kInProgress: return "in_progress";
    case FindingKind::kTombstone: return "journal_hole";
    case FindingKind::kTornTail: return "torn_tail";
    case FindingKind::kCorrupt: return "journal_damage";
  }
  return "";
}

std::string FindingText(const Finding& finding) {
  const std::string at = "at byte " + std::to_string(finding.offset);
  const std::string records = Plural(finding.slots, "record");
  const std::string size = std::to_string(finding.slots * kSlotBytes) + " bytes";
  switch (finding.kind) {
    case FindingKind::kInProgress: return at + " a record is being written";
    case FindingKind::kTombstone:
      return at + " " + records + (finding.slots == 1 ? " was" : " were") +
             " being written when the process died";
    case FindingKind::kTornTail: return "the last record, " + at + ", was cut off";
    case FindingKind::kCorrupt:
      return records + " damaged " + at + " (" + size + "): the checksum does not fit";
  }
  return at;
}

Status ReadSummary::Check(std::string_view path) const {
  if (corrupt == 0 && damaged_counter) {
    return {Code::kDataLoss, std::string(path) + ": the count of dropped records at byte " +
                                 std::to_string(kLiveDroppedOffset) + " is damaged; the " +
                                 Plural(records, "record") + " can be used"};
  }
  if (corrupt == 0) return OkStatus();
  std::string where;
  std::uint64_t stretches = 0;
  for (const Finding& finding : findings) {
    if (finding.kind != FindingKind::kCorrupt || stretches++ > 0) continue;
    where = " at byte " + std::to_string(finding.offset) + " (" +
            std::to_string(finding.slots * kSlotBytes) + " bytes)";
  }
  if (stretches > 1) where += " and at " + Plural(stretches - 1, "more place");
  return {Code::kDataLoss, std::string(path) + ": " + Plural(corrupt, "record") + " damaged" +
                               where + ": the checksum does not fit what was written; the other " +
                               Plural(records, "record") + " can be used"};
}

struct JournalReader::Impl {
  // A stretch of slots before a valid one that are not valid themselves.
  struct Gap {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  std::string path;
  ReaderOptions options;
  std::unique_ptr<JournalBytes> bytes;
  Header header;
  std::uint32_t salt = 0;
  std::int64_t to_wall = 0;  // wall = mono + to_wall
  Liveness liveness = Liveness::kUnknown;

  std::uint64_t file_bytes = 0;
  std::uint64_t end = 0;         // of its slots, the last of which it may have in part
  std::uint64_t position = 0;    // next slot to look at
  std::uint64_t last_valid = 0;  // one more than the last valid slot
  bool blocked = false;          // stopped at a hole of a living writer

  std::vector<Slot> buffer;
  std::uint64_t buffer_begin = 0;
  std::uint64_t buffer_end = 0;

  std::vector<Gap> gaps;              // in file order
  std::vector<std::uint64_t> filled;  // slots in gaps that a Refresh found filled
  std::vector<NameId> names;          // by the journal's own id
  ReadSummary sums;                   // findings and counts of gaps are made on demand

  bool MayStillWrite() const { return liveness == Liveness::kAlive; }

  void GoTo(const ReaderPlace& place) {
    position = last_valid = place.next;
    sums.records = place.records;
    sums.unknown_types = place.unknown_types;
    sums.unknown_names = place.unknown_names;
    for (const auto& [begin, behind] : place.gaps) gaps.push_back({begin, behind});
    names.clear();
    for (const std::string& name : place.names) names.push_back(options.names->Intern(name));
    if (names.empty()) names.push_back(0);
  }

  Status Look() {
    const Result<std::uint64_t> size = bytes->Size();
    if (!size.ok()) return size.status();
    file_bytes = *size;
    end = std::min(SlotsOf(file_bytes), limits::kJournalRecords);
    buffer_begin = buffer_end = 0;
    return OkStatus();
  }

  // How many there are.
  Result<std::uint64_t> ReadSlots(std::uint64_t from, std::uint64_t count, Slot* out) const {
    const Result<std::size_t> got = bytes->ReadAt(out, count * kSlotBytes, SlotOffset(from));
    if (!got.ok()) return got.status();
    return CompleteSlots(out, *got);
  }

  Status Fill(std::uint64_t from) {
    const std::uint64_t count = std::min(kBufferSlots, end - from);
    const Result<std::uint64_t> got = ReadSlots(from, count, buffer.data());
    if (!got.ok()) return got.status();
    buffer_begin = from;
    buffer_end = from + *got;
    if (buffer_end < from + count) end = buffer_end;  // someone has cut the file meanwhile
    return OkStatus();
  }

  // Copies slots [from, from + count) to `out`; false when the file does not have them all.
  bool Fetch(std::uint64_t from, std::uint64_t count, Slot* out) const {
    if (from >= buffer_begin && from + count <= buffer_end) {
      std::copy_n(buffer.data() + (from - buffer_begin), count, out);
      return true;
    }
    const Result<std::uint64_t> got = ReadSlots(from, count, out);
    return got.ok() && *got == count;
  }

  NameId NameOf(std::uint32_t id) {
    if (id < names.size()) [[likely]]
      return names[id];
    ++sums.unknown_names;
    return 0;
  }

  Result<std::string> ReadPayload(std::uint64_t head_index, const Slot& head) const;
  void DefineName(std::uint64_t index, const Slot& slot);
  bool Decode(std::uint64_t index, const Slot& slot, Record* record);
  bool Stays(std::uint64_t index, const Slot& slot) const;
  void ListGap(Gap gap, ReadSummary* summary) const;
  void ListTail(ReadSummary* summary) const;
  static void Put(FindingKind kind, std::uint64_t offset, ReadSummary* summary);
};

Result<std::string> JournalReader::Impl::ReadPayload(std::uint64_t head_index,
                                                     const Slot& head) const {
  const auto size = static_cast<std::uint64_t>(head.a);
  const std::uint64_t count = PayloadSlots(size);
  const auto broken = [this](std::uint64_t index, const char* what) {
    return Status(Code::kDataLoss,
                  path + ": " + what + " at byte " + std::to_string(SlotOffset(index)));
  };
  if (size > limits::kPayloadBytes) return broken(head_index, "impossible size of a payload");
  std::string payload;
  payload.resize(size);
  constexpr std::uint64_t kPiece = 256;
  std::array<Slot, kPiece> piece;
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t want = std::min(kPiece, count - done);
    if (!Fetch(head_index + 1 + done, want, piece.data())) {
      return broken(head_index + 1 + done, "the file ends within a payload");
    }
    for (std::uint64_t i = 0; i < want; ++i) {
      const std::uint64_t index = head_index + 1 + done + i;
      unsigned char raw[kSlotBytes];
      std::memcpy(raw, &piece[i], kSlotBytes);
      if (!IsFinished(piece[i], salt, index) || raw[4] != kPayloadType) {
        return broken(index, "damaged payload");
      }
      const std::uint64_t at = (done + i) * kPayloadSlotBytes;
      std::memcpy(payload.data() + at, raw + 5,
                  std::min<std::uint64_t>(kPayloadSlotBytes, size - at));
    }
    done += want;
  }
  if (Crc32c(payload.data(), payload.size()) != static_cast<std::uint32_t>(head.b)) {
    return broken(head_index, "the checksum does not fit the payload of the record");
  }
  return payload;
}

void JournalReader::Impl::DefineName(std::uint64_t index, const Slot& slot) {
  const auto id = static_cast<std::uint32_t>(slot.meta >> 40);
  if (id == 0 || id > limits::kJournalNames || slot.a < 0 ||
      static_cast<std::uint64_t>(slot.a) > limits::kNameBytes) {
    return;
  }
  const Result<std::string> text = ReadPayload(index, slot);
  if (!text.ok()) return;  // the uses of the name are counted; the damage is a gap
  // A hole in the ids is a name whose definition is lost.
  if (id >= names.size()) names.resize(id + 1, 0);
  names[id] = options.names->Intern(*text);
}

// False: the slot is valid but no record for the reader's user.
bool JournalReader::Impl::Decode(std::uint64_t index, const Slot& slot, Record* record) {
  const auto type = static_cast<std::uint8_t>(slot.meta >> 32);
  const Shape shape = kShapes[type];
  record->type = static_cast<RecordType>(type);
  record->span = SpanKind::kNone;
  record->blocking = Blocking::kDefault;
  record->thread = static_cast<std::uint16_t>(slot.meta >> 48);
  record->writer = options.writer;
  record->name = 0;
  record->seq = index;
  record->time_ns = WrappingAdd(slot.time, to_wall);
  record->a = slot.a;
  record->b = slot.b;
  switch (shape) {
    case Shape::kSpanBegin:
    case Shape::kSpanEnd: {
      const auto kind = static_cast<std::uint8_t>(slot.meta >> 40);
      if (!IsSpan(kind)) break;
      record->span = static_cast<SpanKind>(kind & kSpanKindBits);
      record->blocking = static_cast<Blocking>(kind >> 5);
      if (shape == Shape::kSpanBegin) {
        record->name = NameOf(static_cast<std::uint32_t>(slot.b));
        record->b = 0;
      } else {
        record->name = NameOf(SpanEndName(slot.b));
        record->b = SpanEndBegin(slot.b);
      }
      return true;
    }
    case Shape::kNamed:
    case Shape::kPayloadHead:
      record->thread = 0;
      record->name = NameOf(static_cast<std::uint32_t>(slot.meta >> 40));
      if (shape == Shape::kPayloadHead) record->b = 0;
      return true;
    case Shape::kDropped:
      if (slot.b != kNoTime) record->b = WrappingAdd(slot.b, to_wall);
      return true;
    case Shape::kNameDefinition: DefineName(index, slot); return false;
    case Shape::kPayloadPart: return false;
    case Shape::kPlain: return true;
    case Shape::kUnknown: break;
  }
  ++sums.unknown_types;
  return false;
}

// Whether another look at the file finds the slot as it was. One that was read while it was being
// written is finished by then, for its first word is stored last.
bool JournalReader::Impl::Stays(std::uint64_t index, const Slot& slot) const {
  Slot now;
  const Result<std::uint64_t> got = ReadSlots(index, 1, &now);
  return got.ok() && *got == 1 && std::memcmp(&now, &slot, kSlotBytes) == 0;
}

// Tells the slots of a gap apart: never written (a hole) or changed afterwards.
void JournalReader::Impl::ListGap(Gap gap, ReadSummary* summary) const {
  for (std::uint64_t index = gap.begin; index < gap.end; ++index) {
    Slot slot;
    if (!Fetch(index, 1, &slot)) break;
    if (IsFinished(slot, salt, index)) continue;  // filled meanwhile; the next Refresh hands it out
    // The writer stores the first word last: while it is zero the record was never finished.
    FindingKind kind = slot.meta == 0 ? FindingKind::kTombstone : FindingKind::kCorrupt;
    if (MayStillWrite() && !(kind == FindingKind::kCorrupt && Stays(index, slot))) {
      kind = FindingKind::kInProgress;
    }
    if (kind == FindingKind::kTombstone) ++summary->tombstones;
    if (kind == FindingKind::kCorrupt) ++summary->corrupt;
    Put(kind, SlotOffset(index), summary);
  }
}

// One more slot of that kind.
void JournalReader::Impl::Put(FindingKind kind, std::uint64_t offset, ReadSummary* summary) {
  if (!summary->findings.empty()) {
    Finding& last = summary->findings.back();
    if (last.kind == kind && last.offset + last.slots * kSlotBytes == offset) {
      ++last.slots;
      return;
    }
  }
  if (summary->findings.size() < limits::kJournalFindings) {
    summary->findings.push_back({kind, offset, 1});
  }
}

// What lies behind the last valid record: space not used yet, the beginning of a record, or what
// destroyed records left. A writer stores the first word of a slot last, so that a killed one
// leaves slots whose first word is zero, a few if it had several threads. Slots with a first word
// that does not fit were written and changed afterwards; a single one may also be the last record,
// cut off where a copy of the file was: with zeros in place of what is missing it is whole only if
// nothing but zeros is missing.
void JournalReader::Impl::ListTail(ReadSummary* summary) const {
  std::uint64_t torn = 0;
  ReadSummary changed;
  std::array<Slot, 512> piece;
  for (std::uint64_t index = last_valid; index < end && (torn == 0 || !MayStillWrite());) {
    const std::uint64_t count = std::min<std::uint64_t>(piece.size(), end - index);
    if (!Fetch(index, count, piece.data())) break;
    for (std::uint64_t i = 0; i < count; ++i) {
      const Slot& slot = piece[i];
      const bool rest =
          (static_cast<std::uint64_t>(slot.time) | static_cast<std::uint64_t>(slot.a) |
           static_cast<std::uint64_t>(slot.b)) != 0;
      if (slot.meta == 0 && !rest) continue;
      if (torn == 0) torn = SlotOffset(index + i);
      if (slot.meta == 0) continue;
      ++changed.corrupt;
      Put(FindingKind::kCorrupt, SlotOffset(index + i), &changed);
    }
    index += count;
  }
  if (torn == 0 && end == limits::kJournalRecords && SlotOffset(end) < file_bytes) {
    torn = SlotOffset(end);
  }
  if (torn == 0) return;
  if (!MayStillWrite() && changed.corrupt > 1) {
    summary->corrupt += changed.corrupt;
    for (const Finding& finding : changed.findings) {
      if (summary->findings.size() == limits::kJournalFindings) break;
      summary->findings.push_back(finding);
    }
    return;
  }
  summary->torn_tail = !MayStillWrite();
  Put(MayStillWrite() ? FindingKind::kInProgress : FindingKind::kTornTail, torn, summary);
}

JournalReader::JournalReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JournalReader::JournalReader(JournalReader&&) noexcept = default;
JournalReader& JournalReader::operator=(JournalReader&&) noexcept = default;
JournalReader::~JournalReader() = default;

Result<JournalReader> JournalReader::Open(const std::string& path, const ReaderOptions& options) {
  Result<std::unique_ptr<JournalBytes>> bytes = OpenJournalFile(path);
  if (!bytes.ok()) return bytes.status();
  return Open(*std::move(bytes), path, options);
}

Result<JournalReader> JournalReader::Open(std::unique_ptr<JournalBytes> bytes,
                                          const std::string& path, const ReaderOptions& options,
                                          const ReaderPlace* from) {
  HEADWAY_CHECK(options.names != nullptr);
  std::array<std::byte, kHeaderBytes> head;
  const Result<std::size_t> got = bytes->ReadAt(head.data(), head.size(), 0);
  if (!got.ok()) return got.status();
  Result<Header> header = DecodeHeader(head.data(), *got, path);
  if (!header.ok()) return header.status();
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->options = options;
  impl->bytes = std::move(bytes);
  impl->header = *std::move(header);
  impl->salt = SaltOf(impl->header.uid);
  const ClockAnchor anchor = options.anchor.value_or(impl->header.anchor);
  impl->to_wall = WrappingSubtract(anchor.wall.ns, anchor.mono.ns);
  impl->buffer.resize(kBufferSlots);
  impl->names.push_back(0);
  if (from != nullptr) impl->GoTo(*from);
  JournalReader reader(std::move(impl));
  HEADWAY_RETURN_IF_ERROR(reader.Refresh());
  if (from != nullptr && from->next > reader.impl_->end) {
    return Status(Code::kOutOfRange, path + " has " + std::to_string(reader.impl_->end) +
                                         " slots, and was read up to slot " +
                                         std::to_string(from->next));
  }
  return reader;
}

ReaderPlace JournalReader::place() const {
  const Impl& in = *impl_;
  ReaderPlace place = {
      in.last_valid, in.sums.records, in.sums.unknown_types, in.sums.unknown_names, {}, {}};
  for (const Impl::Gap& gap : in.gaps) place.gaps.emplace_back(gap.begin, gap.end);
  for (const NameId name : in.names) place.names.emplace_back(in.options.names->Text(name));
  return place;
}

const Header& JournalReader::header() const { return impl_->header; }
const std::string& JournalReader::path() const { return impl_->path; }
Liveness JournalReader::liveness() const { return impl_->liveness; }

void JournalReader::Release() { impl_->bytes->Release(); }

Status JournalReader::Refresh() {
  Impl& in = *impl_;
  // Life first, then the file: what a dead writer has left is all there then.
  const Result<Liveness> liveness = in.bytes->Probe(in.header);
  if (!liveness.ok()) return liveness.status();
  in.liveness = *liveness;
  HEADWAY_RETURN_IF_ERROR(in.Look());
  in.blocked = false;
  in.position = std::min(in.position, in.last_valid);  // the tail is looked at again
  std::vector<Impl::Gap> still;
  for (const Impl::Gap& gap : in.gaps) {
    std::uint64_t open = gap.begin;
    for (std::uint64_t index = gap.begin; index < gap.end; ++index) {
      Slot slot;
      if (!in.Fetch(index, 1, &slot) || !IsFinished(slot, in.salt, index)) continue;
      in.filled.push_back(index);
      if (open < index) still.push_back({open, index});
      open = index + 1;
    }
    if (open < gap.end) still.push_back({open, gap.end});
  }
  in.gaps = std::move(still);
  return OkStatus();
}

Result<std::size_t> JournalReader::Next(std::span<Record> out) {
  Impl& in = *impl_;
  std::size_t count = 0;
  while (!in.filled.empty() && count < out.size()) {
    const std::uint64_t index = in.filled.front();
    in.filled.erase(in.filled.begin());
    Slot slot;
    if (in.Fetch(index, 1, &slot) && in.Decode(index, slot, &out[count])) ++count;
  }
  while (count < out.size() && in.position < in.end && !in.blocked) {
    if (in.position < in.buffer_begin || in.position >= in.buffer_end) {
      HEADWAY_RETURN_IF_ERROR(in.Fill(in.position));
      if (in.position >= in.buffer_end) break;
    }
    // Locals, so that the compiler need not fear that a record's store changes them.
    const Slot* const slots = in.buffer.data();
    const std::uint64_t base = in.buffer_begin;
    const std::uint64_t stop = in.buffer_end;
    const std::uint32_t salt = in.salt;
    const std::int64_t to_wall = in.to_wall;
    const WriterId writer = in.options.writer;
    const std::size_t room = out.size();
    Record* const records = out.data();
    std::uint64_t index = in.position;
    std::uint64_t last_valid = in.last_valid;
    while (index < stop && count < room) {
      const Slot& slot = slots[index - base];
      if (!IsFinished(slot, salt, index)) [[unlikely]] {
        // Perhaps the end, perhaps a gap: a later valid record decides.
        ++index;
        while (index < stop && slots[index - base].meta == 0) ++index;
        continue;
      }
      if (last_valid != index) [[unlikely]] {
        if (in.options.stop_at_holes && in.MayStillWrite()) {
          in.blocked = true;
          index = last_valid;
          break;
        }
        in.gaps.push_back({last_valid, index});
      }
      last_valid = index + 1;
      const std::uint64_t meta = slot.meta;
      const auto type = static_cast<std::uint8_t>(meta >> 32);
      const Shape shape = kShapes[type];
      const auto kind = static_cast<std::uint8_t>(meta >> 40);
      const bool begin = shape == Shape::kSpanBegin && slot.b == 0;
      const bool end = shape == Shape::kSpanEnd && SpanEndName(slot.b) == 0;
      // Nearly all records; the others take more thought.
      if (shape == Shape::kPlain || ((begin || end) && IsSpan(kind))) [[likely]] {
        const bool span = shape != Shape::kPlain;
        Record& record = records[count++];
        record.type = static_cast<RecordType>(type);
        record.span = static_cast<SpanKind>(span ? kind & kSpanKindBits : 0);
        record.blocking = static_cast<Blocking>(span ? kind >> 5 : 0);
        record.thread = static_cast<std::uint16_t>(meta >> 48);
        record.writer = writer;
        record.name = 0;
        record.seq = index;
        record.time_ns = WrappingAdd(slot.time, to_wall);
        record.a = slot.a;
        record.b = end ? SpanEndBegin(slot.b) : slot.b;
      } else {
        count += in.Decode(index, slot, &records[count]) ? 1 : 0;
      }
      ++index;
    }
    in.position = index;
    in.last_valid = last_valid;
  }
  in.sums.records += count;
  return count;
}

Result<std::string> JournalReader::Payload(std::uint64_t seq) {
  Impl& in = *impl_;
  Slot slot;
  if (seq >= limits::kJournalRecords || !in.Fetch(seq, 1, &slot) || slot.meta == 0) {
    return Status(Code::kNotFound, in.path + ": there is no record " + std::to_string(seq));
  }
  if (!IsFinished(slot, in.salt, seq)) {
    return Status(Code::kDataLoss,
                  in.path + ": damaged record at byte " + std::to_string(SlotOffset(seq)));
  }
  if (kShapes[static_cast<std::uint8_t>(slot.meta >> 32)] != Shape::kPayloadHead) {
    return Status(Code::kNotFound, in.path + ": record " + std::to_string(seq) + " has no payload");
  }
  return in.ReadPayload(seq, slot);
}

ReadSummary JournalReader::summary() const {
  const Impl& in = *impl_;
  ReadSummary summary = in.sums;
  summary.end_seq = in.last_valid;
  for (const Impl::Gap& gap : in.gaps) in.ListGap(gap, &summary);

  std::uint64_t live[3] = {};
  const Result<std::size_t> got = in.bytes->ReadAt(live, sizeof live, kLiveDroppedOffset);
  if (!got.ok()) return summary;
  if (*got == sizeof live && live[0] > kDropsMax) {
    summary.damaged_counter = true;  // it is outside of every checksum
  } else if (*got == sizeof live && live[0] != 0) {
    summary.dropped = live[0];
    summary.first_drop_ns = WrappingAdd(static_cast<std::int64_t>(live[1]), in.to_wall);
    summary.last_drop_ns = WrappingAdd(static_cast<std::int64_t>(live[2]), in.to_wall);
  }

  if (in.position >= in.end) in.ListTail(&summary);
  return summary;
}

Result<ReadSummary> ReadAll(const std::string& path, const ReaderOptions& options,
                            std::vector<Record>* records) {
  Result<JournalReader> reader = JournalReader::Open(path, options);
  if (!reader.ok()) return reader.status();
  std::size_t size = records->size();
  while (true) {
    records->resize(size + kBufferSlots);
    const Result<std::size_t> got = reader->Next(std::span(records->data() + size, kBufferSlots));
    if (!got.ok()) {
      records->resize(size);
      return got.status();
    }
    size += *got;
    if (*got == 0) break;
  }
  records->resize(size);
  return reader->summary();
}

Result<bool> EndedCleanly(const std::string& path) {
  constexpr std::uint64_t kLookBack = 65536;  // valid records; what ends a job comes last
  const Result<UniqueFd> fd = OpenForReading(path);
  if (!fd.ok()) return fd.status();
  std::array<std::byte, kHeaderBytes> bytes;
  const Result<std::size_t> head = ReadAt(fd->get(), bytes.data(), bytes.size(), 0, path);
  if (!head.ok()) return head.status();
  const Result<Header> header = DecodeHeader(bytes.data(), *head, path);
  if (!header.ok()) return header.status();
  const std::uint32_t salt = SaltOf(header->uid);
  const Result<std::uint64_t> size = FileSize(fd->get(), path);
  if (!size.ok()) return size.status();

  std::vector<Slot> buffer(kBufferSlots);
  std::uint64_t seen = 0;
  bool clean = false;
  bool ended = false;
  std::uint64_t end = SlotsOf(*size);
  while (end > 0 && seen < kLookBack) {
    const std::uint64_t begin = end > kBufferSlots ? end - kBufferSlots : 0;
    const Result<std::size_t> got =
        ReadAt(fd->get(), buffer.data(), (end - begin) * kSlotBytes, SlotOffset(begin), path);
    if (!got.ok()) return got.status();
    for (std::uint64_t i = CompleteSlots(buffer.data(), *got); i > 0; --i) {
      const Slot& slot = buffer[i - 1];
      if (slot.meta == 0 || !IsFinished(slot, salt, begin + i - 1)) continue;
      ++seen;
      const auto type = static_cast<RecordType>(static_cast<std::uint8_t>(slot.meta >> 32));
      if (type == RecordType::kNotice) return false;  // it was told to go
      if (ended) continue;
      if (type == RecordType::kJobEnd) {
        ended = true;
        clean = slot.a == 0;
      } else if (type == RecordType::kExit) {
        ended = true;
        clean = slot.a == 0 && slot.b == 0;
      }
    }
    end = begin;
  }
  return clean;
}

}  // namespace headway::journal
