#include "formats/protobuf/message.h"

namespace headway::protobuf {

std::uint64_t ReadFixed(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    value |= std::uint64_t{static_cast<std::uint8_t>(bytes[i])} << (8 * i);
  }
  return value;
}

bool MessageReader::TakeVarint(std::uint64_t* value) {
  *value = 0;
  for (std::size_t i = 0; i < rest_.size() && i < 10; ++i) {
    const auto byte = static_cast<std::uint8_t>(rest_[i]);
    *value |= std::uint64_t{byte & 0x7fU} << (7 * i);
    if ((byte & 0x80) == 0) {
      rest_.remove_prefix(i + 1);
      return true;
    }
  }
  return Fail();
}

bool MessageReader::TakeFixed(std::size_t size, std::uint64_t* value) {
  if (rest_.size() < size) return Fail();
  *value = ReadFixed(rest_.substr(0, size));
  rest_.remove_prefix(size);
  return true;
}

bool MessageReader::NextVarint(std::uint64_t* value) { return !rest_.empty() && TakeVarint(value); }

bool MessageReader::Next(MessageField* field) {
  if (rest_.empty()) return false;
  std::uint64_t key = 0;
  if (!TakeVarint(&key)) return false;
  if (key >> 3 == 0 || key >> 32 != 0) return Fail();
  field->id = static_cast<std::uint32_t>(key >> 3);
  field->wire = static_cast<Wire>(key & 7);
  field->number = 0;
  field->bytes = {};
  switch (field->wire) {
    case Wire::kVarint: return TakeVarint(&field->number);
    case Wire::kFixed64: return TakeFixed(8, &field->number);
    case Wire::kFixed32: return TakeFixed(4, &field->number);
    case Wire::kBytes: {
      std::uint64_t size = 0;
      if (!TakeVarint(&size)) return false;
      if (size > rest_.size()) return Fail();
      field->bytes = rest_.substr(0, size);
      rest_.remove_prefix(size);
      return true;
    }
  }
  return Fail();  // groups, of which nobody here makes use
}

}  // namespace headway::protobuf
