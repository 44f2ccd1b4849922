#include "record_lines.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>

#include "base/json_writer.h"
#include "base/time_format.h"
#include "formats/jsonl/schema.h"

namespace headway::scenario {
namespace {

constexpr std::array<std::string_view, 11> kSettings = {"attempt", "rank",     "writer", "seq",
                                                        "thread",  "blocking", "status", "signal",
                                                        "wall",    "from",     "pid"};

Status Bad(const std::string& message) { return {Code::kInvalidArgument, message}; }

bool SpanKindOf(std::string_view name, SpanKind* kind) {
  jsonl::EventType type;
  if (!jsonl::ParseEventType(std::string(name) + "_start", &type)) return false;
  *kind = type.span;
  return type.span != SpanKind::kNone;
}

bool IsSetting(std::string_view word) { return word.find('=') != std::string_view::npos; }

template <typename Settings>
std::optional<std::int64_t> Number(const Settings& settings, std::string_view key) {
  const auto found = settings.find(key);
  if (found == settings.end()) return std::nullopt;
  return std::stoll(found->second);
}

template <typename Settings>
std::optional<std::string> Text(const Settings& settings, std::string_view key) {
  const auto found = settings.find(key);
  if (found == settings.end()) return std::nullopt;
  return found->second;
}

Result<std::int64_t> Integer(const std::vector<std::string>& words, std::size_t at) {
  if (at >= words.size()) return Bad("`" + words.front() + "` wants a number");
  std::size_t used = 0;
  std::int64_t value = 0;
  try {
    value = std::stoll(words[at], &used);
  } catch (const std::exception&) {
  }
  if (used != words[at].size()) return Bad("`" + words[at] + "` is no number");
  return value;
}

std::string Rest(const std::vector<std::string>& words, std::size_t from) {
  std::string text;
  for (std::size_t i = from; i < words.size(); ++i) text += (i > from ? " " : "") + words[i];
  return text;
}

std::int64_t SignalOf(const std::string& text) {
  const int number = jsonl::SignalNumber(text);
  return number != 0 ? number : std::stoll(text);
}

/// A status that is a number.
std::optional<std::int64_t> StatusOf(const std::string& text) {
  std::int64_t status = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), status);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(status) : std::nullopt;
}

bool IsClean(const std::string& status) {
  return status.empty() || status == "ok" || status == "success" || status == "completed" ||
         status == "0";
}

}  // namespace

Status RecordLines::Read(int number, std::string_view line) {
  (void)number;
  std::vector<std::string> words = SplitWords(line);
  if (words.front() == "journal") return DeclareJournal(words);
  if (words.front() == "supervised") {
    supervised_ = true;
    return OkStatus();
  }
  if (words.front() == "torn") {
    torn_ = std::string(line.substr(5));
    return OkStatus();
  }
  Settings settings = standing_;
  const bool prefixed = words.front() == "@";
  if (prefixed) {
    words.erase(words.begin());
    Settings told;
    while (!words.empty() && IsSetting(words.front())) {
      const std::size_t equals = words.front().find('=');
      told[words.front().substr(0, equals)] = words.front().substr(equals + 1);
      words.erase(words.begin());
    }
    if (words.empty()) {
      standing_ = told;
      return OkStatus();
    }
    for (const auto& [key, value] : told) settings[key] = value;
  }
  while (!words.empty() && IsSetting(words.back())) {
    const std::size_t equals = words.back().find('=');
    settings[words.back().substr(0, equals)] = words.back().substr(equals + 1);
    words.pop_back();
  }
  ++order_;
  return ReadRecord(std::move(words), std::move(settings));
}

Status RecordLines::DeclareJournal(const std::vector<std::string>& words) {
  if (words.size() < 2) return Bad("a journal has a name");
  Writer writer;
  writer.uid = writer.name = words[1];
  writer.monotonic = true;
  writer.host = "node0";
  Liveness liveness = Liveness::kUnknown;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.starts_with("rank=")) {
      writer.rank = std::stoll(word.substr(5));
    } else if (word.starts_with("key=")) {
      writer.attempt_key = word.substr(4);
    } else if (word.starts_with("index=")) {
      writer.attempt_index = std::stoll(word.substr(6));
    } else if (word.starts_with("pid=")) {
      writer.pid = std::stoll(word.substr(4));
    } else if (word == "supervisor") {
      writer.supervisor = true;
    } else if (word == "alive") {
      liveness = Liveness::kAlive;
    } else if (word == "dead") {
      liveness = Liveness::kDead;
    } else {
      return Bad("unknown property of a journal: `" + word + "`");
    }
  }
  liveness_[writer.name] = liveness;
  journals_[writer.name] = writer;
  return OkStatus();
}

RecordLines::Entry& RecordLines::Put(std::int64_t time, RecordType type, const Settings& settings) {
  Entry& entry = entries_.emplace_back();
  entry.record.type = type;
  entry.record.time_ns = time;
  entry.record.thread = static_cast<std::uint16_t>(Number(settings, "thread").value_or(0));
  entry.settings = settings;
  entry.attempt = Text(settings, "attempt").value_or("");
  entry.order = order_;
  return entry;
}

Status RecordLines::ReadRecord(std::vector<std::string> words, Settings settings) {
  if (words.size() < 2) return Bad("a record is written `TIME TYPE ...`");
  const std::string when = words.front();
  words.erase(words.begin());
  if (when.find("..") != std::string::npos) return ReadSpan(when, words, settings);
  const Result<std::int64_t> time = ParseDecimal(when);
  if (!time.ok()) return time.status();
  if (words.front() == "steps") return ReadSteps(*time, words, settings);
  return ReadPoint(*time, words, settings);
}

// `T steps 0..9 every 10 [with 2..6 KIND [NAME]]`: a step each D seconds, with a span in each.
// `every 9,11`: of 9 and 11 seconds in turn.
Status RecordLines::ReadSteps(std::int64_t time, const std::vector<std::string>& words,
                              const Settings& settings) {
  if (words.size() < 4 || words[2] != "every") return Bad("written `T steps N..M every D`");
  const std::size_t dots = words[1].find("..");
  if (dots == std::string::npos) return Bad("written `T steps N..M every D`");
  const std::int64_t first = std::stoll(words[1].substr(0, dots));
  const std::int64_t last = std::stoll(words[1].substr(dots + 2));
  std::vector<std::int64_t> lengths;
  for (std::string_view left = words[3]; !left.empty();) {
    const std::size_t comma = std::min(left.find(','), left.size());
    const Result<std::int64_t> length = ParseDecimal(left.substr(0, comma));
    if (!length.ok()) return length.status();
    lengths.push_back(*length);
    left.remove_prefix(std::min(comma + 1, left.size()));
  }
  const bool with = words.size() > 6 && words[4] == "with";
  if (words.size() > 4 && !with) return Bad("`with` is followed by a range and a span");
  std::int64_t start = time;
  std::size_t length = 0;
  for (std::int64_t step = first; step <= last;
       ++step, start += lengths[length++ % lengths.size()]) {
    ++order_;
    Put(start, RecordType::kStepStart, settings).record.a = step;
    if (!with) continue;
    const auto range = ParseRange(words[5]);
    if (!range.ok()) return range.status();
    const std::string when =
        FormatSeconds(start + range->first) + ".." + FormatSeconds(start + range->second);
    HEADWAY_RETURN_IF_ERROR(ReadSpan(when, {words.begin() + 6, words.end()}, settings));
  }
  return OkStatus();
}

// `A..B KIND [NAME]`, and `A..B exclude REASON`, said at B.
Status RecordLines::ReadSpan(std::string_view text, const std::vector<std::string>& words,
                             const Settings& settings) {
  const auto range = ParseRange(text);
  if (!range.ok()) return range.status();
  SpanKind kind = SpanKind::kNone;
  if (!SpanKindOf(words.front(), &kind)) return Bad("no kind of span: `" + words.front() + "`");
  if (range->second == kNoTime) return Bad("a span without an end is written `T begin KIND`");
  for (const bool begin : {true, false}) {
    Entry& entry = Put(begin ? range->first : range->second,
                       begin ? RecordType::kSpanBegin : RecordType::kSpanEnd, settings);
    entry.record.span = kind;
    entry.record.a = kNoStep;
    entry.name = Rest(words, 1);
    const std::string blocking = Text(settings, "blocking").value_or("");
    if (blocking == "yes") entry.record.blocking = Blocking::kYes;
    if (blocking == "no") entry.record.blocking = Blocking::kNo;
    if (!begin) entry.begin_of = order_;
  }
  return OkStatus();
}

Status RecordLines::ReadPoint(std::int64_t time, const std::vector<std::string>& words,
                              const Settings& settings) {
  const std::string& verb = words.front();
  auto put = [&](RecordType type) -> Entry& { return Put(time, type, settings); };
  if (verb == "begin" || verb == "end") {
    SpanKind kind = SpanKind::kNone;
    if (words.size() < 2 || !SpanKindOf(words[1], &kind)) return Bad("no kind of span");
    Entry& entry = put(verb == "begin" ? RecordType::kSpanBegin : RecordType::kSpanEnd);
    entry.record.span = kind;
    entry.record.a = kNoStep;
    entry.record.b = verb == "end" ? kNoHandle : 0;
    entry.name = Rest(words, 2);
    const std::string blocking = Text(settings, "blocking").value_or("");
    if (blocking == "yes") entry.record.blocking = Blocking::kYes;
    if (blocking == "no") entry.record.blocking = Blocking::kNo;
    return OkStatus();
  }
  struct Numbered {
    std::string_view verb;
    RecordType type;
  };
  static constexpr Numbered kNumbered[] = {{"step", RecordType::kStepStart},
                                           {"step_end", RecordType::kStepEnd},
                                           {"step_soft_end", RecordType::kStepSoftEnd},
                                           {"checkpoint_saved", RecordType::kCheckpointSaved},
                                           {"rollback", RecordType::kRollback}};
  for (const Numbered& entry : kNumbered) {
    if (verb != entry.verb) continue;
    const Result<std::int64_t> number = Integer(words, 1);
    if (!number.ok()) return number.status();
    put(entry.type).record.a = *number;
    return OkStatus();
  }
  if (verb == "job_start") {
    put(RecordType::kJobStart);
  } else if (verb == "dropped") {
    const Result<std::int64_t> count = Integer(words, 1);
    if (!count.ok()) return count.status();
    Record& record = put(RecordType::kDropped).record;
    record.a = *count;
    record.b = kNoTime;
    if (const auto from = Text(settings, "from")) {
      const Result<std::int64_t> time_ns = ParseDecimal(*from);
      if (!time_ns.ok()) return time_ns.status();
      record.b = *time_ns;
    }
  } else if (verb == "job_end") {
    Entry& entry = put(RecordType::kJobEnd);
    entry.name = Rest(words, 1);
    entry.record.a = IsClean(entry.name) ? 0 : StatusOf(entry.name).value_or(-1);
  } else if (verb == "heartbeat") {
    Record& record = put(RecordType::kHeartbeat).record;
    record.a = kNoTime;
    if (const auto wall = Text(settings, "wall")) {
      const Result<std::int64_t> time_ns = ParseDecimal(*wall);
      if (!time_ns.ok()) return time_ns.status();
      record.a = *time_ns;
    }
  } else if (verb == "process_end") {
    put(RecordType::kProcessEnd).record.a = Number(settings, "pid").value_or(0);
  } else if (verb == "query") {
    put(RecordType::kQuery);
  } else if (verb == "capacity") {
    Entry& entry = put(RecordType::kCapacity);
    entry.record.a = static_cast<std::int64_t>(0xffffffffffffffff);
    entry.record.b = -1;
  } else if (verb == "notice") {
    put(RecordType::kNotice).record.a = words.size() > 1 ? SignalOf(words[1]) : 0;
  } else if (verb == "clock") {
    const auto wall = ParseDecimal(Text(settings, "wall").value_or(""));
    if (!wall.ok()) return wall.status();
    put(RecordType::kClock).record.a = *wall;
  } else if (verb == "exit") {
    Record& record = put(RecordType::kExit).record;
    record.a = Number(settings, "status").value_or(-1);
    const auto signal = Text(settings, "signal");
    record.b = signal ? SignalOf(*signal) : 0;
  } else if (verb == "exclude") {
    if (words.size() < 2) return Bad("written `T exclude A..B REASON`");
    const auto range = ParseRange(words[1]);
    if (!range.ok()) return range.status();
    Entry& entry = put(RecordType::kExclude);
    entry.record.a = range->first;
    entry.record.b = range->second;
    entry.name = Rest(words, 2);
  } else if (verb == "note") {
    const Result<std::int64_t> count = Integer(words, 2);
    if (!count.ok()) return count.status();
    Entry& entry = put(RecordType::kNote);
    entry.name = words[1];
    entry.record.a = *count;
  } else {
    return Bad("unknown record: `" + verb + "`");
  }
  return OkStatus();
}

// As the reader of event files does it: where some lines name their attempt, a line that does not
// belongs to the one that opened last before it, to the first before any.
void RecordLines::AssignAttempts() {
  auto journal = [this](const Entry& entry) {
    const auto named = Text(entry.settings, "writer");
    return named && journals_.contains(*named);
  };
  auto speaks = [&](const Entry& entry) {
    const RecordType type = entry.record.type;
    return type != RecordType::kQuery && type != RecordType::kExclude &&
           type != RecordType::kNote && !journal(entry);
  };
  std::map<std::int64_t, std::int64_t> begins;  // attempt -> time of its first record
  for (const Entry& entry : entries_) {
    if (entry.attempt.empty() || !speaks(entry)) continue;
    const std::int64_t time = entry.record.time_ns;
    const auto [found, fresh] = begins.emplace(std::stoll(entry.attempt), time);
    if (!fresh) found->second = std::min(found->second, time);
  }
  if (begins.empty()) return;
  std::map<std::int64_t, std::string> opened;  // time -> attempt
  for (const auto& [attempt, time] : begins) opened[time] = std::to_string(attempt);
  for (Entry& entry : entries_) {
    if (!entry.attempt.empty() || !speaks(entry)) continue;
    auto next = opened.upper_bound(entry.record.time_ns);
    if (next != opened.begin()) --next;
    entry.attempt = next->second;
  }
}

Result<WriterId> RecordLines::WriterOf(const Entry& entry, RunRecords* run) {
  const Settings& settings = entry.settings;
  const auto named = Text(settings, "writer");
  const std::string& attempt = entry.attempt;
  const std::int64_t rank = Number(settings, "rank").value_or(0);
  const bool journal = named && journals_.contains(*named);
  Writer writer;
  if (journal) {
    writer = journals_.at(*named);
  } else {
    writer.name = named.value_or(jsonl::DefaultWriterName(rank));
    writer.uid = attempt + "/" + writer.name;
    writer.rank = rank;
    writer.event_file = true;
    if (!attempt.empty()) {
      writer.attempt_key = "attempt:" + attempt;
      writer.attempt_index = std::stoll(attempt);
    }
  }
  const auto [found, fresh] =
      writers_.try_emplace(writer.uid, static_cast<WriterId>(run->writers.size()));
  if (fresh) {
    run->writers.push_back(writer);
    run->liveness.push_back(journal ? liveness_.at(*named) : Liveness::kUnknown);
  }
  return found->second;
}

// One line of the neutral event file. Only what was said stands there.
std::string RecordLines::EventLine(const Entry& entry, const RunRecords& run) const {
  (void)run;
  const Record& r = entry.record;
  std::string out;
  JsonWriter json(&out);
  json.BeginObject().Key("ts").Raw(FormatSeconds(r.time_ns)).Field("type", jsonl::EventTypeName(r));
  const bool span = r.type == RecordType::kSpanBegin || r.type == RecordType::kSpanEnd;
  switch (r.type) {
    case RecordType::kStepStart:
    case RecordType::kStepEnd:
    case RecordType::kStepSoftEnd:
    case RecordType::kCheckpointSaved:
    case RecordType::kRollback: json.Field("step", r.a); break;
    case RecordType::kJobEnd:
      if (const auto status = StatusOf(entry.name)) {
        json.Field("status", *status);
      } else if (!entry.name.empty()) {
        json.Field("status", entry.name);
      }
      break;
    case RecordType::kNotice:
      if (r.a != 0) json.Field("signal", r.a);
      break;
    case RecordType::kClock:
    case RecordType::kHeartbeat:
      if (r.a != kNoTime) json.Field("wall_ns", r.a);
      break;
    case RecordType::kExit:
      if (r.a >= 0) json.Field("status", r.a);
      if (r.b != 0) json.Field("signal", r.b);
      break;
    case RecordType::kProcessEnd:
      if (r.a != 0) json.Field("pid", r.a);
      break;
    case RecordType::kExclude:
      json.Key("from").Raw(FormatSeconds(r.a));
      if (r.b != kNoTime) json.Key("to").Raw(FormatSeconds(r.b));
      break;
    case RecordType::kDropped:
      json.Field("count", r.a);
      if (r.b != kNoTime) json.Key("from").Raw(FormatSeconds(r.b));
      break;
    case RecordType::kNote: json.Field("count", r.a); break;
    default: break;
  }
  const bool named = span || r.type == RecordType::kExclude || r.type == RecordType::kNote;
  if (named && !entry.name.empty()) json.Field("name", entry.name);
  if (r.blocking == Blocking::kYes) json.Field("blocking", true);
  if (r.blocking == Blocking::kNo) json.Field("blocking", false);
  for (const std::string_view key : {"attempt", "rank", "seq", "thread"}) {
    if (const auto number = Number(entry.settings, key)) json.Field(key, *number);
  }
  if (const auto writer = Text(entry.settings, "writer")) json.Field("writer", *writer);
  json.EndObject();
  return out + "\n";
}

Status RecordLines::Finish(Scenario* scenario) {
  for (const Entry& entry : entries_) {
    for (const auto& [key, value] : entry.settings) {
      if (std::ranges::find(kSettings, key) == kSettings.end()) {
        return Bad("unknown setting `" + key + "`");
      }
    }
  }
  RunRecords& run = scenario->run;
  scenario->supervised = supervised_;
  AssignAttempts();
  for (Entry& entry : entries_) {
    const Result<WriterId> writer = WriterOf(entry, &run);
    if (!writer.ok()) return writer.status();
    entry.record.writer = *writer;
    if (!entry.name.empty() && entry.record.type != RecordType::kJobEnd) {
      entry.record.name = run.names.Intern(entry.name);
    }
  }
  // Lines are written in the file's order; a line of two records gives them in the order of time.
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return std::tuple(a.record.time_ns, a.order) < std::tuple(b.record.time_ns, b.order);
  });
  const bool event_file = journals_.empty() && !supervised_;
  if (event_file) {
    for (const Entry& entry : entries_) scenario->events += EventLine(entry, run);
    if (torn_) scenario->events += *torn_;
  }
  // Sequence numbers: as said, else by time.
  std::vector<bool> by_seq(run.writers.size(), true);
  for (const Entry& entry : entries_) {
    if (!entry.settings.contains("seq")) by_seq[entry.record.writer] = false;
  }
  std::vector<std::uint64_t> next(run.writers.size(), 0);
  std::map<std::int64_t, std::uint64_t> begins;  // of journals: seq by the order of the line
  for (Entry& entry : entries_) {
    Record& record = entry.record;
    record.seq = by_seq[record.writer] ? static_cast<std::uint64_t>(*Number(entry.settings, "seq"))
                                       : next[record.writer]++;
    if (record.type == RecordType::kSpanBegin) begins[entry.order] = record.seq;
    if (record.type == RecordType::kSpanEnd) record.b = kNoHandle;
  }
  for (Entry& entry : entries_) {
    Record& record = entry.record;
    const bool handle = record.type == RecordType::kSpanEnd && entry.begin_of &&
                        !run.writers[record.writer].event_file;
    if (handle) record.b = static_cast<std::int64_t>(begins[*entry.begin_of]);
    run.records.push_back(record);
  }
  if (torn_ && !run.records.empty()) {
    Record note;
    note.type = RecordType::kNote;
    note.name = run.names.Intern("torn_tail");
    note.a = 1;
    note.writer = run.records.front().writer;
    note.seq = next[note.writer];
    note.time_ns = run.records.back().time_ns;
    run.records.push_back(note);
  }
  return OkStatus();
}

}  // namespace headway::scenario
