#include "server/zstd.h"

#include <zstd.h>

#include <algorithm>
#include <memory>

namespace headway::server {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
constexpr int kFast = 1;
constexpr int kWindowLogMax = 23;  // 8 MiB: what a frame may make us hold beside its content

}  // namespace

Result<std::string> Decompress(std::string_view packed, std::size_t bytes_limit) {
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                        &ZSTD_freeDCtx);
  if (context == nullptr) return Status(Code::kResourceExhausted, "no memory to decompress");
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kWindowLogMax);
  ZSTD_inBuffer in = {packed.data(), packed.size(), 0};
  std::string out;
  std::size_t left = packed.empty() ? 0 : 1;  // bytes that the frame still wants
  while (in.pos < in.size || left > 0) {
    const std::size_t begin = out.size();
    out.resize(std::min(begin + kPieceBytes, bytes_limit + 1));
    ZSTD_outBuffer piece = {out.data() + begin, out.size() - begin, 0};
    left = ZSTD_decompressStream(context.get(), &piece, &in);
    out.resize(begin + piece.pos);
    if (ZSTD_isError(left) != 0) {
      return Status(Code::kInvalidArgument,
                    std::string("the body is not zstd: ") + ZSTD_getErrorName(left));
    }
    if (out.size() > bytes_limit) {
      return Status(Code::kInvalidArgument, "the body is more than " + std::to_string(bytes_limit) +
                                                " bytes when it is decompressed");
    }
    if (piece.pos == 0 && in.pos == in.size && left > 0) {
      return Status(Code::kInvalidArgument, "the body is not zstd: it is cut off");
    }
  }
  return out;
}

Result<std::string> Compress(std::string_view bytes) {
  const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                        &ZSTD_freeCCtx);
  if (context == nullptr) return Status(Code::kResourceExhausted, "no memory to compress");
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kFast);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compress2(context.get(), packed.data(), packed.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(size) != 0) {
    return Status(Code::kResourceExhausted,
                  std::string("cannot compress: ") + ZSTD_getErrorName(size));
  }
  packed.resize(size);
  packed.shrink_to_fit();
  return packed;
}

}  // namespace headway::server
