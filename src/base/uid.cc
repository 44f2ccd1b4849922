#include "base/uid.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/sha256.h"

namespace headway::uid_internal {
namespace {

void Mark(std::array<std::uint8_t, 16>* bytes, int version) {
  (*bytes)[6] = static_cast<std::uint8_t>(((*bytes)[6] & 0x0f) | (version << 4));
  (*bytes)[8] = static_cast<std::uint8_t>(((*bytes)[8] & 0x3f) | 0x80);
}

// Early in a machine's boot, or in a sandbox without getrandom: still unique, if not unguessable.
std::array<std::uint8_t, 16> FromClocks() {
  static std::uint64_t counter = 0;
  std::string text = std::to_string(SystemClock::WallNow().ns) + "/" +
                     std::to_string(SystemClock::MonoNow().ns) + "/" + std::to_string(::getpid()) +
                     "/" + std::to_string(__atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED));
  return Derive(text);
}

}  // namespace

std::array<std::uint8_t, 16> Random() {
  std::array<std::uint8_t, 16> bytes{};
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::getrandom(bytes.data() + filled, bytes.size() - filled, GRND_NONBLOCK);
    if (got > 0) {
      filled += static_cast<std::size_t>(got);
    } else if (got < 0 && errno != EINTR) {
      return FromClocks();
    }
  }
  Mark(&bytes, 4);
  return bytes;
}

std::array<std::uint8_t, 16> Derive(std::string_view text) {
  const std::array<std::uint8_t, 32> digest = Sha256(text);
  std::array<std::uint8_t, 16> bytes;
  std::copy_n(digest.begin(), bytes.size(), bytes.begin());
  Mark(&bytes, 8);
  return bytes;
}

std::string ToHex(const std::array<std::uint8_t, 16>& bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  out.reserve(32);
  for (const std::uint8_t byte : bytes) {
    out.push_back(kHex[byte >> 4]);
    out.push_back(kHex[byte & 15]);
  }
  return out;
}

bool Parse(std::string_view text, std::array<std::uint8_t, 16>* bytes) {
  std::array<std::uint8_t, 16> parsed{};
  std::size_t digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '-' && text.size() == 36 && (i == 8 || i == 13 || i == 18 || i == 23)) continue;
    int value = 0;
    if (c >= '0' && c <= '9') {
      value = c - '0';
    } else if (c >= 'a' && c <= 'f') {
      value = c - 'a' + 10;
    } else if (c >= 'A' && c <= 'F') {
      value = c - 'A' + 10;
    } else {
      return false;
    }
    if (digits == 32) return false;
    parsed[digits / 2] = static_cast<std::uint8_t>(parsed[digits / 2] << 4 | value);
    ++digits;
  }
  if (digits != 32) return false;
  *bytes = parsed;
  return true;
}

}  // namespace headway::uid_internal
