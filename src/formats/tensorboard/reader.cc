#include "formats/tensorboard/reader.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/limits.h"
#include "base/utf8.h"
#include "formats/jsonl/decimal.h"
#include "formats/protobuf/message.h"
#include "formats/tensorboard/framing.h"

namespace headway::tensorboard {
namespace {

using protobuf::MessageField;
using protobuf::MessageReader;
using protobuf::ReadFixed;

constexpr std::size_t kProblemsLimit = 1000;

/// Numbers of TensorFlow's DataType.
enum class Dtype : std::uint64_t {
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kInt64 = 9,
  kBool = 10,
  kBfloat16 = 14,
  kUint16 = 17,
  kHalf = 19,
  kUint32 = 22,
  kUint64 = 23,
};

/// What a Summary.Value says, as far as it counts.
struct ValueFields {
  std::string_view tag;
  std::optional<double> simple;
  std::optional<std::string_view> tensor;
  std::optional<std::string_view> metadata;
};

double HalfToDouble(std::uint64_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 0x1f);
  const auto fraction = static_cast<double>(bits & 0x3ff);
  double value = std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 0) value = std::ldexp(fraction, -24);
  if (exponent == 31) value = fraction == 0 ? HUGE_VAL : std::nan("");
  return (bits & 0x8000) != 0 ? -value : value;
}

double FloatToDouble(std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

std::size_t SizeOf(Dtype type) {
  switch (type) {
    case Dtype::kUint8:
    case Dtype::kInt8:
    case Dtype::kBool: return 1;
    case Dtype::kInt16:
    case Dtype::kUint16:
    case Dtype::kHalf:
    case Dtype::kBfloat16: return 2;
    case Dtype::kFloat:
    case Dtype::kInt32:
    case Dtype::kUint32: return 4;
    case Dtype::kDouble:
    case Dtype::kInt64:
    case Dtype::kUint64: return 8;
  }
  return 0;
}

// The number in the low bytes of `bits`.
double NumberOf(Dtype type, std::uint64_t bits) {
  switch (type) {
    case Dtype::kFloat: return FloatToDouble(bits);
    case Dtype::kDouble: return std::bit_cast<double>(bits);
    case Dtype::kHalf: return HalfToDouble(bits);
    case Dtype::kBfloat16: return FloatToDouble(bits << 16);
    case Dtype::kInt8: return static_cast<std::int8_t>(bits);
    case Dtype::kInt16: return static_cast<std::int16_t>(bits);
    case Dtype::kInt32: return static_cast<std::int32_t>(bits);
    case Dtype::kInt64: return static_cast<double>(static_cast<std::int64_t>(bits));
    default: return static_cast<double>(bits);
  }
}

// Which of the lists of single values holds those of a type; 0: none that is read.
std::uint32_t ListOf(Dtype type) {
  switch (type) {
    case Dtype::kFloat: return field::kFloatVal;
    case Dtype::kDouble: return field::kDoubleVal;
    case Dtype::kInt64: return field::kInt64Val;
    case Dtype::kHalf:
    case Dtype::kBfloat16: return field::kHalfVal;
    case Dtype::kInt8:
    case Dtype::kInt16:
    case Dtype::kInt32:
    case Dtype::kUint8:
    case Dtype::kUint16: return field::kIntVal;
    default: return 0;
  }
}

bool IsOneElement(std::string_view shape) {
  MessageReader reader(shape);
  MessageField part;
  while (reader.Next(&part)) {
    if (part.id == field::kUnknownRank && part.number != 0) return false;
    if (part.id != field::kDim || part.wire != Wire::kBytes) continue;
    std::uint64_t size = 0;
    MessageReader dim(part.bytes);
    for (MessageField of_dim; dim.Next(&of_dim);) {
      if (of_dim.id == field::kSize && of_dim.wire == Wire::kVarint) size = of_dim.number;
    }
    if (!dim.ok() || size != 1) return false;
  }
  return reader.ok();
}

// The values of one list, packed into `bits` or not: how many, and the last of them.
struct ListedValues {
  std::size_t count = 0;
  std::uint64_t last = 0;

  void Add(std::uint64_t bits) {
    ++count;
    last = bits;
  }
};

void AddPacked(Dtype type, std::string_view packed, ListedValues* values) {
  if (type == Dtype::kFloat || type == Dtype::kDouble) {
    const std::size_t size = SizeOf(type);
    for (; packed.size() >= size; packed.remove_prefix(size)) {
      values->Add(ReadFixed(packed.substr(0, size)));
    }
    return;
  }
  MessageReader reader(packed);
  for (std::uint64_t value = 0; reader.NextVarint(&value);) values->Add(value);
}

std::optional<double> NumberOfTensor(std::string_view tensor) {
  Dtype type{};
  bool one = true;
  std::string_view content;
  MessageReader first(tensor);
  for (MessageField part; first.Next(&part);) {
    if (part.id == field::kDtype && part.wire == Wire::kVarint) type = Dtype{part.number};
    if (part.id == field::kShape && part.wire == Wire::kBytes) one = IsOneElement(part.bytes);
    if (part.id == field::kContent && part.wire == Wire::kBytes) content = part.bytes;
  }
  const std::size_t size = SizeOf(type);
  if (!first.ok() || !one || size == 0) return std::nullopt;
  if (!content.empty()) {
    if (content.size() != size) return std::nullopt;
    return NumberOf(type, ReadFixed(content));
  }
  ListedValues values;
  MessageReader second(tensor);
  for (MessageField part; second.Next(&part);) {
    if (part.id != ListOf(type)) continue;
    if (part.wire == Wire::kBytes) {
      AddPacked(type, part.bytes, &values);
    } else {
      values.Add(part.number);
    }
  }
  if (values.count != 1) return std::nullopt;
  return NumberOf(type, values.last);
}

// Empty: it says nothing of a plugin.
std::string_view PluginOf(std::string_view metadata) {
  std::string_view name;
  MessageReader reader(metadata);
  for (MessageField part; reader.Next(&part);) {
    if (part.id != field::kPluginData || part.wire != Wire::kBytes) continue;
    MessageReader plugin(part.bytes);
    for (MessageField inner; plugin.Next(&inner);) {
      if (inner.id == field::kPluginName && inner.wire == Wire::kBytes) name = inner.bytes;
    }
  }
  return name;
}

// The shortest decimal that reads as the same double is what the writer's clock said.
std::optional<std::int64_t> TimeOf(double seconds) {
  char text[64];
  const auto [end, error] = std::to_chars(text, text + sizeof text, seconds);
  std::int64_t ns = 0;
  const std::string_view token(text, static_cast<std::size_t>(end - text));
  if (error != std::errc() || jsonl::ParseSeconds(token, &ns) != jsonl::NumberError::kNone) {
    return std::nullopt;
  }
  return ns;
}

std::string Hex(std::uint32_t value) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string text = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) text += kHex[value >> shift & 15];
  return text;
}

class FileReader {
 public:
  explicit FileReader(std::string_view bytes) : bytes_(bytes) {}

  EventFile Run() {
    while (at_ < bytes_.size() && ReadRecord()) {
    }
    return std::move(out_);
  }

 private:
  bool Fail(ProblemKind kind, std::string sentence) {
    ++out_.problems_total;
    if (out_.problems.size() < kProblemsLimit) {
      out_.problems.push_back({kind, at_, std::move(sentence)});
    }
    return false;
  }

  bool ZerosFrom(std::size_t offset) const {
    return bytes_.find_first_not_of('\0', offset) == std::string_view::npos;
  }

  /// Goes on behind the record.
  bool Skip(std::uint64_t size) {
    at_ += size;
    out_.end = at_;
    return true;
  }

  // False: there is nothing to read any more.
  bool ReadRecord() {
    const std::string_view rest = bytes_.substr(at_);
    if (rest.size() < kHeadBytes) {
      return Fail(ProblemKind::kTornTail, ZerosFrom(at_) ? "zeros stand where a record should"
                                                         : "the file ends within a record");
    }
    const std::uint64_t length = ReadFixed(rest.substr(0, 8));
    const auto told = static_cast<std::uint32_t>(ReadFixed(rest.substr(8, 4)));
    if (const std::uint32_t crc = MaskedCrc(rest.substr(0, 8)); crc != told) {
      return FailLength(crc, told);
    }
    const bool whole =
        rest.size() - kHeadBytes >= kTailBytes && length <= rest.size() - kHeadBytes - kTailBytes;
    if (length > kRecordBytes) {
      const std::string sentence = "a record of " + std::to_string(length) + " bytes is no event";
      Fail(ProblemKind::kOversized, sentence + (whole ? "" : ", and longer than the file"));
      return whole && Skip(kHeadBytes + length + kTailBytes);
    }
    if (!whole) {
      return Fail(ProblemKind::kTornTail, "the file ends within a record");
    }
    const std::string_view data = rest.substr(kHeadBytes, length);
    const std::size_t tail = kHeadBytes + data.size();
    const auto data_told = static_cast<std::uint32_t>(ReadFixed(rest.substr(tail, kTailBytes)));
    if (const std::uint32_t crc = MaskedCrc(data); crc != data_told) {
      if (data_told == 0 && ZerosFrom(at_ + tail)) {
        return Fail(ProblemKind::kTornTail, "the record ends in zeros, as does the file");
      }
      Fail(ProblemKind::kBadData, "the data of the record fail their checksum: it is " +
                                      Hex(data_told) + ", theirs is " + Hex(crc));
    } else if (!ReadEvent(data)) {
      if (at_ == 0) return Fail(ProblemKind::kForeign, "the first record is no TensorBoard event");
      Fail(ProblemKind::kBadRecord, "the record is no TensorBoard event");
    }
    return Skip(tail + kTailBytes);
  }

  bool FailLength(std::uint32_t crc, std::uint32_t told) {
    if (ZerosFrom(at_)) {
      return Fail(ProblemKind::kTornTail,
                  "zeros up to the end of the file: not there yet, or lost in a crash");
    }
    if (at_ == 0) return Fail(ProblemKind::kForeign, "no TensorBoard event file");
    return Fail(ProblemKind::kBadLength, "the length of the record fails its checksum: it is " +
                                             Hex(told) + ", that of the length is " + Hex(crc) +
                                             "; where the next record begins can't be told");
  }

  // False: it is none.
  bool ReadEvent(std::string_view data) {
    double seconds = 0;
    std::int64_t step = 0;
    bool start = false;
    summaries_.clear();
    MessageReader reader(data);
    for (MessageField part; reader.Next(&part);) {
      switch (part.id) {
        case field::kWallTime:
          if (part.wire != Wire::kFixed64) return false;
          seconds = std::bit_cast<double>(part.number);
          break;
        case field::kStep:
          if (part.wire != Wire::kVarint) return false;
          step = static_cast<std::int64_t>(part.number);
          break;
        case field::kFileVersion:
          if (part.wire != Wire::kBytes || !part.bytes.starts_with(kVersionPrefix)) return false;
          break;
        case field::kSummary:
          if (part.wire != Wire::kBytes) return false;
          summaries_.push_back(part.bytes);
          break;
        case field::kSessionLog:
          if (part.wire != Wire::kBytes) return false;
          start = IsStart(part.bytes);
          break;
        default: break;
      }
    }
    if (!reader.ok()) return false;
    const std::optional<std::int64_t> time = TimeOf(seconds);
    if (!time) {
      Fail(ProblemKind::kBadRecord, "the wall time of the record is no time");
      return true;
    }
    ++out_.records;
    if (start) out_.starts.push_back({out_.scalars.size(), step});
    for (const std::string_view summary : summaries_) ReadSummary(summary, step, *time);
    return true;
  }

  static bool IsStart(std::string_view log) {
    std::uint64_t status = 0;
    MessageReader reader(log);
    for (MessageField part; reader.Next(&part);) {
      if (part.id == field::kStatus && part.wire == Wire::kVarint) status = part.number;
    }
    return status == kSessionStart;
  }

  void ReadSummary(std::string_view summary, std::int64_t step, std::int64_t time) {
    MessageReader reader(summary);
    for (MessageField part; reader.Next(&part);) {
      if (part.id == field::kValue && part.wire == Wire::kBytes) ReadValue(part.bytes, step, time);
    }
    if (!reader.ok()) Fail(ProblemKind::kBadRecord, "a summary of the record can't be read");
  }

  void ReadValue(std::string_view message, std::int64_t step, std::int64_t time) {
    ValueFields value;
    MessageReader reader(message);
    for (MessageField part; reader.Next(&part);) {
      const bool bytes = part.wire == Wire::kBytes;
      if (part.id == field::kTag && bytes) value.tag = part.bytes;
      if (part.id == field::kMetadata && bytes) value.metadata = part.bytes;
      if (part.id == field::kTensor && bytes) value.tensor = part.bytes;
      if (part.id == field::kSimpleValue && part.wire == Wire::kFixed32) {
        value.simple = FloatToDouble(part.number);
      }
    }
    if (!reader.ok()) {
      Fail(ProblemKind::kBadRecord, "a value of the record can't be read");
      return;
    }
    std::optional<double> number = value.simple;
    if (!number && value.tensor && IsForScalars(value)) number = NumberOfTensor(*value.tensor);
    if (!number) {
      ++out_.other_values;
      return;
    }
    out_.scalars.push_back({TagOf(value.tag), step, time, *number});
  }

  /// The first metadata of a tag are those that count.
  bool IsForScalars(const ValueFields& value) {
    const auto found = for_scalars_.find(value.tag);
    if (found != for_scalars_.end()) return found->second;
    if (!value.metadata) return true;
    const std::string_view plugin = PluginOf(*value.metadata);
    return for_scalars_.emplace(value.tag, plugin.empty() || plugin == kScalarPlugin).first->second;
  }

  std::uint32_t TagOf(std::string_view tag) {
    const auto [found, fresh] = tags_.emplace(tag, static_cast<std::uint32_t>(out_.tags.size()));
    if (fresh) {
      const std::string text = ToValidUtf8(tag);
      const std::string_view kept = TruncateUtf8(text, limits::kNameBytes);
      if (kept.size() < text.size()) ++out_.tags_cut;
      out_.tags.emplace_back(kept);
    }
    return found->second;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  EventFile out_;
  std::vector<std::string_view> summaries_;  // of the event that is being read
  std::unordered_map<std::string_view, std::uint32_t> tags_;
  std::unordered_map<std::string_view, bool> for_scalars_;
};

}  // namespace

std::string_view ProblemCode(ProblemKind kind) {
  switch (kind) {
    case ProblemKind::kTornTail: return "torn_tail";
    case ProblemKind::kBadLength: return "bad_length";
    case ProblemKind::kBadData: return "bad_data";
    case ProblemKind::kOversized: return "oversized";
    case ProblemKind::kBadRecord: return "bad_record";
    case ProblemKind::kForeign: return "foreign";
  }
  return "bad_record";
}

EventFile ReadEventFile(std::string_view bytes) { return FileReader(bytes).Run(); }

}  // namespace headway::tensorboard
