#include "ledger/snapshot.h"

#include <cstring>
#include <string>

#include "base/crc32c.h"
#include "ledger/varint.h"

namespace headway::ledger {
namespace {

constexpr std::string_view kMagic = "HWLEDGER";
constexpr std::uint64_t kVersion = 2;  // 1 was never released

void Put(std::uint64_t value, std::string* out) {
  std::uint8_t buffer[kVarintBytesMax];
  const std::uint8_t* end = PutVarint(buffer, value);
  out->append(reinterpret_cast<const char*>(buffer), static_cast<std::size_t>(end - buffer));
}
void PutSigned(std::int64_t value, std::string* out) { Put(ZigZag(value), out); }
void PutText(std::string_view text, std::string* out) {
  Put(text.size(), out);
  out->append(text);
}

// Reads what Put wrote; `ok` turns false for good at the first thing that does not fit.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t Get() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) break;
      const auto byte = static_cast<std::uint8_t>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    ok_ = false;
    return 0;
  }
  std::int64_t GetSigned() { return UnZigZag(Get()); }
  std::string GetText() {
    const std::uint64_t size = Get();
    if (size > bytes_.size()) {
      ok_ = false;
      return {};
    }
    std::string text(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return text;
  }
  /// A count of things that take at least one byte each.
  std::uint64_t GetCount() {
    const std::uint64_t count = Get();
    if (count > bytes_.size()) ok_ = false;
    return ok_ ? count : 0;
  }
  bool ok() const { return ok_; }
  std::string_view rest() const { return bytes_; }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

void PutWriter(const Writer& writer, Liveness liveness, std::string* out) {
  PutText(writer.uid, out);
  PutText(writer.name, out);
  PutSigned(writer.rank, out);
  PutSigned(writer.world_size, out);
  PutText(writer.attempt_key, out);
  PutSigned(writer.attempt_index, out);
  Put((writer.event_file ? 1u : 0u) | (writer.monotonic ? 2u : 0u) | (writer.supervisor ? 4u : 0u),
      out);
  PutText(writer.host, out);
  PutSigned(writer.pid, out);
  Put(static_cast<std::uint64_t>(liveness), out);
}

Writer GetWriter(Reader* in, Liveness* liveness) {
  Writer writer;
  writer.uid = in->GetText();
  writer.name = in->GetText();
  writer.rank = in->GetSigned();
  writer.world_size = in->GetSigned();
  writer.attempt_key = in->GetText();
  writer.attempt_index = in->GetSigned();
  const std::uint64_t flags = in->Get();
  writer.event_file = (flags & 1) != 0;
  writer.monotonic = (flags & 2) != 0;
  writer.supervisor = (flags & 4) != 0;
  writer.host = in->GetText();
  writer.pid = in->GetSigned();
  *liveness = static_cast<Liveness>(in->Get() % 3);
  return writer;
}

Status Misfit() { return {Code::kDataLoss, "ledger snapshot does not hold what its lengths say"}; }

}  // namespace

std::string EncodeSnapshot(const SnapshotHead& head, std::span<const RecordLog* const> logs) {
  std::string out(kMagic);
  Put(kVersion, &out);
  Put(head.supervised ? 1 : 0, &out);
  Put(head.names.size(), &out);
  for (std::size_t i = 0; i < head.names.size(); ++i) {
    PutText(head.names.Text(static_cast<NameId>(i)), &out);
  }
  Put(head.writers.size(), &out);
  for (std::size_t i = 0; i < head.writers.size(); ++i) {
    PutWriter(head.writers[i], head.liveness[i], &out);
  }
  std::size_t bytes = 0;
  for (const RecordLog* log : logs) bytes += log->PackedBytes() + 2 * kVarintBytesMax;
  out.reserve(out.size() + bytes + 2 * kVarintBytesMax);
  Put(logs.size(), &out);
  for (const RecordLog* log : logs) {
    Put(log->size(), &out);
    Put(log->PackedBytes(), &out);
    log->Pack(&out);
  }
  const std::uint32_t crc = Crc32c(out.data(), out.size());
  out.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  return out;
}

Result<SnapshotReader> SnapshotReader::Open(std::string_view bytes) {
  std::uint32_t crc = 0;
  if (bytes.size() < kMagic.size() + sizeof crc || !bytes.starts_with(kMagic)) {
    return Status(Code::kDataLoss, "not a ledger snapshot");
  }
  std::memcpy(&crc, bytes.data() + bytes.size() - sizeof crc, sizeof crc);
  bytes.remove_suffix(sizeof crc);
  if (Crc32c(bytes.data(), bytes.size()) != crc) {
    return Status(Code::kDataLoss, "ledger snapshot is damaged: its checksum does not match");
  }
  Reader in(bytes.substr(kMagic.size()));
  const std::uint64_t version = in.Get();
  if (version != kVersion) {
    return Status(version > kVersion ? Code::kUnimplemented : Code::kDataLoss,
                  "ledger snapshot has version " + std::to_string(version) +
                      "; this program reads version " + std::to_string(kVersion));
  }
  SnapshotReader reader;
  reader.head_.supervised = in.Get() != 0;
  const std::uint64_t names = in.GetCount();
  for (std::uint64_t i = 0; i < names && in.ok(); ++i) reader.head_.names.Intern(in.GetText());
  const std::uint64_t writers = in.GetCount();
  for (std::uint64_t i = 0; i < writers && in.ok(); ++i) {
    Liveness liveness = Liveness::kUnknown;
    reader.head_.writers.push_back(GetWriter(&in, &liveness));
    reader.head_.liveness.push_back(liveness);
  }
  reader.logs_ = in.GetCount();
  if (!in.ok()) return Misfit();
  reader.rest_ = in.rest();
  return reader;
}

bool SnapshotReader::NextLog() {
  Reader in(rest_);
  const std::uint64_t records = in.Get();
  const std::uint64_t size = in.Get();
  rest_ = in.rest();
  if (!in.ok() || size > rest_.size()) return false;
  log_ = PackedRecords(rest_.substr(0, size), records);
  rest_.remove_prefix(size);
  --logs_;
  return true;
}

Result<std::size_t> SnapshotReader::Next(std::span<Record> out) {
  while (log_.records_left() == 0) {
    if (log_.bytes_left() != 0) return Misfit();
    if (logs_ == 0) {
      if (!rest_.empty()) return Misfit();
      return 0;
    }
    if (!NextLog()) return Misfit();
  }
  const std::size_t count = log_.Next(out);
  if (count == 0) return Misfit();
  for (const Record& r : out.first(count)) {
    const bool fits = r.writer < head_.writers.size() && r.name < head_.names.size() &&
                      r.type <= kLastRecordType && static_cast<int>(r.span) < kSpanKindCount &&
                      r.blocking <= Blocking::kNo;
    if (!fits) return Misfit();
  }
  return count;
}

}  // namespace headway::ledger
