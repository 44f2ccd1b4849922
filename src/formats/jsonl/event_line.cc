#include "formats/jsonl/event_line.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <optional>
#include <system_error>

#include "base/limits.h"
#include "base/utf8.h"
#include "formats/jsonl/decimal.h"
#include "formats/jsonl/schema.h"

namespace headway::jsonl {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kThreadMost = std::numeric_limits<std::uint16_t>::max();
constexpr std::int64_t kSlicesMost = 0xfffffffe;  // 0xffffffff stands for unknown
constexpr std::int64_t kSlicesUnknown = 0xffffffff;
constexpr std::size_t kQuotedBytesLimit = 64;
constexpr std::uint64_t kRoundingNs = 1'000'000;  // seconds are often written with three decimals

/// What a producer wrote, in a sentence: cut short and without control characters.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : TruncateUtf8(text, kQuotedBytesLimit)) {
    quoted.push_back(static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c);
  }
  return quoted.append(text.size() > kQuotedBytesLimit ? "...\"" : "\"");
}

/// Reads the fields of one line; after the first problem everything else is of no consequence.
class LineReader {
 public:
  LineReader(const ParsedLine& line, EventLine* out) : line_(line), out_(*out) {}

  bool Read() {
    EventType type;
    if (!ReadType(&type)) return false;
    Record& record = out_.record;
    record.type = type.type;
    record.span = type.span;
    if (out_.one_run) return true;
    ReadWriter();
    if (out_.about_writer) {
      ReadAboutWriter();
      return ok();
    }
    ReadTime();
    ReadPayload();
    record.thread = static_cast<std::uint16_t>(Integer(Field::kThread, 0, kThreadMost, 0));
    return ok();
  }

  ProblemKind kind() const { return kind_; }
  std::string& sentence() { return sentence_; }

 private:
  bool ok() const { return sentence_.empty(); }

  void Fail(std::string sentence) {
    if (ok()) sentence_ = std::move(sentence);
  }

  static std::string Named(Field field) {
    return std::string("the field \"").append(FieldName(field)).append("\"");
  }

  void FailKind(Field field, std::string_view wanted) {
    Fail(Named(field)
             .append(" must be ")
             .append(wanted)
             .append(", found ")
             .append(ValueKindText(line_[field].kind)));
  }

  void FailNumber(Field field, NumberError error) {
    const std::string_view token = TruncateUtf8(line_[field].text, kQuotedBytesLimit);
    const bool range = error == NumberError::kRange;
    const bool seconds = range && field == Field::kTs;
    Fail(Named(field)
             .append(error == NumberError::kNotInteger ? " must be an integer, found "
                                                       : " is out of range: ")
             .append(token)
             .append(seconds ? "; it counts seconds, \"ts_ns\" nanoseconds" : "")
             .append(range && field == Field::kStep ? "; steps count from 0 to 2^63 - 2" : ""));
  }

  std::int64_t Integer(Field field, std::int64_t least, std::int64_t most, std::int64_t absent) {
    if (!line_.Has(field)) return absent;
    const Value& value = line_[field];
    if (value.kind != ValueKind::kNumber) {
      FailKind(field, "an integer");
      return absent;
    }
    std::int64_t integer = 0;
    if (const NumberError error = ParseInteger(value.text, &integer); error != NumberError::kNone) {
      FailNumber(field, error);
      return absent;
    }
    if (integer < least || integer > most) {
      FailNumber(field, NumberError::kRange);
      return absent;
    }
    return integer;
  }

  std::int64_t AnyInteger(Field field, std::int64_t absent) {
    return Integer(field, -kMost, kMost, absent);
  }

  /// Nanoseconds from `exact` if it is there, else from `seconds`, else `absent`.
  std::int64_t Time(Field exact, Field seconds, std::int64_t absent) {
    const std::int64_t rounded = Seconds(seconds, absent);
    if (!line_.Has(exact)) return rounded;
    const std::int64_t time = AnyInteger(exact, absent);
    const auto [less, more] = std::minmax(time, rounded);
    const std::uint64_t apart = static_cast<std::uint64_t>(more) - static_cast<std::uint64_t>(less);
    if (line_.Has(seconds) && apart > kRoundingNs) {
      out_.differs = true;
      out_.differing = seconds;
    }
    return time;
  }

  std::int64_t Seconds(Field seconds, std::int64_t absent) {
    if (!line_.Has(seconds)) return absent;
    const Value& value = line_[seconds];
    if (value.kind != ValueKind::kNumber) {
      FailKind(seconds, "a number");
      return absent;
    }
    std::int64_t time = absent;
    if (const NumberError error = ParseSeconds(value.text, &time); error != NumberError::kNone) {
      FailNumber(seconds, error);
    }
    return time;
  }

  std::string_view Text(Field field) {
    if (!line_.Has(field)) return {};
    const Value& value = line_[field];
    if (value.kind != ValueKind::kString) {
      FailKind(field, "a string");
      return {};
    }
    if (value.text.size() > limits::kNameBytes) {
      Fail(Named(field) + " is longer than 256 bytes");
      return {};
    }
    return value.text;
  }

  /// Cut where it is too long, as a recorder does: the time of a span matters more than its name.
  void ReadName() {
    if (!line_.Has(Field::kName)) return;
    const Value& value = line_[Field::kName];
    if (value.kind != ValueKind::kString) return FailKind(Field::kName, "a string");
    out_.name = TruncateUtf8(value.text, limits::kNameBytes);
    out_.name_cut = out_.name.size() < value.text.size();
  }

  std::optional<bool> Bool(Field field) {
    if (!line_.Has(field)) return std::nullopt;
    const ValueKind kind = line_[field].kind;
    if (kind != ValueKind::kTrue && kind != ValueKind::kFalse) FailKind(field, "true or false");
    return kind == ValueKind::kTrue;
  }

  bool ReadType(EventType* type) {
    if (!line_.Has(Field::kType)) {
      Fail("the line has no \"type\"");
      return false;
    }
    const Value& value = line_[Field::kType];
    if (value.kind != ValueKind::kString) {
      FailKind(Field::kType, "a string");
      return false;
    }
    out_.about_writer = value.text == kWriterLine;
    out_.one_run = value.text == kOneRunLine;
    if (out_.about_writer || out_.one_run || ParseEventType(value.text, type)) return true;
    kind_ = ProblemKind::kUnknownType;
    Fail("unknown type " + Quoted(value.text));
    return false;
  }

  void ReadWriter() {
    out_.attempt = Integer(Field::kAttempt, 0, kMost, -1);
    out_.rank = Integer(Field::kRank, -1, kMost, kNoRank);
    out_.writer = Text(Field::kWriter);
  }

  void ReadAboutWriter() {
    out_.world_size = Integer(Field::kWorldSize, -1, kMost, -1);
    out_.pid = Integer(Field::kPid, 0, kMost, 0);
    out_.host = Text(Field::kHost);
    out_.monotonic = Bool(Field::kMonotonic).value_or(false);
    out_.supervisor = Bool(Field::kSupervisor).value_or(false);
    out_.journal = Bool(Field::kJournal).value_or(false);
    const std::string_view liveness = Text(Field::kLiveness);
    if (liveness == "alive") out_.liveness = Liveness::kAlive;
    if (liveness == "dead") out_.liveness = Liveness::kDead;
  }

  void ReadTime() {
    if (!line_.Has(Field::kTs) && !line_.Has(Field::kTsNs)) {
      return Fail("the line has neither \"ts\" nor \"ts_ns\"");
    }
    out_.record.time_ns = Time(Field::kTsNs, Field::kTs, 0);
    out_.mono_ns = Time(Field::kMonoNs, Field::kMono, kNoTime);
    out_.seq = AnyInteger(Field::kSeq, kNoSeq);
  }

  std::int64_t NeededStep() {
    if (!line_.Has(Field::kStep)) Fail("the line needs a \"step\"");
    return Step();
  }

  std::int64_t Step() { return Integer(Field::kStep, 0, kLastStep, kNoStep); }

  void ReadPayload() {
    Record& record = out_.record;
    switch (record.type) {
      case RecordType::kStepEnd:
      case RecordType::kStepSoftEnd:  // without a number: of the step that is running
        record.a = Step();
        break;
      case RecordType::kStepStart:
      case RecordType::kCheckpointSaved:
      case RecordType::kRollback: record.a = NeededStep(); break;
      case RecordType::kSpanBegin:
      case RecordType::kSpanEnd: ReadSpan(); break;
      case RecordType::kJobEnd: record.a = JobStatus(); break;
      case RecordType::kExit: ReadExit(); break;
      case RecordType::kNotice: record.a = Signal(); break;
      case RecordType::kCapacity: ReadCapacity(); break;
      case RecordType::kExclude: ReadExclude(); break;
      case RecordType::kHeartbeat: record.a = AnyInteger(Field::kWallNs, kNoTime); break;
      case RecordType::kClock:
        if (!line_.Has(Field::kWallNs)) Fail("a clock line needs \"wall_ns\"");
        record.a = AnyInteger(Field::kWallNs, kNoTime);
        break;
      case RecordType::kMetric: ReadMetric(); break;
      case RecordType::kNote:
        ReadName();
        record.a = AnyInteger(Field::kCount, 1);
        break;
      case RecordType::kConfig: ReadName(); break;
      case RecordType::kProcessEnd:
        if (!line_.Has(Field::kPid)) Fail("the line needs a \"pid\"");
        record.a = Integer(Field::kPid, 1, kMost, 0);
        break;
      case RecordType::kDropped:
        record.a = AnyInteger(Field::kCount, 1);
        record.b = Time(Field::kFromNs, Field::kFrom, kNoTime);
        break;
      default: break;
    }
  }

  void ReadSpan() {
    Record& record = out_.record;
    ReadName();
    record.a = AnyInteger(Field::kStep, kNoStep);
    if (const std::optional<bool> blocking = Bool(Field::kBlocking)) {
      record.blocking = *blocking ? Blocking::kYes : Blocking::kNo;
    }
    if (record.type == RecordType::kSpanEnd) {
      record.b = Integer(Field::kBeginSeq, 0, kMost, kNoHandle);
    }
  }

  /// 0 for a clean end, else the number that was said, else -1: a failure of unknown status.
  std::int64_t JobStatus() {
    if (!line_.Has(Field::kStatus)) return 0;
    const Value& status = line_[Field::kStatus];
    if (status.kind == ValueKind::kString) {
      for (const std::string_view clean : {"ok", "success", "completed", "0"}) {
        if (status.text == clean) return 0;
      }
      return -1;
    }
    std::int64_t number = -1;
    if (status.kind == ValueKind::kNumber) {
      if (ParseInteger(status.text, &number) != NumberError::kNone) return -1;
    }
    return number;
  }

  std::int64_t Signal() {
    if (line_.Has(Field::kSignal) && line_[Field::kSignal].kind == ValueKind::kString) {
      const int signal = SignalNumber(line_[Field::kSignal].text);
      if (signal == 0)
        Fail("the field \"signal\" names no signal: " + Quoted(line_[Field::kSignal].text));
      return signal;
    }
    return Integer(Field::kSignal, 0, kLastSignal, 0);
  }

  void ReadExit() {
    Record& record = out_.record;
    record.a = Integer(Field::kStatus, -64, kMost, -1);
    record.b = Signal();
    if (line_.Has(Field::kStatus) && record.a < 0) {
      if (record.b == 0) record.b = -record.a;
      record.a = -1;
    }
    if (record.a < 0 && record.b == 0) Fail("an exit line needs a \"status\" or a \"signal\"");
  }

  void ReadCapacity() {
    const auto slices = [&](Field field) {
      return static_cast<std::uint64_t>(Integer(field, 0, kSlicesMost, kSlicesUnknown));
    };
    out_.record.a =
        std::bit_cast<std::int64_t>(slices(Field::kAvailable) | slices(Field::kActive) << 32);
    out_.record.b = Integer(Field::kTotal, 0, kMost, -1);
  }

  void ReadExclude() {
    if (!line_.Has(Field::kFrom) && !line_.Has(Field::kFromNs)) {
      return Fail("an exclude line needs \"from\" or \"from_ns\"");
    }
    ReadName();
    out_.record.a = Time(Field::kFromNs, Field::kFrom, 0);
    out_.record.b = Time(Field::kToNs, Field::kTo, kNoTime);
    if (out_.record.b != kNoTime && out_.record.b < out_.record.a) {
      Fail("the excluded time ends (\"to\") before it begins (\"from\")");
    }
  }

  void ReadMetric() {
    ReadName();
    out_.record.a = AnyInteger(Field::kStep, kNoStep);
    if (!line_.Has(Field::kValue)) return Fail("a log line needs a \"value\"");
    const Value& value = line_[Field::kValue];
    double number = std::numeric_limits<double>::quiet_NaN();
    if (value.kind == ValueKind::kNumber) {
      const std::string_view text = value.text;
      const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
      if (result.ec != std::errc()) FailNumber(Field::kValue, NumberError::kRange);
    } else if (value.kind == ValueKind::kString && value.text == "Infinity") {
      number = std::numeric_limits<double>::infinity();
    } else if (value.kind == ValueKind::kString && value.text == "-Infinity") {
      number = -std::numeric_limits<double>::infinity();
    } else if (value.kind != ValueKind::kString || value.text != "NaN") {
      FailKind(Field::kValue, "a number, \"NaN\", \"Infinity\" or \"-Infinity\"");
    }
    out_.record.b = std::bit_cast<std::int64_t>(number);
  }

  const ParsedLine& line_;
  EventLine& out_;
  ProblemKind kind_ = ProblemKind::kBadLine;
  std::string sentence_;
};

}  // namespace

bool ReadEventLine(const ParsedLine& line, EventLine* out, ProblemKind* kind,
                   std::string* sentence) {
  *out = EventLine();
  LineReader reader(line, out);
  if (reader.Read()) return true;
  *kind = reader.kind();
  *sentence = std::move(reader.sentence());
  return false;
}

}  // namespace headway::jsonl
