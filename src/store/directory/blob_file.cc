#include "store/directory/blob_file.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/blob_limits.h"
#include "base/crc32c.h"
#include "base/files.h"

namespace headway::store {
namespace {

constexpr std::size_t kFooterBytes = 52;
constexpr std::string_view kMagic = "hwblob1\n";  // with the version
constexpr std::size_t kCrcBytes = sizeof(std::uint32_t);

// Where things are in the footer; numbers are little-endian.
constexpr std::size_t kBytesAt = 0;
constexpr std::size_t kTimeAt = 8;
constexpr std::size_t kRunAt = 16;
constexpr std::size_t kCrcAt = 32;
constexpr std::size_t kNameBytesAt = 36;
constexpr std::size_t kTrailerCrcAt = 40;  // of all that stands between the bytes and it
constexpr std::size_t kMagicAt = 44;

void Put(std::uint64_t value, std::size_t bytes, char* at) {
  for (std::size_t i = 0; i < bytes; ++i) at[i] = static_cast<char>(value >> (8 * i));
}

std::uint64_t Get(const char* at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
  }
  return value;
}

std::uint32_t Get32(const char* at) { return static_cast<std::uint32_t>(Get(at, 4)); }

std::uint64_t BlocksOf(std::uint64_t bytes) {
  return bytes / kBlobBlockBytes + (bytes % kBlobBlockBytes == 0 ? 0 : 1);
}

}  // namespace

Status DamagedBlob(const std::string& path, const std::string& how) {
  return {Code::kDataLoss, path + " is damaged: " + how +
                               "; examine the disk, and restore a copy of the file or remove it"};
}

std::string EncodeBlobTrailer(const BlobTrailer& trailer) {
  std::string text(trailer.blocks.size() * kCrcBytes, '\0');
  for (std::size_t i = 0; i < trailer.blocks.size(); ++i) {
    Put(trailer.blocks[i], kCrcBytes, text.data() + i * kCrcBytes);
  }
  text += trailer.info.name;
  std::array<char, kFooterBytes> footer{};
  Put(trailer.info.bytes, 8, footer.data() + kBytesAt);
  Put(static_cast<std::uint64_t>(trailer.info.time), 8, footer.data() + kTimeAt);
  std::memcpy(footer.data() + kRunAt, trailer.run.bytes.data(), trailer.run.bytes.size());
  Put(trailer.info.crc32c, 4, footer.data() + kCrcAt);
  Put(trailer.info.name.size(), 4, footer.data() + kNameBytesAt);
  const std::uint32_t crc = Crc32c(footer.data(), kTrailerCrcAt, Crc32c(text.data(), text.size()));
  Put(crc, 4, footer.data() + kTrailerCrcAt);
  std::memcpy(footer.data() + kMagicAt, kMagic.data(), kMagic.size());
  return text.append(footer.data(), footer.size());
}

Result<BlobTrailer> ReadBlobTrailer(int fd, const std::string& path) {
  const Result<std::uint64_t> size = FileSize(fd, path);
  if (!size.ok()) return size.status();
  std::array<char, kFooterBytes> footer;
  if (*size < footer.size()) {
    return DamagedBlob(path, "it has " + std::to_string(*size) + " bytes, too few for a blob");
  }
  const auto read = [&](char* to, std::size_t bytes, std::uint64_t offset) -> Status {
    const Result<std::size_t> got = ReadAt(fd, to, bytes, offset, path);
    if (!got.ok()) return got.status();
    if (*got == bytes) return OkStatus();
    return DamagedBlob(path, "it was cut at byte " + std::to_string(offset + *got));
  };
  const std::uint64_t footer_at = *size - footer.size();
  HEADWAY_RETURN_IF_ERROR(read(footer.data(), footer.size(), footer_at));
  if (std::string_view(footer.data() + kMagicAt, kMagic.size()) != kMagic) {
    return DamagedBlob(
        path,
        "the mark at its end is not that of a blob of this version: it was cut, or a "
        "newer headway wrote it");
  }
  BlobTrailer trailer;
  trailer.info.bytes = Get(footer.data() + kBytesAt, 8);
  const std::uint64_t name_bytes = Get(footer.data() + kNameBytesAt, 4);
  const auto odd = [&] {
    return DamagedBlob(path, "what it says of itself from byte " + std::to_string(footer_at) +
                                 " on does not fit its " + std::to_string(*size) + " bytes");
  };
  if (trailer.info.bytes > footer_at || name_bytes > limits::kBlobNameBytes) return odd();
  const std::uint64_t blocks = BlocksOf(trailer.info.bytes);
  const std::uint64_t table_bytes = blocks * kCrcBytes;
  if (trailer.info.bytes + table_bytes + name_bytes != footer_at) return odd();
  std::string text(table_bytes + name_bytes, '\0');
  HEADWAY_RETURN_IF_ERROR(read(text.data(), text.size(), trailer.info.bytes));
  if (Crc32c(footer.data(), kTrailerCrcAt, Crc32c(text.data(), text.size())) !=
      Get32(footer.data() + kTrailerCrcAt)) {
    return DamagedBlob(path, "what it says of itself from byte " +
                                 std::to_string(trailer.info.bytes) +
                                 " on is not what was written");
  }
  trailer.info.time = static_cast<std::int64_t>(Get(footer.data() + kTimeAt, 8));
  trailer.info.crc32c = Get32(footer.data() + kCrcAt);
  trailer.info.name = text.substr(table_bytes);
  std::memcpy(trailer.run.bytes.data(), footer.data() + kRunAt, trailer.run.bytes.size());
  trailer.blocks.resize(blocks);
  for (std::size_t i = 0; i < blocks; ++i) trailer.blocks[i] = Get32(text.data() + i * kCrcBytes);
  return trailer;
}

Result<std::string> ReadBlobBytes(int fd, const BlobTrailer& trailer, std::uint64_t offset,
                                  std::uint64_t size, const std::string& path) {
  const std::uint64_t bytes = trailer.info.bytes;
  if (offset >= bytes || size == 0) return std::string();
  const std::uint64_t end = offset + std::min(size, bytes - offset);
  const std::uint64_t from = offset / kBlobBlockBytes * kBlobBlockBytes;
  const std::uint64_t to = std::min(BlocksOf(end) * kBlobBlockBytes, bytes);
  std::string data(to - from, '\0');
  const Result<std::size_t> got = ReadAt(fd, data.data(), data.size(), from, path);
  if (!got.ok()) return got.status();
  if (*got != data.size()) {
    return DamagedBlob(path, "it was cut at byte " + std::to_string(from + *got));
  }
  for (std::uint64_t at = from; at < to; at += kBlobBlockBytes) {
    const std::size_t length = std::min(kBlobBlockBytes, to - at);
    if (Crc32c(data.data() + (at - from), length) == trailer.blocks[at / kBlobBlockBytes]) continue;
    return DamagedBlob(path, "bytes " + std::to_string(at) + " to " + std::to_string(at + length) +
                                 " are not those that were written");
  }
  data.resize(end - from);
  return data.erase(0, offset - from);
}

}  // namespace headway::store
