#include "server/packed_body.h"

#include <gtest/gtest.h>
#include <snappy.h>
#include <zlib.h>

#include <string>

namespace headway::server {
namespace {

constexpr std::size_t kLimit = 1 << 20;

std::string Snappy(const std::string& text) {
  std::string packed;
  snappy::Compress(text.data(), text.size(), &packed);
  return packed;
}

std::string Gzip(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(::deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(::deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  return packed;
}

struct Way {
  std::string (*pack)(const std::string&);
  Result<std::string> (*unpack)(std::string_view, std::size_t);
};
constexpr Way kWays[] = {{&Snappy, &UnpackSnappy}, {&Gzip, &UnpackGzip}};

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
    for (std::size_t size = 0; size < packed.size(); ++size) {
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
