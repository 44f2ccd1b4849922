#include "base/names.h"

#include <cstdint>
#include <string>

#include "base/limits.h"
#include "base/utf8.h"

namespace headway {
namespace {

// C0, DEL and C1 in valid UTF-8.
bool HasControlCharacter(std::string_view text) {
  std::uint8_t before = 0;
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (byte < 0x20 || byte == 0x7f || (before == 0xc2 && byte < 0xa0)) return true;
    before = byte;
  }
  return false;
}

}  // namespace

Status CheckStoredName(std::string_view what, std::string_view name) {
  if (name.size() > limits::kNameBytes) {
    return {Code::kInvalidArgument, std::string(what) + " has " + std::to_string(name.size()) +
                                        " bytes; at most " + std::to_string(limits::kNameBytes) +
                                        " are allowed"};
  }
  if (!IsValidUtf8(name)) {
    return {Code::kInvalidArgument, std::string(what) + " is not valid UTF-8"};
  }
  return OkStatus();
}

Status CheckNewName(std::string_view what, std::string_view name) {
  HEADWAY_RETURN_IF_ERROR(CheckStoredName(what, name));
  if (HasControlCharacter(name)) {
    return {Code::kInvalidArgument, std::string(what) + " must not hold control characters"};
  }
  return OkStatus();
}

}  // namespace headway
