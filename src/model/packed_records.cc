#include "model/packed_records.h"

#include <cstddef>

namespace headway {
namespace {

template <typename T>
void Put(T value, std::string* out) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    *out += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xff);
  }
}

template <typename T>
T Get(std::string_view* bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value |= std::uint64_t{static_cast<unsigned char>((*bytes)[i])} << (8 * i);
  }
  bytes->remove_prefix(sizeof(T));
  return static_cast<T>(value);
}

}  // namespace

void AppendPacked(const Record& record, std::uint32_t name, std::string* out) {
  Put(static_cast<std::uint8_t>(record.type), out);
  Put(static_cast<std::uint8_t>(record.span), out);
  Put(static_cast<std::uint8_t>(record.blocking), out);
  Put(std::uint8_t{0}, out);
  Put(record.thread, out);
  Put(std::uint16_t{0}, out);
  Put(std::uint32_t{0}, out);
  Put(name, out);
  Put(record.seq, out);
  Put(record.time_ns, out);
  Put(record.a, out);
  Put(record.b, out);
}

Status ReadPacked(std::string_view bytes, WriterId writer, const std::vector<NameId>& names,
                  std::vector<Record>* out) {
  if (bytes.size() % kPackedRecordBytes != 0) {
    return {Code::kInvalidArgument, "the last one of the records is cut off"};
  }
  out->reserve(out->size() + bytes.size() / kPackedRecordBytes);
  while (!bytes.empty()) {
    const auto type = Get<std::uint8_t>(&bytes);
    const auto span = Get<std::uint8_t>(&bytes);
    const auto blocking = Get<std::uint8_t>(&bytes);
    Get<std::uint8_t>(&bytes);
    Record record;
    record.thread = Get<std::uint16_t>(&bytes);
    Get<std::uint16_t>(&bytes);
    Get<std::uint32_t>(&bytes);
    const auto name = Get<std::uint32_t>(&bytes);
    record.seq = Get<std::uint64_t>(&bytes);
    record.time_ns = Get<std::int64_t>(&bytes);
    record.a = Get<std::int64_t>(&bytes);
    record.b = Get<std::int64_t>(&bytes);
    if (type > static_cast<std::uint8_t>(kLastRecordType) || span >= kSpanKindCount ||
        blocking > static_cast<std::uint8_t>(Blocking::kNo)) {
      return {Code::kUnimplemented, "record " + std::to_string(record.seq) +
                                        " is of a newer headway: type " + std::to_string(type) +
                                        " is not known here; upgrade this one"};
    }
    if (name >= names.size()) {
      return {Code::kInvalidArgument,
              "record " + std::to_string(record.seq) + " has a name that is not there"};
    }
    record.type = static_cast<RecordType>(type);
    record.span = static_cast<SpanKind>(span);
    record.blocking = static_cast<Blocking>(blocking);
    record.writer = writer;
    record.name = names[name];
    out->push_back(record);
  }
  return OkStatus();
}

}  // namespace headway
