#include "server/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

namespace headway::server {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
constexpr int kGzip = 16 + MAX_WBITS;  // as zlib says it: with a gzip header and nothing else
constexpr int kMemory = 8;             // zlib's default

// zlib counts in 32 bits, and does not write to what it reads.
void Feed(std::string_view bytes, std::size_t at, z_stream* stream) {
  const std::size_t most = std::numeric_limits<uInt>::max();
  stream->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + at));
  stream->avail_in = static_cast<uInt>(std::min(bytes.size() - at, most));
}

void Drain(std::string* out, std::size_t begin, z_stream* stream) {
  stream->next_out = reinterpret_cast<Bytef*>(out->data() + begin);
  stream->avail_out = static_cast<uInt>(out->size() - begin);
}

Status NoGzip(std::string_view why) {
  return {Code::kInvalidArgument, "the body is not gzip: " + std::string(why)};
}

Status NoMemory() { return {Code::kResourceExhausted, "no memory to compress or decompress"}; }

}  // namespace

Result<std::string> Gunzip(std::string_view packed, std::size_t bytes_limit) {
  z_stream stream = {};
  if (::inflateInit2(&stream, kGzip) != Z_OK) return NoMemory();
  const struct End {
    z_stream* stream;
    ~End() { ::inflateEnd(stream); }
  } end{&stream};
  std::string out;
  std::size_t taken = 0;
  int state = packed.empty() ? Z_STREAM_END : Z_OK;
  while (taken < packed.size() || state != Z_STREAM_END) {
    if (state == Z_STREAM_END && ::inflateReset(&stream) != Z_OK) return NoMemory();
    const std::size_t begin = out.size();
    out.resize(std::min(begin + kPieceBytes, bytes_limit + 1));
    Feed(packed, taken, &stream);
    Drain(&out, begin, &stream);
    const uInt fed = stream.avail_in;
    state = ::inflate(&stream, Z_NO_FLUSH);
    taken += fed - stream.avail_in;
    out.resize(out.size() - stream.avail_out);
    if (state == Z_MEM_ERROR) return NoMemory();
    if (out.size() > bytes_limit) {
      return Status(Code::kInvalidArgument, "the body is more than " + std::to_string(bytes_limit) +
                                                " bytes when it is decompressed");
    }
    if (state == Z_BUF_ERROR || (state == Z_OK && fed == 0 && out.size() == begin)) {
      return NoGzip("it is cut off");
    }
    if (state != Z_OK && state != Z_STREAM_END) {
      return NoGzip(stream.msg == nullptr ? "it is damaged" : stream.msg);
    }
  }
  return out;
}

Result<std::string> Gzip(std::string_view bytes) {
  z_stream stream = {};
  if (::deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    return NoMemory();
  }
  const struct End {
    z_stream* stream;
    ~End() { ::deflateEnd(stream); }
  } end{&stream};
  std::string out;
  std::size_t taken = 0;
  for (int state = Z_OK; state != Z_STREAM_END;) {
    const std::size_t begin = out.size();
    out.resize(begin + kPieceBytes);
    Feed(bytes, taken, &stream);
    Drain(&out, begin, &stream);
    const uInt fed = stream.avail_in;
    state = ::deflate(&stream, taken + fed == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    taken += fed - stream.avail_in;
    out.resize(out.size() - stream.avail_out);
    if (state != Z_OK && state != Z_STREAM_END) return NoMemory();
  }
  return out;
}

}  // namespace headway::server
