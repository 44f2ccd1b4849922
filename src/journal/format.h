#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "base/uid.h"
#include "model/record.h"

/// The bytes of a journal: what `docs/formats/journal.md` says, as code. Pure; no I/O.
///
/// A journal is a header of 4 KiB and then slots of 32 bytes. Everything is little-endian.

namespace headway::journal {

inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::size_t kHeaderBytes = 4096;
inline constexpr std::size_t kSlotBytes = 32;
inline constexpr std::string_view kMagic{"\x89HWJ\r\n\x1a\n", 8};
inline constexpr std::string_view kFileSuffix = ".hwj";

/// Offsets of what changes while the journal is written; not covered by the header's checksum.
inline constexpr std::size_t kLiveOffset = 3840;
inline constexpr std::size_t kLiveDroppedOffset = kLiveOffset;        // u64: records dropped
inline constexpr std::size_t kLiveFirstDropOffset = kLiveOffset + 8;  // i64: MonoNs of the first
inline constexpr std::size_t kLiveLastDropOffset = kLiveOffset + 16;  // i64: MonoNs of the last

/// Record types that exist only inside journals. Below 128 they are those of model/record.h.
inline constexpr std::uint8_t kPayloadType = 0x80;  // 27 bytes of the payload of an earlier slot
inline constexpr std::uint8_t kNameType = 0x81;     // defines a name id; its text is its payload

inline constexpr std::size_t kPayloadSlotBytes = 27;
inline constexpr std::uint32_t kMaxNameId = (1u << 24) - 1;

enum class Origin : std::uint8_t {
  kRecorder = 0,    ///< a training process
  kSupervisor = 1,  ///< whoever started or watches it
  kImport = 2,      ///< made from foreign data; times are wall times
};

/// What the header says. Strings are UTF-8 and at most `limits::kNameBytes` long (destination: 1
/// KiB).
struct Header {
  JournalUid uid;
  RunUid run_uid;
  Origin origin = Origin::kRecorder;
  bool locked = false;      ///< the writer holds a lock on byte 0 for as long as it lives
  bool event_file = false;  ///< made from an event file: attempts may be implicit
  bool mapped = false;      ///< written through a mapping (else through write calls)
  // What an import was told about a writer that it did not see itself.
  bool import_supervisor = false;  ///< it was a supervisor
  bool import_monotonic = false;   ///< its times came from one monotonic clock
  bool import_dead = false;        ///< its process was dead
  ClockAnchor anchor;              ///< wall time and monotonic time of one instant; import: both 0
  std::int64_t rank = -1;
  std::int64_t local_rank = -1;
  std::int64_t world_size = -1;
  std::int64_t attempt_index = -1;  ///< restart count, -1: not known
  std::int64_t pid = 0;
  std::int64_t tid = 0;             ///< thread that opened the journal
  std::uint64_t pid_start = 0;      ///< field 22 of /proc/PID/stat: clock ticks since boot
  std::uint64_t pid_namespace = 0;  ///< inode of /proc/PID/ns/pid
  std::uint64_t device = 0;         ///< st_dev and st_ino of the file itself: tells copies apart
  std::uint64_t inode = 0;
  BootId boot_id;
  std::string project;
  std::string run;
  std::string attempt_key;  ///< equal keys are one attempt; empty: not known
  std::string host;
  std::string writer_name;  ///< shown to people; empty: by rank
  std::string job_id;       ///< of the orchestrator, with its kind: "slurm:cluster/123"
  std::string destination;  ///< directory that the user wanted, when the journal lies elsewhere
  std::string software;     ///< "headway 0.1.0"
  std::string cluster;      ///< where the machine belongs; empty: to none
  std::string location;     ///< where it stands: a zone, a region, a room; empty: not known
};

/// The header as bytes. Strings above their limits are cut at a character boundary.
std::array<std::byte, kHeaderBytes> EncodeHeader(const Header& header);

/// Reads a header from the first `size` bytes of a file (`size` may be less than a header: then the
/// answer says what is missing). `path` is for the message. DataLoss: empty, truncated, foreign,
/// damaged, or written by a newer headway.
Result<Header> DecodeHeader(const std::byte* data, std::size_t size, std::string_view path);

/// What the ledger needs to know about the writer of a journal.
Writer ToModelWriter(const Header& header);

constexpr std::uint64_t SlotOffset(std::uint64_t slot) { return kHeaderBytes + slot * kSlotBytes; }

/// Slots of a file of so many bytes. Of one that was cut off within a slot that counts: what is
/// missing of it reads as zeros.
constexpr std::uint64_t SlotsOf(std::uint64_t file_bytes) {
  return file_bytes <= kHeaderBytes ? 0 : (file_bytes - kHeaderBytes + kSlotBytes - 1) / kSlotBytes;
}

/// One slot as four words. `meta` holds the checksum in its low half; `MetaHigh` makes its high
/// half.
struct Slot {
  std::uint64_t meta = 0;
  std::int64_t time = 0;  // MonoNs
  std::int64_t a = 0;
  std::int64_t b = 0;
};
static_assert(sizeof(Slot) == kSlotBytes);

/// High half of `meta` for records of a thread: type, span kind, blocking, thread.
constexpr std::uint32_t MetaHigh(RecordType type, SpanKind kind, Blocking blocking,
                                 std::uint16_t thread) {
  return static_cast<std::uint32_t>(type) |
         (static_cast<std::uint32_t>(kind) | static_cast<std::uint32_t>(blocking) << 5) << 8 |
         std::uint32_t{thread} << 16;
}
constexpr std::uint32_t MetaHigh(RecordType type, std::uint16_t thread) {
  return MetaHigh(type, SpanKind::kNone, Blocking::kDefault, thread);
}
/// High half of `meta` for the types with a 24-bit name id in place of kind, blocking and thread.
constexpr std::uint32_t NamedMetaHigh(std::uint8_t type, std::uint32_t name) {
  return type | name << 8;
}

/// `b` of a span end: seq of the begin (kNoHandle: none) and name id in one word.
constexpr std::int64_t PackSpanEnd(std::int64_t begin, std::uint32_t name) {
  return static_cast<std::int64_t>((static_cast<std::uint64_t>(begin + 1) & ((1ull << 40) - 1)) |
                                   std::uint64_t{name} << 40);
}
constexpr std::int64_t SpanEndBegin(std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(b) & ((1ull << 40) - 1)) - 1;
}
constexpr std::uint32_t SpanEndName(std::int64_t b) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(b) >> 40);
}

/// Checksums of a journal start from this, so that a record of another journal is never taken for
/// one.
inline std::uint32_t SaltOf(const JournalUid& uid) { return Crc32c(uid.bytes.data(), 16); }

/// Checksum of a slot: CRC-32C of its bytes 4..31, salted with the journal and the slot's index.
inline std::uint32_t SlotCrc(std::uint32_t salt, std::uint64_t index, std::uint32_t meta_high,
                             std::uint64_t w1, std::uint64_t w2, std::uint64_t w3) noexcept {
  return Crc32cWords(salt ^ static_cast<std::uint32_t>(index), meta_high, w1, w2, w3);
}

/// The same for code that knows that the processor has the CRC-32C instruction.
inline std::uint32_t SlotCrcUnchecked(std::uint32_t salt, std::uint64_t index,
                                      std::uint32_t meta_high, std::uint64_t w1, std::uint64_t w2,
                                      std::uint64_t w3) noexcept {
  return Crc32cWordsUnchecked(salt ^ static_cast<std::uint32_t>(index), meta_high, w1, w2, w3);
}

/// Whether a slot, as it stands at `index`, is a finished record.
inline bool IsFinished(const Slot& slot, std::uint32_t salt, std::uint64_t index) noexcept {
  const auto high = static_cast<std::uint32_t>(slot.meta >> 32);
  return slot.meta != 0 &&
         static_cast<std::uint32_t>(slot.meta) ==
             SlotCrc(salt, index, high, static_cast<std::uint64_t>(slot.time),
                     static_cast<std::uint64_t>(slot.a), static_cast<std::uint64_t>(slot.b));
}

/// How many slots `bytes` bytes that were read into `slots` are; what the last one lacks of its 32
/// bytes becomes zeros.
inline std::uint64_t CompleteSlots(Slot* slots, std::size_t bytes) noexcept {
  const std::size_t count = (bytes + kSlotBytes - 1) / kSlotBytes;
  std::memset(reinterpret_cast<char*>(slots) + bytes, 0, count * kSlotBytes - bytes);
  return count;
}

/// Slots that a payload of `size` bytes takes, beyond its head.
constexpr std::uint64_t PayloadSlots(std::uint64_t size) {
  return (size + kPayloadSlotBytes - 1) / kPayloadSlotBytes;
}

}  // namespace headway::journal
