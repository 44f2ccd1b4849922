#include <gtest/gtest.h>
#include <snappy.h>

#include <string>

#include "server/gzip.h"
#include "server/snappy.h"

namespace headway::server {
namespace {

constexpr std::size_t kLimit = 1 << 20;

std::string Snappy(const std::string& text) {
  std::string packed;
  snappy::Compress(text.data(), text.size(), &packed);
  return packed;
}

struct Way {
  std::string (*pack)(const std::string&);
  Result<std::string> (*unpack)(std::string_view, std::size_t);
};
constexpr Way kWays[] = {{&Snappy, &UnpackSnappy},
                         {[](const std::string& text) { return *Gzip(text); }, &Gunzip}};

TEST(PackedBodyTest, IsWhatWasPacked) {
  for (const Way& way : kWays) {
    for (const std::size_t size : {0, 1, 1000, 300'000, 1 << 20}) {
      std::string text(size, 'x');
      for (std::size_t i = 0; i < size; i += 7) text[i] = static_cast<char>(i * i);
      EXPECT_EQ(*way.unpack(way.pack(text), kLimit), text) << size;
    }
  }
}

TEST(PackedBodyTest, BombsAndWhatIsCutOffAreRefused) {
  for (const Way& way : kWays) {
    const std::string bomb = way.pack(std::string(kLimit + 1, 'x'));
    EXPECT_EQ(way.unpack(bomb, kLimit).status().code(), Code::kInvalidArgument);
    const std::string packed = way.pack("some text that is not very long, some text");
    // No bytes at all are no body.
    for (std::size_t size = 1; size < packed.size(); ++size) {
      EXPECT_EQ(way.unpack(packed.substr(0, size), kLimit).status().code(), Code::kInvalidArgument)
          << size;
    }
    EXPECT_EQ(way.unpack("\xff\xff\xff\x7f nothing", kLimit).status().code(),
              Code::kInvalidArgument);
    EXPECT_FALSE(way.unpack(packed + "x", kLimit).ok());
  }
  // It claims a megabyte, and has none of it.
  EXPECT_FALSE(UnpackSnappy(std::string_view("\x80\x80\x40\x00", 4), kLimit).ok());
}

}  // namespace
}  // namespace headway::server
