#include "ledger/snapshot.h"

#include <cstring>

#include "base/crc32c.h"
#include "ledger/varint.h"

namespace headway::ledger {
namespace {

constexpr std::string_view kMagic = "HWLEDGER";
constexpr std::uint64_t kVersion = 1;

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
  bool done() const { return bytes_.empty(); }

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

}  // namespace

std::string EncodeSnapshot(const SnapshotData& data) {
  std::string out(kMagic);
  Put(kVersion, &out);
  Put(data.supervised ? 1 : 0, &out);
  Put(data.run.names.size(), &out);
  for (std::size_t i = 0; i < data.run.names.size(); ++i) {
    PutText(data.run.names.Text(static_cast<NameId>(i)), &out);
  }
  Put(data.run.writers.size(), &out);
  for (std::size_t i = 0; i < data.run.writers.size(); ++i) {
    PutWriter(data.run.writers[i], data.run.liveness[i], &out);
  }
  Put(data.run.records.size(), &out);
  Record last;
  for (const Record& r : data.run.records) {
    Put(static_cast<std::uint64_t>(r.type), &out);
    Put(static_cast<std::uint64_t>(r.span) | static_cast<std::uint64_t>(r.blocking) << 6, &out);
    Put(r.thread, &out);
    Put(r.writer, &out);
    Put(r.name, &out);
    PutSigned(static_cast<std::int64_t>(r.seq - last.seq), &out);
    PutSigned(Delta(r.time_ns, last.time_ns), &out);
    PutSigned(Delta(r.a, last.a), &out);
    PutSigned(Delta(r.b, last.b), &out);
    last = r;
  }
  const std::uint32_t crc = Crc32c(out.data(), out.size());
  out.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  return out;
}

Result<SnapshotData> DecodeSnapshot(std::string_view bytes) {
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
  if (version > kVersion) {
    return Status(Code::kUnimplemented, "ledger snapshot has version " + std::to_string(version) +
                                            "; this program reads up to " +
                                            std::to_string(kVersion));
  }
  SnapshotData data;
  data.supervised = in.Get() != 0;
  const std::uint64_t names = in.GetCount();
  for (std::uint64_t i = 0; i < names && in.ok(); ++i) data.run.names.Intern(in.GetText());
  const std::uint64_t writers = in.GetCount();
  for (std::uint64_t i = 0; i < writers && in.ok(); ++i) {
    Liveness liveness = Liveness::kUnknown;
    data.run.writers.push_back(GetWriter(&in, &liveness));
    data.run.liveness.push_back(liveness);
  }
  const std::uint64_t records = in.GetCount();
  Record last;
  bool fits = true;
  for (std::uint64_t i = 0; i < records && in.ok() && fits; ++i) {
    Record r;
    const std::uint64_t type = in.Get();
    r.type = static_cast<RecordType>(type);
    const std::uint64_t span = in.Get();
    r.span = static_cast<SpanKind>(span & 0x3f);
    r.blocking = static_cast<Blocking>(span >> 6 & 3);
    r.thread = static_cast<std::uint16_t>(in.Get());
    r.writer = static_cast<WriterId>(in.Get());
    r.name = static_cast<NameId>(in.Get());
    r.seq = last.seq + static_cast<std::uint64_t>(in.GetSigned());
    r.time_ns = Undelta(in.GetSigned(), last.time_ns);
    r.a = Undelta(in.GetSigned(), last.a);
    r.b = Undelta(in.GetSigned(), last.b);
    fits = r.writer < data.run.writers.size() && r.name < data.run.names.size() &&
           type <= static_cast<std::uint64_t>(RecordType::kDropped) &&
           static_cast<int>(r.span) < kSpanKindCount && r.blocking <= Blocking::kNo;
    data.run.records.push_back(r);
    last = r;
  }
  if (!in.ok() || !fits || !in.done()) {
    return Status(Code::kDataLoss, "ledger snapshot does not hold what its lengths say");
  }
  return data;
}

}  // namespace headway::ledger
