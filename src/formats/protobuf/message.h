#pragma once

#include <cstdint>
#include <string_view>

#include "formats/protobuf/wire.h"

/// Takes a protocol buffer message apart, field by field. Internal to formats/. Pure.

namespace headway::protobuf {

/// One field. `number` holds varints and fixed values, `bytes` what is length-delimited.
struct MessageField {
  std::uint32_t id = 0;
  Wire wire = Wire::kVarint;
  std::uint64_t number = 0;
  std::string_view bytes;
};

class MessageReader {
 public:
  explicit MessageReader(std::string_view message) : rest_(message) {}

  /// False at the end, and at what can't be read: then `ok()` is false.
  bool Next(MessageField* field) {
    std::uint64_t key = 0;
    if (rest_.empty() || !TakeVarint(&key)) return false;
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
  bool ok() const { return ok_; }

  /// One bare varint, of a packed field. False at the end, likewise.
  bool NextVarint(std::uint64_t* value) { return !rest_.empty() && TakeVarint(value); }

 private:
  // Most have one byte.
  bool TakeVarint(std::uint64_t* value) {
    if (rest_.empty() || static_cast<std::uint8_t>(rest_.front()) >= 0x80) {
      return TakeLongVarint(value);
    }
    *value = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return true;
  }
  bool TakeLongVarint(std::uint64_t* value);
  bool TakeFixed(std::size_t size, std::uint64_t* value);
  bool Fail() {
    ok_ = false;
    rest_ = {};
    return false;
  }

  std::string_view rest_;
  bool ok_ = true;
};

/// A little-endian number of `bytes.size()` <= 8 bytes.
std::uint64_t ReadFixed(std::string_view bytes);

}  // namespace headway::protobuf
