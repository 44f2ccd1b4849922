#include "formats/protobuf/wire.h"

#include <gtest/gtest.h>

#include <string>

namespace headway::protobuf {
namespace {

// The examples of the encoding's own documentation, and the ends of the ranges.
TEST(WireTest, Encodes) {
  std::string out;
  AppendVarintField(1, 150, &out);
  EXPECT_EQ(out, "\x08\x96\x01");
  out.clear();
  AppendVarintField(1, 0, &out);
  EXPECT_EQ(out, std::string("\x08\0", 2));
  out.clear();
  AppendVarintField(16, ~std::uint64_t{0}, &out);
  EXPECT_EQ(out, "\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  out.clear();
  AppendBytesField(2, "testing", &out);
  EXPECT_EQ(out, "\x12\x07testing");
  out.clear();
  AppendFixed64Field(3, 0x0102030405060708, &out);
  EXPECT_EQ(out, "\x19\x08\x07\x06\x05\x04\x03\x02\x01");
  out.clear();
  AppendDoubleField(4, 1, &out);
  EXPECT_EQ(out, std::string("\x21\0\0\0\0\0\0\xf0\x3f", 9));
  out.clear();
  AppendFloatField(5, 1, &out);
  EXPECT_EQ(out, std::string("\x2d\0\0\x80\x3f", 5));
  out.clear();
  AppendTextField(2, "a\xff", &out);
  EXPECT_EQ(out,
            "\x12\x04"
            "a\xef\xbf\xbd");
}

}  // namespace
}  // namespace headway::protobuf
