#include "base/names.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/limits.h"
#include "base/utf8.h"

namespace headway {
namespace {

// Of valid UTF-8; takes it off `*text`.
char32_t TakeCharacter(std::string_view* text) {
  const std::size_t length = Utf8SequenceLength(*text);
  const auto byte = [text](std::size_t i) { return static_cast<std::uint8_t>((*text)[i]); };
  char32_t character = length == 1 ? byte(0) : byte(0) & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) character = character << 6 | (byte(i) & 0x3f);
  text->remove_prefix(length);
  return character;
}

// What nobody sees, or what moves what others see: the default ignorable characters of Unicode
// (format and direction marks, fillers, tags), and its separators of lines.
constexpr struct {
  char32_t first, last;
} kInvisible[] = {{0xad, 0xad},      {0x34f, 0x34f},   {0x61c, 0x61c},     {0x115f, 0x1160},
                  {0x17b4, 0x17b5},  {0x180b, 0x180f}, {0x200b, 0x200f},   {0x2028, 0x202e},
                  {0x2060, 0x206f},  {0x3164, 0x3164}, {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
                  {0xffa0, 0xffa0},  {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
                  {0xe0000, 0xe0fff}};

bool IsInvisible(char32_t character) {
  for (const auto& [first, last] : kInvisible) {
    if (character >= first && character <= last) return true;
  }
  return false;
}

// Joiners and variation selectors shape letters of many scripts, and emoji.
bool IsShaping(char32_t character) {
  return character == 0x200c || character == 0x200d || (character >= 0xfe00 && character <= 0xfe0f);
}

bool IsAscii(char32_t character) { return character < 0x80; }

// In valid UTF-8. What shapes may stand beside what can be shaped: that is not ASCII.
bool HasInvisibleCharacter(std::string_view text) {
  char32_t before = 0;   // that is seen
  bool waiting = false;  // there was something that must shape what comes
  while (!text.empty()) {
    const char32_t character = TakeCharacter(&text);
    if (IsShaping(character)) {
      if (IsAscii(before)) waiting = true;
      continue;
    }
    if (IsInvisible(character)) return true;
    if (waiting && IsAscii(character)) return true;
    waiting = false;
    before = character;
  }
  return waiting;
}

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
  if (HasInvisibleCharacter(name)) {
    return {Code::kInvalidArgument, std::string(what) + " must not hold invisible characters"};
  }
  return OkStatus();
}

Status CheckGivenName(std::string_view what, std::string_view name) {
  if (!name.empty()) return CheckNewName(what, name);
  return {Code::kInvalidArgument, std::string(what) + " must not be empty"};
}

std::string ShellWord(std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("_@%+=:,./-").find(c) != std::string_view::npos;
  });
  if (plain && !text.empty()) return std::string(text);
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace headway
