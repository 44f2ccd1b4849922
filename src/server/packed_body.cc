#include "server/packed_body.h"

#include <snappy.h>
#include <zlib.h>

#include <algorithm>
#include <memory>

namespace headway::server {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
constexpr int kGzipOnly = 16;  // of zlib: no other wrapping

Status TooMuch(std::size_t bytes_limit) {
  return {Code::kInvalidArgument,
          "the body is more than " + std::to_string(bytes_limit) + " bytes when it is unpacked"};
}

Status NoGzip(const char* why) {
  return {Code::kInvalidArgument, std::string("the body is not gzip: ") + why};
}

}  // namespace

Result<std::string> UnpackSnappy(std::string_view packed, std::size_t bytes_limit) {
  std::size_t size = 0;
  if (!snappy::GetUncompressedLength(packed.data(), packed.size(), &size)) {
    return Status(Code::kInvalidArgument, "the body is not snappy");
  }
  if (size > bytes_limit) return TooMuch(bytes_limit);
  // A byte of snappy makes at most 64 / 3: what claims more is none, and gets no memory.
  if (size / 22 > packed.size()) {
    return Status(Code::kInvalidArgument, "the body is not snappy: it is cut off");
  }
  std::string whole(size, '\0');
  if (!snappy::RawUncompress(packed.data(), packed.size(), whole.data())) {
    return Status(Code::kInvalidArgument, "the body is not snappy: it is damaged");
  }
  return whole;
}

Result<std::string> UnpackGzip(std::string_view packed, std::size_t bytes_limit) {
  z_stream stream = {};
  if (::inflateInit2(&stream, MAX_WBITS + kGzipOnly) != Z_OK) {
    return Status(Code::kResourceExhausted, "no memory to unpack the body");
  }
  const std::unique_ptr<z_stream, int (*)(z_stream*)> ends(&stream, &::inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string out;
  for (;;) {
    const std::size_t begin = out.size();
    out.resize(std::min(begin + kPieceBytes, bytes_limit + 1));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + begin);
    stream.avail_out = static_cast<uInt>(out.size() - begin);
    const int result = ::inflate(&stream, Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
    if (out.size() > bytes_limit) return TooMuch(bytes_limit);
    if (result == Z_STREAM_END) break;
    if (result == Z_BUF_ERROR) return NoGzip("it is cut off");
    if (result != Z_OK) return NoGzip(stream.msg != nullptr ? stream.msg : "it is damaged");
  }
  if (stream.avail_in > 0) return NoGzip("something follows it");
  return out;
}

}  // namespace headway::server
