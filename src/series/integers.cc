#include "series/integers.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

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
  std::array<std::array<unsigned char, kMost>, kPlanesMost> planes;
  std::array<unsigned char, kMost> wide;
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

// n log2 n, for as many as a sample has.
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

// About how many bytes the planes of `count` numbers will take of which these are a sample.
double Estimate(std::span<const std::uint64_t> sample, std::size_t count) {
  constexpr double kFrame = 18;
  const Layout layout = Layout::Of(WidthOf(sample));
  double bytes = 0;
  if (count < kZstdFrom) {
    for (int p = 0; p < layout.planes; ++p) bytes += static_cast<double>(layout.BytesOf(p, count));
    return bytes;
  }
  // Two tables, so that equal neighbours do not wait for each other.
  std::uint16_t counts[2][kPlanesMost][256];
  const auto planes = static_cast<std::size_t>(layout.planes);
  for (auto& table : counts) std::memset(table, 0, planes * sizeof table[0]);
  const auto add = [planes](std::uint64_t word, std::uint16_t(*table)[256]) {
    for (std::size_t p = 0; p < planes; ++p, word >>= 8) ++table[p][word & 0xff];
  };
  std::size_t i = 0;
  for (; i + 2 <= sample.size(); i += 2) {
    add(sample[i], counts[0]);
    add(sample[i + 1], counts[1]);
  }
  if (i < sample.size()) add(sample[i], counts[0]);
  const auto& entropy = EntropyTable();
  for (std::size_t p = 0; p < planes; ++p) {
    float bits = entropy[sample.size()];
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::size_t n = std::size_t{counts[0][p][byte]} + counts[1][p][byte];
      if (n > 1) bits -= entropy[n];
    }
    const double packed = static_cast<double>(bits) / 8 * static_cast<double>(count) /
                          static_cast<double>(sample.size());
    bytes +=
        std::min(static_cast<double>(layout.BytesOf(static_cast<int>(p), count)), packed + kFrame);
  }
  return bytes;
}

std::uint64_t Median(std::span<const std::uint64_t> numbers) {
  constexpr std::size_t kNumbers = 63;
  std::int64_t some[kNumbers] = {};
  const std::size_t count = std::min(kNumbers, numbers.size());
  for (std::size_t i = 0; i < count; ++i) {
    some[i] = static_cast<std::int64_t>(numbers[i * numbers.size() / count]);
  }
  std::nth_element(some, some + count / 2, some + count);
  return static_cast<std::uint64_t>(some[count / 2]);
}

std::uint64_t SignedMin(std::span<const std::uint64_t> numbers) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const std::uint64_t number : numbers) {
    least = std::min(least, static_cast<std::int64_t>(number));
  }
  return static_cast<std::uint64_t>(least);
}

// Replaces numbers by their differences and returns the first one.
std::uint64_t Differentiate(std::uint64_t* numbers, std::size_t count) {
  const std::uint64_t first = numbers[0];
  std::uint64_t last = first;
  for (std::size_t i = 1; i < count; ++i) {
    const std::uint64_t number = numbers[i];
    numbers[i - 1] = number - last;
    last = number;
  }
  return first;
}

// The way that promises to be the smallest for all numbers, by four runs of neighbours.
Way Choose(std::span<const std::uint64_t> numbers) {
  constexpr std::size_t kRuns = 4;
  const std::size_t runs = numbers.size() <= kSample ? 1 : kRuns;
  const std::size_t run = numbers.size() <= kSample ? numbers.size() : kSample / kRuns;
  const std::size_t stride = runs == 1 ? 0 : (numbers.size() - run) / (runs - 1);
  std::array<std::uint64_t, kSample> sample, words;
  for (std::size_t r = 0; r < runs; ++r) {
    std::copy_n(numbers.data() + r * stride, run, sample.data() + r * run);
  }
  Way best;
  double best_bytes = std::numeric_limits<double>::infinity();
  const std::size_t orders = std::min<std::size_t>(kOrdersMost, run - 1);
  for (std::size_t order = 0; order <= orders; ++order) {
    const std::size_t left = run - order;
    if (order > 0) {  // of each run, which then lie close to each other
      for (std::size_t r = 0; r < runs; ++r) {
        Differentiate(sample.data() + r * (left + 1), left + 1);
        std::copy_n(sample.data() + r * (left + 1), left, sample.data() + r * left);
      }
    }
    const std::span<const std::uint64_t> all(sample.data(), runs * left);
    for (const bool folded : {false, true}) {
      const Way way = {.order = static_cast<int>(order),
                       .folded = folded,
                       .center = folded       ? Median(all)
                                 : order == 0 ? 0
                                              : SignedMin(all)};
      TakeWay(way, all, words.data());
      const double bytes = Estimate({words.data(), all.size()}, numbers.size()) +
                           4 * static_cast<double>(order);  // of the head
      if (bytes < best_bytes) {
        best_bytes = bytes;
        best = way;
      }
    }
  }
  return best;
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

// So many bits of each word from `shift` on; those above them are zero.
template <unsigned kBits>
void TakePlane(std::span<const std::uint64_t> words, int shift, unsigned char* plane) {
  constexpr std::size_t kEach = 8 / kBits;
  const std::size_t count = words.size();
  std::size_t i = 0;
  for (; i + kEach <= count; i += kEach) {
    std::uint64_t byte = 0;
    for (std::size_t k = 0; k < kEach; ++k) byte |= words[i + k] >> shift << k * kBits;
    plane[i / kEach] = static_cast<unsigned char>(byte);
  }
  std::uint64_t byte = 0;
  for (std::size_t k = 0; i + k < count; ++k) byte |= words[i + k] >> shift << k * kBits;
  if (i < count) plane[i / kEach] = static_cast<unsigned char>(byte);
}

void PutPlanes(std::span<const std::uint64_t> words, int width, Workspace* workspace,
               std::string* out) {
  const Layout layout = Layout::Of(width);
  const std::size_t count = words.size();
  for (int p = 0; p < layout.planes; ++p) {
    unsigned char* const plane = workspace->planes[0].data();
    const int bits = p + 1 < layout.planes ? 8 : layout.top_bits;
    const std::size_t size = layout.BytesOf(p, count);
    switch (bits) {
      case 1: TakePlane<1>(words, 8 * p, plane); break;
      case 2: TakePlane<2>(words, 8 * p, plane); break;
      case 4: TakePlane<4>(words, 8 * p, plane); break;
      default: TakePlane<8>(words, 8 * p, plane); break;
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
  if (divisor == 1) {
    // As they are.
  } else if (std::has_single_bit(divisor)) {
    const int shift = std::countr_zero(divisor);
    for (std::size_t i = 0; i < count; ++i) quotients[i] >>= shift;
  } else {
    for (std::size_t i = 0; i < count; ++i) quotients[i] /= divisor;
  }

  Way way;
  if (WidthOf({quotients, count}) != 0) way = Choose({quotients, count});
  std::uint64_t heads[kOrdersMost] = {};  // the first quotient, the first difference
  for (int order = 0; order < way.order; ++order) {
    heads[order] = Differentiate(quotients, count - static_cast<std::size_t>(order));
  }
  const std::size_t left = count - static_cast<std::size_t>(way.order);
  if (!way.folded) way.center = way.order == 0 ? 0 : SignedMin({quotients, left});
  TakeWay(way, {quotients, left}, workspace.words.data());
  const std::span<const std::uint64_t> words(workspace.words.data(), left);
  const int width = WidthOf(words);
  out->push_back(
      static_cast<char>(way.order | (way.folded ? kFolded : 0) | (divisor != 1 ? kDivided : 0)));
  out->push_back(static_cast<char>(width));
  PutSigned(out, least);
  if (divisor != 1) PutVarint(out, divisor);
  if (way.order > 0) PutVarint(out, heads[0]);
  if (way.order > 1) PutSigned(out, static_cast<std::int64_t>(heads[1]));
  if (way.order > 0 || way.folded) PutSigned(out, static_cast<std::int64_t>(way.center));
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

// A byte for each number of a plane that has fewer bits of it.
template <unsigned kBits>
void Widen(const unsigned char* plane, std::size_t count, unsigned char* bytes) {
  constexpr std::size_t kEach = 8 / kBits;
  constexpr unsigned kMask = (1u << kBits) - 1;
  std::size_t i = 0;
  for (; i + kEach <= count; i += kEach) {
    const unsigned byte = plane[i / kEach];
    for (std::size_t k = 0; k < kEach; ++k) {
      bytes[i + k] = static_cast<unsigned char>(byte >> k * kBits & kMask);
    }
  }
  for (; i < count; ++i) {
    bytes[i] = static_cast<unsigned char>(plane[i / kEach] >> i % kEach * kBits & kMask);
  }
}

struct Planes {
  int count = 0;
  const unsigned char* bytes[kPlanesMost] = {};
};

// A byte in each plane for each of `count` numbers. What is amiss fails `in`.
Planes GetPlanes(ByteReader* in, int width, std::size_t count, Workspace* workspace) {
  const Layout layout = Layout::Of(width);
  Planes planes = {.count = layout.planes};
  for (int p = 0; p < layout.planes && in->ok(); ++p) {
    unsigned char* const room = workspace->planes[static_cast<std::size_t>(p)].data();
    planes.bytes[p] = GetPlane(in, layout.BytesOf(p, count), workspace, room);
  }
  if (in->ok() && layout.top_bits < 8) {
    const unsigned char*& top = planes.bytes[layout.planes - 1];
    unsigned char* const wide = workspace->wide.data();
    switch (layout.top_bits) {
      case 1: Widen<1>(top, count, wide); break;
      case 2: Widen<2>(top, count, wide); break;
      default: Widen<4>(top, count, wide); break;
    }
    top = wide;
  }
  return planes;
}

template <int kPlanes>
void Combine(const Planes& planes, std::size_t from, std::size_t count, std::uint64_t* words) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t word = 0;
    for (int p = 0; p < kPlanes; ++p) word |= std::uint64_t{planes.bytes[p][from + i]} << 8 * p;
    words[i] = word;
  }
}
constexpr decltype(&Combine<1>) kCombine[kPlanesMost + 1] = {Combine<0>, Combine<1>, Combine<2>,
                                                             Combine<3>, Combine<4>, Combine<5>,
                                                             Combine<6>, Combine<7>, Combine<8>};

struct Head {
  std::uint64_t least = 0;
  std::uint64_t divisor = 1;
  std::uint64_t heads[kOrdersMost] = {};
  std::uint64_t center = 0;
};

template <int kOrder, bool kIsFolded>
void Undo(Head head, const Planes& planes, std::span<std::int64_t> out) {
  // So many at a time that they stay close to the processor.
  constexpr std::size_t kBlock = 512;
  std::uint64_t block[kBlock];
  if (head.divisor == 1) {  // what is added in the end may as well be there from the beginning
    (kOrder == 0 ? head.center : head.heads[0]) += std::exchange(head.least, 0);
  }
  std::int64_t* to = out.data();
  const auto put = [&](std::uint64_t quotient) { *to++ = static_cast<std::int64_t>(quotient); };
  const auto finish = [&](std::size_t from) {
    if (head.divisor == 1) return;
    for (std::int64_t* number = out.data() + from; number != to; ++number) {
      *number = static_cast<std::int64_t>(static_cast<std::uint64_t>(*number) * head.divisor +
                                          head.least);
    }
  };
  std::uint64_t quotient = head.heads[0];
  std::uint64_t difference = head.heads[1];
  if constexpr (kOrder > 0) put(quotient);
  if constexpr (kOrder > 1) put(quotient += difference);
  finish(0);
  const std::size_t count = out.size() - kOrder;
  const std::uint64_t center = head.center;
  for (std::size_t from = 0; from < count; from += kBlock) {
    const std::size_t size = std::min(kBlock, count - from);
    kCombine[planes.count](planes, from, size, block);
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint64_t number = (kIsFolded ? Unfold(block[i]) : block[i]) + center;
      if constexpr (kOrder == 0) {
        put(number);
      } else if constexpr (kOrder == 1) {
        put(quotient += number);
      } else {
        put(quotient += difference += number);
      }
    }
    finish(from + kOrder);
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
  const Planes planes = GetPlanes(in, width, out.size() - order, &workspace);
  if (!in->ok()) return OkStatus();
  switch (order) {
    case 0: folded ? Undo<0, true>(head, planes, out) : Undo<0, false>(head, planes, out); break;
    case 1: folded ? Undo<1, true>(head, planes, out) : Undo<1, false>(head, planes, out); break;
    default: folded ? Undo<2, true>(head, planes, out) : Undo<2, false>(head, planes, out); break;
  }
  return OkStatus();
}

}  // namespace headway::series
