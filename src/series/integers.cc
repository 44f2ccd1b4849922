#include "series/integers.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "base/limits.h"

namespace headway::series {
namespace {

constexpr std::size_t kMost = limits::kSeriesColumn;
constexpr int kZstdLevel = 1;
constexpr int kPlanesMost = 8;
constexpr int kOrdersMost = 2;

// The first byte of a sequence.
constexpr std::uint8_t kOrderMask = 3;
constexpr std::uint8_t kFolded = 1 << 2;
constexpr std::uint8_t kDivided = 1 << 3;

enum PlaneKind : std::uint8_t { kConstant = 0, kRaw = 1, kZstd = 2 };

// Below this a frame is hardly ever smaller than what is in it.
constexpr std::size_t kZstdFrom = 40;

// What a thread needs again and again.
struct Workspace {
  struct FreeCompressor {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  struct FreeDecompressor {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_CCtx, FreeCompressor> compressor;
  std::unique_ptr<ZSTD_DCtx, FreeDecompressor> decompressor;
  std::array<std::uint64_t, kMost> words;
  std::array<std::uint64_t, kMost> quotients;
  std::array<std::uint64_t, kMost> differences;
  std::array<std::array<unsigned char, kMost>, kPlanesMost> planes;
  std::string frame;
};

Workspace& ThreadWorkspace() {
  thread_local const auto workspace = std::make_unique<Workspace>();
  return *workspace;
}

// How numbers below 2^width lie in planes: a byte each of the lower ones, and what is left of the
// width in the last one, which has one, two, four or eight bits a number.
struct Layout {
  int planes = 0;
  int top_bits = 8;  // of the last plane

  static Layout Of(int width) {
    const int rest = width % 8;
    if (rest == 0) return {.planes = width / 8};
    return {.planes = width / 8 + 1, .top_bits = rest > 4 ? 8 : rest > 2 ? 4 : rest};
  }
  std::size_t BytesOf(int plane, std::size_t count) const {
    if (plane + 1 < planes) return count;
    const auto bits = static_cast<std::size_t>(top_bits);
    return (count * bits + 7) / 8;
  }
};

// --- packing

// How the numbers of a sequence are taken: each less what the ones before lead to expect.
struct Way {
  int order = 0;  // of the differences
  bool folded = false;
  std::uint64_t center = 0;
};

int WidthOf(std::span<const std::uint64_t> words) {
  std::uint64_t all = 0;
  for (const std::uint64_t word : words) all |= word;
  return static_cast<int>(std::bit_width(all));
}

void TakeWay(const Way& way, std::span<const std::uint64_t> differences, std::uint64_t* words) {
  const std::size_t count = differences.size();
  if (way.folded) {
    for (std::size_t i = 0; i < count; ++i) words[i] = Fold(differences[i] - way.center);
  } else {
    for (std::size_t i = 0; i < count; ++i) words[i] = differences[i] - way.center;
  }
}

// n log2 n, for as many as a histogram is made of.
constexpr std::size_t kSample = 1024;
const std::array<float, kSample + 1>& EntropyTable() {
  static const std::array<float, kSample + 1> table = [] {
    std::array<float, kSample + 1> made{};
    for (std::size_t n = 1; n <= kSample; ++n) {
      made[n] = static_cast<float>(static_cast<double>(n) * std::log2(static_cast<double>(n)));
    }
    return made;
  }();
  return table;
}

// About how many bytes the planes of such numbers will take, by a sample of them.
double Estimate(std::span<const std::uint64_t> words) {
  constexpr double kFrame = 18;
  const Layout layout = Layout::Of(WidthOf(words));
  const std::size_t count = words.size();
  double bytes = 0;
  if (count < kZstdFrom) {
    for (int p = 0; p < layout.planes; ++p) bytes += static_cast<double>(layout.BytesOf(p, count));
    return bytes;
  }
  // All, or four runs of neighbours.
  const std::size_t runs = count <= kSample ? 1 : 4;
  const std::size_t run = count <= kSample ? count : kSample / runs;
  const std::size_t stride = runs == 1 ? 0 : (count - run) / (runs - 1);
  std::uint16_t counts[kPlanesMost][256] = {};
  for (std::size_t r = 0; r < runs; ++r) {
    const std::uint64_t* const from = words.data() + r * stride;
    for (std::size_t i = 0; i < run; ++i) {
      std::uint64_t word = from[i];
      for (int p = 0; p < layout.planes; ++p, word >>= 8) ++counts[p][word & 0xff];
    }
  }
  const auto& table = EntropyTable();
  const std::size_t sampled = runs * run;
  for (int p = 0; p < layout.planes; ++p) {
    double bits = static_cast<double>(table[sampled]);
    for (const std::uint16_t n : counts[p]) bits -= static_cast<double>(table[n]);
    const double packed = bits / 8 * static_cast<double>(count) / static_cast<double>(sampled);
    bytes += std::min(static_cast<double>(layout.BytesOf(p, count)), packed + kFrame);
  }
  return bytes;
}

std::uint64_t SampledMedian(std::span<const std::uint64_t> differences) {
  constexpr std::size_t kSamples = 63;
  std::int64_t sample[kSamples];
  const std::size_t count = std::min(kSamples, differences.size());
  for (std::size_t i = 0; i < count; ++i) {
    sample[i] = static_cast<std::int64_t>(differences[i * differences.size() / count]);
  }
  std::nth_element(sample, sample + count / 2, sample + count);
  return static_cast<std::uint64_t>(sample[count / 2]);
}

std::uint64_t SignedMin(std::span<const std::uint64_t> words) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const std::uint64_t word : words) {
    least = std::min(least, static_cast<std::int64_t>(word));
  }
  return static_cast<std::uint64_t>(least);
}

void PutPlane(std::span<const unsigned char> plane, Workspace* workspace, std::string* out) {
  if (std::all_of(plane.begin(), plane.end(), [&](unsigned char b) { return b == plane[0]; })) {
    out->push_back(static_cast<char>(kConstant));
    out->push_back(static_cast<char>(plane[0]));
    return;
  }
  if (plane.size() >= kZstdFrom) {
    if (workspace->compressor == nullptr) {
      workspace->compressor.reset(ZSTD_createCCtx());
      workspace->frame.resize(ZSTD_compressBound(kMost));
    }
    // Without memory for it the plane is kept as it is.
    if (workspace->compressor != nullptr) {
      const std::size_t size =
          ZSTD_compressCCtx(workspace->compressor.get(), workspace->frame.data(),
                            workspace->frame.size(), plane.data(), plane.size(), kZstdLevel);
      // A frame that is hardly smaller is not worth the time to read it.
      if (ZSTD_isError(size) == 0 && size + size / 64 + 3 < plane.size()) {
        out->push_back(static_cast<char>(kZstd));
        PutVarint(out, size);
        out->append(workspace->frame.data(), size);
        return;
      }
    }
  }
  out->push_back(static_cast<char>(kRaw));
  out->append(reinterpret_cast<const char*>(plane.data()), plane.size());
}

void PutPlanes(std::span<const std::uint64_t> words, int width, Workspace* workspace,
               std::string* out) {
  const Layout layout = Layout::Of(width);
  const std::size_t count = words.size();
  for (int p = 0; p < layout.planes; ++p) {
    unsigned char* const plane = workspace->planes[0].data();
    const int bits = p + 1 < layout.planes ? 8 : layout.top_bits;
    const std::size_t size = layout.BytesOf(p, count);
    if (bits == 8) {
      for (std::size_t i = 0; i < count; ++i) {
        plane[i] = static_cast<unsigned char>(words[i] >> 8 * p);
      }
    } else {
      std::fill_n(plane, size, static_cast<unsigned char>(0));
      const auto each = static_cast<std::size_t>(8 / bits);
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t number = words[i] >> 8 * p;
        plane[i / each] |=
            static_cast<unsigned char>(number << (i % each) * static_cast<unsigned>(bits));
      }
    }
    PutPlane({plane, size}, workspace, out);
  }
}

// Of all steps between values the greatest common divisor; 1 where they are equal.
std::uint64_t DivisorOf(std::span<const std::int64_t> values, std::int64_t least) {
  std::uint64_t divisor = 0;
  for (const std::int64_t value : values) {
    const std::uint64_t distance =
        static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(least);
    if (divisor == 0) {
      divisor = distance;
    } else if ((divisor & (divisor - 1)) == 0) {  // without a division
      if ((distance & (divisor - 1)) != 0) divisor = std::uint64_t{1} << std::countr_zero(distance);
    } else if (distance % divisor != 0) {
      divisor = std::gcd(divisor, distance);
    }
    if (divisor == 1) break;
  }
  return std::max<std::uint64_t>(divisor, 1);
}

}  // namespace

void PackIntegers(std::span<const std::int64_t> values, std::string* out) {
  HEADWAY_CHECK(values.size() <= kMost);
  if (values.empty()) return;
  Workspace& workspace = ThreadWorkspace();
  const std::size_t count = values.size();
  const std::int64_t least = *std::min_element(values.begin(), values.end());
  const std::uint64_t divisor = DivisorOf(values, least);
  std::uint64_t* const quotients = workspace.quotients.data();
  for (std::size_t i = 0; i < count; ++i) {
    quotients[i] = static_cast<std::uint64_t>(values[i]) - static_cast<std::uint64_t>(least);
  }
  if (std::has_single_bit(divisor)) {
    const int shift = std::countr_zero(divisor);
    for (std::size_t i = 0; i < count; ++i) quotients[i] >>= shift;
  } else {
    for (std::size_t i = 0; i < count; ++i) quotients[i] /= divisor;
  }

  // Heads: the first quotient, the first difference.
  std::uint64_t heads[kOrdersMost] = {};
  Way best;
  double best_bytes = std::numeric_limits<double>::infinity();
  std::uint64_t* const differences = workspace.differences.data();
  std::copy_n(quotients, count, differences);
  const std::size_t orders = std::min<std::size_t>(kOrdersMost, count - 1);
  for (std::size_t order = 0; order <= orders; ++order) {
    if (order > 0) {
      heads[order - 1] = differences[0];
      for (std::size_t i = 0; i + order < count; ++i) {
        differences[i] = differences[i + 1] - differences[i];
      }
    }
    const std::span<const std::uint64_t> all(differences, count - order);
    const bool constant =
        std::adjacent_find(all.begin(), all.end(), std::not_equal_to<>()) == all.end();
    for (const bool folded : {false, true}) {
      const Way way = {.order = static_cast<int>(order),
                       .folded = folded,
                       .center = folded       ? SampledMedian(all)
                                 : order == 0 ? 0
                                              : SignedMin(all)};
      TakeWay(way, all, workspace.words.data());
      const double bytes = Estimate({workspace.words.data(), all.size()});
      if (bytes < best_bytes) {
        best_bytes = bytes;
        best = way;
      }
      if (constant) break;
    }
    if (constant) break;
  }

  const std::size_t left = count - static_cast<std::size_t>(best.order);
  std::copy_n(quotients, count, differences);
  for (int order = 0; order < best.order; ++order) {
    for (std::size_t i = 0; i + 1 < count - static_cast<std::size_t>(order); ++i) {
      differences[i] = differences[i + 1] - differences[i];
    }
  }
  TakeWay(best, {differences, left}, workspace.words.data());
  const std::span<const std::uint64_t> words(workspace.words.data(), left);
  const int width = WidthOf(words);
  out->push_back(
      static_cast<char>(best.order | (best.folded ? kFolded : 0) | (divisor != 1 ? kDivided : 0)));
  out->push_back(static_cast<char>(width));
  PutSigned(out, least);
  if (divisor != 1) PutVarint(out, divisor);
  if (best.order > 0) PutVarint(out, heads[0]);
  if (best.order > 1) PutSigned(out, static_cast<std::int64_t>(heads[1]));
  if (best.order > 0 || best.folded) PutSigned(out, static_cast<std::int64_t>(best.center));
  PutPlanes(words, width, &workspace, out);
}

// --- unpacking

namespace {

// A plane of `size` bytes: where it lies in the input, or in `room`.
const unsigned char* GetPlane(ByteReader* in, std::size_t size, Workspace* workspace,
                              unsigned char* room) {
  switch (in->Byte()) {
    case kConstant: std::memset(room, in->Byte(), size); return room;
    case kRaw: {
      const std::string_view bytes = in->Bytes(size);
      return reinterpret_cast<const unsigned char*>(bytes.data());
    }
    case kZstd: {
      const std::string_view frame = in->Bytes(in->Varint());
      if (!in->ok()) return room;
      // Errors are sizes beyond all.
      if (ZSTD_decompressDCtx(workspace->decompressor.get(), room, size, frame.data(),
                              frame.size()) != size) {
        in->Fail();
      }
      return room;
    }
    default: in->Fail(); return room;
  }
}

// Adds the numbers of a plane of fewer than eight bits each at `shift`.
template <unsigned kBits>
void AddPacked(const unsigned char* plane, std::size_t count, int shift, std::uint64_t* words) {
  constexpr std::size_t kEach = 8 / kBits;
  constexpr std::uint64_t kMask = (1u << kBits) - 1;
  std::size_t i = 0;
  for (; i + kEach <= count; i += kEach) {
    const std::uint64_t byte = plane[i / kEach];
    for (std::size_t k = 0; k < kEach; ++k) words[i + k] |= (byte >> k * kBits & kMask) << shift;
  }
  for (; i < count; ++i) {
    words[i] |= (std::uint64_t{plane[i / kEach]} >> i % kEach * kBits & kMask) << shift;
  }
}

template <int kPlanes>
void Combine(const unsigned char* const* planes, std::size_t count, std::uint64_t* words) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t word = 0;
    for (int p = 0; p < kPlanes; ++p) word |= std::uint64_t{planes[p][i]} << 8 * p;
    words[i] = word;
  }
}

void GetPlanes(ByteReader* in, int width, std::size_t count, Workspace* workspace,
               std::uint64_t* words) {
  const Layout layout = Layout::Of(width);
  const unsigned char* planes[kPlanesMost] = {};
  for (int p = 0; p < layout.planes; ++p) {
    planes[p] = GetPlane(in, layout.BytesOf(p, count), workspace,
                         workspace->planes[static_cast<std::size_t>(p)].data());
    if (!in->ok()) return;
  }
  const int whole = layout.top_bits == 8 ? layout.planes : layout.planes - 1;
  switch (whole) {
    case 0: std::fill_n(words, count, std::uint64_t{0}); break;
    case 1: Combine<1>(planes, count, words); break;
    case 2: Combine<2>(planes, count, words); break;
    case 3: Combine<3>(planes, count, words); break;
    case 4: Combine<4>(planes, count, words); break;
    case 5: Combine<5>(planes, count, words); break;
    case 6: Combine<6>(planes, count, words); break;
    case 7: Combine<7>(planes, count, words); break;
    default: Combine<8>(planes, count, words); break;
  }
  if (whole == layout.planes) return;
  const unsigned char* const top = planes[whole];
  switch (layout.top_bits) {
    case 1: AddPacked<1>(top, count, 8 * whole, words); break;
    case 2: AddPacked<2>(top, count, 8 * whole, words); break;
    default: AddPacked<4>(top, count, 8 * whole, words); break;
  }
}

struct Head {
  std::uint64_t least = 0;
  std::uint64_t divisor = 1;
  std::uint64_t heads[kOrdersMost] = {};
  std::uint64_t center = 0;
};

template <int kOrder, bool kIsFolded>
void Undo(const Head& head, const std::uint64_t* words, std::span<std::int64_t> out) {
  const auto put = [&](std::size_t at, std::uint64_t quotient) {
    out[at] = static_cast<std::int64_t>(quotient * head.divisor + head.least);
  };
  std::uint64_t quotient = head.heads[0];
  std::uint64_t difference = head.heads[1];
  if constexpr (kOrder > 0) put(0, quotient);
  if constexpr (kOrder > 1) put(1, quotient += difference);
  for (std::size_t i = kOrder; i < out.size(); ++i) {
    const std::uint64_t word = words[i - kOrder];
    const std::uint64_t number = (kIsFolded ? Unfold(word) : word) + head.center;
    if constexpr (kOrder == 0) {
      put(i, number);
    } else if constexpr (kOrder == 1) {
      put(i, quotient += number);
    } else {
      put(i, quotient += difference += number);
    }
  }
}

}  // namespace

Status UnpackIntegers(ByteReader* in, std::span<std::int64_t> out) {
  HEADWAY_CHECK(out.size() <= kMost);
  if (out.empty()) return OkStatus();
  Workspace& workspace = ThreadWorkspace();
  if (workspace.decompressor == nullptr) {
    workspace.decompressor.reset(ZSTD_createDCtx());
    if (workspace.decompressor == nullptr) {
      return {Code::kResourceExhausted, "no memory to unpack a column"};
    }
  }
  const std::uint8_t flags = in->Byte();
  const int width = in->Byte();
  const std::size_t order = flags & kOrderMask;
  if ((flags & ~(kOrderMask | kFolded | kDivided)) != 0 || width > 64 || order > kOrdersMost ||
      order >= out.size()) {
    in->Fail();
    return OkStatus();
  }
  const bool folded = (flags & kFolded) != 0;
  Head head;
  head.least = static_cast<std::uint64_t>(in->Signed());
  if ((flags & kDivided) != 0) head.divisor = in->Varint();
  if (order > 0) head.heads[0] = in->Varint();
  if (order > 1) head.heads[1] = static_cast<std::uint64_t>(in->Signed());
  if (order > 0 || folded) head.center = static_cast<std::uint64_t>(in->Signed());
  std::uint64_t* const words = workspace.words.data();
  GetPlanes(in, width, out.size() - order, &workspace, words);
  if (!in->ok()) return OkStatus();
  switch (order) {
    case 0: folded ? Undo<0, true>(head, words, out) : Undo<0, false>(head, words, out); break;
    case 1: folded ? Undo<1, true>(head, words, out) : Undo<1, false>(head, words, out); break;
    default: folded ? Undo<2, true>(head, words, out) : Undo<2, false>(head, words, out); break;
  }
  return OkStatus();
}

}  // namespace headway::series
