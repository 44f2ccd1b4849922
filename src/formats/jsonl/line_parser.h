#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

/// One line of an event file taken apart: the fields of docs/formats/jsonl.md, as raw text.
///
/// The only place that names the JSON library. Every line is checked against JSON's whole grammar,
/// whether its fields are known or not.

namespace headway::jsonl {

enum class Field : std::uint8_t {
  kTs,
  kTsNs,
  kType,
  kStep,
  kName,
  kRank,
  kWriter,
  kAttempt,
  kSeq,
  kBlocking,
  kInsertId,
  kMono,
  kMonoNs,
  kStatus,
  kSignal,
  kAvailable,
  kActive,
  kTotal,
  kFrom,
  kTo,
  kFromNs,
  kToNs,
  kThread,
  kBeginSeq,
  kWallNs,
  kValue,
  kCount,
  kHost,
  kPid,
  kWorldSize,
  kMonotonic,
  kLiveness,
  kSupervisor,
  kJournal,
};
inline constexpr std::size_t kFieldCount = static_cast<std::size_t>(Field::kJournal) + 1;

/// The field's key in the file, e.g. "ts_ns".
std::string_view FieldName(Field field);

enum class ValueKind : std::uint8_t { kNull, kFalse, kTrue, kNumber, kString, kObject, kArray };

/// "a string", "an object": the kind in a sentence.
std::string_view ValueKindText(ValueKind kind);

struct Value {
  ValueKind kind = ValueKind::kNull;
  std::string_view text;  ///< number: its token, valid JSON; string: decoded; else unspecified
};

/// The known fields of one line. `null` counts as absent. Views live until the next Parse and as
/// long as the text.
struct ParsedLine {
  std::uint64_t present = 0;
  std::array<Value, kFieldCount> values;

  bool Has(Field field) const { return (present >> static_cast<unsigned>(field) & 1) != 0; }
  const Value& operator[](Field field) const { return values[static_cast<std::size_t>(field)]; }
};

/// Not thread-safe; keeps buffers as large as the longest line so far.
class LineParser {
 public:
  LineParser();
  ~LineParser();
  LineParser(const LineParser&) = delete;
  LineParser& operator=(const LineParser&) = delete;

  /// Takes `line` apart; `readable` >= line.size() is how many bytes may be read from its start.
  /// Returns false with `problem()` set when it is no JSON object, a known key stands twice, or
  /// values nest deeper than 64.
  bool Parse(std::string_view line, std::size_t readable, ParsedLine* out);

  /// Why the last Parse failed, as a sentence without a full stop.
  const std::string& problem() const { return problem_; }
  /// Whether the last failed Parse met something other than valid JSON: perhaps a line cut short.
  bool not_json() const { return not_json_; }

 private:
  struct Impl;

  bool Fail(std::string_view problem, bool not_json);

  std::unique_ptr<Impl> impl_;
  std::string problem_;
  bool not_json_ = false;
};

}  // namespace headway::jsonl
