#include "series/columns.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <optional>
#include <utility>

#include "base/crc32c.h"
#include "series/bytes.h"
#include "series/integers.h"

namespace headway::series {
namespace {

constexpr std::size_t kMost = limits::kSeriesColumn;

// The first byte of a column. Part of the format: never renumber, never reuse.
enum Codec : std::uint8_t {
  kTimes = 0x10,
  kSteps = 0x20,
  kDecimals = 0x30,
  kBits = 0x31,
  kChoices = 0x32,
};

constexpr std::size_t kChecksumBytes = 4;

void PutChecksum(std::string* out) {
  const std::uint32_t crc = Crc32c(out->data(), out->size());
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(crc >> shift));
}

Status Damaged(std::string_view kind, std::string_view how) {
  return {Code::kDataLoss, "a packed column of " + std::string(kind) + " " + std::string(how)};
}

struct Opened {
  Codec codec;
  std::size_t count;
  ByteReader body;
};

// What is between the first bytes of a column and its checksum.
Result<Opened> Open(std::string_view packed, std::string_view kind) {
  if (packed.size() < kChecksumBytes + 2) return Damaged(kind, "is cut off");
  const std::string_view checked = packed.substr(0, packed.size() - kChecksumBytes);
  std::uint32_t crc = 0;
  std::memcpy(&crc, packed.data() + checked.size(), kChecksumBytes);
  if (crc != Crc32c(checked.data(), checked.size())) return Damaged(kind, "has a wrong checksum");
  ByteReader body(checked);
  const auto codec = static_cast<Codec>(body.Byte());
  const std::uint64_t count = body.Varint();
  if (!body.ok() || count > kMost) return Damaged(kind, "has no valid number of entries");
  return Opened{codec, static_cast<std::size_t>(count), body};
}

void PackNumbers(Codec codec, std::span<const std::int64_t> numbers, std::string* out) {
  HEADWAY_CHECK(numbers.size() <= kMost);
  out->clear();
  out->push_back(static_cast<char>(codec));
  PutVarint(out, numbers.size());
  PackIntegers(numbers, out);
  PutChecksum(out);
}

Status UnpackNumbers(Codec codec, std::string_view kind, std::string_view packed,
                     std::vector<std::int64_t>* out) {
  Result<Opened> opened = Open(packed, kind);
  Status status = opened.status();
  if (status.ok() && opened->codec != codec) status = Damaged(kind, "is of another kind");
  if (status.ok()) {
    out->resize(opened->count);
    status = UnpackIntegers(&opened->body, *out);
    if (status.ok() && (!opened->body.ok() || opened->body.left() != 0)) {
      status = Damaged(kind, "can't be read");
    }
  }
  if (!status.ok()) out->clear();
  return status;
}

// --- values

std::uint64_t BitsOf(double value) { return std::bit_cast<std::uint64_t>(value); }

constexpr int kDecimalsMost = 15;
constexpr std::array<double, kDecimalsMost + 1> kPowers = {
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

// Adding it rounds to a whole number, which then lies in the lower bits.
constexpr double kRounder = 0x1.8p52;

// The integer `*number` with `number / power`, rounded once, being that very value. Whole numbers
// and powers are exact, so that this finds what was read from a decimal text, or divided so.
bool DecimalOf(double value, double power, std::int64_t* number) {
  const double rounded = value * power + kRounder;
  *number = static_cast<std::int64_t>(BitsOf(rounded) - BitsOf(kRounder));
  constexpr std::int64_t kBeyond = std::int64_t{1} << 51;
  return *number >= -kBeyond && *number < kBeyond &&
         BitsOf((rounded - kRounder) / power) == BitsOf(value);
}

struct Decimals {
  int digits = 0;
  std::vector<std::int64_t> numbers;           // at exceptions the one before
  std::vector<std::int64_t> exceptions;        // places, ascending
  std::vector<std::int64_t> exception_values;  // their bits
};

// How many digits behind the point most of the values have, where that can be said.
std::optional<int> DigitsOf(std::span<const double> values) {
  constexpr std::size_t kSamples = 64;
  const std::size_t count = std::min(kSamples, values.size());
  std::array<std::size_t, kDecimalsMost + 1> with{};
  std::size_t others = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = values[i * values.size() / count];
    std::int64_t number = 0;
    int digits = 0;
    while (digits <= kDecimalsMost &&
           !DecimalOf(value, kPowers[static_cast<std::size_t>(digits)], &number)) {
      ++digits;
    }
    if (digits > kDecimalsMost) {
      if (++others > count / 8) return std::nullopt;
    } else {
      ++with[static_cast<std::size_t>(digits)];
    }
  }
  // A few that need many more are exceptions.
  std::size_t beyond = 0;
  for (int digits = kDecimalsMost; digits >= 0; --digits) {
    beyond += with[static_cast<std::size_t>(digits)];
    if (beyond > (count - others) / 32) return digits;
  }
  return std::nullopt;
}

// Nothing where too many values are no such decimals.
bool TakeDecimals(std::span<const double> values, Decimals* found) {
  const std::optional<int> digits = DigitsOf(values);
  if (!digits.has_value()) return false;
  const std::size_t exceptions_most = values.size() / 8;
  const double power = kPowers[static_cast<std::size_t>(*digits)];
  found->digits = *digits;
  found->numbers.resize(values.size());
  std::int64_t last = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int64_t number = 0;
    if (DecimalOf(values[i], power, &number)) [[likely]] {
      last = number;
    } else {
      if (found->exceptions.size() == exceptions_most) return false;
      found->exceptions.push_back(static_cast<std::int64_t>(i));
      found->exception_values.push_back(std::bit_cast<std::int64_t>(values[i]));
    }
    found->numbers[i] = last;
  }
  // Those before the first number have none before them.
  std::size_t leading = 0;
  while (leading < found->exceptions.size() &&
         found->exceptions[leading] == static_cast<std::int64_t>(leading)) {
    ++leading;
  }
  if (leading < values.size()) {
    std::fill_n(found->numbers.begin(), leading, found->numbers[leading]);
  }
  return true;
}

void PackDecimals(const Decimals& decimals, std::string* out) {
  out->push_back(static_cast<char>(decimals.digits));
  PutVarint(out, decimals.exceptions.size());
  PackIntegers(decimals.numbers, out);
  PackIntegers(decimals.exceptions, out);
  PackIntegers(decimals.exception_values, out);
}

// The bits of values as integers that are ordered and spaced as the values are, without `shift`
// lowest ones, which all have zero. Values that were widened from shorter formats have such.
constexpr std::uint64_t kMagnitude = ~std::uint64_t{0} >> 1;
std::int64_t KeyOf(std::uint64_t bits, int shift) {
  const std::uint64_t magnitude = (bits & kMagnitude) >> shift;
  return static_cast<std::int64_t>(bits > kMagnitude ? ~magnitude : magnitude);
}
std::uint64_t BitsOfKey(std::int64_t key, int shift) {
  const auto number = static_cast<std::uint64_t>(key);
  const std::uint64_t sign = number & ~kMagnitude;
  const std::uint64_t magnitude = sign != 0 ? ~number : number;
  return (magnitude << shift & kMagnitude) | sign;
}

int ZeroBitsOf(std::span<const double> values) {
  std::uint64_t all = 0;
  for (const double value : values) all |= BitsOf(value);
  all &= kMagnitude;
  return all == 0 ? 0 : std::countr_zero(all);
}

void PackBits(std::span<const double> values, int shift, std::string* out) {
  std::array<std::int64_t, kMost> keys;
  for (std::size_t i = 0; i < values.size(); ++i) keys[i] = KeyOf(BitsOf(values[i]), shift);
  out->push_back(static_cast<char>(shift));
  PackIntegers({keys.data(), values.size()}, out);
}

// Few different values: which there are, and which one comes when.
constexpr std::size_t kChoicesMost = 256;
struct Choices {
  std::vector<std::int64_t> keys;  // ascending
  std::vector<std::int64_t> indices;
};

bool TakeChoices(std::span<const double> values, Choices* found) {
  constexpr std::size_t kSlots = 4 * kChoicesMost;
  std::array<std::uint64_t, kSlots> slots;
  std::array<std::int16_t, kSlots> ids;  // by the order of their first coming; -1: free
  ids.fill(-1);
  const std::size_t most = std::min(kChoicesMost, values.size() / 4);
  found->indices.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = BitsOf(values[i]);
    std::size_t at = static_cast<std::size_t>(bits * 0x9e3779b97f4a7c15 >> 54);
    static_assert(kSlots == 1 << (64 - 54));
    while (ids[at] >= 0 && slots[at] != bits) at = (at + 1) % kSlots;
    if (ids[at] < 0) {
      if (found->keys.size() == most) return false;
      slots[at] = bits;
      ids[at] = static_cast<std::int16_t>(found->keys.size());
      found->keys.push_back(KeyOf(bits, 0));
    }
    found->indices[i] = ids[at];
  }
  // Neighbouring values get neighbouring numbers.
  std::array<std::int64_t, kChoicesMost> rank;
  std::vector<std::pair<std::int64_t, std::size_t>> order;
  for (std::size_t id = 0; id < found->keys.size(); ++id) order.emplace_back(found->keys[id], id);
  std::sort(order.begin(), order.end());
  for (std::size_t at = 0; at < order.size(); ++at) {
    found->keys[at] = order[at].first;
    rank[order[at].second] = static_cast<std::int64_t>(at);
  }
  for (std::int64_t& index : found->indices) index = rank[static_cast<std::size_t>(index)];
  return true;
}

void PackChoices(const Choices& choices, std::string* out) {
  PutVarint(out, choices.keys.size());
  PackIntegers(choices.keys, out);
  PackIntegers(choices.indices, out);
}

// The rest of a column of `out->size()` values. What is amiss fails `in`.
Status UnpackDecimals(ByteReader* in, std::vector<double>* out) {
  const std::size_t digits = in->Byte();
  const std::uint64_t exceptions = in->Varint();
  if (digits > kDecimalsMost || exceptions > out->size()) {
    in->Fail();
    return OkStatus();
  }
  std::array<std::int64_t, kMost> numbers;
  HEADWAY_RETURN_IF_ERROR(UnpackIntegers(in, {numbers.data(), out->size()}));
  if (!in->ok()) return OkStatus();
  const double power = kPowers[digits];
  double* const values = out->data();
  for (std::size_t i = 0; i < out->size(); ++i) {
    // As static_cast<double>, which there are no vectors for, for numbers of up to 51 bits.
    const double number =
        std::bit_cast<double>(BitsOf(kRounder) + static_cast<std::uint64_t>(numbers[i])) - kRounder;
    values[i] = number;
  }
  if (digits > 0) {
    for (std::size_t i = 0; i < out->size(); ++i) values[i] /= power;
  }
  if (exceptions == 0) return OkStatus();
  std::vector<std::int64_t> places(static_cast<std::size_t>(exceptions));
  HEADWAY_RETURN_IF_ERROR(UnpackIntegers(in, places));
  HEADWAY_RETURN_IF_ERROR(UnpackIntegers(in, {numbers.data(), places.size()}));
  if (!in->ok()) return OkStatus();
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0 || static_cast<std::uint64_t>(places[i]) >= out->size()) {
      in->Fail();
      return OkStatus();
    }
    values[places[i]] = std::bit_cast<double>(numbers[i]);
  }
  return OkStatus();
}

Status UnpackBits(ByteReader* in, std::vector<double>* out) {
  const int shift = in->Byte();
  if (shift > 62) {
    in->Fail();
    return OkStatus();
  }
  std::array<std::int64_t, kMost> keys;
  HEADWAY_RETURN_IF_ERROR(UnpackIntegers(in, {keys.data(), out->size()}));
  if (!in->ok()) return OkStatus();
  for (std::size_t i = 0; i < out->size(); ++i) {
    (*out)[i] = std::bit_cast<double>(BitsOfKey(keys[i], shift));
  }
  return OkStatus();
}

Status UnpackChoices(ByteReader* in, std::vector<double>* out) {
  const std::uint64_t choices = in->Varint();
  if (choices > kChoicesMost) {
    in->Fail();
    return OkStatus();
  }
  std::array<std::int64_t, kChoicesMost> keys;
  HEADWAY_RETURN_IF_ERROR(UnpackIntegers(in, {keys.data(), static_cast<std::size_t>(choices)}));
  std::array<std::int64_t, kMost> indices;
  HEADWAY_RETURN_IF_ERROR(UnpackIntegers(in, {indices.data(), out->size()}));
  if (!in->ok()) return OkStatus();
  std::array<double, kChoicesMost> values;
  for (std::size_t i = 0; i < choices; ++i) {
    values[i] = std::bit_cast<double>(BitsOfKey(keys[i], 0));
  }
  std::uint64_t highest = 0;
  for (std::size_t i = 0; i < out->size(); ++i) {
    highest = std::max(highest, static_cast<std::uint64_t>(indices[i]));
  }
  if (!out->empty() && highest >= choices) {
    in->Fail();
    return OkStatus();
  }
  for (std::size_t i = 0; i < out->size(); ++i) {
    (*out)[i] = values[static_cast<std::size_t>(indices[i])];
  }
  return OkStatus();
}

}  // namespace

void PackTimes(std::span<const std::int64_t> times_ns, std::string* out) {
  PackNumbers(kTimes, times_ns, out);
}

void PackSteps(std::span<const std::int64_t> steps, std::string* out) {
  PackNumbers(kSteps, steps, out);
}

void PackValues(std::span<const double> values, std::string* out) {
  HEADWAY_CHECK(values.size() <= kMost);
  out->clear();
  std::string candidate;
  const auto consider = [&](Codec codec, auto&& pack) {
    candidate.clear();
    candidate.push_back(static_cast<char>(codec));
    PutVarint(&candidate, values.size());
    pack(&candidate);
    if (out->empty() || candidate.size() < out->size()) std::swap(*out, candidate);
  };
  if (Decimals decimals; TakeDecimals(values, &decimals)) {
    consider(kDecimals, [&](std::string* to) { PackDecimals(decimals, to); });
  }
  // One byte a decimal holds as many as there may be choices.
  if (Choices choices;
      (out->empty() || out->size() > values.size()) && TakeChoices(values, &choices)) {
    consider(kChoices, [&](std::string* to) { PackChoices(choices, to); });
  }
  // Where the lowest bits are in use and there is a shorter word for the values, their bits are
  // none.
  constexpr int kShort = 16;
  if (const int shift = ZeroBitsOf(values); out->empty() || shift >= kShort) {
    consider(kBits, [&](std::string* to) { PackBits(values, shift, to); });
  }
  PutChecksum(out);
}

Status UnpackTimes(std::string_view packed, std::vector<std::int64_t>* out) {
  return UnpackNumbers(kTimes, "times", packed, out);
}

Status UnpackSteps(std::string_view packed, std::vector<std::int64_t>* out) {
  return UnpackNumbers(kSteps, "steps", packed, out);
}

Status UnpackValues(std::string_view packed, std::vector<double>* out) {
  constexpr std::string_view kKind = "values";
  Result<Opened> opened = Open(packed, kKind);
  if (!opened.ok()) {
    out->clear();
    return opened.status();
  }
  ByteReader* const body = &opened->body;
  out->resize(opened->count);
  Status status;
  switch (opened->codec) {
    case kDecimals: status = UnpackDecimals(body, out); break;
    case kBits: status = UnpackBits(body, out); break;
    case kChoices: status = UnpackChoices(body, out); break;
    default: status = Damaged(kKind, "is of another kind"); break;
  }
  if (status.ok() && (!body->ok() || body->left() != 0)) status = Damaged(kKind, "can't be read");
  if (!status.ok()) out->clear();
  return status;
}

}  // namespace headway::series
