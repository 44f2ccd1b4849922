#include "journal/format.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/limits.h"
#include "base/utf8.h"

namespace headway::journal {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

// Where the fields of the header lie. Offsets are part of the format: never change, only add.
constexpr std::size_t kVersionAt = 8;
constexpr std::size_t kMinReaderAt = 12;
constexpr std::size_t kHeaderSizeAt = 16;
constexpr std::size_t kRecordSizeAt = 20;
constexpr std::size_t kCrcAt = 24;
constexpr std::size_t kOriginAt = 28;
constexpr std::size_t kFlagsAt = 30;
constexpr std::size_t kUidAt = 32;
constexpr std::size_t kRunUidAt = 48;
constexpr std::size_t kAnchorWallAt = 64;
constexpr std::size_t kAnchorMonoAt = 72;
constexpr std::size_t kRankAt = 80;
constexpr std::size_t kWorldSizeAt = 88;
constexpr std::size_t kAttemptIndexAt = 96;
constexpr std::size_t kPidAt = 104;
constexpr std::size_t kTidAt = 112;
constexpr std::size_t kPidStartAt = 120;
constexpr std::size_t kPidNamespaceAt = 128;
constexpr std::size_t kBootIdAt = 136;
constexpr std::size_t kDeviceAt = 152;
constexpr std::size_t kInodeAt = 160;
constexpr std::size_t kLocalRankAt = 168;
constexpr std::size_t kStringsAt = 256;

constexpr std::uint16_t kFlagLocked = 1;
constexpr std::uint16_t kFlagEventFile = 2;
constexpr std::uint16_t kFlagMapped = 4;
constexpr std::uint16_t kFlagImportSupervisor = 8;
constexpr std::uint16_t kFlagImportMonotonic = 16;
constexpr std::uint16_t kFlagImportDead = 32;

constexpr std::size_t kDestinationBytes = 1024;

// Strings: u16 tag, u16 length, bytes; tag 0 ends. Readers skip tags that they don't know.
struct StringField {
  std::uint16_t tag;
  std::string Header::*member;
  std::size_t limit;
};
constexpr StringField kStrings[] = {
    {1, &Header::project, limits::kNameBytes},     {2, &Header::run, limits::kNameBytes},
    {3, &Header::attempt_key, limits::kNameBytes}, {4, &Header::host, limits::kNameBytes},
    {5, &Header::writer_name, limits::kNameBytes}, {6, &Header::job_id, limits::kNameBytes},
    {7, &Header::destination, kDestinationBytes},  {8, &Header::software, limits::kNameBytes},
    {9, &Header::cluster, limits::kNameBytes},     {10, &Header::location, limits::kNameBytes},
};

template <typename T>
void Put(std::byte* data, std::size_t at, T value) {
  std::memcpy(data + at, &value, sizeof value);
}
template <typename T>
T Get(const std::byte* data, std::size_t at) {
  T value;
  std::memcpy(&value, data + at, sizeof value);
  return value;
}

std::uint32_t HeaderCrc(const std::byte* data) {
  constexpr std::uint32_t kZero = 0;
  std::uint32_t crc = Crc32c(data, kCrcAt);
  crc = Crc32c(&kZero, sizeof kZero, crc);
  return Crc32c(data + kCrcAt + 4, kLiveOffset - kCrcAt - 4, crc);
}

Status Bad(std::string_view path, const std::string& what) {
  return {Code::kDataLoss, std::string(path) + ": " + what};
}

}  // namespace

std::array<std::byte, kHeaderBytes> EncodeHeader(const Header& header) {
  std::array<std::byte, kHeaderBytes> bytes{};
  std::byte* const data = bytes.data();
  std::memcpy(data, kMagic.data(), kMagic.size());
  Put(data, kVersionAt, kFormatVersion);
  Put(data, kMinReaderAt, kFormatVersion);
  Put(data, kHeaderSizeAt, static_cast<std::uint32_t>(kHeaderBytes));
  Put(data, kRecordSizeAt, static_cast<std::uint32_t>(kSlotBytes));
  Put(data, kOriginAt, static_cast<std::uint8_t>(header.origin));
  const auto flags = static_cast<std::uint16_t>(
      (header.locked ? kFlagLocked : 0) | (header.event_file ? kFlagEventFile : 0) |
      (header.mapped ? kFlagMapped : 0) | (header.import_supervisor ? kFlagImportSupervisor : 0) |
      (header.import_monotonic ? kFlagImportMonotonic : 0) |
      (header.import_dead ? kFlagImportDead : 0));
  Put(data, kFlagsAt, flags);
  Put(data, kUidAt, header.uid.bytes);
  Put(data, kRunUidAt, header.run_uid.bytes);
  Put(data, kAnchorWallAt, header.anchor.wall.ns);
  Put(data, kAnchorMonoAt, header.anchor.mono.ns);
  Put(data, kRankAt, header.rank);
  Put(data, kWorldSizeAt, header.world_size);
  Put(data, kAttemptIndexAt, header.attempt_index);
  Put(data, kPidAt, header.pid);
  Put(data, kTidAt, header.tid);
  Put(data, kPidStartAt, header.pid_start);
  Put(data, kPidNamespaceAt, header.pid_namespace);
  Put(data, kBootIdAt, header.boot_id.bytes);
  Put(data, kDeviceAt, header.device);
  Put(data, kInodeAt, header.inode);
  Put(data, kLocalRankAt, header.local_rank);
  std::size_t at = kStringsAt;
  for (const StringField& field : kStrings) {
    const std::string_view text = TruncateUtf8(header.*field.member, field.limit);
    if (text.empty()) continue;
    Put(data, at, field.tag);
    Put(data, at + 2, static_cast<std::uint16_t>(text.size()));
    std::memcpy(data + at + 4, text.data(), text.size());
    at += 4 + text.size();
  }
  Put(data, kCrcAt, HeaderCrc(data));
  return bytes;
}

Result<Header> DecodeHeader(const std::byte* data, std::size_t size, std::string_view path) {
  if (size == 0) {
    return Bad(path, "empty file; its writer died before it wrote the header, nothing is lost");
  }
  if (std::memcmp(data, kMagic.data(), std::min(size, kMagic.size())) != 0) {
    return Bad(path,
               "not a headway journal: it does not begin with the journal signature (byte 0)");
  }
  // The version comes before everything that a newer version may have changed.
  if (size >= kMinReaderAt + 4) {
    const auto needed = Get<std::uint32_t>(data, kMinReaderAt);
    if (needed > kFormatVersion) {
      return Status(Code::kDataLoss, std::string(path) + ": it takes a reader of journal format " +
                                         std::to_string(needed) + " (byte " +
                                         std::to_string(kMinReaderAt) +
                                         "), this headway reads formats up to " +
                                         std::to_string(kFormatVersion) + "; use a newer headway");
    }
  }
  if (size < kHeaderBytes) {
    return Bad(path, "truncated header: the file ends at byte " + std::to_string(size) +
                         " of the " + std::to_string(kHeaderBytes) + " that a header takes");
  }
  const auto stored = Get<std::uint32_t>(data, kCrcAt);
  if (stored != HeaderCrc(data)) {
    return Bad(path, "damaged header: the checksum at byte 24 does not fit bytes 0 to " +
                         std::to_string(kLiveOffset - 1));
  }
  if (Get<std::uint32_t>(data, kHeaderSizeAt) != kHeaderBytes ||
      Get<std::uint32_t>(data, kRecordSizeAt) != kSlotBytes) {
    return Bad(path, "header or record size is none of this format (byte 16)");
  }
  Header header;
  header.origin = static_cast<Origin>(Get<std::uint8_t>(data, kOriginAt));
  const auto flags = Get<std::uint16_t>(data, kFlagsAt);
  header.locked = (flags & kFlagLocked) != 0;
  header.event_file = (flags & kFlagEventFile) != 0;
  header.mapped = (flags & kFlagMapped) != 0;
  header.import_supervisor = (flags & kFlagImportSupervisor) != 0;
  header.import_monotonic = (flags & kFlagImportMonotonic) != 0;
  header.import_dead = (flags & kFlagImportDead) != 0;
  header.uid.bytes = Get<std::array<std::uint8_t, 16>>(data, kUidAt);
  header.run_uid.bytes = Get<std::array<std::uint8_t, 16>>(data, kRunUidAt);
  header.anchor.wall.ns = Get<std::int64_t>(data, kAnchorWallAt);
  header.anchor.mono.ns = Get<std::int64_t>(data, kAnchorMonoAt);
  header.rank = Get<std::int64_t>(data, kRankAt);
  header.world_size = Get<std::int64_t>(data, kWorldSizeAt);
  header.attempt_index = Get<std::int64_t>(data, kAttemptIndexAt);
  header.pid = Get<std::int64_t>(data, kPidAt);
  header.tid = Get<std::int64_t>(data, kTidAt);
  header.pid_start = Get<std::uint64_t>(data, kPidStartAt);
  header.pid_namespace = Get<std::uint64_t>(data, kPidNamespaceAt);
  header.boot_id.bytes = Get<std::array<std::uint8_t, 16>>(data, kBootIdAt);
  header.device = Get<std::uint64_t>(data, kDeviceAt);
  header.inode = Get<std::uint64_t>(data, kInodeAt);
  header.local_rank = Get<std::int64_t>(data, kLocalRankAt);
  std::size_t at = kStringsAt;
  while (at + 4 <= kLiveOffset) {
    const auto tag = Get<std::uint16_t>(data, at);
    const std::size_t length = Get<std::uint16_t>(data, at + 2);
    if (tag == 0) break;
    if (at + 4 + length > kLiveOffset) {
      return Bad(path, "a string of the header is longer than the header (byte " +
                           std::to_string(at) + ")");
    }
    for (const StringField& field : kStrings) {
      if (field.tag == tag) {
        (header.*field.member).assign(reinterpret_cast<const char*>(data) + at + 4, length);
      }
    }
    at += 4 + length;
  }
  return header;
}

Writer ToModelWriter(const Header& header) {
  Writer writer;
  writer.uid = ToHex(header.uid);
  writer.name = header.writer_name;
  if (writer.name.empty()) {
    if (header.origin == Origin::kSupervisor) {
      writer.name = "supervisor";
    } else if (header.rank >= 0) {
      writer.name = "rank " + std::to_string(header.rank);
    } else {
      writer.name = header.host + ":" + std::to_string(header.pid);
    }
  }
  writer.rank = header.rank;
  writer.world_size = header.world_size;
  writer.attempt_key = header.attempt_key;
  writer.attempt_index = header.attempt_index;
  writer.event_file = header.event_file;
  writer.supervisor = header.origin == Origin::kSupervisor || header.import_supervisor;
  writer.monotonic = header.origin != Origin::kImport || header.import_monotonic;
  writer.host = header.host;
  writer.pid = header.pid;
  return writer;
}

}  // namespace headway::journal
