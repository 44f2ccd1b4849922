#include "formats/cloud_logging/reader.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/json_writer.h"
#include "base/limits.h"
#include "formats/jsonl/decimal.h"
#include "ledger/compat/keys.h"

namespace headway::cloud_logging {
namespace {

using compat::EntryKind;
using compat::Key;

constexpr std::size_t kProblemsLimit = 1000;

/// A value of a payload: its text, unescaped for strings and as it stands for numbers.
struct Value {
  enum class Kind : std::uint8_t { kAbsent, kNumber, kText, kOther };
  Kind kind = Kind::kAbsent;
  std::string text;
};

/// One entry, as far as it counts.
struct Entry {
  std::string insert_id;
  std::array<Value, compat::kKeys> values;

  const Value& operator[](Key key) const { return values[static_cast<std::size_t>(key)]; }
};

/// An object of the top level, or what stands there in its place.
struct Piece {
  std::uint64_t line = 1;
  std::uint64_t offset = 0;
  std::string_view text;
  bool object = false;
  bool whole = false;
};

/// Cuts a text into the objects of its top level.
class Pieces {
 public:
  explicit Pieces(std::string_view text) : text_(text) {}

  bool Next(Piece* piece) {
    while (at_ < text_.size() && IsBetween(text_[at_])) Step();
    if (at_ == text_.size()) return false;
    piece->line = line_;
    piece->offset = at_;
    piece->object = text_[at_] == '{';
    piece->whole = piece->object ? SkipObject() : SkipLine();
    piece->text = text_.substr(piece->offset, at_ - piece->offset);
    return true;
  }

 private:
  static bool IsBetween(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',' || c == '[' || c == ']' ||
           c == '\xef' || c == '\xbb' || c == '\xbf';  // a byte order mark
  }

  void Step() {
    if (text_[at_++] == '\n') ++line_;
  }

  // False: the object has no end.
  bool SkipObject() {
    std::size_t depth = 0;
    bool quoted = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      Step();
      if (quoted) {
        if (c == '\\' && at_ < text_.size()) {
          Step();
        } else if (c == '"') {
          quoted = false;
        }
        continue;
      }
      if (c == '"') quoted = true;
      if (c == '{') ++depth;
      if (c == '}' && --depth == 0) return true;
    }
    return false;
  }

  bool SkipLine() {
    while (at_ < text_.size() && text_[at_] != '\n') Step();
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint64_t line_ = 1;
};

class Translator {
 public:
  Translation Run(std::string_view text) {
    Pieces pieces(text);
    Piece piece;
    while (pieces.Next(&piece)) {
      if (!piece.object) {
        Fail(piece, "no JSON object");
      } else if (!piece.whole) {
        Fail(piece, "the entry is cut off", jsonl::ProblemKind::kTornTail);
      } else if (piece.text.size() > limits::kEventLineBytes) {
        Fail(piece,
             "the entry is larger than " + std::to_string(limits::kEventLineBytes) + " bytes");
      } else {
        Take(piece);
      }
    }
    return std::move(out_);
  }

 private:
  void Fail(const Piece& piece, std::string sentence,
            jsonl::ProblemKind kind = jsonl::ProblemKind::kBadLine) {
    ++out_.problems_total;
    if (out_.problems.size() < kProblemsLimit) {
      out_.problems.push_back({kind, piece.line, piece.offset, std::move(sentence)});
    }
  }

  void Take(const Piece& piece) {
    Entry entry;
    padded_.assign(piece.text);
    padded_.append(simdjson::SIMDJSON_PADDING, '\0');
    if (const auto error = Parse(piece.text.size(), &entry); error != simdjson::SUCCESS) {
      Fail(piece, std::string("no valid JSON: ") + simdjson::error_message(error));
      return;
    }
    const bool any = std::ranges::any_of(entry.values, [&](const Value& value) {
      return value.kind != Value::Kind::kAbsent && &value != &entry[Key::kJobName] &&
             &value != &entry[Key::kCheckpointStep] && &value != &entry[Key::kDirectory];
    });
    if (!any) {
      ++out_.foreign;
      return;
    }
    Job& job = JobOf(entry[Key::kJobName].text);
    ++job.entries;
    const std::size_t before = job.events.size();
    const std::uint64_t problems = out_.problems_total;
    Append(piece, entry, &job);
    const bool said = job.events.size() > before || out_.problems_total > problems;
    if (!said && entry[Key::kEvent].kind == Value::Kind::kAbsent) {
      Fail(piece, "the entry of job \"" + job.name + "\" has no time");
    }
  }

  simdjson::error_code Parse(std::size_t size, Entry* entry) {
    simdjson::ondemand::document document;
    simdjson::ondemand::object object;
    const simdjson::padded_string_view view(padded_.data(), size, padded_.size());
    if (auto error = parser_.iterate(view).get(document)) return error;
    if (auto error = document.get_object().get(object)) return error;
    return ReadFields(object, true, entry);
  }

  // `outer`: a log entry, whose payload is one of its fields; or the payload itself.
  simdjson::error_code ReadFields(simdjson::ondemand::object object, bool outer, Entry* entry) {
    for (auto field : object) {
      std::string_view key;
      if (auto error = field.unescaped_key().get(key)) return error;
      simdjson::ondemand::value value;
      if (auto error = field.value().get(value)) return error;
      if (outer && key == "jsonPayload") {
        simdjson::ondemand::object payload;
        if (auto error = value.get_object().get(payload)) return error;
        if (auto error = ReadFields(payload, false, entry)) return error;
      } else if (outer && key == "insertId") {
        std::string_view id;
        if (value.get_string().get(id) == simdjson::SUCCESS) entry->insert_id = id;
      } else if (const std::optional<Key> known = compat::FindKey(key)) {
        if (auto error = ReadValue(value, &entry->values[static_cast<std::size_t>(*known)])) {
          return error;
        }
      }
    }
    return simdjson::SUCCESS;
  }

  static simdjson::error_code ReadValue(simdjson::ondemand::value value, Value* out) {
    simdjson::ondemand::json_type type;
    if (auto error = value.type().get(type)) return error;
    out->kind = Value::Kind::kOther;
    if (type == simdjson::ondemand::json_type::string) {
      std::string_view text;
      if (auto error = value.get_string().get(text)) return error;
      *out = {Value::Kind::kText, std::string(text)};
    } else if (type == simdjson::ondemand::json_type::number) {
      std::string_view token = value.raw_json_token();
      token = token.substr(0, token.find_last_not_of(" \t\r\n,}]") + 1);
      *out = {Value::Kind::kNumber, std::string(token)};
    } else if (type == simdjson::ondemand::json_type::null) {
      out->kind = Value::Kind::kAbsent;
    }
    return simdjson::SUCCESS;
  }

  Job& JobOf(const std::string& name) {
    const auto [found, fresh] = jobs_.emplace(name, out_.jobs.size());
    if (fresh) out_.jobs.push_back({name, {}, 0});
    return out_.jobs[found->second];
  }

  /// A number as nanoseconds; nullopt, with the problem told, for anything else.
  std::optional<std::int64_t> Nanoseconds(const Piece& piece, const Entry& entry, Key key) {
    std::int64_t ns = 0;
    if (entry[key].kind == Value::Kind::kNumber &&
        jsonl::ParseSeconds(entry[key].text, &ns) == jsonl::NumberError::kNone) {
      return ns;
    }
    Fail(piece,
         "the field \"" + std::string(compat::KeyName(key)) + "\" must be a time in seconds");
    return std::nullopt;
  }

  std::optional<std::int64_t> Whole(const Piece& piece, const Entry& entry, Key key) {
    std::int64_t number = 0;
    if (jsonl::ParseInteger(entry[key].text, &number) == jsonl::NumberError::kNone) return number;
    Fail(piece, "the field \"" + std::string(compat::KeyName(key)) + "\" must be an integer");
    return std::nullopt;
  }

  /// Begins a line; `part` tells apart the lines of one entry.
  JsonWriter Line(const Entry& entry, int part, std::int64_t ns, std::string_view type) {
    line_.clear();
    JsonWriter json(&line_);
    json.BeginObject().Field("ts_ns", ns).Field("type", type);
    if (!entry.insert_id.empty()) {
      json.Field("insert_id", entry.insert_id + "/" + std::to_string(part));
    }
    return json;
  }

  void End(JsonWriter* json, Job* job) {
    json->EndObject();
    job->events += line_;
    job->events += '\n';
  }

  void Append(const Piece& piece, const Entry& entry, Job* job) {
    int part = 0;
    for (std::size_t i = 0; i < compat::kTimeKeys; ++i) {
      const auto key = static_cast<Key>(i);
      if (entry[key].kind == Value::Kind::kAbsent) continue;
      const auto ns = Nanoseconds(piece, entry, key);
      if (ns) AppendTimed(piece, entry, compat::KindOf(key), *ns, part++, job);
    }
    if (entry[Key::kSlicesTime].kind != Value::Kind::kAbsent) {
      if (const auto ns = Nanoseconds(piece, entry, Key::kSlicesTime)) {
        AppendSlices(piece, entry, *ns, part++, job);
      }
    }
    const std::string& event = entry[Key::kEvent].text;
    if (event == "save") {
      AppendCheckpoint(piece, entry, "checkpoint_save", Key::kSaveStart, Key::kSaveSeconds, part,
                       job);
    } else if (event == "restore" || event == "emergency_restore") {
      AppendCheckpoint(piece, entry, "checkpoint_restore", Key::kRestoreStart, Key::kRestoreSeconds,
                       part, job);
    }
  }

  void AppendTimed(const Piece& piece, const Entry& entry, EntryKind kind, std::int64_t ns,
                   int part, Job* job) {
    std::string_view type;
    std::optional<std::string> name;
    std::optional<std::int64_t> step;
    switch (kind) {
      case EntryKind::kJobStart: type = "job_start"; break;
      case EntryKind::kJobEnd: type = "job_end"; break;
      case EntryKind::kStep:
        type = "step_start";
        step = Whole(piece, entry, Key::kStepCount);
        if (!step) return;
        break;
      case EntryKind::kInitStart: type = "accelerator_init_start"; break;
      case EntryKind::kInitEnd: type = "accelerator_init_end"; break;
      case EntryKind::kPrepStart: type = "training_prep_start"; break;
      case EntryKind::kPrepEnd: type = "training_prep_end"; break;
      case EntryKind::kLoadStart: type = "data_loading_start"; break;
      case EntryKind::kLoadEnd: type = "data_loading_end"; break;
      case EntryKind::kCustomStart:
      case EntryKind::kCustomEnd:
        type = kind == EntryKind::kCustomStart ? "custom_start" : "custom_end";
        name = entry[Key::kCustomType].text;
        break;
      case EntryKind::kWaitStart:
      case EntryKind::kWaitEnd:
        type = kind == EntryKind::kWaitStart ? "elastic_wait_start" : "elastic_wait_end";
        name = compat::IsScaleUp(entry[Key::kWaitType].text) ? "scale_up" : "slice_down";
        break;
      case EntryKind::kReinitStart: type = "elastic_reinit_start"; break;
      case EntryKind::kReinitEnd: type = "elastic_reinit_end"; break;
      default: return;
    }
    JsonWriter json = Line(entry, part, ns, type);
    if (step) json.Field("step", *step);
    if (name) json.Field("name", *name);
    End(&json, job);
  }

  void AppendSlices(const Piece& piece, const Entry& entry, std::int64_t ns, int part, Job* job) {
    const auto available = Whole(piece, entry, Key::kAvailable);
    const auto active = available ? Whole(piece, entry, Key::kActive) : std::nullopt;
    const auto total = active ? Whole(piece, entry, Key::kTotal) : std::nullopt;
    if (!total) return;
    JsonWriter json = Line(entry, part, ns, "capacity");
    json.Field("available", *available).Field("active", *active).Field("total", *total);
    End(&json, job);
  }

  void AppendCheckpoint(const Piece& piece, const Entry& entry, const std::string& type, Key start,
                        Key seconds, int part, Job* job) {
    const auto begin = Nanoseconds(piece, entry, start);
    const auto lasts = begin ? Nanoseconds(piece, entry, seconds) : std::nullopt;
    std::int64_t end = 0;
    if (!lasts || *lasts < 0 || __builtin_add_overflow(*begin, *lasts, &end)) {
      if (lasts) Fail(piece, "a checkpoint that ends before it begins");
      return;
    }
    const bool local = !entry[Key::kDirectory].text.starts_with("gs://");
    std::int64_t step = 0;
    const bool numbered =
        jsonl::ParseInteger(entry[Key::kCheckpointStep].text, &step) == jsonl::NumberError::kNone;
    for (const bool begins : {true, false}) {
      JsonWriter json =
          Line(entry, part++, begins ? *begin : end, type + (begins ? "_start" : "_end"));
      if (begins && numbered) json.Field("step", step);
      if (local) json.Field("name", "local");
      End(&json, job);
    }
  }

  Translation out_;
  std::map<std::string, std::size_t> jobs_;
  simdjson::ondemand::parser parser_;
  std::string padded_;
  std::string line_;
};

}  // namespace

Translation Translate(std::string_view text) { return Translator().Run(text); }

}  // namespace headway::cloud_logging
