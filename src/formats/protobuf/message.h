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
  bool Next(MessageField* field);
  bool ok() const { return ok_; }

  /// One bare varint, of a packed field. False at the end, likewise.
  bool NextVarint(std::uint64_t* value);

 private:
  bool TakeVarint(std::uint64_t* value);
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
